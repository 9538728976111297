"""Conversations end to end: a host that is killed, a window that fills, a memory that can be traced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
Program = Callable[..., str]


@pytest.fixture
def say(project: Path) -> Callable[[str, str], str]:
    """One turn of the example host, in a process of its own."""

    def turn(session: str, text: str) -> str:
        command = [sys.executable, str(ROOT / "examples" / "session.py"), str(project), session, text]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    return turn


@pytest.fixture
def program(memdir_command: str, project: Path) -> Program:
    def run(*words: str) -> str:
        done = subprocess.run(
            [memdir_command, *words], cwd=project, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    return run


@pytest.mark.behaviour("conversations-go-on")
def test_a_conversation_goes_on_in_another_process_and_in_a_fork(
    say: Callable[[str, str], str], program: Program
) -> None:
    say("monday", "Good morning. We look at the invoices today.")
    assert "(4 messages" in say("monday", "Where were we?")
    forked = json.loads(program("fork", "monday", "--json"))["session"]
    assert "(6 messages" in say(forked, "And another way?")
    assert "(6 messages" in say("monday", "And the first way?")
    left = json.loads(program("resume", forked, "--json"))
    assert [message["content"][0]["text"] for message in left["messages"]][::2] == [
        "Good morning. We look at the invoices today.",
        "Where were we?",
        "And another way?",
    ]


@pytest.mark.behaviour("memories-lead-back-to-the-conversation")
def test_what_was_learned_leads_back_to_the_words(say: Callable[[str, str], str], program: Program) -> None:
    words = "From now on never mock the database in tests: mocks hid a broken migration last quarter."
    say("monday", words)
    listed = json.loads(program("list", "--json"))["memories"]
    assert len(listed) == 1
    assert f"> {words}" in program("why", listed[0]["file"])
    hits = json.loads(program("search", "--sessions", "broken migration", "--json"))["matches"]
    assert hits[0]["session"] == "monday"


@pytest.mark.behaviour("a-full-window-is-survived")
def test_a_conversation_outgrows_the_window_and_goes_on(
    say: Callable[[str, str], str], program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = Path(os.environ["MEMDIR_HOME"])
    home.mkdir()
    (home / "settings.json").write_text('{"model.contextTokens": 6000}')
    for number in range(6):
        say("monday", f"Note {number}: {'the invoices of this month are checked by hand, line after line. ' * 60}")
    left = json.loads(program("resume", "monday", "--json"))
    assert left["compacted"], "it begins with a summary"
    assert left["tokens"] < 6000
    whole = json.loads(program("sessions", "show", "monday", "--json"))["messages"]
    assert sum(message["content"][0]["text"].startswith("Note ") for message in whole) == 6, "nothing is deleted"
