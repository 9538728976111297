"""Whose a rule is, by its words: the person's, the project's, or nobody can tell (T1)."""

from __future__ import annotations

import pytest

from memdir.remember.lineage import is_personal

PERSONAL = [
    "Please keep your answers short",
    "Don't apologise all the time",
    "Call me Ines, not Mrs Keller",
    "Ask me before you delete anything",
    "Stop summarising what you just did at the end of every response",
    "Antworte mir bitte immer knapp und auf Deutsch",
    "Quand tu réponds, sois bref et parle-moi en français.",
    "Explícame las cosas como tú quieras, pero paso a paso.",
    "回答请简短",
    "説明は日本語でお願いします",
    "한국어로 대답해 주세요",
    "Отвечай мне кратко",
    "In all my projects use conventional commits",
    "Not just here: run the linter before committing, wherever I work",
]
OF_THE_PROJECT = [
    "In this repo use tabs",
    "Use pnpm here, not npm",
    "Respond with 404 when the invoice is missing in this service",
    "In diesem Projekt antworten die Endpunkte mit JSON",
    "Dans ce dépôt, les commits sont en français",
    "Everywhere in this repository answer with JSON",
]
UNTOLD = [
    "The answer service must return 404",
    "Tests use a real database, never mocks",
    "Commit messages in English",
    "Keep the README brief",
    "We answer tickets within a day",
    "Explain every migration in docs/migrations.md",
    "Our API replies are in snake_case",
    "Always use tabs",
]


@pytest.mark.parametrize("rule", PERSONAL)
def test_how_somebody_wants_to_be_worked_with_is_personal(rule: str) -> None:
    assert is_personal([rule]) is True


@pytest.mark.parametrize("rule", OF_THE_PROJECT)
def test_what_names_the_project_is_not(rule: str) -> None:
    assert is_personal([rule]) is False


@pytest.mark.parametrize("rule", UNTOLD)
def test_a_rule_for_the_work_does_not_tell_by_itself(rule: str) -> None:
    assert is_personal([rule]) is None


def test_the_words_in_which_it_was_said_count_as_well() -> None:
    assert is_personal(["Always use tabs.", "In this repo always use tabs."]) is False
    assert is_personal(["Always use tabs.", "In every project I want tabs."]) is True
