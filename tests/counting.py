"""How often a function is called while something runs: a limit on work that no busy machine makes noisy."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable


def calls_of(name: str, work: Callable[[], object]) -> int:
    """Of all functions of that name, in this thread."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats: dict[tuple[str, int, str], tuple[int, ...]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(count[1] for (_, _, called), count in stats.items() if called == name)
