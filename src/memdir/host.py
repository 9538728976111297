"""What a host hands in, held so that its faults stay its own: a callback or a clock that fails costs what it was to do,
never our work; its sinks are held in `events.py`, its model in `model/careful.py`.

`Exception` only: whoever presses Ctrl-C means all of it.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LAST_MOMENT = 253_402_300_800  # the year 10000: no date beyond it can be written down


def tell(callback: Callable[..., object] | None, *facts: object) -> None:
    """Call a host's function that only listens, if there is one."""
    if callback is None:
        return
    try:
        outcome = callback(*facts)
        if hasattr(outcome, "send") and hasattr(outcome, "close"):
            outcome.close()  # a coroutine where a function was asked for: nobody here could wait for it
    except Exception:  # noqa: BLE001 - it is a host's own code
        return


def careful_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """A clock whose every answer is a moment that can be written down; the machine's where the host's fails."""

    def now() -> float:
        try:
            moment = clock()
            if 0 <= moment < _LAST_MOMENT:
                return float(moment)
        except Exception:  # noqa: BLE001 - it is a host's own code
            return time.time()
        return time.time()

    return clock if clock is time.time else now
