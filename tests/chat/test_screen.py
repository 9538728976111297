"""What a chat prints: in one line what is one, whole what must be whole, and nothing that speaks for us."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from memdir.chat.blocks import Blocks
from memdir.chat.screen import Screen
from tests.timing import cpu_seconds


@pytest.fixture(params=[40, 80, 120])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("command", ["ls", "echo " + "long " * 90, "echo " + "日本語" * 60])
@pytest.mark.parametrize("content", ["ok", "a reason that goes on and on " * 9, "one\ntwo\nthree"])
def test_a_call_of_a_tool_is_one_line_and_can_be_opened(
    capsys: pytest.CaptureFixture[str], columns: int, command: str, content: str, is_error: bool
) -> None:
    screen = Screen()
    screen.tool(12, screen.tool_line("Bash", {"command": command}), content, is_error=is_error)
    (line,) = lines(capsys)
    assert cell_len(line) <= columns and line.startswith("✗ Bash " if is_error else "✓ Bash ")
    assert line.endswith("  /open 12")


def test_a_task_that_is_handed_over_says_to_whom() -> None:
    assert Screen.tool_line("Agent", {"agent": "reviewer", "task": "Look\nat it"}) == "Agent reviewer Look at it"


def test_a_command_that_is_asked_about_is_shown_whole_and_never_where_our_lines_begin(
    capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    words = [f"word{number}" for number in range(60)]
    Screen().command(f"{' '.join(words)}\n✓ Bash rm -rf /\x1b[2K\x1b[1A")
    shown = lines(capsys)
    assert " ".join(shown).split() == ["$", *words, "$", "✓", "Bash", "rm", "-rf", "/"]
    assert all(line.startswith("  ") and cell_len(line) <= columns for line in shown)


def test_a_line_of_a_diff_that_wraps_is_no_other_line(capsys: pytest.CaptureFixture[str], columns: int) -> None:
    long = "x" * 30 + " " * 200 + "-harmless = 1 " + "日本語" * 40
    Screen().diff(f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+{long}\n\n same")
    shown = lines(capsys)
    assert [line for line in shown if line[:1] in "+-@"][:4] == ["--- a/a.py", "+++ b/a.py", "@@ -1 +1 @@", "-old"]
    assert [line[:1] for line in shown[4:] if line[:1] in ("+", "-")] == ["+"], "the rest of it stands behind the signs"
    assert all(cell_len(line) <= columns for line in shown) and shown[-1] == " same"
    assert "".join("".join(shown[4:-1]).split()) == "+" + "".join(long.split())


@pytest.mark.parametrize("end", "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
def test_no_sign_in_a_line_of_a_diff_makes_another_line(capsys: pytest.CaptureFixture[str], end: str) -> None:
    Screen().diff(f"--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n old\n+# note{end} harmless = 1{end}")
    spelled = repr(end)[1:-1]
    assert lines(capsys)[3:] == [" old", f"+# note{spelled} harmless = 1{spelled}"]


def test_a_return_is_spelled_where_not_every_line_ends_with_one() -> None:
    head = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n"
    assert Screen.spelled(f"{head} one\r\n-two\r\n+three\r") == f"{head} one\n-two\n+three"
    assert Screen.spelled(f"{head} one\r\n-two\r\n+two") == f"{head} one\\r\n-two\\r\n+two"


def test_a_reply_has_no_holes_and_says_where_a_link_leads(capsys: pytest.CaptureFixture[str], columns: int) -> None:
    screen = Screen()
    for block in ("# Title", "- a\n- b", "```\nx = 1\n\ny = 2\n```", "| a | b |\n|---|---|\n| 1 | 2 |"):
        screen.reply(block)
    shown = lines(capsys)
    assert (shown[0], shown[1], shown[-1]) == ("Title", "", "")
    holes = [at for at in range(1, len(shown)) if not shown[at] and not shown[at - 1]]
    assert not holes, "one empty line between two blocks, inside a block what it holds"
    screen.reply("[https://bank.example](https://evil.example)")
    assert "https://evil.example" in " ".join(lines(capsys))


def test_no_word_of_a_table_is_cut_however_narrow_the_terminal_is(
    capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    words = [
        "src/memdir/remember/purge_source.py",
        "removes what came from a page",
        "platform-team@example.org",
        "2026",
    ]
    rows = (["file", "what it does", "who", "since"], ["---"] * 4, words, ["b.py", *words[1:]])
    Screen().reply("\n".join(f"| {' | '.join(row)} |" for row in rows))
    shown = lines(capsys)
    assert all(cell_len(line) <= columns for line in shown) and "…" not in "".join(shown)
    if columns == 40:
        assert "what it does: removes what came from a" in shown and "since: 2026" in shown
    else:
        assert shown[0].split()[-1] == "since"


def test_what_is_live_breaks_between_words_and_never_wraps(columns: int) -> None:
    words, wide = "Which model may answer here?  2  claude by anthropic with ANTHROPIC_API_KEY", "日本語" * 30
    rows = Screen.rows(f"{words}\n{wide}", columns)
    assert all(cell_len(row) < columns for row in rows)
    at = next(number for number, row in enumerate(rows) if row.startswith("日"))
    assert " ".join(rows[:at]).split() == words.split() and "".join(rows[at:]) == wide
    assert cell_len(Screen.fitted(words * 9, columns)) <= columns
    choice = Screen.rows(
        "  2  claude by anthropic with the key in ANTHROPIC_API_KEY, as it was found there", columns, 5
    )
    assert choice[0].startswith("  2  claude") and all(cell_len(row) < columns for row in choice)
    assert all(row.startswith("     ") and row[5] != " " for row in choice[1:]), (
        "below what it says, not below its digit"
    )


def test_all_that_a_tool_told_is_shown_when_it_is_opened(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().opened("Read a.py", "\n".join(f"line {number}" for number in range(2_000)))
    shown = lines(capsys)
    assert len(shown) == 2_001 and shown[-1] == "  line 1999"


def test_a_line_that_goes_on_and_on_costs_no_more_for_each_of_its_words() -> None:
    """H1: a table, a URL or an array without an end; each word is put on the screen as it comes."""

    def streamed(words: int) -> str:
        blocks = Blocks()
        for number in range(words):
            assert blocks.take(f"word {number} of it, ") == []
            live = blocks.tail(500)
        assert live.endswith(f"word {words - 1} of it, ") and len(live) == 500
        (whole,) = blocks.end()
        return whole

    assert streamed(40).startswith("word 0 of it, word 1 of it, ")
    assert cpu_seconds(lambda: streamed(40_000)) < 10 * cpu_seconds(lambda: streamed(10_000))


def test_code_of_any_length_and_language_stops_nobody_and_short_code_is_in_colour(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """H1: to find the colours of this takes the square of its length."""
    code = "a " * 5_000
    assert cpu_seconds(lambda: Screen().reply(f"```java\n{code}!\n```"), enough=3) < 3
    assert "".join(lines(capsys)).split().count("a") == 5_000
    Screen().reply("```python\nreturn 1\n```")
    assert "\x1b[94m" in capsys.readouterr().out


def test_a_long_diff_is_shown_whole_and_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    """H1."""
    said = [f"{sign}\tline {number}" for sign in "-+" for number in range(15_000)]
    assert cpu_seconds(lambda: Screen().diff("\n".join(said)), enough=3) < 3
    shown = capsys.readouterr().out
    assert "\x1b[31m-       line 0\x1b[0m\n" in shown and shown.count("\x1b[32m+") == 15_000


@pytest.mark.parametrize("columns", range(1, 9))
def test_no_terminal_is_too_narrow_for_a_question(columns: int) -> None:
    assert "".join("".join(Screen.rows("  1  yes, once", columns, 5)).split()) == "1yes,once"


def test_what_is_live_is_the_end_of_the_block_that_is_not_complete() -> None:
    blocks = Blocks()
    assert blocks.take("# Title\n\none\ntwo\nthr") == ["# Title"]
    assert (blocks.tail(100), blocks.tail(5)) == ("one\ntwo\nthr", "o\nthr")
    assert blocks.take("ee\n```\ncode\n\nmore") == ["one\ntwo\nthree"]
    assert blocks.tail(100) == "```\ncode\n\nmore"
    assert blocks.take("\n```\n") == ["```\ncode\n\nmore\n```"] and blocks.end() == []
