"""Where a sentence ends, in many languages."""

from __future__ import annotations

import pytest

from memdir.text.sentences import SPEECH, bounds, masked, sentences_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Use tabs. Never spaces!", ["Use tabs.", "Never spaces!"]),
        ("Ask e.g. Dr. Huber about it. He knows.", ["Ask e.g. Dr. Huber about it.", "He knows."]),
        ("Das gilt z.B. für Tests. Sonst nicht.", ["Das gilt z.B. für Tests.", "Sonst nicht."]),
        ("用制表符。不要用空格！", ["用制表符。", "不要用空格！"]),
        ("Version 2.5 is out", ["Version 2.5 is out"]),
        ("- one\n- two", ["one", "two"]),
        ("...\n---\n", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, parts: list[str]) -> None:
    assert sentences_of(text) == parts


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
