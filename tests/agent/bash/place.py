"""A throw-away folder full of ordinary and treacherous files, and a way to see whether anything in it changed."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

from memdir.agent.bash.sandbox import ENVIRONMENT

# Names that become options or actions when a shell pattern expands to them.
TREACHEROUS = (
    "-o",
    "-opwned",
    "-delete",
    "-C",
    "-i",
    "-w",
    "--output=pwned.txt",
    "--output=pwned.md",
    "--compress-program=touch pwned.txt",
    "--pre=touch pwned.md",
    "-fprint",
    "pwned file.txt",
    "$(touch pwned).txt",
    "a;touch pwned.txt",
)


def build_place(root: Path) -> Path:
    """A small project with a git history, JSON, CSV, folders, and files with treacherous names."""
    place = root / "place"
    (place / "src").mkdir(parents=True)
    (place / "tests").mkdir()
    text = "".join(f"{number} foo:bar,baz start{number} a b c\n" for number in range(1, 40))
    for name in ("a.txt", "b.txt", "log.txt", "README.md", "notes.md", "a.csv", "src/a.py", "tests/a.py"):
        (place / name).write_text(text, encoding="utf-8")
    (place / "a.json").write_text('{"name": "x", "items": [{"id": 1}, {"id": 2}]}\n', encoding="utf-8")
    _git(place, "init", "-q", "-b", "main")
    _git(place, "add", ".")
    _git(place, "commit", "-q", "-m", "first")
    (place / "a.txt").write_text(text + "changed\n", encoding="utf-8")
    for name in TREACHEROUS:
        (place / name).write_text("treacherous\n", encoding="utf-8")
    return place


def _git(place: Path, *words: str) -> None:
    identity = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=place, env={**ENVIRONMENT, **identity}, check=True, capture_output=True)


def snapshot(place: Path) -> dict[str, tuple[int, int, str]]:
    """Every path below with its mode, its time of change and what it holds."""
    found = {}
    for folder, folders, files in os.walk(place):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            is_file = stat.S_ISREG(status.st_mode)
            held = hashlib.sha256(Path(path).read_bytes()).hexdigest() if is_file else ""
            found[os.path.relpath(path, place)] = (status.st_mode, status.st_mtime_ns, held)
    return found


def lines(path: Path) -> list[str]:
    """The commands of a table: one a line, ␤ for a newline, the first line a heading."""
    return [line.replace("␤", "\n") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
