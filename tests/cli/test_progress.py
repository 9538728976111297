"""A first, large index is built under the eyes of whoever waits for it, and of nobody else (R3, R8)."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import threading
from pathlib import Path

import pytest

from memdir.memdir import MemDir, open_memory
from memdir.search.index_store import TOLD_FROM_BYTES
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user

FILES = 60
TEXT = "zeppelin hangar " * (TOLD_FROM_BYTES // FILES // 16 + 1)
SEARCH = ("search", "zeppelin")
RECALL = ("recall", "where is the hangar of the zeppelin?")
SESSIONS = ("search", "--sessions", "zeppelin")


@pytest.fixture(autouse=True)
def memory(project: Path) -> MemDir:
    """A store and a conversation that no index knows yet."""
    opened = open_memory(project)
    opened.start()
    talk = Conversation(opened.transcript("0f3a91c2-0000-4000-8000-000000000001"))
    for number in range(FILES):
        text = (
            f"---\nname: Hangar {number}\ndescription: the hangar of airship {number}\ntype: project\n---\n\n{TEXT}\n"
        )
        Path(opened.place.root, f"{number}.md").write_text(text, encoding="utf-8")
        talk.add(user(f"Airship {number}: {TEXT}"))
    talk.transcript.close()
    return opened


def run(command: str, words: tuple[str, ...], project: Path, columns: int = 0) -> tuple[str, str]:
    """What a command wrote to standard output, and to standard error that is a terminal."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    shown = bytearray()

    def watch() -> None:
        while select.select([controller], [], [], 20)[0]:
            try:
                part = os.read(controller, 65536)
            except OSError:  # the other side is closed
                return
            if not part:
                return
            shown.extend(part)

    watcher = threading.Thread(target=watch)
    process = subprocess.Popen([command, *words], cwd=project, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    watcher.start()
    out, _ = process.communicate(timeout=60)
    watcher.join()
    os.close(controller)
    return out.decode(), shown.decode()


@pytest.mark.parametrize("words", [SEARCH, RECALL, SESSIONS])
def test_a_terminal_shows_how_far_a_large_index_is_and_then_a_clean_line(
    memdir_command: str, project: Path, words: tuple[str, ...]
) -> None:
    out, shown = run(memdir_command, words, project)
    *lines, last = shown.split("\r\x1b[2K")
    assert [line.rpartition(": ")[2] for line in lines if line] == [f"0 of {FILES}", f"50 of {FILES}"]
    assert last == ""
    assert out
    assert run(memdir_command, words, project) == (out, ""), "the index is there now"


def test_a_narrow_terminal_is_not_filled_with_lines_that_wrap(memdir_command: str, project: Path) -> None:
    """X9: a line that wraps is not written over, and a number that is cut reads as another one."""
    _, shown = run(memdir_command, SEARCH, project, columns=24)
    lines = [line for line in shown.split("\r\x1b[2K") if line]
    assert lines and all(len(line) < 24 for line in lines) and lines[-1].endswith(f"50 of {FILES}")


@pytest.mark.parametrize("words", [SEARCH, RECALL, SESSIONS])
def test_programs_are_shown_nothing(memdir_command: str, project: Path, words: tuple[str, ...]) -> None:
    out, shown = run(memdir_command, (*words, "--json"), project)
    assert out.startswith("{")
    assert shown == ""


@pytest.mark.parametrize("words", [SEARCH, RECALL, SESSIONS])
def test_a_pipe_is_shown_nothing(memdir_command: str, project: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run([memdir_command, *words], cwd=project, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_small_index_is_nothing_to_tell_of(memdir_command: str, project: Path, memory: MemDir) -> None:
    for number in range(2, FILES):
        Path(memory.place.root, f"{number}.md").unlink()
    out, shown = run(memdir_command, SEARCH, project)
    assert "0.md" in out
    assert shown == ""
