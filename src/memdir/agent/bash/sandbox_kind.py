"""Which sandbox this machine offers, found by trying it: one that lets a write or a signal through does not count."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache

from memdir.agent.bash.environment import ENVIRONMENT
from memdir.agent.bash.sandbox_start import Kind, NoSandbox, started

PROBE_SECONDS = 10.0  # a loaded machine starts a sandbox in well under one

# Says `works`, then whatever it should not have been able to do. Nothing comes of it outside a sandbox either: files of
# the system are opened, not written; signal 0 is none; a UDP socket sends nothing.
_PROBE = """\
echo works
for folder in . /tmp /var/tmp /dev /dev/shm /run /proc /sys /sys/fs/cgroup "$HOME" /; do
  (: > "$folder/{name}") 2>/dev/null && echo "writes $folder" && rm -f "$folder/{name}"
done
for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/domainname /proc/sys/vm/drop_caches /proc/sysrq-trigger \
  /proc/self/oom_score_adj /proc/{process}/oom_score_adj /sys/kernel/mm/ksm/run /sys/fs/cgroup/cgroup.procs; do
  (: >> "$file") 2>/dev/null && echo "writes $file"
done
(: < /proc/{process}/environ) 2>/dev/null && echo "reads the caller's environment"
kill -0 {process} 2>/dev/null && echo "signals the caller"
(exec 3<>/dev/udp/127.0.0.1/9) 2>/dev/null && echo "opens a socket"
:"""


@cache
def sandbox_kind() -> Kind | None:
    """The sandbox that works here; None means that no Bash may be offered. Tried once in a process."""
    kinds: tuple[Kind, ...] = ("bubblewrap", "landlock")
    return next((kind for kind in kinds if works(kind)), None)


def works(kind: Kind) -> bool:
    """Whether a command runs in this sandbox, and all that it tries there fails."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return False
    with tempfile.TemporaryDirectory() as place:
        try:
            with started(kind, probe_command(place), cwd=place, cpu_seconds=PROBE_SECONDS) as start:
                output = _output(start.argv, start.descriptors, place)
        except (NoSandbox, OSError, subprocess.SubprocessError):
            return False
        return output == b"works\n" and not os.listdir(place)


def probe_command(place: str) -> str:
    """What is tried in the sandbox; files it creates carry the name of the folder it runs in."""
    return _PROBE.format(name=os.path.basename(place), process=os.getpid())


def _output(argv: list[str], descriptors: tuple[int, ...], place: str) -> bytes:
    return subprocess.run(
        argv,
        pass_fds=descriptors,
        cwd=place,
        env=dict(ENVIRONMENT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=PROBE_SECONDS,
        check=False,
    ).stdout
