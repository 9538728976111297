"""What a person sees: colour in a terminal, plain text in a pipe, nothing smuggled in."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdir.cli.terminal import Terminal, clean, fit, width_of
from memdir.memdir import open_memory
from memdir.settings import Environment
from tests.conftest import Ran


def in_a_terminal(command: list[str], cwd: Path, **more: str) -> str:
    """Run a command on a real pseudo-terminal and return what it wrote."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **more}
    process = subprocess.Popen(command, cwd=cwd, stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    output = b""
    while True:
        ready, _, _ = select.select([parent], [], [], 20)
        try:
            part = os.read(parent, 65536) if ready else b""
        except OSError:
            part = b""
        if not part:
            break
        output += part
    process.wait()
    os.close(parent)
    return output.decode()


def test_colour_in_a_terminal_and_none_in_a_pipe(
    memdir_command: str, project: Path, memdir: Callable[..., Ran]
) -> None:
    memdir("remember", "Never on Friday", "--type", "feedback")
    assert "\x1b[33mfeedback\x1b[0m" in in_a_terminal([memdir_command, "list"], project)
    assert "\x1b[" not in in_a_terminal([memdir_command, "list"], project, NO_COLOR="1")
    assert "\x1b[" not in in_a_terminal([memdir_command, "list", "--no-color"], project)
    assert "\x1b[" not in memdir("list").out


def test_a_table_fits_the_terminal(memdir_command: str, project: Path, memdir: Callable[..., Ran]) -> None:
    memdir("remember", "word " * 40, "--name", "n")
    lines = in_a_terminal([memdir_command, "list"], project, COLUMNS="60", NO_COLOR="1").splitlines()
    assert max(len(line) for line in lines) <= 60
    assert lines[1].endswith("…")


HOSTILE = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202edrowssap \x00 \x7f \ue000 \U000e0041 caf\u00e9 \u8a2d"


def test_escapes_in_memory_text_reach_no_terminal(memdir: Callable[..., Ran], project: Path) -> None:
    folder = Path(open_memory(project).place.root)
    folder.mkdir(parents=True)
    (folder / "x.md").write_text(f"---\nname: {HOSTILE}\ndescription: {HOSTILE}\ntype: user\n---\n\n{HOSTILE} needle\n")
    for words in (("list",), ("show", "x"), ("search", "needle"), ("log",), ("diff",), ("why", "x"), ("doctor",)):
        ran = memdir(*words)
        printed = ran.out + ran.err
        assert not set(printed) & set("\x1b\x07\x9b\u202e\x00\x7f\U000e0041"), words
    assert "café" in memdir("show", "x").out


@given(st.text())
def test_cleaned_text_has_nothing_a_terminal_acts_on(text: str) -> None:
    cleaned = clean(text)
    assert all(c.isprintable() or c in "\u00a0\u2028\u2029\u3000" or ord(c) > 0x9F for c in cleaned)
    assert "\x1b" not in cleaned and "\n" not in cleaned
    assert clean(cleaned) == cleaned


def test_newlines_stay_only_where_asked_for() -> None:
    assert clean("a\nb\r\tc", keep_newlines=True) == "a\nb␍    c"
    assert clean("a\nb") == "a b"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("設計", 4), ("e\u0301", 1), ("ｆ", 2)])
def test_width_counts_columns(text: str, width: int) -> None:
    assert width_of(text) == width


def test_cutting_counts_columns_too() -> None:
    assert fit("設計メモ", 5) == "設計…"
    assert fit("abc", 3) == "abc"


def test_forced_colour_and_highlighting() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, Environment({"FORCE_COLOR": "1"}))
    assert terminal.highlighted("Deploy deploys", ["deploy"]) == "\x1b[31mDeploy\x1b[0m \x1b[31mdeploy\x1b[0ms"
    terminal.patch("diff --git a b\n+new\n-old\n@@ x\n same\n")
    assert "\x1b[32m+new\x1b[0m" in stream.getvalue()
    assert Terminal(io.StringIO(), Environment({"TERM": "dumb"})).colour is False


def test_a_reader_that_goes_away_is_no_error(memdir_command: str, project: Path, memdir: Callable[..., Ran]) -> None:
    memdir("remember", "x " * 50_000)
    done = subprocess.run(
        f"{memdir_command} show x | head -c 5", shell=True, cwd=project, capture_output=True, text=True
    )
    assert done.stderr == ""


def test_completion_works_in_a_real_bash(memdir_command: str, project: Path, memdir: Callable[..., Ran]) -> None:
    memdir("remember", "Never on Friday", "--type", "feedback")
    script = f"""
    PATH={Path(memdir_command).parent}:$PATH
    eval "$(memdir completion bash)"
    COMP_WORDS=(memdir rem); COMP_CWORD=1; _memdir; echo "${{COMPREPLY[@]}}"
    COMP_WORDS=(memdir show feed); COMP_CWORD=2; _memdir; echo "${{COMPREPLY[@]}}"
    COMP_WORDS=(memdir list --js); COMP_CWORD=2; _memdir; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["remember", "feedback_never_on_friday.md", "--json"]
    for shell in ("zsh", "fish"):
        assert "memdir completion" in memdir("completion", shell).out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["list", "--help", "--version", "list --help", "config get --help", "list --json"])
def test_an_output_without_room_is_told_in_words(
    memdir_command: str, project: Path, unbuffered: str, words: str
) -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [memdir_command, *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=project,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            check=False,
        )
    assert ran.returncode == 9
    assert ran.stderr.startswith("memdir: the output cannot be written: ")
    assert "Traceback" not in ran.stderr
