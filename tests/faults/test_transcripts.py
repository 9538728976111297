"""Every mutating system call of an append, a compaction and a fork: killed there, or failed (J3)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from evals.damage import damage_of

from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.file_history import FileHistory
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.sources.source import transcripts_in

from . import converse
from .trace import ERRORS, Call, Fault, calls_of, strike

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("strace")]

SAMPLE = 6  # kills of each step in the default run; an append and a compaction have no more calls than that


@dataclass(frozen=True)
class Step:
    """What is done to a home, in the form that the tracer wants."""

    name: str
    home: str

    def command(self) -> list[str]:
        return [sys.executable, str(Path(converse.__file__)), self.name, self.home]


def build(home: str) -> Conversation:
    """A session of a few turns with an edited file."""
    os.makedirs(home)
    talk = Conversation(converse.transcript_of(home))
    for number in range(3):
        talk.add(user(f"question {number}"))
        talk.add(Message("assistant", (Text("I look."), ToolUse(f"c{number}", "Grep", {"q": "x"}))))
        talk.add(Message("user", (ToolResult(f"c{number}", "found"),)))
        talk.add(Message("assistant", (Text(f"answer {number}"),)))
    FileHistory(talk.transcript, converse.layout_of(home).file_history(converse.SESSION)).changed("/a", b"1", b"2")
    talk.transcript.close()
    return talk


def words(messages: tuple[Message, ...]) -> list[tuple[str, ...]]:
    return [tuple(map(repr, message.content)) for message in messages]


def faults(calls: list[Call], *, thorough: bool) -> list[Fault]:
    """Killed at every call, and failed at every call with every error; in the sample, some calls and errors in turn."""
    killed = [Fault(call, "SIGKILL") for call in calls]
    if thorough:
        return killed + [Fault(call, error) for call in calls for error in ERRORS]
    step = max(1, len(calls) // SAMPLE)
    return killed[::step] + [Fault(call, ERRORS[at % len(ERRORS)]) for at, call in enumerate(calls)][:: 3 * step]


@pytest.mark.parametrize("name", ["append", "compact", "fork"])
def test_a_session_is_as_before_or_as_after_and_goes_on(
    name: str, workplace: str, thorough: bool, count: Callable[[str, int], None]
) -> None:
    folder = os.path.join(workplace, f"talk-{name}-{os.getpid()}")
    sound = os.path.join(folder, "sound")
    before = build(sound).messages
    home = os.path.join(folder, "home")
    calls = _calls(Step(name, home), sound)
    after = _left(home)
    assert calls
    struck = 0
    for fault in faults(calls, thorough=thorough):
        shutil.rmtree(home)
        shutil.copytree(sound, home)
        ended = strike(Step(name, home), home, fault)  # type: ignore[arg-type]
        struck += 1
        assert ended.was_killed == (fault.kind == "SIGKILL") or ended.code == 0, fault
        assert "Traceback" not in ended.err, f"{fault}: {ended.err}"
        _check(home, before, after, fault)
    count(f"calls of a conversation's {name} killed or failed", struck)
    shutil.rmtree(folder)


def _calls(step: Step, sound: str) -> list[Call]:
    shutil.copytree(sound, step.home)
    return calls_of(step, step.home)  # type: ignore[arg-type]


def _left(home: str) -> list[tuple[str, ...]]:
    return words(resume(converse.layout_of(home).session(converse.SESSION)).messages)


def _check(home: str, before: tuple[Message, ...], after: list[tuple[str, ...]], fault: Fault) -> None:
    layout = converse.layout_of(home)
    path = layout.session(converse.SESSION)
    left = resume(path)
    assert words(left.messages) in (words(before), after), fault
    assert damage_of(path).total <= 1, fault
    for other in transcripts_in(layout.project_home):
        assert words(resume(other).messages) in (words(before), after), f"{fault}: {other}"
    talk = Conversation.resume(converse.transcript_of(home))
    talk.add(user("and on"))
    talk.transcript.close()
    assert words(resume(path).messages) == [*words(left.messages), *words(talk.messages[-1:])], fault
