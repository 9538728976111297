"""The mutating system calls of an operation: counted by strace in a calm run, then killed or failed one at a time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from .homes import RANDOM, Ended, Scenario, run

ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS")
_OPEN = ("openat", "open", "creat")
_PATHS = ("rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "link", "linkat")
_MORE_PATHS = ("symlink", "symlinkat", "truncate", "utimensat", "chmod", "fchmodat")
_DESCRIPTORS = (
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fchmod",
    "flock",
    "fallocate",
)
MUTATING = (*_OPEN, *_PATHS, *_MORE_PATHS, *_DESCRIPTORS)
PYTHON = 0  # the process an operation starts with; n is the n-th git that it runs

_LINE = re.compile(r"^(?:(?P<pid>\d+) +)?(?P<name>\w+)\((?P<rest>.*)$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WRITES = re.compile(r"O_(?:CREAT|WRONLY|RDWR|TRUNC)|creat\(")
_HELD = re.compile(r"/proc/self/fd/(\d+)")
_BESIDE = re.compile(r'^((?:\d+ +)?(?:openat|mkdirat|unlinkat))\(\d+<([^>]*)>, "((?!/)(?:[^"\\]|\\.)*)"')
_OPENED_FOLDER = re.compile(r"openat\(.*O_DIRECTORY.* = (\d+)<([^>]*)>")
_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")


@dataclass(frozen=True)
class Call:
    """One mutating call inside a home: the n-th of its name in its process, the file it touches, the n-th time."""

    process: int
    name: str
    ordinal: int
    path: str
    turn: int
    line: str = field(default="", compare=False, repr=False)
    is_childs: bool = field(default=False, compare=False, repr=False)  # of a process that a git started itself

    def is_same(self, other: Call) -> bool:
        """Whether two runs mean the same call: git reads a file more, or a file less, as the clock happens to stand."""
        return (self.name, self.path, self.turn) == (other.name, other.path, other.turn)

    def __str__(self) -> str:
        who = "python" if self.process == PYTHON else f"git#{self.process}"
        return f"{who} {self.name}#{self.ordinal} {self.path}"


@dataclass(frozen=True)
class Fault:
    """What is done to a call: `SIGKILL` to its process, `KILLALL` to every process, or an errno as its result."""

    call: Call
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.call}"

    def aimed_at(self, ordinal: int) -> Fault:
        return Fault(replace(self.call, ordinal=ordinal), self.kind)


class Missed(Exception):
    """The fault did not strike where it was aimed: this run differs from the calm one. Where the call stood in it."""

    def __init__(self, fault: Fault, ordinal: int | None) -> None:
        super().__init__(f"missed: {fault}")
        self.ordinal = ordinal


@cache
def why_not() -> str:
    """Why strace cannot be used here; empty when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"strace is not permitted here: {done.stderr.strip()}"


