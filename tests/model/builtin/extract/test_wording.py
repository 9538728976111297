"""Sentences are tidied without changing what they say."""

from __future__ import annotations

import pytest

from memdir.model.builtin.extract.wording import rule_and_reason, tidy
from memdir.text.naming import title


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("No mocks in integration tests.", "en"),
        ("Stop adding summaries at the end.", "en"),
        ("Wait for the second review before you merge.", "en"),
        ("One more reviewer is needed for payments.", "en"),
        ("No uses mocks en las pruebas.", "es"),
        ("Não use mocks nos testes.", "pt"),
        ("Nie używaj atrap w testach.", "pl"),
        ("Non usare mock nei test.", "it"),
        ("Ne používej mocky v testech.", "cs"),
    ],
)
def test_a_word_that_forbids_is_never_taken_for_an_opening(said: str, language: str) -> None:
    """Without its first word each of these would say the opposite."""
    assert tidy(said, language) == said


@pytest.mark.parametrize(
    ("said", "language", "kept"),
    [
        ("no, use the real database", "en", "Use the real database."),
        ("Stop. Use tabs here", "en", "Use tabs here."),
        ("ok so by the way the freeze is on Friday", "en", "The freeze is on Friday."),
        ("Nein, bitte echte Daten nehmen", "de", "Bitte echte Daten nehmen."),
    ],
)
def test_an_opening_that_says_nothing_is_left_out(said: str, language: str, kept: str) -> None:
    assert tidy(said, language) == kept


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("npm is what our CI caches.", "en"),
        ("npmはCIがキャッシュします。", "ja"),
        ("kubectl must point at staging first.", "en"),
        ("iOS builds need a Mac.", "en"),
        ("feat/ is the prefix of every branch.", "en"),
        ("`make` is run by the CI.", "en"),
        ("pnpm ist bei uns Pflicht.", "de"),
        ("uv gère nos environnements.", "fr"),
    ],
)
def test_a_name_that_begins_a_sentence_keeps_its_case(said: str, language: str) -> None:
    assert tidy(said, language) == said
    assert title(said)[0] == said[0]


def test_an_exception_is_not_the_name_of_its_rule() -> None:
    assert title("Don't use any, unless a third-party type forces you to").startswith("Don't use any")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("use pnpm here, otherwise the lockfile breaks", "otherwise the lockfile breaks"),
        ("use pnpm here, the lockfile breaks otherwise", ""),
    ],
)
def test_a_reason_says_something(said: str, reason: str) -> None:
    assert rule_and_reason(said, "en")[1] == reason
