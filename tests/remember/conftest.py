"""A conversation, a scripted model and the extraction between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memdir.layout import Layout
from memdir.model.model import Model, Reply, Request, ScriptedModel, calls
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.store.store import MemoryStore
from memdir.transcript.message import Message, Text, ToolResult, ToolUse
from tests.conftest import Clock, Events


def topic(name: str, body: str, kind: str = "feedback", description: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description or name}\ntype: {kind}\n---\n\n{body}\n"


@dataclass
class Talk:
    """A conversation that grows, and hands its finished turns to the extraction."""

    extraction: Extraction
    messages: list[Message] = field(default_factory=list)

    def says(self, text: str, reply: str = "Understood.") -> FinishedTurn:
        """One turn of plain words."""
        self._add("user", Text(text))
        return self._finish(reply)

    def uses_tool(
        self,
        text: str,
        tool: str,
        arguments: dict[str, object],
        result: str,
        reply: str = "Done.",
        *,
        is_error: bool = False,
    ) -> FinishedTurn:
        """One turn in which the assistant calls a tool."""
        self._add("user", Text(text))
        call = f"t{len(self.messages)}"
        self._add("assistant", ToolUse(call, tool, arguments))  # type: ignore[arg-type]
        self._add("user", ToolResult(call, result, is_error))
        return self._finish(reply)

    def _add(self, role: str, block: Text | ToolUse | ToolResult, *, is_meta: bool = False) -> Message:
        message = Message(
            "assistant" if role == "assistant" else "user", (block,), f"m{len(self.messages) + 1}", is_meta
        )
        self.messages.append(message)
        return message

    def reminder(self, text: str) -> None:
        self._add("user", Text(f"<system-reminder>{text}</system-reminder>"), is_meta=True)

    def _finish(self, reply: str) -> FinishedTurn:
        request = Request("scripted", messages=tuple(self.messages))
        return FinishedTurn(request, self._add("assistant", Text(reply)))


class SwitchesOff(ScriptedModel):
    """A model with whose last reply somebody switches memory off."""

    def __init__(self, steps: Sequence[object], session: SessionState) -> None:
        super().__init__(steps)  # type: ignore[arg-type]
        self.session = session

    async def complete(self, request: Request, **more: Any) -> Reply:
        reply = await super().complete(request, **more)
        self.session.memory_is_on = bool(reply.message.tool_uses)
        return reply


@dataclass
class Bench:
    """Everything one test needs."""

    store: MemoryStore
    events: Events
    session: SessionState
    saved: list[Sequence[str]]
    make: Callable[..., Extraction]

    def talk(self, model: Model, **more: object) -> Talk:
        return Talk(self.make(model, **more))

    def write(self, name: str, text: str) -> object:
        """A reply that writes one memory."""
        return calls(("Write", {"file_path": os.path.join(self.store.root, name), "content": text}))

    def read(self, name: str) -> str:
        return Path(self.store.root, name).read_text(encoding="utf-8")

    @property
    def skips(self) -> list[object]:
        return [event.fields["skipped"] for event in self.events.events if event.fields.get("skipped")]


@pytest.fixture
def bench(store: MemoryStore, events: Events, clock: Clock, tmp_path: Path, project: Path) -> Bench:
    store.ensure()
    session = SessionState("session-1", Layout(str(tmp_path / "home"), str(project)))
    saved: list[Sequence[str]] = []

    def make(model: Model, *, stores: Sequence[MemoryStore] = (), **more: Any) -> Extraction:
        plan = ExtractionPlan(stores or [store], str(project), **more)
        return Extraction(session, plan, model, events, clock, on_saved=saved.append)

    return Bench(store, events, session, saved, make)


__all__ = ["Bench", "ScriptedModel", "Talk", "topic"]
