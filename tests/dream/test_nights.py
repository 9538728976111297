"""Night after night on a growing store nothing that counts is lost (D7). The whole year is `make eval-nights`."""

from __future__ import annotations

from pathlib import Path

from evals.nights import nights

from memdir.store.index import MAX_BYTES, MAX_LINES

NIGHTS = 25


def test_weeks_of_dreams_lose_nothing_and_stay_within_limits(tmp_path: Path) -> None:
    mornings = list(nights(NIGHTS, tmp_path))
    assert [morning.lost for morning in mornings] == [()] * NIGHTS
    assert all(morning.index_lines <= MAX_LINES and morning.index_bytes <= MAX_BYTES for morning in mornings)
    assert any(morning.changed > 1 for morning in mornings), "it did something"
