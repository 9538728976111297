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


@pytest.mark.parametrize(
    "said", ["Remember my card number {} exp 09/28.", "Merk dir meine Kreditkarte {}, Prüfziffer 123."]
)
def test_a_card_number_is_not_written_down(said: str) -> None:
    assert drafts(f"u: {said.format(' '.join(['4111', *['1' * 4] * 3]))}\na: Noted.") == ()


@pytest.mark.parametrize("said", ["Remember my IBAN is {} and the CVC is 123.", "Retiens mon IBAN : {}"])
def test_a_bank_account_is_not_written_down(said: str) -> None:
    account = " ".join(("DE" + "89", "3704", "0044", "0532", "0130", "00"))
    assert drafts(f"u: {said.format(account)}\na: Noted.") == ()


def test_an_empty_conversation_gives_nothing() -> None:
    assert drafts("a: Hello.") == ()
