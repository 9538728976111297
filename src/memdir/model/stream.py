"""Parts of a streamed reply that every provider sends in pieces."""

from __future__ import annotations

import json

from memdir.transcript.message import Json, ToolUse

_SHOWN = 200


class ToolInput:
    """The arguments of a tool call, coming in as pieces of JSON."""

    def __init__(self, tool_id: str, name: str, given: dict[str, Json] | None = None) -> None:
        self.id = tool_id
        self.name = name
        self._given = given or {}
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def tool_use(self) -> ToolUse:
        """The finished call. Arguments that are no JSON object become a fault that the model is told."""
        text = "".join(self._pieces)
        if not text.strip():
            return ToolUse(self.id, self.name, self._given)
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:
            return ToolUse(self.id, self.name, {}, f"the arguments are not valid JSON ({error}): {text[:_SHOWN]}")
        if not isinstance(parsed, dict):
            return ToolUse(self.id, self.name, {}, f"the arguments are not a JSON object: {text[:_SHOWN]}")
        return ToolUse(self.id, self.name, parsed)
