"""Which sandbox this machine offers, found by trying it: one that lets a write through does not count."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache

from memdir.agent.sandbox.environment import ENVIRONMENT
from memdir.agent.sandbox.start import Kind, NoSandbox, started

PROBE_SECONDS = 10.0  # a loaded machine starts a sandbox in well under one


@cache
def sandbox_kind() -> Kind | None:
    """The sandbox that works here; None means that no Bash may be offered. Tried once in a process."""
    kinds: tuple[Kind, ...] = ("bubblewrap", "landlock")
    return next((kind for kind in kinds if works(kind)), None)


def works(kind: Kind) -> bool:
    """Whether a command runs in this sandbox, and the file it tries to create does not appear."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return False
    with tempfile.TemporaryDirectory() as place:
        try:
            output = _probe(kind, place)
        except (NoSandbox, OSError, subprocess.SubprocessError):
            return False
        return output == b"works\n" and not os.listdir(place)


def _probe(kind: Kind, place: str) -> bytes:
    with started(kind, "echo works; : > written", cwd=place, cpu_seconds=PROBE_SECONDS) as start:
        return subprocess.run(
            start.argv,
            pass_fds=start.descriptors,
            cwd=place,
            env=dict(ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
            check=False,
        ).stdout