def calls_of(scenario: Scenario, home: str) -> list[Call]:
    """Run the operation once on `home` and list every mutating call inside it, Python's and each git's."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home)) as folder:
        shim = _shim(folder, _count_script(folder))
        trace = os.path.join(folder, "trace.0")
        ended = run([*_strace(trace), *scenario.command()], home, path=shim)
        assert ended.code == 0, ended.err
        found = []
        for process in range(len(os.listdir(folder))):
            path = os.path.join(folder, f"trace.{process}")
            if os.path.exists(path):
                found += _parse(Path(path).read_text(errors="replace"), process, home)
    return found


def strike(scenario: Scenario, home: str, fault: Fault) -> Ended:
    """Run the operation on `home` with the fault; Missed when it did not happen."""
    call = fault.call
    with tempfile.TemporaryDirectory(dir=os.path.dirname(home)) as folder:
        trace = os.path.join(folder, f"trace.{call.process}")
        action = "signal=SIGKILL" if fault.kind in ("SIGKILL", "KILLALL") else f"error={fault.kind}"
        inject = ["-e", f"inject={call.name}:{action}:when={call.ordinal}"]
        if call.process == PYTHON:
            ended = run([*_strace(trace, call.name), *inject, *scenario.command()], home)
        else:
            # Each process counts its own calls: one that is not followed cannot be struck in the other's stead.
            follow = ["-f"] if call.is_childs else []
            script = _strike_script(folder, fault, [*_strace(trace, call.name), *follow, *inject])
            ended = run(scenario.command(), home, path=_shim(folder, script))
        _require_hit(fault, trace, home)
    return ended


def _require_hit(fault: Fault, trace: str, home: str) -> None:
    text = Path(trace).read_text(errors="replace") if os.path.exists(trace) else ""
    calls = _parse(text, fault.call.process, home)
    mark = "= ?" if "KILL" in fault.kind else "(INJECTED)"
    hit = [call for call in calls if mark in call.line]
    if any(call.is_same(fault.call) for call in hit):
        return
    meant = [call.ordinal for call in calls if call.is_same(fault.call)]
    raise Missed(fault, meant[0] if meant else None)


def _strace(trace: str, name: str = "") -> list[str]:
    traced = f"{name},openat" if name else ",".join(MUTATING)  # what is opened tells which folder a descriptor is
    return ["strace", "-y", "-qq", "-o", trace, "-e", f"trace={traced}"]


def _shim(folder: str, script: str) -> str:
    """A folder with a `git` of ours, to stand first in PATH."""
    shim = os.path.join(folder, "bin")
    os.makedirs(shim)
    path = Path(shim, "git")
    path.write_text(script)
    path.chmod(0o700)
    return shim


def _count_script(folder: str) -> str:
    # Each git is traced into a file of its own, named by its turn.
    return (
        f"#!/bin/sh\nn=1; while ! mkdir {folder}/turn.$n 2>/dev/null; do n=$((n+1)); done\n"
        f'exec {" ".join(_strace(f"{folder}/trace.$n"))} -f {shutil.which("git")} "$@"\n'
    )


def _strike_script(folder: str, fault: Fault, strace: list[str]) -> str:
    real = shutil.which("git")
    kill = 'kill -9 "$PPID"' if fault.kind == "KILLALL" else ":"
    return (
        f"#!/bin/sh\nn=1; while ! mkdir {folder}/turn.$n 2>/dev/null; do n=$((n+1)); done\n"
        f'if [ "$n" != {fault.call.process} ]; then exec {real} "$@"; fi\n'
        f'{" ".join(strace)} {real} "$@"\ncode=$?\n[ "$code" -lt 128 ] || {kill}\nexit "$code"\n'
    )


def _parse(text: str, process: int, home: str) -> list[Call]:
    ordinals: Counter[tuple[str, str]] = Counter()
    turns: Counter[tuple[str, str, str]] = Counter()
    found: list[Call] = []
    first_pid = None
    for line in by_name(text.splitlines()):
        match = _LINE.match(line)
        if match is None or match["name"] not in MUTATING:
            continue
        pid, name = match["pid"] or "", match["name"]
        first_pid = first_pid or pid
        ordinals[pid, name] += 1
        path = _touched(name, match["rest"], line)
        if path is not None and (path == home or path.startswith(home + "/")):
            inside = RANDOM.sub("*", path.removeprefix(home))
            turns[pid, name, inside] += 1
            turn = turns[pid, name, inside]
            found.append(Call(process, name, ordinals[pid, name], inside, turn, line, is_childs=pid != first_pid))
    return found


def by_name(lines: Iterable[str]) -> Iterator[str]:
    """Calls with full paths where they name a folder by a descriptor: `/proc/self/fd/5`, or that and a name in it."""
    folders: dict[str, str] = {}
    for raw in lines:
        line = _HELD.sub(lambda match: folders.get(match[1], match[0]), raw)
        line = _BESIDE.sub(r'\1(AT_FDCWD, "\2/\3"', line)
        if opened := _OPENED_FOLDER.search(line):
            folders[opened[1]] = opened[2]
        yield line


def _touched(name: str, rest: str, line: str) -> str | None:
    """The path a call would change, None when it changes none."""
    if name in _DESCRIPTORS:
        descriptor = _DESCRIPTOR.match(rest)
        return descriptor[1] if descriptor else None
    if name in _OPEN and not _WRITES.search(line):
        return None
    quoted = _QUOTED.findall(rest)
    return quoted[-1] if quoted else None
