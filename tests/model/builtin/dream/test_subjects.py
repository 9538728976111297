"""Different things stay apart: whole nights over notes that are alike in wording and about two subjects (D3, D7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from evals.dream import dream
from evals.pairs import FOLDER, Note, Pair, lay_out, memories, outcome_of, read_pairs

from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.builtin.dream import Night, NightFile, SessionLine, SessionText, plan_night

NOW = datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
OLDER, NEWER = NOW - timedelta(days=40), NOW - timedelta(days=2)
IN_A_STORE = 12  # pairs that lie in one store
ALONE = 25  # every so many pairs one that goes through the whole dream
MOST = 0.01  # of the pairs about two things that a learned judge may take for one
MOST_SAID = 0.04  # the same of what was only said: it has no name and tells less


def own_pairs() -> Iterator[Pair]:
    """The pairs of `different.txt`."""
    for number, line in enumerate(Path(__file__).with_name("different.txt").read_text(encoding="utf-8").splitlines()):
        if line and not line.startswith("#"):
            left, right = (side.split(" | ") for side in line.split(" // "))
            yield Pair(
                f"own{number}",
                "different",
                (
                    Note(f"older_{number}.md", "project", left[0], left[1], f"{left[1]}.", OLDER),
                    Note(f"newer_{number}.md", "project", right[0], right[1], f"{right[1]}.", NEWER),
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
    assert len(touched) <= 2 * MOST * len(PAIRS), touched


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


def said(pair: Pair, text: str) -> Night:
    """A night after which the older note and one thing that the user said are all there is."""
    older = min(pair.notes, key=lambda note: note.saved)
    spoken = SessionLine("user", "said", text, "m1", (pair.night - timedelta(days=1)).timestamp())
    return Night((night_file(older),), (SessionText("s1", spoken.time, (spoken,)),), pair.night)


def test_what_is_said_about_one_thing_changes_no_note_about_another() -> None:
    """The newer note of each pair as a remark of the user's."""
    newer = {pair.id: max(pair.notes, key=lambda note: note.saved) for pair in PAIRS}
    touched = [pair.id for pair in PAIRS if paired(said(pair, newer[pair.id].body))]
    assert len(touched) <= MOST_SAID * len(PAIRS), touched
