"""A date in a sentence is one day or every such day, and only the first may be written out (T3)."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from memdir.text.dates import Clock, read_dates
from memdir.text.language import fold, language
from memdir.text.standing import one_day_each

MONDAY = date(2026, 11, 16)


def sentences(name: str) -> list[tuple[str, str]]:
    """The marked sentences of a file: whether one day is meant, and what is said."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [(line[0], line[2:]) for line in lines if line[:2] in ("1 ", "* ")]


def dated(text: str) -> bool:
    tongue = language(fold(text))
    return bool(one_day_each(text, read_dates([text], Clock(MONDAY, tongue))[0]))


@pytest.mark.parametrize(("mark", "said"), sentences("standing_read.txt"))
def test_a_rule_keeps_its_words_and_an_event_gets_its_date(mark: str, said: str) -> None:
    assert dated(said) is (mark == "1")


WEDNESDAY = date(2026, 5, 6)


@pytest.mark.parametrize(
    ("tongue", "said", "meant"),
    [
        ("de", "Ab 1. Juli übernimmt Dr. Brandt die Sprechstunde am Dienstag.", ["1. Juli"]),
        ("it", "Dal 1 luglio il mercato del sabato lo fa Luca.", ["1 luglio"]),
        ("en", "The deadline is Friday 5/15.", ["5/15"]),
        ("en", "The deadline is Friday, 15 May.", ["15 May"]),
        ("en", "The lathe stood under water in the storm of 4 May.", []),  # two days ago, or in a year
        ("en", "The storm of 4 January took the roof.", ["4 January"]),
        ("en", "Yusra starts on 1 June, Ben does the design two days a week.", ["1 June"]),
        ("es", "El próximo viernes viene el inspector.", []),  # of this week, or of the next
        ("es", "El próximo lunes viene el inspector.", ["próximo lunes"]),
        ("pt", "Sexta que vem chega o auditor.", []),
        ("it", "Giovedì prossimo arriva il cliente.", []),
        ("fr", "Vendredi prochain on ferme.", []),
        ("en", "The retro moved from Tuesday to Thursday.", []),  # every week's
        ("en", "The demo moved from Tuesday to Thursday.", []),  # said between the two
        ("en", "The demo moved from Friday to Monday.", ["Friday", "Monday"]),
        ("en", "Our fiscal year starts July 1st.", []),
        ("en", "Approved by Marta on Tuesday.", []),
        ("en", "Ana approved the budget on Monday.", []),  # or it is her standing task
        ("en", "On Monday, the landlord replaced the lock.", []),
        ("it", "Il negozio è chiuso da lunedì.", []),  # since, or from
        ("es", "Desde el lunes abrimos a las ocho.", ["lunes"]),
        ("de", "Das Schreiben vom 3.5. liegt bei.", []),
        ("en", "I finish this course at the end of June.", ["end of June"]),
        ("nl", "De factuur is op 3 maart betaald.", []),  # two months ago, or in ten
        ("en", "We cancelled the demo on Friday.", []),  # on that day, or that day's
        ("en", "She said the parcel comes on Monday.", []),
        ("en", "I'll be on leave from 20 May to 3 June.", ["20 May", "3 June"]),
        ("pt", "O aniversário da avó é no dia 14 de junho.", ["14 de junho"]),
        ("pt", "O coro ensaia na primeira segunda-feira do mês.", []),
        ("nl", "Het koor repeteert op de eerste maandag van de maand.", []),
    ],
)
def test_of_several_readings_only_the_plain_one_is_written(tongue: str, said: str, meant: list[str]) -> None:
    spans = one_day_each(said, read_dates([said], Clock(WEDNESDAY, tongue))[0])
    assert [said[span.start : span.end] for span in spans] == meant


def test_what_nothing_was_fitted_to_is_told_apart_as_well() -> None:
    """A wrong date is worse than a relative one: at most one in forty, and most events get theirs."""
    unread = sentences("standing_unread.txt")
    falsified = [said for mark, said in unread if mark == "*" and dated(said)]
    written = [said for mark, said in unread if mark == "1" and dated(said)]
    assert len(falsified) <= 1
    assert len(written) >= 32
