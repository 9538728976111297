"""The user's own words, clause by clause."""

from __future__ import annotations

from memdir.model.builtin.extract.talk import clauses


def texts(text: str) -> list[str]:
    return [clause.text for clause in clauses(text)]


def test_sentences_are_cut_at_stops_but_not_inside_abbreviations_and_dates() -> None:
    assert texts("Use metres, e.g. 3.5 m. The 11. is out. OK?") == ["Use metres, e.g. 3.5 m.", "The 11. is out.", "OK?"]
    assert texts("価格は丸めない。必ず二桁で。") == ["価格は丸めない。", "必ず二桁で。"]


def test_invisible_characters_are_dropped() -> None:
    assert texts("ne\u200bver push") == ["never push"]


def test_a_rule_inside_a_request_is_a_clause_of_its_own_and_a_quotation_stays_whole() -> None:
    said = "rename the bucket var, and run things against eu-north-1 only, even throwaway tests"
    assert texts(said) == ["rename the bucket var,", "and run things against eu-north-1 only, even throwaway tests"]
    assert texts('call it "salt, and pepper for all" in the menu') == ['call it "salt, and pepper for all" in the menu']
    assert texts("benenne die Spalte um, und bitte nie wieder Umlaute in Spaltennamen") == [
        "benenne die Spalte um,",
        "und bitte nie wieder Umlaute in Spaltennamen",
    ]
