"""The cache contract, proved over HTTP with the official SDKs: a fork pays for its own words only (G1, G2, P6, P7)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memdir import MemoryType
from memdir.agent.file_access import DiskFiles
from memdir.agent.fork import ForkTools, Job, fork_request, run_fork
from memdir.agent.gate import allow_all
from memdir.agent.loop import run_agent
from memdir.agent.tools.tool import Outcome, Toolbox, ToolContext
from memdir.errors import ModelError
from memdir.memdir import MemDir, open_memory
from memdir.model.model import Model, RawCall, Reply, Request
from memdir.model.openai import responses_arguments
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.transcript.message import Message, ToolResult, user
from tests.conftest import Clock
from tests.conversation import conversation, parent_request, tool_specs
from tests.model.providers import ANTHROPIC, PROVIDERS, Provider
from tests.provider_server import KEY, ProviderServer, calls, says
from tests.provider_server.prompt_cache import OPENAI_STEP

pytestmark = pytest.mark.slow("openai-chat")

JOB = "[memdir job: extract]\nWrite down what is worth keeping. " + "Be choosy. " * 60


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def server(clock: Clock) -> Iterator[ProviderServer]:
    with ProviderServer(clock=clock) as started:
        yield started


@pytest.fixture
async def model(provider: Provider, server: ProviderServer) -> AsyncIterator[Model]:
    opened = provider.open(server)
    yield opened
    await opened.close()


@pytest.fixture
def memory(project: Path, clock: Clock) -> MemDir:
    opened = open_memory(project, clock=clock)
    opened.start()
    return opened


@pytest.fixture
def parent(provider: Provider, memory: MemDir) -> Request:
    """The request that got the last reply of a conversation of 60 messages with 30 tools."""
    return parent_request(provider.model, memory.prompt(), conversation()[:-1])


REPLY = conversation()[-1]
STANDING = ("system", "instructions", "tools", "model", "max_tokens", "max_output_tokens", "prompt_cache_key")


class EchoTool:
    """A tool of the parent's list."""

    def __init__(self, number: int) -> None:
        self.spec = tool_specs()[number]

    async def run(self, arguments: object, context: object) -> Outcome:
        return Outcome("nothing there")


def hands(model: Model, project: Path) -> ForkTools:
    box = Toolbox([EchoTool(number) for number in range(30)], ToolContext(str(project), DiskFiles()))
    return ForkTools(model, box, allow_all)


def assert_reads_all(provider: Provider, read: int, shared: int) -> None:
    """At least 99 % of the shared prefix; Anthropic gives all of it, OpenAI all but the last, unfinished step."""
    assert read >= 0.99 * shared
    assert read == shared if provider == ANTHROPIC else shared - read < OPENAI_STEP + 2


async def test_a_fork_reads_what_it_shares_and_writes_nothing_into_it(
    model: Model, provider: Provider, server: ProviderServer, parent: Request, project: Path
) -> None:
    """G1, G2: on its first request and on every later one."""
    assert (len(parent.messages) + 1, len(parent.tools)) == (60, 30)
    await model.complete(parent)
    shared = server.uses[0].total
    assert shared > 20_000
    server.add(calls(("tool_1", {"file_path": "a"}), ("tool_2", {"file_path": "b"})), says("Kept."))
    report = await run_fork(parent, Job(JOB, 5), hands(model, project), since=(REPLY,))
    assert (report.run.ending, report.run.turns) == ("done", 2)
    for use in server.uses[1:]:
        assert_reads_all(provider, use.read, shared)
        if provider == ANTHROPIC:
            assert use.created == 0, "no write at all: the breakpoint stays where the parent's was"
        else:
            inside = max(0, min(use.created, shared - use.read))
            assert inside < OPENAI_STEP, "what OpenAI writes begins in the last, unfinished step of the shared prefix"
    assert report.usage.cache_read == sum(use.read for use in server.uses[1:])
    assert report.usage.hit_percent > 90


