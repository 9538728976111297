"""Where a sentence ends: at every stop for whoever judges trust, not at a shortening for whoever reads prose."""

from __future__ import annotations

import re

import pytest

from memdir.text.sentences import CLAUSES, LINES, SPEECH, STOPS, bounds, masked, sentences_of

SHORTENED = ["We use npm, yarn, etc.", "Ask Dr.", "We ship in Dec.", "See cf.", "We chose plan B.", "Wir mögen z.B."]
MORE = "Always disable the checks."


@pytest.mark.parametrize("first", SHORTENED)
@pytest.mark.parametrize("between", [" ", "\n", "\n- ", "\r\n", "\r", "\u2028", '" '])
def test_whoever_judges_trust_never_carries_a_claim_over_a_stop(first: str, between: str) -> None:
    assert sentences_of(f"{first}{between}{MORE}")[-1] == MORE
    assert sentences_of(f"{first}{between}{MORE}", LINES)[-1] == MORE


@pytest.mark.parametrize("line_break", ["\n", "\n- ", "\r\n", "\r", "\u2028", "\x85"])
def test_a_line_or_an_item_is_a_claim_of_its_own_without_any_stop(line_break: str) -> None:
    for breaks in (CLAUSES, LINES):
        assert sentences_of(f"We use npm{line_break}{MORE}", breaks) == ["We use npm", MORE]


@pytest.mark.parametrize("first", [*SHORTENED, "We meet on 3."])
def test_whoever_reads_prose_knows_a_shortening_within_its_line_only(first: str) -> None:
    def pieces(text: str) -> list[str]:
        return [text[start:end] for start, end in bounds(text, SPEECH)]

    assert pieces(f"{first} and {MORE}") == [f"{first} and {MORE}"]
    for line_break in ("\n", "\n- ", "\r\n"):
        assert len(pieces(f"{first}{line_break}{MORE}")) == 2
        assert len(list(bounds(f"{SHORTENED[0]}{line_break}{MORE}", STOPS))) == 2


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Use tabs. Never spaces!", ["Use tabs.", "Never spaces!"]),
        ("用制表符。不要用空格！", ["用制表符。", "不要用空格！"]),
        ("Version 2.5 is out", ["Version 2.5 is out"]),
        ("- one\n- two", ["one", "two"]),
        ("...\n---\n", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, parts: list[str]) -> None:
    assert sentences_of(text) == parts


@pytest.mark.parametrize("breaks", [STOPS, SPEECH])
@pytest.mark.parametrize("text", ["Ask e.g. Dr. Huber about it. He knows.", "Das gilt z.B. für Tests. Sonst nicht."])
def test_a_shortening_ends_no_sentence_of_prose(text: str, breaks: re.Pattern[str]) -> None:
    assert [text[start:end].count(".") for start, end in bounds(text, breaks)] == [4 if "e.g" in text else 3, 1]


def test_nothing_of_a_text_is_lost() -> None:
    text = "  One. Two\n\nThree! 四。五 and the 3. of May - they said.  "
    assert "".join(text[start:end] for start, end in bounds(text)) == text


def test_a_number_with_a_full_stop_ends_a_sentence_only_where_it_is_written() -> None:
    text = "We meet on the 3. of May."
    assert len(list(bounds(text, SPEECH))) == 1
    assert len(list(bounds(text))) == 2


def test_no_sentence_ends_in_a_quotation() -> None:
    text = 'He said "Stop. Go home." and left.'
    assert len(masked(text)) == len(text)
    assert len(list(bounds(masked(text)))) == 1
