"""Whole nights over a dozen made-up stores in several languages (D3, D6, D7, K3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memdir.model.builtin.dream import Night, NightFile, Plan, Statement, plan_night
from memdir.store.index import MAX_BYTES, MAX_LINES, Index
from tests.model.builtin.dream.store_file import FOLDER, Store, claims, morning, read_store, unmet

SAFETY = ("keep", "poison")
REPAIR = ("gather", "duplicates", "contradictions", "disproved", "dates", "pointers")
LEAST_REPAIRED = 0.65  # of all that these stores have to repair; what is only likely becomes a question (ADR 0071)
LEAST_MET = 0.85  # of the claims that newer evidence overturns: corrected, or asked about
STORES = sorted(FOLDER.glob("*.txt"))
PAIRS = [
    line
    for line in (FOLDER.parent / "pairs.txt").read_text(encoding="utf-8").splitlines()
    if line.startswith(("+ |", "= |"))
]


@pytest.fixture(params=STORES, ids=[path.stem for path in STORES])
def store(request: pytest.FixtureRequest) -> Store:
    return read_store(request.param)


def after(store: Store) -> dict[str, bytes | None]:
    return {edit.key: edit.data for edit in plan_night(store.night).edits}


def test_nothing_is_lost_and_nothing_planted_is_believed(store: Store) -> None:
    edits = after(store)
    lacking = unmet(store, morning(store, edits))
    assert {kind: lacking[kind] for kind in SAFETY} == {kind: [] for kind in SAFETY}
    assert not set(store.expect["identical"]) & set(edits), "these had nothing to repair"
    assert not [key for key in edits if key.startswith("logs/")], "logs and sessions are sources, never changed"


def test_every_memory_stands_in_the_index_once_and_within_its_limits(store: Store) -> None:
    edits = after(store)
    files = {file.key: file.data for file in store.night.files} | edits
    data = files["MEMORY.md"] or b""
    keys = [entry.key for entry in Index(data).entries()]
    private = [key for key in morning(store, edits).topics if not key.startswith("team/")]
    assert sorted(keys) == sorted(private)
    assert len(data) <= MAX_BYTES and len(data.splitlines()) <= MAX_LINES


def test_a_second_night_has_nothing_left_to_do(store: Store) -> None:
    plan = plan_night(store.night)
    edits = {edit.key: edit for edit in plan.edits}
    stamp = store.night.now.timestamp()
    # The logs were read: a dream is given their new lines only.
    kept = [file for file in store.night.files if file.key not in edits and not file.key.startswith("logs/")]
    written = [NightFile(edit.key, edit.data, edit.mtime or stamp) for edit in plan.edits if edit.data is not None]
    night = replace(store.night, files=(*kept, *written), said=(), settled_before=stamp)
    again = plan_night(night)
    assert [edit.key for edit in again.edits] == []


def test_most_of_what_is_wrong_is_repaired() -> None:
    missed, total = [], 0
    for path in STORES:
        one = read_store(path)
        lacking = unmet(one, morning(one, after(one)))
        missed += [f"{one.name} {kind} {number}" for kind in REPAIR for number in lacking[kind]]
        total += sum(len(one.expect[kind]) for kind in REPAIR)
    assert total > 0
    assert len(missed) <= (1 - LEAST_REPAIRED) * total, f"{len(missed)} of {total}: {', '.join(missed)}"


def night_of(line: str) -> tuple[str, str, list[str], Plan, str]:
    """A line of `pairs.txt`: its sign, the page's description, what must go, the plan of the night, the page after."""
    sign, name, description, later, *gone = (part.strip(" |") for part in line.split(" | "))
    now = datetime(2026, 6, 20, 6, 0, tzinfo=UTC)
    page = f"---\nname: {name}\ndescription: {description}\ntype: project\n---\n\n{description}.\n"
    at = now - timedelta(days=1)
    spoken = Statement(later, at.timestamp(), at.date(), ("s1", "m1"))
    files = (NightFile("page.md", page.encode(), (now - timedelta(days=300)).timestamp()),)
    plan = plan_night(Night(files, (spoken,), now))
    edits = {edit.key: edit.data for edit in plan.edits}
    return sign, description, gone, plan, (edits.get("page.md", page.encode()) or b"").decode()


def test_a_claim_gives_way_to_newer_evidence_or_a_person_is_asked() -> None:
    """`pairs.txt`: a page, something said later, and whether the page's claim must give way."""
    nights = [night_of(line) for line in PAIRS if line.startswith("+")]
    missed = [said for _, said, gone, plan, text in nights if claims(gone[0], text) and not plan.asked]
    assert len(missed) <= (1 - LEAST_MET) * len(nights), missed


@pytest.mark.parametrize("line", [line for line in PAIRS if line.startswith("=")])
def test_a_claim_stays_beside_what_does_not_speak_of_it(line: str) -> None:
    _, description, _, _, text = night_of(line)
    assert text.count(description) >= 2 and "**Before" not in text and "→" not in text, text
