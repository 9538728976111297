"""CPU seconds of a call, measured so that a busy machine and a garbage collection do not count."""

import time
import timeit
from collections.abc import Callable


def cpu_seconds(call: Callable[[], object], tries: int = 3, *, enough: float = 0.0) -> float:
    """The quickest of several tries: what disturbs a measurement only ever makes it longer. The first that takes less
    than `enough` is the last one: no other could tell more to who asks whether it takes longer than that."""
    quickest = float("inf")
    for _ in range(tries):
        quickest = min(quickest, timeit.timeit(call, timer=time.thread_time, number=1))
        if quickest < enough:
            break
    return quickest
