"""A disk that is full and stays full: a real one, of a few files or pages more than the home needs.

`unshare --map-root-user --mount python -m … FOLDER NAME CASES`: mounts a small file system of its own, which goes away
with the process. Prints the number of cases tried and one line for each promise that was broken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from . import verify
from .homes import Scenario, prepare, run

ROOMY = "size=64m,nr_inodes=20000"
MOST_SPARE = 16  # files or pages: with more than that every operation succeeds
PAGE = 4096


def main(words: list[str]) -> int:
    folder, name, cases = words[0], words[1], int(words[2])
    subprocess.run(["mount", "-t", "tmpfs", "-o", ROOMY, "tmpfs", folder], check=True)
    scenario = prepare(name, os.path.join(folder, name))
    for spare in range(0, MOST_SPARE, MOST_SPARE // cases):
        for what in ("nr_inodes", "size"):
            try:
                _suffer(scenario, folder, what, spare)
            except verify.Broken as error:
                print(f"{name} with {spare} spare of {what}: {error}")
    print(f"tried {2 * cases}")
    return 0


def _suffer(scenario: Scenario, folder: str, what: str, spare: int) -> None:
    home = scenario.copy(os.path.join(scenario.folder, "full"))
    try:
        used = os.statvfs(folder)
        blocks, files = used.f_blocks - used.f_bfree, used.f_files - used.f_ffree
        limit = f"nr_inodes={files + spare}" if what == "nr_inodes" else f"size={blocks * used.f_frsize + spare * PAGE}"
        _remount(folder, limit)
        ended = run(scenario.command(), home)
        if ended.code != 0:
            verify.check_told(ended, home)
        verify.check_reader(scenario, home)
        _remount(folder, ROOMY)
        verify.check_started(scenario, home)
        verify.check_repeated(scenario, home)
    finally:
        _remount(folder, ROOMY)
        shutil.rmtree(home)


def _remount(folder: str, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
