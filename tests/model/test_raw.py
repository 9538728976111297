"""A host's own arguments, understood: the same messages whatever the dialect, with ids that stay (X4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memdir.model.model import RawCall, Request
from memdir.model.raw import conversation_of, messages_of, reply_of
from memdir.remember.turn import FinishedTurn, messages_after
from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse, user
from tests.model.providers import PROVIDERS, Provider
from tests.provider_server import KEY, Answer, Call, ProviderServer, Thinking, Words

ANTHROPIC = RawCall(
    "anthropic",
    {
        "system": "s",
        "messages": [
            {"role": "user", "content": "Read a.md"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.md"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "öl"}, {"type": "image", "source": {}}],
                        "is_error": True,
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ],
    },
)
CALL = {"id": "t1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path": "a.md"}'}}
CHAT = RawCall(
    "openai-chat",
    {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "Read a.md"}]},
            {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "t1", "content": "öl"},
        ]
    },
)
RESPONSES = RawCall(
    "openai-responses",
    {
        "instructions": "s",
        "input": [
            {"role": "developer", "content": "more"},
            {"role": "user", "content": "Read a.md"},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "t1", "name": "Read", "arguments": '{"file_path": "a.md"}'},
            {"type": "function_call_output", "call_id": "t1", "output": "öl"},
        ],
    },
)


@pytest.mark.parametrize("raw", [ANTHROPIC, CHAT, RESPONSES], ids=lambda raw: raw.provider)
def test_every_dialect_is_understood(raw: RawCall) -> None:
    messages = messages_of(raw)
    assert messages[0].text == "Read a.md"
    assert "I look." in [message.text for message in messages if message.role == "assistant"]
    [use] = [use for message in messages for use in message.tool_uses]
    assert (use.id, use.name, dict(use.input)) == ("t1", "Read", {"file_path": "a.md"})
    [result] = [result for message in messages for result in message.tool_results]
    assert result.content.startswith("öl") and result.tool_use_id == "t1"
    assert len({message.id for message in messages}) == len(messages)


def test_what_only_the_provider_understands_is_kept_and_marks_are_not() -> None:
    _, reply, result = messages_of(ANTHROPIC)
    assert [type(block) for block in reply.content] == [Opaque, Text, ToolUse]
    assert result.content == (ToolResult("t1", "öl\n[image]", is_error=True),)


@pytest.mark.parametrize(
    ("content", "is_meta"),
    [
        ("Contents of /m/MEMORY.md (memory):\n\n- [A](a.md) — a\n", True),
        ([{"type": "text", "text": "<system-reminder>\nMemory: x\n</system-reminder>"}], True),
        ([{"type": "text", "text": "<system-reminder>\nx\n</system-reminder>"}, {"type": "text", "text": "Hi"}], False),
        ("What are the Contents of this (or that):\nfile?", False),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "<system-reminder>"}], False),
        ([], False),
    ],
)
def test_what_the_host_put_in_for_us_is_not_taken_for_something_said(content: object, is_meta: bool) -> None:
    """L4: a recalled memory or the index in a host's own arguments is never learned again as news."""
    [message] = messages_of(RawCall("anthropic", {"messages": [{"role": "user", "content": content}]}))
    assert message.is_meta is is_meta


def test_another_message_in_the_same_place_is_another_message() -> None:
    """X4: after the host has compacted its conversation, the cursor's message is gone, not mistaken for a new one."""
    before, after = ({"messages": [{"role": "user", "content": text}]} for text in ("Never mock.", "A summary."))
    [old], [new] = messages_of(RawCall("anthropic", before)), messages_of(RawCall("anthropic", after))
    assert old.id != new.id
    assert messages_after((new,), old.id) == (new,), "everything counts, not nothing"


def test_a_plain_text_is_one_message() -> None:
    raw = RawCall("openai-responses", {"input": "Hello!"})
    assert [message.text for message in messages_of(raw)] == ["Hello!"]


def test_messages_of_ours_come_after_the_host_s() -> None:
    request = Request("m", messages=(user("job"),), raw=CHAT)
    assert [message.text for message in conversation_of(request)][-1] == "job"
    assert conversation_of(Request("m", messages=(user("a"),))) == (user("a"),)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as started:
        yield started


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
async def test_ids_stay_as_the_conversation_grows(provider: Provider, server: ProviderServer) -> None:
    """X4: the reply that ended one turn is known again in the next, so only what is new is read."""
    server.add(Answer((Thinking("hm", "sig"), Words("Hello — ä."), Call("Read", {"file_path": "a"}, "c1"))))
    first = {"model": provider.model, **said(provider, {"role": "user", "content": "Hi"})}
    reply, items = await host_call(provider, server, first)
    turn = FinishedTurn(Request(provider.model, raw=RawCall(provider.name, first)), reply[-1])
    grown = {**first, **said(provider, {"role": "user", "content": "Hi"}, *items, *answered(provider))}
    later = messages_of(RawCall(provider.name, grown))
    assert [message.id for message in later][: len(turn.messages) - 1] == [message.id for message in turn.messages[:-1]]
    new = messages_after(later, reply[-1].id)
    assert len(new) == 1 and new[0].tool_results


def said(provider: Provider, *items: Any) -> dict[str, Any]:
    return {"input" if provider.name == "openai-responses" else "messages": list(items)}


def answered(provider: Provider) -> list[dict[str, Any]]:
    if provider.name == "anthropic":
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}]
    if provider.name == "openai-chat":
        return [{"role": "tool", "tool_call_id": "c1", "content": "x"}]
    return [{"type": "function_call_output", "call_id": "c1", "output": "x"}]


async def host_call(
    provider: Provider, server: ProviderServer, arguments: dict[str, Any]
) -> tuple[list[Message], list[Any]]:
    """The reply as messages of ours, and as the host puts it into its next call: SDK objects as they are."""
    raw = RawCall(provider.name, arguments)
    if provider.name == "anthropic":
        import anthropic

        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url) as client:
            reply = await client.messages.create(**arguments, max_tokens=99)
        item: Any = {"role": "assistant", "content": reply.content}
        return [reply_of(raw, item)], [item]
    import openai

    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1") as client:
        if provider.name == "openai-chat":
            message = (await client.chat.completions.create(**arguments)).choices[0].message
            return [reply_of(raw, message)], [message]
        output = (await client.responses.create(**arguments)).output
    grown = [RawCall(provider.name, {"input": [*arguments["input"], *output[:at]]}) for at in range(len(output))]
    return [reply_of(raw, item) for raw, item in zip(grown, output, strict=True)], list(output)


def test_a_host_s_turn_is_learned_from() -> None:
    """The words a host's user said are there to be read, though nobody handed them over one by one."""
    raw = RawCall("anthropic", {"messages": [{"role": "user", "content": "Never mock the database."}]})
    turn = FinishedTurn(Request("m", raw=raw), reply_of(raw, {"role": "assistant", "content": "Understood."}))
    assert [message.text for message in turn.messages] == ["Never mock the database.", "Understood."]
