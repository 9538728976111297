"""Text to words and terms (R3): identifiers, accents, scripts without spaces, endings."""

from __future__ import annotations

import pytest

from memdir.text.stems import stem, terms
from memdir.text.words import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("createCustomerOnce", ["createcustomeronce", "create", "customer", "once"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("src/pay_roll/run.py", ["src", "pay", "roll", "run", "py"]),
        ("Où est la Größe? don’t", ["ou", "est", "la", "grosse", "dont"]),
        ("東京都の天気", ["東京", "京都", "都の", "の天", "天気"]),
        ("ＡＢＣ", ["abc"]),
        ("", []),
    ],
)
def test_text_is_split_into_the_words_people_search_for(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    "family",
    [
        ["deployment", "deploys", "deployed", "deploying"],
        ["migration", "migrations", "migrate", "migrated"],
        ["policy", "policies"],
        ["cache", "caches", "caching"],
        ["test", "tests", "testing"],
    ],
)
def test_words_of_one_family_share_a_term(family: list[str]) -> None:
    assert len({stem(word) for word in family}) == 1


def test_words_of_different_families_stay_apart() -> None:
    words = ["bus", "status", "order", "border", "sing", "sin", "rate", "rat", "native"]
    assert len({stem(word) for word in words}) == len(words)


def test_stop_words_of_several_languages_are_no_terms() -> None:
    assert terms(split_words("what is the und der le les o que van het")) == []


def test_bytes_that_are_no_text_cost_nothing_else() -> None:
    assert split_words(b"ok \xff\xfe fine".decode("utf-8", "surrogateescape")) == ["ok", "fine"]
