"""The first reader unquotes exactly as bash does, or refuses: compared with the real bash on generated lines."""

from __future__ import annotations

import shutil
import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memdir.agent.bash.shell_judge import check_tree
from memdir.agent.bash.shell_words import Refused, Simple, read_commands

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")

FRAGMENTS = st.sampled_from(
    [
        *(
            "a",
            "b.md",
            "-n",
            "--",
            "x=1",
            " ",
            "  ",
            "\t",
            "'",
            '"',
            "\\",
            "\\\n",
            "$",
            "$'",
            "\\t",
            "`",
            "{",
            "}",
            ",",
        ),
        *(
            "{a,b}",
            "{x}",
            "{1..3}",
            "..",
            "*",
            "?",
            "[",
            "]",
            "~",
            "=",
            ":",
            "#",
            " #",
            "!",
            "^",
            "%",
            "@",
            "+",
            "1",
            "2",
        ),
        *("'a b'", '"c d"', "\\ ", "''", '"a$"', '"$|"', "ü", "é b", "2>&1", " 2>&1", " >/dev/null", " 2> /dev/null"),
        *("\\'", '\\"', '"\\$x"', '"\\a"', "\n", ">", "<", "&", "(", "{,a}", "\\;", " >&2", '$"', "[[", "a="),
    ]
)
COMMANDS = st.lists(st.lists(FRAGMENTS, max_size=8).map("".join), min_size=1, max_size=3)
JOINTS = st.sampled_from([" ; ", ";", " && ", "\n", " | ", "|", " |\n"])
# Every command of a generated line is this function, which writes its words to descriptor 3 and does nothing else.
PRELUDE = "set -f; p() { printf '%s\\0' \"$@\" $'\\1' >&3; }\n"


def words_by_bash(line: str) -> list[list[str]]:
    """What bash hands to each `p`, sorted, since the stages of a pipe run at the same time."""
    with tempfile.TemporaryFile() as out:
        assert BASH is not None
        subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", f'exec 3>&{out.fileno()}; eval "$0"', PRELUDE + line],
            pass_fds=[out.fileno()],
            env={"LC_ALL": "C.UTF-8", "PATH": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        out.seek(0)
        words = out.read().decode("utf-8").split("\0")[:-1]
    calls: list[list[str]] = [[]]
    for word in words:
        if word == "\1":
            calls.append([])
        else:
            calls[-1].append(word)
    return sorted(calls[:-1])


def words_by_reader(commands: list[Simple]) -> list[list[str]]:
    return sorted([word.text for word in command.arguments] for command in commands)


@needs_bash
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(COMMANDS, st.lists(JOINTS, min_size=2, max_size=2))
def test_accepted_lines_have_the_words_bash_sees(commands: list[str], joints: list[str]) -> None:
    line = "".join(f"p {command}{joint}" for command, joint in zip(commands, [*joints, ""], strict=False))
    try:
        read = read_commands(line)
        check_tree(line, read)
    except Refused:
        assume(False)
        return
    assume(all(command.name == "p" for command in read))
    assert words_by_bash(line) == words_by_reader(read)


@needs_bash
@pytest.mark.parametrize(
    "line",
    [
        "p 'a b' c",
        'p "a b" c',
        "p a\\ b",
        "p a'b'\"c\"d",
        "p ''",
        'p "a\\"b" "\\$x" "\\a"',
        "p $'a\\tb' $'it\\'s'",
        "p a$ b",
        'p "a$" "$|"',
        "p {a,b}c x{,y}",
        "p HEAD@{1} {} {x}",
        "p src/{a,b}/{c,d}",
        "p a#b #c",
        "p a \\\n b",
        "p 'a\nb'",
        "p a; p b\np c",
        "p a | p b |\n p c",
        "p a=b x:y",
        "p [a-z]* ?",
        "p a 2>&1 b >/dev/null",
        "p HEAD~1 a~",
    ],
)
def test_known_forms_are_read_as_bash_reads_them(line: str) -> None:
    read = read_commands(line)
    assert words_by_bash(line) == words_by_reader(read)


def test_a_pattern_knows_whether_it_may_become_an_option() -> None:
    (command,) = read_commands("x * ./* a* '*' -* [-]x \\*")
    assert [word.may_become_option for word in command.arguments] == [True, False, False, False, True, True, False]


def test_readers_that_disagree_refuse() -> None:
    """A line that one parser reads otherwise than the other is refused, whoever is right."""
    commands = read_commands("ls a b")
    with pytest.raises(Refused, match="more than one way"):
        check_tree("ls a  b", commands)
