"""From a memory back to what it was made from: its own changes, and those of the memories it took in (L1, L2)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memdir.store.history import Commit, History

TRAILER = "Derived"  # "kept.md < taken_in.md, another.md; …" in the record of a change that merged memories


def tell_derived(derived: Mapping[str, Sequence[str]]) -> str:
    """What was made from what, as the history keeps it. No file name may hold any of the signs between them."""
    return "; ".join(f"{path} < {', '.join(sources)}" for path, sources in derived.items())


def derived_in(commit: Commit) -> dict[str, tuple[str, ...]]:
    """The same, read back."""
    pairs = (part.partition(" < ") for part in commit.trailers.get(TRAILER, "").split("; "))
    return {path: tuple(sources.split(", ")) for path, sign, sources in pairs if sign}


def lineage(history: History, path: str) -> dict[str, list[Commit]]:
    """The changes of a memory, newest first, then those of every memory it was made from, nearest first."""
    found: dict[str, list[Commit]] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop(0)
        if current in found:
            continue
        found[current] = history.log(current)
        for commit in found[current]:
            waiting += derived_in(commit).get(current, ())
    return found
