"""When extraction keeps quiet: ordinary talk, this task only, others' wishes, what-ifs, irony, the derivable (T5)."""

from __future__ import annotations

import pytest

from .talk import cases, drafts, memory

CASES = cases("silence.txt")


@pytest.mark.parametrize("title", CASES)
def test_nothing_is_written(title: str) -> None:
    assert drafts(CASES[title]) == ()


def test_what_the_instruction_file_says_is_not_saved_again() -> None:
    script = "u: reminder: run `make conform` before every commit and put samples into fixtures/hl7, always\na: Done."
    assert not drafts(script, instructions="- Before every commit: `make conform`.\n- Samples live in fixtures/hl7.")
    assert not drafts(f"{script}\nu: it's all in AGENTS.md\na: Yes.", instructions="Run `make conform` always.")


def test_what_a_memory_already_says_is_not_saved_again() -> None:
    known = memory("feedback_letters_prose.md", "Letters to readers: running text, no bullet lists")
    assert not drafts("u: and as always: no bullet lists in the letters to readers, running text\na: Sure.", known)


def test_an_empty_conversation_gives_nothing() -> None:
    assert drafts("a: Hello.") == ()
