"""Puts the events of one Anthropic stream together to a reply; blocks we do not know are kept as they came."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memdir.model.failures import broke_off
from memdir.model.model import Reply, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Message, Opaque, Text

PROVIDER = "anthropic"
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# Kinds of deltas, and the field of the block that each one lengthens.
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class StreamReader:
    """Takes the events of one stream, in order."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._blocks: dict[int, _Growing] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._model = ""
        self._id = ""
        self._is_complete = False

    def take(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._model, self._id = event.message.model, event.message.id
                self._count(event.message.usage)
            case "content_block_start":
                dumped = event.content_block.model_dump(mode="json", exclude_none=True)
                self._blocks[event.index] = _Growing(dumped)
                if dumped["type"] == "text":
                    self._tell(dumped.get("text", ""))
            case "content_block_delta":
                self._extend(self._blocks.get(event.index), event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(event.usage)
            case "message_stop":
                self._is_complete = True

    def _extend(self, block: _Growing | None, delta: Any) -> None:
        if block is None:
            return
        if delta.type == "input_json_delta":
            block.pieces.setdefault("input", []).append(delta.partial_json)
        elif delta.type in _GROWING:
            name = _GROWING[delta.type]
            block.pieces.setdefault(name, []).append(getattr(delta, name))
            if name == "text":
                self._tell(delta.text)

    def _tell(self, text: str) -> None:
        if text and self._on_text:
            self._on_text(text)

    def _count(self, usage: Any) -> None:
        """Counts are told at the beginning and again, brought up to date, at the end."""
        for name in _USAGE_FIELDS:
            value = getattr(usage, name, None)
            if value is not None:
                self._usage[name] = value

    def reply(self) -> Reply:
        if not self._is_complete:
            raise broke_off("Anthropic")
        content = tuple(block.finished() for _, block in sorted(self._blocks.items()))
        usage = Usage(*(self._usage.get(name, 0) for name in _USAGE_FIELDS))
        stop = _STOP_REASONS.get(self._stop, "other")
        return Reply(Message("assistant", content, self._id), stop, usage, self._model)


class _Growing:
    """A content block and the pieces that came after its beginning."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}

    def finished(self) -> Block:
        if self.start["type"] == "tool_use":
            return self._input().tool_use()
        block = dict(self.start)
        for name, pieces in self.pieces.items():
            if name == "input":  # of a tool that the provider runs itself
                block[name] = dict(self._input().tool_use().input)
            else:
                block[name] = block.get(name, "") + "".join(pieces)
        return Text(block["text"]) if block["type"] == "text" else Opaque(PROVIDER, json.dumps(block))

    def _input(self) -> ToolInput:
        given = self.start.get("input")
        tool = ToolInput(self.start["id"], self.start["name"], given if isinstance(given, dict) else {})
        tool.add("".join(self.pieces.get("input", ())))
        return tool
