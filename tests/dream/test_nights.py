"""Night after night on a growing store nothing that counts is lost (D7). The whole year is `make eval-nights`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from evals.nights import nights
from evals.pairs import Note, Pair, outcome_of

from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.store.index import MAX_BYTES, MAX_LINES

NIGHTS = 25
OLD, NEW = datetime(2025, 11, 30, tzinfo=UTC), datetime(2026, 3, 22, tzinfo=UTC)


def test_weeks_of_dreams_lose_nothing_and_stay_within_limits(tmp_path: Path) -> None:
    mornings = list(nights(NIGHTS, tmp_path))
    assert [morning.lost for morning in mornings] == [()] * NIGHTS
    assert all(morning.index_lines <= MAX_LINES and morning.index_bytes <= MAX_BYTES for morning in mornings)
    assert any(morning.changed > 1 for morning in mornings), "it did something"


def test_the_dreams_own_mark_is_no_statement_that_somebody_would_have_had_to_make() -> None:
    """D3: "(→ Update DATE)" behind a corrected sentence was taken for what nobody said, and the correction refused."""
    old = Note("user_waffles.md", "user", "Waffle recipe", "flour", "Sunday waffles: rye flour, two eggs, kefir.", OLD)
    text = "We make the Sunday waffles with spelt flour instead of rye now, the kids like that better."
    new = Note("user_waffle.md", "user", "Waffles", "changed flour", text, NEW)
    pair = Pair("waffles", "replaces", (old, new), ("spelt flour", "waffles", "two eggs"), ("rye",))
    assert outcome_of(pair, BuiltinModel(), "builtin").action == "corrected"


def test_a_mark_beside_a_label_and_a_name_made_a_sentence_are_none_either() -> None:
    """D3: what names a memory and what describes it were glued to a statement that no memory made."""
    old = Note("project_pin.md", "project", "Toolchain pin", "Rust version", "The workspace pins Rust 1.78, 2021.", OLD)
    text = "rust-toolchain.toml in the workspace says Rust 1.84."
    new = Note("project_rust.md", "project", "Rust pin", "toolchain file", text, NEW)
    same = Note("user_cardio.md", "user", "Kardiologie", "Anmeldung", "Für Dr. Ahl braucht man eine Überweisung.", OLD)
    again = "Bei Dr. Ahl in der Kardiologie nur mit Überweisung, Mappe mitnehmen."
    other = Note("user_ahl.md", "user", "Termin Ahl", "Überweisung mitbringen", again, NEW)
    for pair in (Pair("pin", "replaces", (old, new)), Pair("cardio", "same", (same, other))):
        assert outcome_of(pair, BuiltinModel(), "builtin").action in ("corrected", "merged"), pair.id


def test_the_day_of_a_mark_is_no_value_that_somebody_would_have_had_to_tell() -> None:
    """D3: where an older value went, "**Before DATE:**" and "(→ Update DATE)" counted as new ones that nobody told."""
    claim = "Band rehearses on Thursday at 20:15"
    old = Note("project_band.md", "project", "Band rehearsal", claim, "Band rehearsal: Thursdays 20:15, old mill.", OLD)
    text = "Every Thursday at a quarter past eight in the evening the band meets in the old mill."
    new = Note("project_mill.md", "project", "Rehearsals old mill", "Band practice, old mill, Thursdays", text, NEW)
    assert outcome_of(Pair("band", "replaces", (old, new)), BuiltinModel(), "builtin").action == "corrected"