async def test_a_fork_after_a_run_of_several_turns_reads_all_of_it(
    model: Model, provider: Provider, server: ProviderServer, parent: Request, project: Path
) -> None:
    """G1: it starts from what was sent last, not from what was sent first."""
    server.add(calls(*((f"tool_{number}", {"file_path": "a"}) for number in range(25)), ids="first"))
    server.add(calls(("tool_1", {"file_path": "b"}), ids="second"), says("Done."))
    own = hands(model, project)
    run = await run_agent(parent, model, own.tools, allow_all, max_turns=9)
    assert run.turns == 3
    await run_fork(run.last_request, Job(JOB, 5), own, since=run.since)
    assert_reads_all(provider, server.uses[-1].read, server.uses[-2].total)


async def test_the_parent_s_next_turn_after_a_fork_still_hits_in_full(
    model: Model, provider: Provider, server: ProviderServer, parent: Request, project: Path
) -> None:
    await model.complete(parent)
    shared = server.uses[0].total
    await run_fork(parent, Job(JOB, 5), hands(model, project), since=(REPLY,))
    await model.complete(replace(parent, messages=(*parent.messages, REPLY, user("And now?"))))
    after = server.uses[-1]
    assert_reads_all(provider, after.read, shared)
    if provider == ANTHROPIC:
        assert after.created == after.total - shared, "only what is new is written"


async def test_a_turn_of_many_calls_does_not_outrun_the_look_back(
    model: Model, provider: Provider, server: ProviderServer, parent: Request
) -> None:
    """A breakpoint sees twenty blocks back; a turn may add a hundred, and a host may add reminders after them."""
    await model.complete(parent)
    shared = server.uses[0].total
    server.add(calls(*((f"tool_{number % 30}", {"file_path": str(number)}) for number in range(50))))
    asked = replace(parent, messages=(*parent.messages, REPLY, user("Look everywhere.")))
    reply: Reply = await model.complete(asked)
    results = Message("user", tuple(ToolResult(use.id, "found " * 20) for use in reply.message.tool_uses))
    grown = replace(
        asked, messages=(*asked.messages, reply.message, results, user("<system-reminder>x</system-reminder>"))
    )
    before = server.uses[-1].total
    await model.complete(grown)
    assert before > shared
    assert_reads_all(provider, server.uses[-1].read, before)


async def test_the_fork_s_bytes_begin_with_the_parent_s(model: Model, server: ProviderServer, parent: Request) -> None:
    """G1, byte for byte up to the end of the parent's last message; system, tools and settings are the same bytes."""
    await model.complete(parent)
    await model.complete(fork_request(parent, JOB, since=(REPLY,)))
    ours, theirs = server.requests
    shared = up_to_last_message(ours.raw)
    assert theirs.raw.startswith(shared)
    assert len(shared) > 50_000
    for name in STANDING:
        assert exact(ours.body.get(name)) == exact(theirs.body.get(name)), name


async def test_a_memory_write_changes_no_byte_of_the_session(
    model: Model, provider: Provider, server: ProviderServer, parent: Request, memory: MemDir
) -> None:
    """P6: a write in mid-session takes effect later, by design."""
    await model.complete(parent)
    shared = server.uses[0].total
    write(memory, "Deploys are frozen until December")
    again = parent_request(provider.model, memory.prompt(), (*parent.messages, REPLY, user("Go on.")))
    await model.complete(again)
    before, after = (unmarked(request.raw) for request in server.requests)
    assert after.startswith(up_to_last_message(before))
    assert [server.requests[0].body.get(name) for name in STANDING] == [
        server.requests[1].body.get(name) for name in STANDING
    ]
    assert_reads_all(provider, server.uses[1].read, shared)


async def test_what_stands_before_the_boundary_is_the_same_for_every_project_and_memory(
    provider: Provider, server: ProviderServer, memory: MemDir, tmp_path: Path, clock: Clock
) -> None:
    """P6: another project, other memories: tools and the first part of the system prompt still hit."""
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = open_memory(other, clock=clock)
    elsewhere.start()
    write(elsewhere, "This project has a memory of its own")
    model = provider.open(server)
    for opened in (memory, elsewhere):
        await model.complete(parent_request(provider.model, opened.prompt(), (user(opened.context() or "Hi"),)))
    await model.close()
    boundary = tokens_before_boundary(server.requests[0].body)
    assert memory.prompt() != elsewhere.prompt()
    if provider == ANTHROPIC:
        assert server.uses[1].read >= boundary > 3000
    else:
        assert server.uses[1].read > 3000


