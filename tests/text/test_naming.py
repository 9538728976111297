"""Names for a memory that came without (S6, S7)."""

from __future__ import annotations

import pytest

from memdir.disk.safe_path import is_key
from memdir.text.naming import (
    MAX_DESCRIPTION,
    MAX_STEM,
    MAX_TITLE,
    describe,
    file_stem,
    first_words,
    free_key,
    title,
    titled,
)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("No mocks, ever!", "no_mocks_ever"),
        ("Größe der Bäckerei", "grösse_der_bäckerei"),
        ("デプロイの手順", "デプロイの手順"),
        ("हिन्दी नोट", "हिन्दी_नोट"),
        ("../../etc/passwd", "etc_passwd"),
        ("!!!", "note"),
        ("CON", "note_note"),
    ],
)
def test_a_file_name_is_made_from_a_title_in_any_script(name: str, stem: str) -> None:
    assert file_stem(name) == stem
    assert is_key(f"{stem}.md")


def test_a_file_name_stays_short_whole_words_first() -> None:
    assert file_stem("word " * 40).endswith("_word")
    assert len(file_stem("ö" * 400).encode()) <= MAX_STEM


def test_a_kind_stands_before_the_name_once() -> None:
    assert file_stem("Testing", "feedback") == "feedback_testing"
    assert file_stem("feedback testing", "feedback") == "feedback_testing"


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_key("a", {"a.md", "a_2.md"}.__contains__) == "a_3.md"


def test_a_description_is_the_first_sentence_and_no_body() -> None:
    assert describe("## Never mock the queue. It hid a bug.") == "Never mock the queue"
    assert len(describe("word " * 400)) <= MAX_DESCRIPTION
    assert describe("不要模拟队列。 它隐藏了一个错误。") == "不要模拟队列"
    assert describe("") == ""


@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        ("Tests use a real database.\n\n**Why:** a mock hid it.", "", "Tests use a real database"),
        ("Release day\n\n**Why**: customers.", "", "Release day"),
        ("Release day\nWe ship on **Tuesdays**.", "Release day", "We ship on Tuesdays"),
        ("We ship on Tuesdays\nbecause ops is in", "We ship on Tuesdays", "We ship on Tuesdays because ops is in"),
        ("Package manager:\nuv, never pip. It is faster.", "Package manager", "uv, never pip"),
        ("# Areas\n\n- 3 * 4 is 12\n- more", "Areas", "3 * 4 is 12 more"),
    ],
)
def test_a_label_is_no_description_and_marks_inside_a_line_are_text(text: str, name: str, description: str) -> None:
    found, rest = titled(text)
    assert (found, describe(rest)) == (name, description)


def test_a_title_is_the_first_clause_that_says_something() -> None:
    assert title("ok, so: run the linter on all changed files") == "Run the linter on all changed files"
    long = title("use the staging database for all of the integration tests that need a queue and the cache")
    assert len(long) <= MAX_TITLE and not long.endswith(("the", "…"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Please never push to main", "Never push to main"),
        ("Never push to main, please!", "Never push to main"),
        ("Please, please keep replies short", "Keep replies short"),
        ("Could you please always run the linter first?", "Always run the linter first"),
        ("Can you use tabs?", "Use tabs"),
        ("I'd like you to answer in German", "Answer in German"),
        ("Bitte nie direkt auf main pushen", "Nie direkt auf main pushen"),
        ("Kannst du bitte immer Tabs nehmen?", "Immer Tabs nehmen"),
        ("S'il te plaît, n'utilise jamais de tabulations", "N'utilise jamais de tabulations"),
        ("Veuillez répondre en français", "Répondre en français"),
        ("Por favor, nunca uses mocks", "Nunca uses mocks"),
        ("Per favore non usare emoji", "Non usare emoji"),
        ("Alsjeblieft geen emoji gebruiken", "Geen emoji gebruiken"),
        ("Proszę nie używać tabulatorów", "Nie używać tabulatorów"),
        ("Пожалуйста, отвечай коротко", "Отвечай коротко"),
        ("Lütfen kısa yaz", "Kısa yaz"),
    ],
)
def test_a_title_does_without_what_was_only_polite(said: str, told: str) -> None:
    assert (first_words(said), title(said)) == (told, told)


@pytest.mark.parametrize(
    "said", ["Pleasekeep holds our passwords", "Tu peux pousser sur main", "-5 degrees is the limit", "Please"]
)
def test_what_only_looks_polite_stays(said: str) -> None:
    assert first_words(said) == said


def test_the_first_words_of_a_text_end_at_a_pause() -> None:
    assert first_words("Deploys are frozen, ask Ana") == "Deploys are frozen"
    assert first_words("I keep the staging keys in the vault") == "I keep the staging keys", "and not in a small word"
    assert first_words("The depot that we moved to, in May, has a ramp") == "The depot that we moved to"
    assert first_words("") == "memory"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("We ship 2.0 in two weeks (2026-12-03)", "We ship 2.0 in two weeks (2026-12-03)"),
        ("The freeze is next week (week of 2026-11-23)", "The freeze is next week (week of 2026-11-23)"),
        ("The standup is at 9:30 until Friday 2026-11-20", "The standup is at 9:30 until Friday 2026-11-20"),
        ("We all agreed to drop Python 3.10 (the oldest that we had)", "We all agreed to drop Python 3.10"),
        (f"The freeze is next week (week of all the releases, {'x' * 30}, 2026-11-23)", "The freeze is next week"),
    ],
)
def test_the_first_words_of_a_text_tell_its_day_where_there_is_room_and_end_in_no_bracket(said: str, told: str) -> None:
    assert first_words(said) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("From 1 July Dr. Okafor takes over the clinic.", "From 1 July Dr. Okafor takes over the clinic"),
        ("Mr. Patel checks the fire doors.", "Mr. Patel checks the fire doors"),
        ("St. Mary's parish hall is closed.", "St. Mary's parish hall is closed"),
        ("Invoices over approx. 2,000 euros wait.", "Invoices over approx. 2,000 euros wait"),
        ("Die Hochzeit ist am 14. Juni.", "Die Hochzeit ist am 14. Juni"),
        ("À partir du 1er juin (2026-06-01), Hugo tient la caisse.", "Hugo tient la caisse"),
    ],
)
def test_a_title_does_not_end_at_a_shortening_nor_tell_only_when(said: str, told: str) -> None:
    assert title(said) == told


def test_a_description_does_not_end_at_a_shortening() -> None:
    assert describe("Dr. Brandt is away. Ask Ana.") == "Dr. Brandt is away"
