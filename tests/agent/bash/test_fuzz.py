"""Any text gets a verdict, always the same one, and nothing that could write is ever allowed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdir.agent.bash.command_arguments import COMMANDS
from memdir.agent.bash.shell_judge import judge
from memdir.agent.gate import Allow, Deny

SHELLISH = st.lists(
    st.sampled_from(sorted(COMMANDS))
    | st.sampled_from(list(" \t\n;|&<>()[]{}$`'\"\\*?~#!=-,.:/^%@+"))
    | st.sampled_from(["touch x", "rm", "-o", "--output=x", "-exec", "-delete", "$(", "${", "$((", "<<", ">", "2>&1"])
    | st.sampled_from([" && ", " || ", " | ", " ; ", "a.txt", "src", "-n", "-e", "'w x'", "'{print}'", "sh", "-c"])
    | st.text(max_size=3),
    max_size=20,
).map("".join)
SEPARATORS = st.sampled_from([";", "\n", "&&", "||", "|", "|&", "&", "; ", " & ", "\n\n", ";\n", " || ! "])
WRITERS = st.sampled_from(["touch x", "rm a", "tee x", "sh -c ls", "cp a b", "sort -o x a", "find . -delete", "ls >x"])
WRAPPERS = st.sampled_from(
    ["{}", "({})", "$({})", "`{}`", "{{ {}; }}", "if true; then {}; fi", "f() {{ {}; }}; f", "! {}"]
)


@settings(max_examples=500, deadline=None)
@given(st.text() | SHELLISH)
def test_any_text_gets_the_same_verdict_twice(text: str) -> None:
    verdict = judge(text)
    assert isinstance(verdict, Allow | Deny)
    assert judge(text) == verdict


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["ls", "cat a", "grep foo a", "echo 'x'", 'echo "y"', "ls # c"]), SEPARATORS, WRAPPERS, WRITERS)
def test_a_writer_behind_any_separator_is_denied(first: str, separator: str, wrapper: str, writer: str) -> None:
    if "#" in first and "\n" not in separator:
        return  # there it is part of the comment
    assert isinstance(judge(first + separator + wrapper.format(writer)), Deny)


@pytest.mark.parametrize("depth", [50, 500, 2000])
@pytest.mark.parametrize("pair", ["()", "{}", "[]", "$()", "''", '""', "``", "\\\\"])
def test_deep_nesting_is_denied_without_trouble(depth: int, pair: str) -> None:
    half = len(pair) // 2 or 1
    assert isinstance(judge(pair[:half] * depth + "touch x" + pair[half:] * depth), Deny)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "cat " + "[" * 3_990,
        "cat " + "*/" * 1_900 + "*",
        "cat " + "*" * 3_900 + "x",
        "awk '" + "(" * 3_900 + "' a.txt",
        "awk '/" + "[[:alpha:]" * 380 + "' a.txt",
        "sed '" + "{" * 3_900 + "' a.txt",
        "sed 's/" + "\\[" * 1_900 + "' a.txt",
        "jq '" + "[" * 3_900 + "' a.json",
        "git log --format='" + "%h%" * 1_300 + "'",
        "cat " + "{a,b}" * 790,
        "ls \ud800 \udfff",
        "cat '\udc80*'",
        "ls a\x00b",
        "cat " + "../" * 1_300 + "etc/passwd",
        "cat " + "a" * 3_000 + "*",
    ],
)
def test_monstrous_text_is_judged_at_once(text: str, tmp_path: Path) -> None:
    began = time.process_time()
    assert isinstance(judge(text), Allow | Deny)
    assert isinstance(judge(text, cwd=str(tmp_path)), Allow | Deny)
    assert time.process_time() - began < 2
