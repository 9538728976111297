"""Different things stay apart: whole nights over notes that are alike in wording and about two subjects (D3, D7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from evals.dream import dream
from evals.pairs import FOLDER, Note, Pair, lay_out, memories, outcome_of, read_pairs

from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.builtin.dream import Night, NightFile, Statement, plan_night
from memdir.model.builtin.dream.pair_features import Note as PairNote
from memdir.model.builtin.dream.pair_features import may_be_certain

NOW = datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
OLDER, NEWER = NOW - timedelta(days=40), NOW - timedelta(days=2)
IN_A_STORE = 12  # pairs that lie in one store
ALONE = 10  # every so many pairs one that goes through the whole dream
MOST = 0.004  # of the pairs about two things that a learned judge may take for one


def own_pairs() -> Iterator[Pair]:
    """The pairs of `different.txt`."""
    for number, line in enumerate(Path(__file__).with_name("different.txt").read_text(encoding="utf-8").splitlines()):
        if line and not line.startswith("#"):
            yield own_pair(line, number)


def own_pair(line: str, number: int) -> Pair:
    """Two notes of a name and a claim each."""
    left, right = (side.split(" | ") for side in line.split(" // "))
    older = Note(f"older_{number}.md", "project", left[0], left[1], f"{left[1]}.", OLDER)
    return Pair(
        f"own{number}",
        "different",
        (
            older,
            replace(
                older, file=f"newer_{number}.md", name=right[0], description=right[1], body=f"{right[1]}.", saved=NEWER
            ),
        ),
    )


PAIRS = [
    *own_pairs(),
    *(
        pair
        for path in sorted(FOLDER.glob("dev-*.jsonl.gz"))
        for pair in read_pairs(path)
        if pair.relation == "different"
    ),
]


def in_store(pair: Pair) -> tuple[Note, ...]:
    """The notes under names that no other pair of the store has."""
    return tuple(
        Note(f"{pair.id}_{note.file}", note.type, note.name, note.description, note.body, note.saved)
        for note in pair.notes
    )


def night_file(note: Note) -> NightFile:
    return NightFile(note.file, note.data, note.saved.timestamp())


def paired(night: Night) -> list[str]:
    """The files that a night joined or brought up to date."""
    edits = plan_night(night).edits
    return [edit.key for edit in edits if edit.data is None or b"**Update" in edit.data]


def test_pairs_of_different_things_are_left_apart() -> None:
    touched = [pair.id for pair in PAIRS if paired(Night(tuple(map(night_file, pair.notes)), (), pair.night))]
    assert len(touched) <= MOST * len(PAIRS), touched


def test_stores_of_different_things_are_left_apart() -> None:
    pairs, touched = iter(PAIRS), []
    for some in iter(lambda: list(islice(pairs, IN_A_STORE)), []):
        files = tuple(night_file(note) for pair in some for note in in_store(pair))
        touched += paired(Night(files, (), max(pair.night for pair in some)))
    assert len(touched) <= MOST * len(PAIRS), touched


@pytest.mark.parametrize("pair", PAIRS[::ALONE], ids=lambda pair: pair.id)
def test_a_pair_of_different_things_comes_out_of_a_dream_as_it_was(pair: Pair) -> None:
    """The real dream: fork, tools, checks, transaction."""
    assert outcome_of(pair, BuiltinModel(), "builtin").action == "untouched"


def test_a_dream_over_a_store_of_different_things_writes_nothing(tmp_path: Path) -> None:
    project = tmp_path / "project"
    lay_out(project, [note for pair in PAIRS[:IN_A_STORE] for note in in_store(pair)])
    before = memories(project)
    dream(project, NOW, BuiltinModel(), "builtin")
    assert memories(project) == before


def said(pair: Pair, text: str, older: Note) -> Night:
    """A night after which one note and one thing that the user said are all there is."""
    at = pair.night - timedelta(days=1)
    spoken = Statement(text, at.timestamp(), at.date(), ("s1", "m1"))
    return Night((night_file(older),), (spoken,), pair.night)


def said_over(pair: Pair, text: str, older: Note) -> bytes:
    """The older note after a night in which the user said something."""
    edits = {edit.key: edit.data for edit in plan_night(said(pair, text, older)).edits}
    return edits.get(older.file, older.data) or b""


def test_what_is_said_about_one_thing_changes_no_note_about_another() -> None:
    """The newer note of each pair as a remark of the user's: the older one stays as a night without it leaves it."""
    for pair in PAIRS:
        older, newer = sorted(pair.notes, key=lambda note: note.saved)
        silent = said_over(pair, "", older)
        for text in {newer.description, newer.body}:
            assert said_over(pair, text, older) == silent, (pair.id, text)


