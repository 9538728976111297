"""An operation held still after one of its system calls, so that somebody else can act at exactly that moment."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .homes import Ended, Scenario, variables
from .trace import Call

PATIENCE_SECONDS = 30.0


class Paused:
    """The operation, standing still; `ended` is there when the block is left."""

    ended: Ended


@contextmanager
def paused_after(scenario: Scenario, home: str, call: Call) -> Iterator[Paused]:
    """Run the operation up to and including `call`, yield, let it go on."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home)) as folder:
        trace = os.path.join(folder, "trace")
        inject = f"inject={call.name}:signal=SIGSTOP:when={call.ordinal}"
        command = ["strace", "-o", trace, "-e", f"trace={call.name}", "-e", inject, *scenario.command()]
        strace = subprocess.Popen(command, env=variables(home), stderr=subprocess.PIPE, text=True)
        try:
            process = _wait_until_it_stands(trace, strace)
            paused = Paused()
            yield paused
            os.kill(process, signal.SIGCONT)
            _, errors = strace.communicate(timeout=60)
            paused.ended = Ended(strace.returncode, errors)
        finally:
            strace.kill()
            strace.communicate()


def _wait_until_it_stands(trace: str, strace: subprocess.Popen[str]) -> int:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and strace.poll() is None:
        if os.path.exists(trace) and "stopped by SIGSTOP" in Path(trace).read_text(errors="replace"):
            return int(Path(f"/proc/{strace.pid}/task/{strace.pid}/children").read_text().split()[0])
        time.sleep(0.002)
    raise AssertionError(f"it did not stop: {strace.poll()}")
