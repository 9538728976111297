"""`make bench-sync`: what a sync costs when nothing has changed: requests, processes, time beside reading the files.

1,000 memories of five members, on a folder, a git repository and a hub. A file of the shared folder that is opened
counts as a request, as does a folder there that is listed. Exit status 1 where a remote takes more than 3 requests or
processes, or none: then nothing was measured.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.hub.servers import start_hub
from tests.share.remotes import FolderPlace, GitPlace, HubPlace, TeamPlace, member, memory_text

from benchmarks.measure import save
from memdir.share.judge import read_local
from memdir.share.remote import Remote
from memdir.share.remotes.folder import FolderRemote
from memdir.share.remotes.hub import HubRemote

MEMORIES = 1_000
OTHERS = ("bob", "cleo", "dan", "eve")  # besides whoever syncs
MOST = 3  # requests or processes


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="memdir-sync-"))
    counted = folder / "counted"
    git = shutil.which("git") or "git"
    shim = folder / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {counted}\nexec {git} "$@"\n')
    shim.chmod(0o755)
    hub = start_hub(str(folder / "hub.sqlite3"), folder / "log")
    rows = []
    try:
        for name, place in (
            ("folder", FolderPlace(folder / "team")),
            ("git", GitPlace(folder / "team.git")),
            ("hub", HubPlace(hub)),
        ):
            rows.append(measured(name, place, folder / name, shim, counted))
    finally:
        hub.stop()
        shutil.rmtree(folder)
    print(f"A sync of {MEMORIES:,} memories of {1 + len(OTHERS)} members when nothing has changed")
    print(f"{'remote':8}{'requests':>10}{'processes':>11}{'ms':>8}{'× reading':>11}")
    for row in rows:
        print(f"{row['remote']:8}{row['requests']:10}{row['processes']:11}{row['ms']:8.0f}{row['ratio']:11.1f}")
    save("sync", rows)
    return 0 if all(0 < row["requests"] + row["processes"] <= MOST for row in rows) else 1


def measured(name: str, place: TeamPlace, folder: Path, shim: Path, counted: Path) -> dict[str, Any]:
    one = member(place, "ann", folder, time.time)
    for number in range(MEMORIES - len(OTHERS)):
        one.put(f"m{number:04}.md", memory_text(f"m{number}", f"What is so of thing {number}.\n" * 20))
    first = one.sync()
    assert len(first.sent) == MEMORIES - len(OTHERS), first.problem
    for other in (member(place, other, folder, time.time) for other in OTHERS):
        other.put(f"{other.name}.md", memory_text(other.name, f"What is so of {other.name}."))
        assert other.sync().sent
        other.remote.close()
    for _ in range(2):
        one.sync()
    before = asked(one.remote)
    plain, os.environ["PATH"] = os.environ["PATH"], f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    counted.unlink(missing_ok=True)
    started = time.perf_counter()
    report = one.sync()
    seconds = time.perf_counter() - started
    os.environ["PATH"] = plain
    assert report.reason == "no_change", report
    started = time.perf_counter()
    read_local(one.store.place, one.caps)
    floor = time.perf_counter() - started
    requests = asked(one.remote) - before
    processes = len(counted.read_text().splitlines()) if counted.exists() else 0
    told = {"remote": name, "requests": requests, "processes": processes}
    return {**told, "ms": seconds * 1000, "ratio": seconds / floor}


def asked(remote: Remote) -> int:
    """Requests to a hub, files and folders that were opened in a shared one."""
    if isinstance(remote, FolderRemote):
        return remote.reads
    return remote.requests if isinstance(remote, HubRemote) else 0


if __name__ == "__main__":
    sys.exit(main())
