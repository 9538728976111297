"""In long documents words meet by chance: two side by side tell more than apart, and meaning weighs no less (R3)."""

from __future__ import annotations

from memdir.search.document import Document, Question
from memdir.search.ranking import rank
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table
from memdir.text.stems import pairs
from tests.search.worlds import segment_of

ENCODER = WordEncoder(open_table())
CHATTER = " ".join(f"topic{number} was mentioned and then dropped again." for number in range(60))
ASKED = "did the exchange rate bother anybody?"


def talk(key: str, sentence: str) -> Document:
    return Document(key, body=f"{CHATTER} {sentence} {CHATTER}", passages=[sentence], mtime_ns=1)


def test_stop_words_part_a_pair() -> None:
    assert pairs(["the", "high", "school", "of", "music"]) == ["high school"]


def test_a_long_talk_that_holds_the_words_side_by_side_comes_first() -> None:
    apart = talk("apart", "The exchange of gifts was nice, and so was the rate of progress, exchange and rate.")
    together = talk("together", "The exchange rate was bad.")
    ranking = rank(Question(ASKED, ENCODER), [segment_of([apart, together], ENCODER)])
    assert [one.key for one in ranking.candidates] == ["together", "apart"]
    assert "exchang rate" in ranking.candidates[0].matched
    assert "exchang rate" not in ranking.candidates[1].matched


def test_a_short_note_keeps_no_pairs() -> None:
    note = Document("note.md", title="Travel", body="The exchange rate was bad.", mtime_ns=1)
    ranking = rank(Question(ASKED, ENCODER), [segment_of([note], ENCODER)])
    assert set(ranking.candidates[0].matched) == {"exchang", "rate"}


def test_meaning_weighs_more_where_documents_are_long() -> None:
    word, meant = "The exchange of gifts bothered nobody.", "Currency conversion cost us a lot of money."

    def weighed(times: int) -> float:
        bodies = [" ".join([sentence, *[CHATTER] * times]) for sentence in (word, meant)]
        talks = [Document(str(at), body=body, passages=[(word, meant)[at]]) for at, body in enumerate(bodies)]
        ranking = rank(Question("exchange rates of money", ENCODER), [segment_of(talks, ENCODER)])
        return next(one.score for one in ranking.candidates if one.key == "1")

    assert weighed(9) > weighed(1) + 0.2
