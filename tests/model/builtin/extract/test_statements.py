"""The user's own words, sentence by sentence."""

from __future__ import annotations

from memdir.model.builtin.extract.talk import sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text, 0)]


def test_sentences_are_cut_at_stops_but_not_inside_abbreviations_and_dates() -> None:
    assert texts("Use metres, e.g. 3.5 m. The 11. is out. OK?") == ["Use metres, e.g. 3.5 m.", "The 11. is out.", "OK?"]
    assert texts("価格は丸めない。必ず二桁で。") == ["価格は丸めない。", "必ず二桁で。"]


def test_invisible_characters_are_dropped() -> None:
    assert texts("ne\u200bver push") == ["never push"]
