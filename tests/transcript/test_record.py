"""A message is written as one line of JSON and read back as it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse
from memdir.transcript.record import encode, message_fields, parse_record

TEXTS = st.one_of(
    st.text(st.characters(), max_size=60), st.sampled_from(['\\"\n\r\t', "\x00\x1b[31m", "\ud800", "é漢😀"])
)
BLOCKS = st.one_of(
    TEXTS.map(Text),
    st.builds(ToolResult, TEXTS, TEXTS, st.booleans()),
    st.builds(ToolUse, TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3), TEXTS),
    st.builds(Opaque, st.sampled_from(["anthropic", "openai"]), st.sampled_from(['{"type": "thinking"}', "[1]", "{"])),
)
MESSAGES = st.builds(
    Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=3).map(tuple), is_meta=st.booleans()
)


def decoded(data: bytes) -> object:
    return json.loads(data.decode("utf-8", "surrogatepass"))


@given(TEXTS)
def test_a_text_is_the_same_string_in_json(text: str) -> None:
    assert decoded(encode(text)) == text
    assert b"\n" not in encode(text), "a record is one line"


@given(MESSAGES)
def test_a_message_is_read_back_as_it_was(message: Message) -> None:
    record = parse_record(encode(message_fields(message)))
    assert record is not None
    assert record.message == message
