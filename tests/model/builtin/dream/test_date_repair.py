"""Relative dates in a page become absolute ones, in its own language and sentence (T3, D3)."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memdir.model.builtin.dream import Night, NightFile, plan_night
from memdir.model.builtin.dream.date_repair import dated, relative_dates
from memdir.model.builtin.dream.memory_page import Page
from tests.timing import cpu_seconds

WEDNESDAY = date(2026, 5, 6)
HEAD = "---\nname: n\ndescription: d\ntype: project\n---\n\n"


def written_out(text: str) -> str:
    """The body of a page that was written on that Wednesday, as a night leaves it."""
    return dated(Page("a.md", f"{HEAD}{text}\n".encode(), 0.0), WEDNESDAY)[0].body.strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The demo is tomorrow afternoon.", "The demo is on 2026-05-07 in the afternoon."),
        ("We ship by the end of the month.", "We ship by 2026-05-31."),
        ("It broke last week.", "It broke in the week of 2026-04-27."),
        ("Off the week before last.", "Off in the week of 2026-04-20."),
        ("It starts in the coming week.", "It starts in the week of 2026-05-11."),
        ("Due on the 16th of next month.", "Due on 2026-06-16."),
        ("Abnahme am Montag nächster Woche.", "Abnahme am 2026-05-11."),
        ("Urlaub in der übernächsten Woche.", "Urlaub in der Woche ab 2026-05-18."),
        ("Livraison le mois prochain.", "Livraison en 2026-06."),
        ("La entrega es el viernes pasado.", "La entrega es el 2026-05-01."),
        ("Entrega na próxima semana.", "Entrega na semana de 2026-05-11."),
        ("Odbiór w przyszły poniedziałek.", "Odbiór w 2026-05-11."),
        ("次は来週です。", "次は2026-05-11の週です。"),
        ("다음 주 목요일에 배포", "2026-05-14에 배포"),
    ],
)
def test_what_was_said_is_written_with_its_date(text: str, expected: str) -> None:
    assert written_out(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Invoices go out at the end of the month.",
        "Answers come within two days.",
        "The last week of June is hard.",
        "The next week was hard.",
        "See tomorrow's list.",
        "Das liegt hier im Ordner und ist fertig.",
        "Releases every Monday.",
        "Files are kept ten years from now on.",
        "Watered every 6 days from now, not every 9.",
        "`today()` and what_tomorrow_is stay.",
    ],
)
def test_what_is_no_day_of_its_own_is_left_alone(text: str) -> None:
    assert [item for item in relative_dates(text, WEDNESDAY) if "`" not in text] == []


def test_what_is_no_single_day_in_a_rule_or_a_profile_is_left_alone() -> None:
    assert [*relative_dates("Today the user prefers tea.", WEDNESDAY, is_rule=True)] == []


def test_what_a_body_remarks_of_a_year_stays_and_a_description_tells_which_it_is() -> None:
    head = HEAD.replace("description: d", "description: Moved here last year")
    topic, _ = dated(Page("a.md", f"{head}We moved here last year, in spring.\n".encode(), 0.0), WEDNESDAY)
    assert topic.description == "Moved here in 2025" and "last year" in topic.body


@pytest.mark.parametrize("text", ["It is this Monday.", "It was last Tuesday.", "next week, Monday to Friday"])
def test_what_may_be_two_days_is_not_certain(text: str) -> None:
    assert [item.absolute for item in relative_dates(text, WEDNESDAY)] == [""]


def test_the_night_asks_about_what_has_ended_and_leaves_it_as_it_is() -> None:
    """T3: what came of it nobody can guess."""
    texts = {
        "freeze.md": "Merge freeze until 2026-03-05.",
        "later.md": "Merge freeze until 2027-03-05.",
        "moved.md": "We moved to the new office on 2026-03-05.",
    }
    written = datetime(2026, 2, 20, tzinfo=UTC).timestamp()
    files = tuple(NightFile(key, f"{HEAD}{text}\n".encode(), written) for key, text in texts.items())
    plan = plan_night(Night(files, (), datetime(2026, 11, 15, 12, tzinfo=UTC)))
    assert [(one.kind, one.older, one.newer, one.evidence) for one in plan.asked if one.kind == "ended"] == [
        ("ended", "freeze.md", "freeze.md", "it names 2026-03-05, 255 days past. Is it over, or is there another date?")
    ]
    assert not [edit for edit in plan.edits if edit.key in texts]


@pytest.mark.slow("tomorrow ", "on 5 May")
@pytest.mark.parametrize("piece", ["it is tomorrow and ", "明日と", '"x" tomorrow ', "on 5 May, "])
def test_the_time_grows_with_a_sentence_and_no_faster(piece: str) -> None:
    """One huge sentence of dates: once it was looked through for each of them."""
    most = 24 * cpu_seconds(lambda: written_out(piece * 800))  # eight times as long; by the square it were 64
    assert cpu_seconds(lambda: written_out(piece * 6400), enough=most) < most


def test_several_dates_in_one_text_are_all_written_and_a_quoted_one_is_not() -> None:
    text = 'Off tomorrow, "back tomorrow" she said, then away next week.'
    assert written_out(text) == ('Off on 2026-05-07, "back tomorrow" she said, then away in the week of 2026-05-11.')
    assert written_out("明日と明後日") == "2026-05-07と2026-05-08"