def test_two_lines_of_one_file_about_two_things_stay_two_lines() -> None:
    """A file that holds the older claim and another one; a remark about a third thing changes neither."""
    for pair in own_pairs():
        older, newer = pair.notes
        for name in ("Notes", f"{older.name} and {newer.name}"):
            body = f"- {older.description}\n- Ask before noon."
            both = Note("notes.md", "project", name, older.description, body, OLDER)
            assert said_over(pair, newer.description, both) == both.data, (pair.id, name)


def test_what_was_said_about_one_thing_joins_no_note_about_another_on_a_later_night() -> None:
    """A remark that got a page of its own is no surer evidence a night later."""
    for pair in list(own_pairs()) + PAIRS[-60:]:
        older, newer = sorted(pair.notes, key=lambda note: note.saved)
        night = said(pair, newer.body, older)
        edits = {edit.key: edit for edit in plan_night(night).edits}
        kept = [NightFile(key, edit.data, edit.mtime or OLDER.timestamp()) for key, edit in edits.items() if edit.data]
        files = (*(file for file in night.files if file.key not in edits), *kept)
        assert not paired(Night(files, (), pair.night + timedelta(days=1))), pair.id


@pytest.mark.parametrize(
    "line",
    [
        "Van keys | The spare keys hang in the office // Truck keys | The spare keys hang in the office",
        "Minimum Android | The app supports version 10 and up // Minimum iOS | The app supports version 17 and up",
        "Vertretung | Anna vertritt Bernd im Vertrieb // Vertretung im Vertrieb | Bernd vertritt Anna im Vertrieb",
        "Freigabe | Anna gibt Bernds Rechnungen frei // Rechnungen | Bernd gibt Annas Rechnungen frei",
        "Standard parcels | Where returned parcels are kept // Frozen goods | Where returned frozen parcels are kept",
        "Releases | Releases go out on Tuesday // Mobile releases | Mobile releases go out on Tuesday",
        "Réunion | La réunion est le lundi // Réunion budget | La réunion budget est le lundi",
        "Car | The car is serviced in May // Rust services | Services in Rust are linted with one config",
    ],
)
def test_one_word_or_its_place_tells_two_things_apart(line: str) -> None:
    assert not paired(Night(tuple(map(night_file, own_pair(line, 0).notes)), (), NOW))


def test_two_notes_that_have_a_person_and_little_else_in_common_are_never_certain() -> None:
    lead = "Ines Duarte is plant manager at Braga (bottling), working across line, lab and yard"
    coach = "Ines coaches two trainees, Rui and Bea; she asks for texts she can hand on to them"
    more = (
        "Twelve years of filling machines, solid chemistry, little software.\nLives in Porto; customers are in Spain."
    )
    jargon = "No jargon in such texts, and one exercise at the end.\nRui is on the line, Bea in the lab."
    notes = PairNote("Ines, plant manager", lead, more), PairNote("Coaching", coach, jargon)
    assert not may_be_certain(*notes)


def test_a_label_that_both_notes_bear_is_no_claim() -> None:
    one = Note("kangoo_tyres.md", "user", "Kangoo", "winter tyres", "Winter tyres on the Kangoo: 2.9 bar.", OLDER)
    two = Note("tesla_tyres.md", "user", "Tesla", "winter tyres", "Winter tyres on the Tesla: 3.2 bar.", NEWER)
    assert not paired(Night((night_file(one), night_file(two)), (), NOW))


def test_a_copy_of_a_note_that_says_little_becomes_one_with_it() -> None:
    one = Note("coffee_one.md", "user", "Coffee", "Black", "Black.", OLDER)
    edits = plan_night(Night((night_file(one), night_file(replace(one, file="coffee_two.md"))), (), NOW)).edits
    assert [edit.data for edit in edits if edit.key.startswith("coffee")] == [None]
