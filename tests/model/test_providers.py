"""What every provider does, through its official SDK and over real HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

import pytest

from memdir.errors import ModelError
from memdir.model.anthropic import AnthropicModel, call_arguments
from memdir.model.model import CachePolicy, Model, ModelSettings, Request, SystemBlock
from memdir.model.openai import ChatReader, OpenAIModel, chat_arguments, responses_arguments
from memdir.model.sdk import in_pairs
from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse, assistant, user
from tests.model.providers import ANTHROPIC, CHAT, PROVIDERS, RESPONSES, Provider
from tests.provider_server import Answer, Call, ProviderServer, Redacted, Thinking, Words, calls, says

LONG = "The quick brown fox jumps over the lazy dog — ünïcödé, too. " * 20
SCHEMA = {
    "type": "object",
    "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_memories"],
    "additionalProperties": False,
}


async def test_words_come_as_they_are_said_and_whole_at_the_end(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    server.add(says(LONG))
    heard: list[str] = []
    reply = await model.complete(provider.request(), on_text=heard.append)
    assert reply.message.text == "".join(heard) == LONG
    assert len(heard) > 10, "it was streamed"
    assert (reply.stop_reason, reply.model, reply.message.role) == ("end_turn", provider.model, "assistant")
    assert reply.message.id


async def test_usage_is_what_the_provider_counted(model: Model, provider: Provider, server: ProviderServer) -> None:
    """G3: the parts of the prompt add up, whatever the provider calls them."""
    request = provider.request(user("remember this " * 2000))
    first = await model.complete(request)
    again = await model.complete(request)
    assert first.usage.cache_read == 0
    assert first.usage.prompt == again.usage.prompt == server.uses[0].total
    assert again.usage.cache_read == server.uses[1].read > 0.95 * again.usage.prompt
    assert first.usage.cache_created == server.uses[0].created
    assert first.usage.output > 0


async def test_a_server_that_counts_no_tokens_is_heard_all_the_same(server: ProviderServer) -> None:
    server.add(Answer((Words("Tuesdays."),), is_uncounted=True))
    model = ANTHROPIC.open(server)
    reply = await model.complete(ANTHROPIC.request())
    await model.close()
    assert (reply.message.text, reply.usage.total) == ("Tuesdays.", 0)


async def test_parallel_tool_calls_keep_their_order_ids_and_arguments(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    wanted = [("Read", {"file_path": f"{number}.md", "odd": '"\\ü\n'}) for number in range(5)]
    server.add(calls(*wanted, text="Let me look."), says("Done."))
    request = provider.request()
    reply = await model.complete(request)
    assert reply.stop_reason == "tool_use"
    assert reply.message.text == "Let me look."
    assert [(use.name, dict(use.input)) for use in reply.message.tool_uses] == wanted
    assert len({use.id for use in reply.message.tool_uses}) == 5
    results = Message(
        "user", tuple(ToolResult(use.id, f"result {use.id}", is_error=True) for use in reply.message.tool_uses)
    )
    done = await model.complete(replace(request, messages=(*request.messages, reply.message, results)))
    assert done.message.text == "Done.", "the server would refuse results that do not fit their calls"


@pytest.mark.parametrize("provider", [ANTHROPIC, RESPONSES], ids=lambda provider: provider.name)
async def test_thinking_is_kept_and_sent_back_unchanged(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    thought = Thinking("First I read the file, ünïcödé and all. " * 5, "c2lnbmF0dXJl" * 20)
    server.add(Answer((thought, Redacted("aGlkZGVu" * 9), Words("I look."), Call("Read", {"file_path": "a"}, "c1"))))
    server.add(says("Done."))
    request = provider.request()
    reply = await model.complete(request)
    assert [type(block) for block in reply.message.content] == [Opaque, Opaque, Text, ToolUse]
    assert "First I read" not in reply.message.text
    results = Message("user", (ToolResult("c1", "content"),))
    await model.complete(replace(request, messages=(*request.messages, reply.message, results)))
    sent = server.requests[1].raw.decode("utf-8")
    assert thought.text in sent and thought.signature in sent, "the server checks signatures, too"


@pytest.mark.parametrize("provider", [ANTHROPIC, RESPONSES], ids=lambda provider: provider.name)
async def test_a_reply_that_broke_off_in_its_thoughts_ends_no_conversation(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    """J3: OpenAI takes no thought that nothing of its reply follows."""
    server.add(Answer((Thinking("First I ", "c2ln" * 20), Redacted("aGlk" * 9)), is_cut=True), says("Done."))
    request = provider.request()
    reply = await model.complete(request)
    assert reply.stop_reason == "max_tokens" and not reply.message.text
    done = await model.complete(replace(request, messages=(*request.messages, reply.message, user("Go on."))))
    assert done.message.text == "Done."


@pytest.mark.parametrize("provider", [CHAT, RESPONSES], ids=lambda provider: provider.name)
async def test_another_provider_s_thinking_is_left_out(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    """A conversation may go on with another model."""
    thought = Opaque("anthropic", '{"type": "thinking", "thinking": "private", "signature": "x"}')
    talk = (user("Hi"), Message("assistant", (thought, Text("Hello."))), user("And?"))
    await model.complete(provider.request(*talk))
    assert b"private" not in server.requests[0].raw


async def test_arguments_that_are_no_json_become_a_fault_the_model_is_told(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    server.add(
        calls(("Read", '{"file_path": "a'), ("Read", '["a"]'), ("Read", ""), ("Read", '{"file_path": "b"}')),
        says("Sorry."),
    )
    request = provider.request()
    reply = await model.complete(request)
    faults = [use.fault for use in reply.message.tool_uses]
    assert "not valid JSON" in faults[0] and '{"file_path": "a' in faults[0]
    assert "not a JSON object" in faults[1]
    assert faults[2:] == ["", ""]
    results = Message("user", tuple(ToolResult(use.id, "?", is_error=True) for use in reply.message.tool_uses))
    await model.complete(replace(request, messages=(*request.messages, reply.message, results)))
    assert len(server.uses) == 2, "the faulty call can be sent back"


async def test_an_answer_of_a_schema_is_asked_for_in_the_provider_s_way(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    answer = json.dumps({"selected_memories": ["a.md"]})
    server.add(says(answer))
    settings = ModelSettings(max_tokens=256, json_schema=SCHEMA)
    reply = await model.complete(provider.request(settings=settings))
    assert json.loads(reply.message.text) == {"selected_memories": ["a.md"]}
    body = server.requests[0].body
    forms = {
        "anthropic": lambda: body["output_config"]["format"]["schema"],
        "openai-chat": lambda: body["response_format"]["json_schema"]["schema"],
        "openai-responses": lambda: body["text"]["format"]["schema"],
    }
    assert forms[provider.name]() == SCHEMA
    limits = {"anthropic": "max_tokens", "openai-chat": "max_tokens", "openai-responses": "max_output_tokens"}
    assert body[limits[provider.name]] == 256


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        (Answer((Words("cut"),), is_cut=True), "max_tokens"),
        (Answer((Words("cut"), Call("Read", {"file_path": "a"}, "c1")), is_cut=True), "max_tokens"),
        (Answer((Words("no"),), is_refusal=True), "refusal"),
    ],
)
async def test_a_reply_that_was_cut_or_refused_says_so(
    model: Model, provider: Provider, server: ProviderServer, answer: Answer, stop: str
) -> None:
    server.add(answer)
    reply = await model.complete(provider.request())
    assert reply.stop_reason == stop


async def test_empty_and_blank_messages_are_sent_in_a_form_the_provider_takes(
    model: Model, provider: Provider, server: ProviderServer
) -> None:
    talk = (user("Hi"), Message("assistant", ()), user("  \n"), assistant(""), user("Still there?"))
    await model.complete(provider.request(*talk))
    assert len(server.uses) == 1


async def test_the_same_request_gives_the_same_bytes(model: Model, provider: Provider, server: ProviderServer) -> None:
    """G1."""
    for _ in range(2):
        await model.complete(provider.request(user("Hi"), assistant("Hello — ünïcödé"), user("And?")))
    assert server.requests[0].raw == server.requests[1].raw


async def test_many_marks_in_the_system_prompt_stay_within_the_limit(server: ProviderServer) -> None:
    """Anthropic takes four breakpoints; the server answers 400 to a fifth."""
    request = replace(
        ANTHROPIC.request(user("a"), assistant("b"), user("c")),
        system=tuple(SystemBlock(f"part {number}", ends_prefix=True) for number in range(6)),
    )
    model = ANTHROPIC.open(server)
    await model.complete(request)
    await model.close()
    marks = server.requests[0].raw.count(b"cache_control")
    assert marks == 4


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 2000}),
        ("claude-opus-4-1-20250805", {"type": "enabled", "budget_tokens": 2000}),
        ("claude-sonnet-4-20250514", {"type": "enabled", "budget_tokens": 2000}),
        ("kimi-k2", {"type": "enabled", "budget_tokens": 2000}),
        ("claude-opus-4-6", {"type": "adaptive"}),
        ("claude-sonnet-5-5", {"type": "adaptive"}),
    ],
)
def test_thinking_is_asked_for_as_the_model_understands_it(model: str, thinking: dict[str, object]) -> None:
    settings = ModelSettings(max_tokens=1000, thinking_tokens=2000)
    arguments = call_arguments(ANTHROPIC.request(settings=settings, model=model))
    assert arguments["thinking"] == thinking
    assert arguments["max_tokens"] == 3000, "thinking is a part of the reply's length"


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-sonnet-5-5", 32_000),
        ("anthropic/claude-haiku-4.5", 32_000),
        ("claude-3-5-haiku-latest", 8192),
        ("gpt-5.6-luna", 32_000),
        ("gpt-5-chat-latest", 8192),
        ("o3", 32_000),
        ("gpt-4o", 8192),
        ("llama3.3:70b", 8192),
    ],
)
def test_a_reply_may_be_as_long_as_a_model_of_that_name_surely_gives(model: str, tokens: int) -> None:
    """G1: a file of 100 kB in one call, with what is thought before it; a model that gives less refuses the request."""
    assert call_arguments(ANTHROPIC.request(model=model))["max_tokens"] == tokens
    assert chat_arguments(CHAT.request(model=model))["max_completion_tokens"] == tokens
    assert responses_arguments(RESPONSES.request(model=model))["max_output_tokens"] == tokens


def test_openai_itself_gets_the_newer_names_and_the_cache_key() -> None:
    request = CHAT.request()
    keyed = replace(request, cache=replace(request.cache, key="session-1"))
    ours, theirs = chat_arguments(keyed, is_openai=True), chat_arguments(keyed, is_openai=False)
    assert ours["prompt_cache_key"] == "session-1"
    assert "max_completion_tokens" in ours and "max_tokens" not in ours
    assert "prompt_cache_key" not in theirs and "max_tokens" in theirs


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("anthropic", lambda: AnthropicModel(api_key="k")),
        ("openai", lambda: OpenAIModel(api_key="k")),
    ],
)
def test_a_missing_sdk_names_the_extra_to_install(package: str, make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError) as raised:
        make()  # type: ignore[operator]
    assert raised.value.kind == "no_sdk"
    assert f"pip install 'memdir[{package}]'" in raised.value.remedy


@pytest.mark.parametrize(
    ("make", "variable"),
    [(lambda: AnthropicModel(api_key=""), "ANTHROPIC_API_KEY"), (lambda: OpenAIModel(api_key=""), "OPENAI_API_KEY")],
)
def test_a_missing_key_names_the_variable_to_set(make: object, variable: str) -> None:
    with pytest.raises(ModelError) as raised:
        make()  # type: ignore[operator]
    assert raised.value.kind == "no_key"
    assert variable in raised.value.remedy


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: one.name)
def test_a_host_that_runs_one_loop_after_the_other_pays_each_reply_once(
    server: ProviderServer, provider: Provider
) -> None:
    model = provider.open(server)
    for _ in range(3):
        assert asyncio.run(model.complete(provider.request())).message.text
    assert len(server.requests) == 3
    asyncio.run(model.close())


async def test_a_local_server_needs_no_key(server: ProviderServer) -> None:
    model = OpenAIModel(api_key="", base_url=f"{server.url}/v1")
    with pytest.raises(ModelError) as raised:  # this one wants a key: the request reached it without
        await model.complete(CHAT.request())
    assert raised.value.kind == "wrong_key"
    await model.close()


async def test_nothing_is_kept_at_the_provider(server: ProviderServer) -> None:
    """The responses API keeps conversations unless told otherwise."""
    model = RESPONSES.open(server)
    await model.complete(RESPONSES.request())
    await model.close()
    assert server.requests[0].body["store"] is False


def test_a_server_that_gives_every_call_the_same_number_is_understood() -> None:
    """Some servers that copy the API number each call 0: a new id begins a new call."""
    from openai.types.chat import ChatCompletionChunk

    reader = ChatReader(None)
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    pieces: list[tuple[str | None, str]] = [("a", '{"file_path"'), (None, ': "1"}'), ("b", '{"file_path": "2"}')]
    for call_id, text in pieces:
        call = {"index": 0, "id": call_id, "type": "function", "function": {"name": "Read", "arguments": text}}
        choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
        reader.take(ChatCompletionChunk.model_validate({**head, "choices": [choice]}))
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    reader.take(ChatCompletionChunk.model_validate({**head, "choices": [end]}))
    assert [(use.id, dict(use.input)) for use in reader.reply().message.tool_uses] == [
        ("a", {"file_path": "1"}),
        ("b", {"file_path": "2"}),
    ]


async def test_a_breakpoint_never_stands_on_a_thought(server: ProviderServer) -> None:
    """Anthropic refuses it, and so does the server: such a message goes without."""
    server.add(Answer((Thinking("hm", "c2ln"),)), says("Done."))
    model = ANTHROPIC.open(server)
    request = ANTHROPIC.request()
    reply = await model.complete(request)
    asked = replace(request, messages=(*request.messages, reply.message, user("And?")))
    done = await model.complete(replace(asked, cache=CachePolicy(last_message=1)))
    assert done.message.text == "Done."
    await model.close()


async def test_calls_and_results_that_a_host_wrote_one_by_one_are_sent_together(
    model: Model, server: ProviderServer
) -> None:
    """X4, G1: what a person said between the results comes behind them; a call that was never answered is."""
    typed, asked = Message("user", (Text("Use pnpm."),)), user("Install it.")
    first, second = (Message("assistant", (ToolUse(name, "Bash", {"command": name}),)) for name in ("t1", "t2"))
    refused = Message("user", (ToolResult("t1", "refused", is_error=True), Text("Ask before.")))
    result = Message("user", (ToolResult("t2", "done"),))
    both = Message("assistant", (*first.content, *second.content))
    answered = Message("user", (*refused.tool_results, *result.content, Text("Ask before.")))
    for messages in (
        (asked, first, second, refused, result),
        (asked, first, second, result, typed, refused),
        (asked, first, typed, refused, second, result, first, refused),  # which gives its calls the same names
        (asked, first, typed, second, typed),
        (asked, first),
    ):
        await model.complete(Request("m", messages=(*messages, assistant("Done."), user("Go on."))))
    whole = Request("m", messages=(asked, both, answered, assistant("Done."), both, answered, user("Go on.")))
    assert in_pairs(whole) is whole
    pieces = Request("m", messages=(asked, first, second, refused, result, assistant("Done."), user("Go on.")))
    assert in_pairs(pieces).messages == (asked, both, answered, assistant("Done."), user("Go on."))
