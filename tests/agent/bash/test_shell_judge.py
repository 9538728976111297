"""The judge allows what is provably read-only and denies everything else, with a reason a model can act on (G4)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memdir.agent.bash.command_arguments import COMMANDS, HINTS
from memdir.agent.bash.shell_judge import MAX_CHARS, MAX_COMMANDS, MAX_WORDS, judge
from memdir.agent.bash.shell_paths import loose_pattern
from memdir.agent.gate import Allow, Deny

from .place import lines

HERE = Path(__file__).parent
HARMLESS = lines(HERE / "harmless.txt")
HOSTILE = lines(HERE / "hostile.txt")


@pytest.mark.parametrize("command", HARMLESS)
def test_harmless_command_is_allowed(command: str) -> None:
    assert judge(command) == Allow()


@pytest.mark.parametrize("command", HOSTILE)
def test_hostile_command_is_denied_with_a_sentence(command: str) -> None:
    verdict = judge(command)
    assert isinstance(verdict, Deny)
    assert verdict.reason.endswith(".")
    assert ":" in verdict.reason  # what is wrong, then what to do instead


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "\n\n",
        "\t",
        "ls \x00; touch x",
        "ls\r",
        "ls\r\ntouch x",
        "ls\x0btouch",
        "ls\x0ctouch",
        "ls\x1b[2K",
        "ls\x7f",
        "ls\x85rm x",
        "ls\u00a0-la",
        "ls\u2003-la",
        "ls\u3000touch",
        "ls\u2028touch x",
        "ls\u200b",
        "l\u200bs",
        "\ufeffls",
        "ls \u202etouch",
        "ls \ud800",
        "ｌｓ",
        "ls；touch x",
    ],
)
def test_invisible_and_control_characters_never_pass(command: str) -> None:
    assert isinstance(judge(command), Deny)


def test_quoted_text_in_any_language_is_allowed() -> None:
    assert judge("grep 'größe — 大きさ' README.md") == Allow()


@pytest.mark.parametrize(
    ("fits", "too_much"),
    [
        ("cat " + "a" * (MAX_CHARS - 4), "cat " + "a" * (MAX_CHARS - 3)),
        ("; ".join(["ls"] * MAX_COMMANDS), "; ".join(["ls"] * (MAX_COMMANDS + 1))),
        ("cat" + " a" * (MAX_WORDS - 1), "cat" + " a" * MAX_WORDS),
    ],
)
def test_over_any_cap_means_deny(fits: str, too_much: str) -> None:
    assert judge(fits) == Allow()
    assert isinstance(judge(too_much), Deny)


@pytest.mark.parametrize(
    ("command", "word", "remedy"),
    [
        ("touch x", "`touch`", "Write and Edit"),
        ("cd src && ls", "`cd`", "`ls src`"),
        ("less a.txt", "`less`", "`cat`"),
        ("curl http://x.example", "`curl`", "network"),
        ("jq .name a.json", "`jq`", "Read and Grep"),
        ("xxd a.txt", "`xxd`", "`od`"),
        ("command -v git", "`command`", "`which`"),
        ("ps aux", "`ps`", "no other processes"),
        ("ls log{1..3}.txt", "`log{1..3}.txt`", "write the names out"),
        ("frobnicate", "`frobnicate`", "Read, Grep and Glob"),
        ("sort -o x a.txt", "`sort -o`", "leave it out"),
        ("grep --recur foo .", "`grep --recur`", "spell it in full"),
        ("sort *.txt", "`*.txt`", "`./*.txt`"),
        ("find . -name *.md", "`*.md`", "quote it"),
        ("cat ~/notes.md", "`~`", "full path"),
        ("git checkout main", "`git checkout`", "log, show, diff"),
        ("git branch new", "`git branch new`", "--list"),
        ("cat .env", "`.env`", "ask the user"),
        ("cat", "`cat`", "name the file"),
        ("find / -name x", "`/`", "name the folder"),
        ("ls > out", "Redirection", "comes back to you"),
    ],
)
def test_the_reason_names_the_word_and_what_to_do_instead(command: str, word: str, remedy: str) -> None:
    verdict = judge(command)
    assert isinstance(verdict, Deny)
    assert word in verdict.reason
    assert remedy in verdict.reason


def test_a_reason_shows_long_or_unprintable_words_safely() -> None:
    verdict = judge("x" * 500 + "é")
    assert isinstance(verdict, Deny)
    assert len(verdict.reason) < 300


def test_no_command_is_both_allowed_and_hinted_away() -> None:
    assert not COMMANDS.keys() & HINTS.keys()


def test_importing_the_judge_loads_no_parser() -> None:
    """A process that never sees a Bash call must not pay for the native library."""
    code = "import memdir.agent.bash.shell_judge, sys; print('tree_sitter' in sys.modules or 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_missing_parser_means_deny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    verdict = judge("ls")
    assert isinstance(verdict, Deny)
    assert "parser" in verdict.reason


def test_patterns_that_were_read_are_kept_within_a_limit() -> None:
    """An agent may write any, in a process that runs all day."""
    assert loose_pattern.cache_parameters()["maxsize"]
