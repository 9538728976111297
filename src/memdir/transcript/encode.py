"""Messages as JSON, quickly: a transcript is written while somebody waits for the next word (J1).

Says the same as `record.message_fields`, which stays the one place that knows the form of a block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memdir.transcript.message import Block, Message, Text, ToolResult
from memdir.transcript.record import block_fields

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CONTROLS = bytes(number for number in range(32) if chr(number) not in "\n\r\t")  # rare enough for the slow way


def encode(value: object) -> bytes:
    """Any value as compact JSON. Half a surrogate pair, which JSON cannot hold, is kept as it is."""
    return _encoder.encode(value).encode("utf-8", "surrogatepass")


def encode_text(text: str) -> bytes:
    """A text as a JSON string. Scanning bytes is several times as fast as the library's look at every character."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _CONTROLS)) != len(data):
        return encode(text)
    data = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"%b"' % data.replace(b"\n", b"\\n").replace(b"\r", b"\\r").replace(b"\t", b"\\t")


def encode_message(message: Message) -> bytes:
    """The fields of a message's record, without the braces around them."""
    role = b'"%b"' % message.role.encode()
    blocks = b",".join(map(_encode_block, message.content))
    meta = b',"isMeta":true' if message.is_meta else b""
    return b'"type":%b,"message":{"role":%b,"content":[%b]}%b' % (role, role, blocks, meta)


def encode_fields(fields: Mapping[str, Any]) -> bytes:
    """Fields of a record, without the braces around them."""
    return encode(dict(fields))[1:-1]


def _encode_block(block: Block) -> bytes:
    if isinstance(block, Text):
        return b'{"type":"text","text":%b}' % encode_text(block.text)
    if isinstance(block, ToolResult):
        parts = (encode_text(block.tool_use_id), encode_text(block.content), b"true" if block.is_error else b"false")
        return b'{"type":"tool_result","tool_use_id":%b,"content":%b,"is_error":%b}' % parts
    return encode(block_fields(block))