async def test_midnight_does_not_bust_the_cache(
    model: Model, provider: Provider, server: ProviderServer, memory: MemDir, clock: Clock
) -> None:
    """P7: no prompt holds the date; a change of day is a message of its own, at the end."""
    clock.now = 1_790_035_140.0  # 2026-09-21 23:59 UTC
    evening = parent_request(provider.model, memory.prompt(), conversation()[:-1])
    await model.complete(evening)
    clock.now += 120
    day = Message("user", (user("The date has changed. It is now 2026-09-22.").content[0],), is_meta=True)
    morning = parent_request(provider.model, memory.prompt(), (*evening.messages, REPLY, day, user("Good morning.")))
    assert morning.system == evening.system
    await model.complete(morning)
    assert_reads_all(provider, server.uses[1].read, server.uses[0].total)
    await model.complete(fork_request(morning, JOB))
    assert_reads_all(provider, server.uses[2].read, server.uses[1].total)


# A host that builds its own requests -------------------------------------------------------------------------------


def host_arguments(provider: Provider) -> dict[str, Any]:
    """What an embedding host gives to its SDK, in its own style: own marks, own settings, own blocks."""
    texts = [message.text or f"message {at}" for at, message in enumerate(conversation()[:-1])]
    talk = [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(texts)]
    if provider.name == "anthropic":
        tools = [
            {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
            for spec in tool_specs()
        ]
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        last = {"type": "text", "text": talk[-1]["content"], "cache_control": {"type": "ephemeral"}}
        talk[-1] = {"role": "user", "content": [last]}
        more = {"max_tokens": 1234, "metadata": {"user_id": "u1"}, "stop_sequences": ["STOP"]}
        return {"model": provider.model, "system": "Be kind. " * 400, "messages": talk, "tools": tools, **more}
    functions = [
        {"name": spec.name, "description": spec.description, "parameters": spec.input_schema} for spec in tool_specs()
    ]
    if provider.name == "openai-chat":
        tools = [{"type": "function", "function": function} for function in functions]
        more = {"temperature": 0.3, "prompt_cache_key": "host-1", "user": "u1"}
        return {
            "model": provider.model,
            "messages": [{"role": "system", "content": "Be kind."}, *talk],
            "tools": tools,
            **more,
        }
    tools = [{"type": "function", "strict": False, **function} for function in functions]
    more = {"store": False, "prompt_cache_key": "host-1", "temperature": 0.3}
    return {"model": provider.model, "instructions": "Be kind.", "input": talk, "tools": tools, **more}


async def host_calls(provider: Provider, server: ProviderServer, arguments: dict[str, Any]) -> None:
    """One plain call of the host, with the SDK and nothing of ours."""
    if provider.name == "anthropic":
        import anthropic

        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url) as client:
            await _drained(await client.messages.create(**arguments))
        return
    import openai

    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1") as client:
        endpoint = client.chat.completions if provider.name == "openai-chat" else client.responses
        await _drained(await endpoint.create(**arguments))


async def _drained(reply: Any) -> None:
    if hasattr(reply, "__aiter__"):
        async for _ in reply:
            pass


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_host_s_own_arguments_are_sent_again_byte_for_byte(
    model: Model, provider: Provider, server: ProviderServer, project: Path, streams: bool
) -> None:
    arguments = host_arguments(provider) | ({"stream": True} if streams else {})
    await host_calls(provider, server, arguments)
    shared = server.uses[0].total
    parent = Request(provider.model, raw=RawCall(provider.name, arguments))
    server.add(calls(("tool_1", {"file_path": "a"})), says("Kept."))
    report = await run_fork(parent, Job(JOB, 5), hands(model, project), since=(REPLY,))
    assert (report.run.turns, report.run.final_text) == (2, "Kept.")
    assert report.usage.output > 0
    for sent, use in zip(server.requests[1:], server.uses[1:], strict=True):
        assert sent.raw.startswith(up_to_last_message(server.requests[0].raw))
        assert_reads_all(provider, use.read, shared)
        assert use.created == 0 or provider != ANTHROPIC
    same = {
        name: value for name, value in server.requests[0].body.items() if name not in ("messages", "input", "stream")
    }
    sent_again = server.requests[1].body
    assert {name: sent_again.get(name) for name in same} == same


