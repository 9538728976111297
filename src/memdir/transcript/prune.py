"""Deletes sessions that a person no longer wants. Never runs by itself; says first what it would do (J4)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from memdir.disk.atomic import delete_file, delete_tree
from memdir.disk.open_writers import left_alone
from memdir.layout import Layout
from memdir.transcript.sources.source import SessionRef


@dataclass(frozen=True)
class Wish:
    """Which sessions may go: older than this, not among the newest, not the source of a memory."""

    older_than_seconds: float
    keep_newest: int = 0
    sources: Collection[str] = ()  # sessions that memories come from: `memdir why` shows their lines


@dataclass(frozen=True)
class Candidate:
    """A session that fits the wish, what it takes on disk, and why it stays after all (empty: it goes)."""

    ref: SessionRef
    size: int
    stays_because: str = ""


def plan(layout: Layout, sessions: Sequence[SessionRef], wish: Wish, *, now: float) -> list[Candidate]:
    """What pruning would do, oldest first. `sessions` come newest first."""
    old = [ref for ref in sessions[wish.keep_newest :] if now - ref.modified >= wish.older_than_seconds]
    return [Candidate(ref, _size(layout, ref), _why_not(ref, wish)) for ref in reversed(old)]


def prune(layout: Layout, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Delete what the plan lets go and nobody has resumed since. Returns what was deleted.

    The transcript goes last: a pruning that is killed leaves a session that is still listed, and is repeated.
    """
    gone = []
    for candidate in candidates:
        with left_alone(candidate.ref.path) as is_left:
            if candidate.stays_because or not is_left:
                continue
            delete_tree(layout.session_folder(candidate.ref.id))
            delete_file(candidate.ref.path)
            gone.append(candidate)
    return gone


def _why_not(ref: SessionRef, wish: Wish) -> str:
    if ref.id in wish.sources:
        return "memories come from it"
    with left_alone(ref.path) as is_left:
        return "" if is_left else "it is open"


def _size(layout: Layout, ref: SessionRef) -> int:
    return ref.size + sum(_sizes(layout.session_folder(ref.id)))


def _sizes(folder: str) -> Iterator[int]:
    for current, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(current, name)).st_size
            except OSError:
                continue
