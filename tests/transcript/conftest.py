"""A conversation and its transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "one.jsonl"


@pytest.fixture
def write_transcript(path: Path, clock: Clock) -> Iterator[Callable[[], Transcript]]:
    """Opens the transcript once more, as another process would."""
    opened: list[Transcript] = []

    def open_one() -> Transcript:
        opened.append(Transcript(str(path), session_id="one", cwd="/app", clock=clock))
        return opened[-1]

    yield open_one
    for transcript in opened:
        transcript.close()


@pytest.fixture
def talk(write_transcript: Callable[[], Transcript]) -> Conversation:
    return Conversation(write_transcript())


def turn(talk: Conversation, text: str, *, call: str = "") -> list[Message]:
    """One turn, with a tool call when it has an id."""
    added = [talk.add(user(text))]
    if call:
        added.append(talk.add(Message("assistant", (Text("I look."), ToolUse(call, "Grep", {"pattern": text})))))
        added.append(talk.add(Message("user", (ToolResult(call, f"found {text}"),))))
    added.append(talk.add(Message("assistant", (Text(f"About {text}."),))))
    return added