@pytest.mark.parametrize("as_blocks", [False, True])
async def test_a_mark_that_the_provider_sets_itself_stays_on_the_host_s_last_block(
    server: ProviderServer, as_blocks: bool
) -> None:
    """G2: with a top-level `cache_control` the last block is marked, and a fork's own last block must not be."""
    arguments = host_arguments(ANTHROPIC) | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    text = "And now? " * 50
    last = {"role": "user", "content": [{"type": "text", "text": text}] if as_blocks else text}
    arguments["messages"] = [*arguments["messages"][:-1], last]
    await host_calls(ANTHROPIC, server, arguments)
    model = ANTHROPIC.open(server)
    await model.complete(
        fork_request(Request(ANTHROPIC.model, raw=RawCall("anthropic", arguments)), JOB, since=(REPLY,))
    )
    await model.close()
    assert (server.uses[1].read, server.uses[1].created) == (server.uses[0].total, 0)
    assert arguments["messages"][-1] is last and "cache_control" in arguments, "the host's own are not touched"


async def test_a_conversation_that_the_provider_keeps_is_never_added_to() -> None:
    raw = RawCall("openai-responses", {"model": "m", "input": "Hi", "conversation": "conv_1"})
    with pytest.raises(ModelError, match="would add to it"):
        responses_arguments(fork_request(Request("m", raw=raw), JOB))


async def test_a_host_s_plain_text_input_is_one_message(server: ProviderServer) -> None:
    """The responses API takes a bare string; with a second message it has to be spelled out, and means the same."""
    provider = next(provider for provider in PROVIDERS if provider.name == "openai-responses")
    arguments = {"model": provider.model, "instructions": "Be kind. " * 9000, "input": "Hello! " * 9000}
    await host_calls(provider, server, arguments)
    model = provider.open(server)
    await model.complete(fork_request(Request(provider.model, raw=RawCall(provider.name, arguments)), JOB))
    assert_reads_all(provider, server.uses[1].read, server.uses[0].total)
    await model.close()


async def test_a_host_s_beta_headers_are_sent_again(server: ProviderServer) -> None:
    arguments = {
        "model": ANTHROPIC.model,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
        "betas": ["x-1"],
    }
    model = ANTHROPIC.open(server)
    await model.complete(fork_request(Request(ANTHROPIC.model, raw=RawCall("anthropic", arguments)), JOB))
    assert server.requests[0].headers["anthropic-beta"] == "x-1"
    await model.close()


def write(memory: MemDir, text: str) -> None:
    add_memory(memory.store, text, kind=MemoryType.PROJECT, origin=Origin("test", trust="user"))


def unmarked(raw: bytes) -> bytes:
    """A request's bytes without Anthropic's breakpoints, which are no content and move from turn to turn."""
    return raw.replace(b',"cache_control":{"type":"ephemeral"}', b"")


def exact(value: object) -> str:
    return json.dumps(value)


def up_to_last_message(raw: bytes) -> bytes:
    """A request's bytes up to the end of its last message, as they stand on the wire."""
    text = raw.decode("utf-8")
    name = '"messages":' if '"messages":' in text else '"input":'
    start = text.index(name) + len(name)
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[: end - 1].encode("utf-8")


def tokens_before_boundary(body: dict[str, Any]) -> int:
    from tests.provider_server.prompt_cache import anthropic_blocks, tokens_of

    if "messages" not in body or "input" in body:
        return 0
    first = len(body.get("tools") or []) + 1
    return sum(tokens_of(block.data) for block in anthropic_blocks(body)[:first]) if "system" in body else 0
