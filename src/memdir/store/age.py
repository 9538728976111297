"""Ages in words: models are poor at date arithmetic, and words trigger the right caution (S11)."""

from __future__ import annotations

_DAY_SECONDS = 86_400


def age_days(mtime: float, now: float) -> int:
    """Whole days between two moments, never negative."""
    return max(0, int((now - mtime) // _DAY_SECONDS))


def age_words(mtime: float, now: float) -> str:
    """today, yesterday, or N days ago."""
    days = age_days(mtime, now)
    return "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"


def iso_time(mtime: float) -> str:
    """A moment as ISO-8601 in UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(int(mtime), UTC).isoformat().replace("+00:00", "Z")
