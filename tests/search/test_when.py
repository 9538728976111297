"""A past day named in a message is resolved against the documents' days (R3)."""

from __future__ import annotations

from datetime import date

import pytest

from memdir.disk.shipped import shipped_lines
from memdir.search.document import Document, Question
from memdir.search.ranking import rank
from memdir.search.vectors import WordEncoder
from memdir.search.when import NANOSECONDS_A_DAY, moment_in
from memdir.text.date_words import languages, words_by_meaning
from memdir.text.embedding import open_table
from tests.search.worlds import segment_of

NAMES = (("U=w",), ("W=0", "UW=0"))
THURSDAY = date(2026, 3, 19).toordinal()
EPOCH = date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("what broke yesterday?", date(2026, 3, 18)),
        ("which bread did we try three days ago", date(2026, 3, 16)),
        ("who asked for the refund a couple of weeks ago?", date(2026, 3, 5)),
        ("what did I bake 2 weeks ago", date(2026, 3, 5)),
        ("which party did I take part in a week ago?", date(2026, 3, 12)),
        ("who called on the Wednesday two weeks ago", date(2026, 3, 4)),
        ("the call last Monday", date(2026, 3, 16)),
        ("the call last Thursday", date(2026, 3, 12)),
        ("what did we ship last week", date(2026, 3, 12)),
    ],
)
def test_a_past_day_is_counted_from_today(text: str, day: date) -> None:
    moment = moment_in(text, THURSDAY, ("en",))
    assert moment is not None
    assert date.fromordinal(moment.day) == day


@pytest.mark.parametrize(
    "text",
    ["how many days ago did it break?", "ago", "long ago", "the last commit", "last", "99999 days ago", "next week"],
)
def test_words_that_name_no_past_day_are_left_alone(text: str) -> None:
    assert moment_in(text, THURSDAY, ("en",)) is None


def test_of_two_alike_the_one_of_the_named_day_comes_first() -> None:
    encoder = WordEncoder(open_table())
    meetings = [
        Document(
            f"{back}.md",
            body="Lunch with a supplier about flour.",
            mtime_ns=(THURSDAY - back - EPOCH) * NANOSECONDS_A_DAY,
        )
        for back in (1, 9, 30)
    ]
    segment = segment_of(meetings, encoder)
    asked = "who was at the lunch nine days ago?"
    assert rank(Question(asked, encoder, today=THURSDAY), [segment]).candidates[0].key == "9.md"
    assert rank(Question(asked, encoder), [segment]).candidates[0].key == "1.md"


def test_a_document_that_names_the_day_counts_as_of_that_day() -> None:
    encoder = WordEncoder(open_table())
    old = Document(
        "old.md",
        body="Oven delivery on 2026-03-18, the driver waits.",
        mtime_ns=(THURSDAY - 40 - EPOCH) * NANOSECONDS_A_DAY,
    )
    new = Document(
        "new.md",
        body="Oven delivery on 2026-01-07, the driver waits.",
        mtime_ns=(THURSDAY - 30 - EPOCH) * NANOSECONDS_A_DAY,
    )
    ranking = rank(Question("yesterday's oven delivery", encoder, today=THURSDAY), [segment_of([old, new], encoder)])
    assert ranking.candidates[0].key == "old.md"


def asked_in(language: str) -> list[str]:
    """What people of a language ask by its words that look back: yesterday, last week and Monday, three weeks ago."""
    table = words_by_meaning()[language]
    week, monday = (next(table[name][0].rstrip("*") for name in names if name in table) for names in NAMES)
    said = []
    for line in shipped_lines("text/past_words.txt"):
        meaning, _, words = line.partition(f" {language}: ")
        for word in words.replace("*", "").split("; ") if words else ():
            said += [word] if meaning.startswith("D=-") else []
            said += [f"{word} {week}", f"{week} {word}", f"{word} {monday}"] if meaning == "L" else []
            said += [f"3 {week} {word}"] if meaning == "G" else [f"{word} 3 {week}"] if meaning in ("g", "r") else []
    return said


@pytest.mark.parametrize("language", languages())
def test_whatever_the_reader_of_dates_knows_of_the_past_is_heard_in_a_message(language: str) -> None:
    """The tables are not read for every message: a few words say when, and must not drift from them."""
    asked = {text: moment_in(text, THURSDAY, (language,)) for text in asked_in(language)}
    known = [text for text, moment in asked.items() if moment is not None]
    assert known
    assert [text for text in known if Question(text, WordEncoder(open_table()), today=THURSDAY).moment is None] == []


@pytest.mark.parametrize("text", ["the last commit broke the build", "my son went back home", "paste the feedback"])
def test_a_message_that_looks_back_at_no_day_is_not_read_for_dates(text: str) -> None:
    read = words_by_meaning.cache_info().hits + words_by_meaning.cache_info().misses
    assert Question(text, WordEncoder(open_table()), today=THURSDAY).moment is None
    assert words_by_meaning.cache_info().hits + words_by_meaning.cache_info().misses == read


@pytest.mark.parametrize(
    "text",
    [
        "was war letzten Montag?",
        "voriger Montag",
        "lundi dernier",
        "el lunes pasado",
        "na segunda passada",
        "lo scorso lunedì",
        "vad sa vi i går",
        "for tre dage siden",
        "geçen hafta ne yaptık?",
        "il y a deux semaines",
        "на прошлой неделе",
        "三天前的会议",
    ],
)
def test_a_past_day_is_heard_in_whatever_inflection_it_is_said(text: str) -> None:
    assert Question(text, WordEncoder(open_table()), today=THURSDAY).moment is not None
