"""CPU seconds of a call, measured so that a busy machine and a garbage collection do not count."""

import time
import timeit
from collections.abc import Callable


def cpu_seconds(call: Callable[[], object], tries: int = 3) -> float:
    """The quickest of several tries: what disturbs a measurement only ever makes it longer."""
    return min(timeit.repeat(call, timer=time.thread_time, number=1, repeat=tries))
