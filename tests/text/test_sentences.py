"""Where a sentence ends: at every stop for whoever judges trust, not at a shortening for whoever reads prose."""

from __future__ import annotations

import pytest

from memdir.text.sentences import CLAUSES, LINES, SPEECH, STOPS, bounds, sentences_of

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
