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
from memdir.model.builtin.dream.dream_words import DreamWords
from memdir.model.builtin.dream.marks import Marks, _stem, tongues
from memdir.model.builtin.dream.values import Values

NOW = datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
OLDER, NEWER = NOW - timedelta(days=40), NOW - timedelta(days=2)
IN_A_STORE = 12  # pairs that lie in one store
ALONE = 10  # every so many pairs one that lies alone


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
        for path in sorted(FOLDER.glob("dev-[abc].jsonl.gz"))
        for pair in read_pairs(path)
        if pair.relation == "different"
    ),
]


def stores() -> list[list[Pair]]:
    pairs = iter(PAIRS)
    return list(iter(lambda: list(islice(pairs, IN_A_STORE)), []))


def in_store(pair: Pair) -> tuple[Note, Note]:
    """The notes under names that no other pair of the store has."""
    one, two = pair.notes
    return tuple(
        Note(f"{pair.id}_{note.file}", note.type, note.name, note.description, note.body, note.saved)
        for note in (one, two)
    )


@pytest.mark.parametrize("pairs", stores(), ids=lambda pairs: pairs[0].id)
def test_a_store_of_notes_about_different_things_is_left_as_it_is(pairs: list[Pair], tmp_path: Path) -> None:
    """The real dream: fork, tools, checks, transaction; a dozen pairs a store."""
    project = tmp_path / "project"
    lay_out(project, [note for pair in pairs for note in in_store(pair)])
    before = memories(project)
    dream(project, max(pair.night for pair in pairs), BuiltinModel(), "builtin")
    assert memories(project) == before


@pytest.mark.parametrize("pair", PAIRS[::ALONE], ids=lambda pair: pair.id)
def test_a_pair_of_different_things_alone_is_left_as_it_is(pair: Pair) -> None:
    assert outcome_of(pair, BuiltinModel(), "builtin").action == "untouched"


def touched(files: tuple[NightFile, ...], said: str, now: datetime) -> dict[str, str]:
    """The files of a night in which `said` was the only thing the user said."""
    spoken = SessionLine("user", "said", said, "m1", (now - timedelta(days=1)).timestamp())
    edits = plan_night(Night(files, (SessionText("s1", spoken.time, (spoken,)),), now)).edits
    there = {file.key for file in files}
    return {edit.key: (edit.data or b"").decode() for edit in edits if edit.key in there}


def test_what_is_said_about_one_thing_changes_no_note_about_another() -> None:
    """The newer note of each pair as a remark of the user's: the older note keeps every byte."""
    for pair in PAIRS:
        older, newer = sorted(pair.notes, key=lambda note: note.saved)
        files = (NightFile(older.file, older.data, older.saved.timestamp()),)
        for said in {newer.description, newer.body}:
            assert touched(files, said, pair.night) == {}, (pair.id, said)


def test_two_lines_of_one_file_about_two_things_stay_two_lines() -> None:
    """A file that holds the older claim and another one; a remark about a third thing changes neither."""
    for pair in own_pairs():
        older, newer = pair.notes
        for name in ("Notes", f"{older.name} and {newer.name}"):
            both = Note(
                "notes.md", "project", name, older.description, f"- {older.description}\n- Ask before noon.", OLDER
            )
            files = (NightFile(both.file, both.data, OLDER.timestamp()),)
            assert touched(files, newer.description, NOW) == {}, (pair.id, name)


def test_mere_wording_is_known_in_every_inflection_and_listed_once() -> None:
    lexicon = DreamWords()
    for tongue in tongues(lexicon):
        stems = [_stem(word) for word in tongue.light["wording"]]
        assert sorted(stem for stem in set(stems) if stems.count(stem) > 1) == []
    read = Marks(Values(), tongues(lexicon)[0])
    assert [mark.form for mark in read.of("the billing job corrects what it replaced and asks")] == ["billing", "job"]
