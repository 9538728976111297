"""Lines of a transcript: one JSON object each, in the form that Claude Code uses too (J1, J2).

Messages are `user` and `assistant` records; everything else is kept as it was read and understood by whoever knows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from memdir.disk.plain_json import decode
from memdir.transcript.message import Block, Json, Message, Opaque, Role, Text, ToolResult, ToolUse

MESSAGE_TYPES = ("user", "assistant")
BOUNDARY = "compact_boundary"
FILE_HISTORY = "file-history-snapshot"
ATTRIBUTION = "attribution-snapshot"
REPLACEMENT = "content-replacement"
TITLE = "custom-title"
MEMORY_OFF = "memoryOff"  # of a message that was said while memory was off
_OF_A_PERSON = ("human", "sdk", "unknown", None)  # whose turns may be, as Claude Code tells
_decode: Callable[[str], tuple[object, int]] = json.JSONDecoder().raw_decode
_NATIVE = frozenset(("text", "tool_use", "tool_result", "opaque"))


class Record(NamedTuple):
    """One line: its type, its place in the tree, and everything else it says. A tuple, since a long transcript has
    hundreds of thousands."""

    type: str
    uuid: str = ""
    parent: str = ""
    timestamp: str = ""
    is_sidechain: bool = False
    is_meta: bool = False
    fields: Mapping[str, Any] = MappingProxyType({})

    @property
    def message(self) -> Message | None:
        """The message of a user or assistant record, and what a person typed while the agent worked: an attachment."""
        kind, uuid, _, moment, _, is_meta, fields = self
        if kind == "attachment" and isinstance(queued := fields.get("attachment"), dict):
            origin = queued.get("origin")
            is_own = isinstance(origin, dict) and origin.get("kind") == "human"  # and no task that tells of its end
            if not is_own or queued.get("type") != "queued_command" or not is_typed(queued):
                return None
            return Message("user", blocks_from(queued.get("prompt")), uuid, is_meta, moment)
        if kind not in MESSAGE_TYPES or not isinstance(raw := fields.get("message"), dict):
            return None
        role: Role = "assistant" if kind == "assistant" else "user"
        is_meta = is_meta or ("isCompactSummary" in fields and self.is_summary)  # nobody said it: the host put it in
        return Message(role, blocks_from(raw.get("content")), uuid, is_meta, moment, fields.get(MEMORY_OFF) is True)

    @property
    def is_boundary(self) -> bool:
        """Whether a compaction begins here: what came before is on disk only."""
        return self.type == "system" and self.fields.get("subtype") == BOUNDARY

    @property
    def follows(self) -> str:
        """The id of the record that was there before; a boundary has it under another name."""
        return _text(self.fields.get("logicalParentUuid")) if self.is_boundary else self.parent

    @property
    def is_summary(self) -> bool:
        """Whether this is the message that stands for what a compaction took away."""
        return self.fields.get("isCompactSummary") is True

    @property
    def message_id(self) -> str:
        """The provider's id of the message; Claude Code writes one record a block, all with the same one."""
        if self.type != "assistant":
            return ""
        raw = self.fields.get("message")
        return _text(raw.get("id")) if isinstance(raw, dict) and "id" in raw else ""


def is_typed(fields: Mapping[str, Any]) -> bool:
    """Whether Claude Code does not say of a prompt that no person typed it: one that was scheduled, seeded, or sent on
    by a program."""
    return fields.get("textNotTyped") is not True and fields.get("turnOrigin") in _OF_A_PERSON


def parse_record(line: bytes) -> Record | None:
    """The record of one line; None for a line that is no JSON object with a type."""
    try:
        text = line.decode("utf-8", "surrogatepass")
        found, end = _decode(text)  # what `json.loads` does, without its look for blanks and other encodings
    except (ValueError, RecursionError):
        return None
    return record_from(found) if end == len(text) else None


def record_from(found: object) -> Record | None:
    """The record of a decoded line; None for anything but an object with a type."""
    if not isinstance(found, dict) or not isinstance(kind := found.get("type"), str):
        return None
    uuid, parent, moment = found.get("uuid", ""), found.get("parentUuid", ""), found.get("timestamp", "")
    return Record(
        kind,
        uuid if isinstance(uuid, str) else "",
        parent if isinstance(parent, str) else "",
        moment if isinstance(moment, str) else "",
        found.get("isSidechain") is True,
        found.get("isMeta") is True,
        found,
    )


def message_fields(message: Message) -> dict[str, Any]:
    """What a message's record holds besides its place in the tree."""
    content = [block_fields(block) for block in message.content]
    fields: dict[str, Any] = {"type": message.role, "message": {"role": message.role, "content": content}}
    if message.is_meta:
        fields["isMeta"] = True
    return {**fields, MEMORY_OFF: True} if message.is_off else fields


def blocks_from(content: object) -> tuple[Block, ...]:
    """The blocks of a message as it stands in a transcript; what is not understood is kept as it is."""
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        return ()
    return tuple([_block_from(block) for block in content if isinstance(block, dict)])


def _block_from(block: dict[str, Any]) -> Block:
    match block.get("type"):
        case "text":
            text = block.get("text")
            return Text(text if isinstance(text, str) else "")
        case "tool_use":
            given = block.get("input")
            arguments: dict[str, Json] = given if isinstance(given, dict) else {}
            return ToolUse(_text(block.get("id")), _text(block.get("name")), arguments, _text(block.get("fault")))
        case "tool_result":
            content = block.get("content")
            return ToolResult(_text(block.get("tool_use_id")), content_text(content), block.get("is_error") is True)
        case "opaque":
            return Opaque(_text(block.get("provider")), _text(block.get("json")))
        case _:
            return Opaque("anthropic", json.dumps(block))


def block_fields(block: Block) -> dict[str, Any]:
    """A block as it stands in a transcript."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolUse(tool_id, name, arguments, fault):
            fields = {"type": "tool_use", "id": tool_id, "name": name, "input": dict(arguments)}
            return {**fields, "fault": fault} if fault else fields
        case ToolResult(tool_use_id, content, is_error):
            return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}
        case Opaque(provider, text):
            own = _own_block(text) if provider == "anthropic" else None
            return own or {"type": "opaque", "provider": provider, "json": text}


def _own_block(text: str) -> dict[str, Any] | None:
    """A provider's block as an object, when reading it back gives the same text to the byte (G1)."""
    block = decode(text.encode("utf-8", "replace"))
    if not isinstance(block, dict) or block.get("type") in _NATIVE or json.dumps(block) != text:
        return None
    return block


def content_text(content: object) -> str:
    """The words of a content that is a string or a list of parts; parts without words are named."""
    if isinstance(content, list):
        parts = (part if isinstance(part, dict) else {"text": part} for part in content)
        return "\n".join(str(part.get("text", part.get("refusal", f"[{part.get('type')}]"))) for part in parts)
    return _text(content)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def encode(value: object) -> bytes:
    """Any value as compact JSON. Half a surrogate pair, which JSON cannot hold, is kept as it is."""
    return _encoder.encode(value).encode("utf-8", "surrogatepass")
