"""How much of a model's window a conversation fills (N3)."""

from __future__ import annotations

from memdir.model.model import Request, SystemBlock, Usage
from memdir.model.raw import RawCall
from memdir.model.window import ContextCount, context_tokens, overhead_tokens
from memdir.transcript.message import assistant, user

TALK = tuple(user(f"Message {number}: please look at the parser once more.") for number in range(50))
REPLY = assistant("Done.")


def test_a_growing_conversation_counts_the_same_as_one_counted_at_once() -> None:
    count = ContextCount()
    system = (SystemBlock("You are a careful engineer."),)
    for length in (10, 20, 50, 30):  # shorter again after a compaction
        request = Request("m", system, messages=TALK[:length])
        assert count.tokens(request, REPLY) == context_tokens(request, REPLY)


def test_another_system_prompt_or_other_words_are_counted_again() -> None:
    count = ContextCount()
    before = count.tokens(Request("m", (SystemBlock("short"),), messages=TALK), REPLY)
    after = count.tokens(Request("m", (SystemBlock("a much longer prompt " * 20),), messages=TALK), REPLY)
    assert after > before
    longer = (*TALK[:-1], user(TALK[-1].text * 5))
    assert count.tokens(Request("m", (SystemBlock("short"),), messages=longer), REPLY) > before


def test_the_provider_s_figure_counts_where_there_is_one() -> None:
    assert ContextCount().tokens(Request("m", messages=TALK), REPLY, Usage(70, 5, 20, 10)) == 105


def test_a_host_s_own_arguments_hold_its_system_prompt_and_tools() -> None:
    tool = {"name": "Read", "description": "reads a file " * 20, "input_schema": {"type": "object"}}
    raw = RawCall(
        "anthropic", {"model": "m", "max_tokens": 9, "system": "rules " * 500, "tools": [tool], "messages": []}
    )
    assert overhead_tokens(Request("m", raw=raw)) > 500
