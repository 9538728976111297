"""What must be true of a home after any fault, and what must be true once memdir has started again."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from memdir.dream.gates import LOCK_NAME
from memdir.store.index import Index

from .homes import RANDOM, Ended, Files, Scenario, files_of, run, variables

# Everything that may stand in a state folder between two operations. Whatever else is there is a leftover.
_STATE = re.compile(
    r"lock|identity(?:\.copy)?\.json|recorded|drafts/[0-9]{8}-[^/]*"
    r"|history\.git/(?:HEAD|config|index|COMMIT_EDITMSG|logs/HEAD"  # the last three: by a person's git
    r"|(?:logs/)?refs/heads/main|objects/[0-9a-f]{2}/[0-9a-f]{38}"
    r"|objects/pack/pack-[0-9a-f]{40}\.(?:pack|idx|rev))"
)


class Broken(AssertionError):
    """A promise of the store that a fault broke."""


def require(truth: object, promise: str) -> None:
    if not truth:
        raise Broken(promise)


def check_reader(scenario: Scenario, home: str) -> None:
    """At any instant, a reader sees every file whole: as it was or as it will be (S13)."""
    found = files_of(scenario.place(home).root)
    for path in {*scenario.allowed, *found}:
        content = found.get(path)
        allowed = scenario.allowed.get(path, frozenset((None,)))
        require(content in allowed, f"{path} is neither old nor new: {_short(content)}")


def check_told(ended: Ended, home: str) -> None:
    """An operation that failed says what could not be done, about what, in a person's words."""
    require("Traceback" not in ended.err, f"a traceback instead of words:\n{ended.err}")
    require(ended.code > 0, f"it ended with {ended.code}: {ended.err}")
    require(ended.err.startswith("memdir: "), f"no message: {ended.err!r}")
    require(home in ended.err or ".md" in ended.err, f"the message names nothing: {ended.err!r}")


def check_outcome(scenario: Scenario, home: str, ended: Ended) -> None:
    """Success means that it is done. An error means that nothing was, and that nothing will be by itself."""
    files = files_of(scenario.place(home).root)
    if ended.code == 0:
        require(files == dict(scenario.after), f"success was claimed: {_difference(files, scenario)}")
        return
    check_told(ended, home)
    if scenario.begins_calm:
        require(files == dict(scenario.before), f"an error, and yet: {_difference(files, scenario)}")
        waits = os.path.exists(scenario.place(home).journal)
        require(not waits, "an error, and yet the change waits to be completed")


def check_started(scenario: Scenario, home: str) -> None:
    """After the next start nothing of the crash is left: a whole change set or none of it, and no stray file."""
    ended = run(scenario.command("start"), home)
    require(ended.code == 0, f"memdir does not start again: {ended.err}")
    check_reader(scenario, home)
    files = files_of(scenario.place(home).root)
    whole = files == dict(scenario.before) or files == dict(scenario.after)
    require(whole, f"half a change set: {_difference(files, scenario)}")
    check_no_strays(scenario, home)
    check_history(scenario, home)


def check_repeated(scenario: Scenario, home: str) -> None:
    """The same operation succeeds once the fault is gone, and the history holds what is on disk and where from."""
    ended = run(scenario.command(), home)
    require(ended.code == 0, f"the operation does not succeed afterwards: {ended.err}")
    files = files_of(scenario.place(home).root)
    require(files == dict(scenario.after), f"another end state: {_difference(files, scenario)}")
    check_no_strays(scenario, home)
    check_index(files, scenario)
    check_history(scenario, home)
    check_recorded(scenario, home, files)


def check_index(files: Files, scenario: Scenario) -> None:
    """No memory without its line where it had one, no line lost, nobody's own lines lost."""
    lines = Index(files.get("MEMORY.md", b"")).keys()
    wanted = Index(scenario.after.get("MEMORY.md", b"")).keys()
    require(lines == wanted, f"index lines lost: {sorted(wanted - lines)}")


def check_no_strays(scenario: Scenario, home: str) -> None:
    place = scenario.place(home)
    for folder, _, names in os.walk(place.root):
        for name in names:
            is_stray = (
                name.startswith(".") and name != LOCK_NAME
            )  # the dream's own mark stays: its time is the last dream
            require(not is_stray, f"a stray file in the memory directory: {Path(folder, name)}")
    for folder, _, names in os.walk(place.state):
        for name in names:
            path = Path(folder, name).relative_to(place.state).as_posix()
            require(_STATE.fullmatch(path), f"a stray file in the state folder: {path}")


def check_history(scenario: Scenario, home: str) -> None:
    """git finds nothing wrong, and no commit that was there is gone."""
    if not os.path.isdir(scenario.place(home).history) and not scenario.head:
        return
    checked = git(scenario, home, "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
    words = [line for line in (checked.stdout + checked.stderr).splitlines() if not line.startswith("notice:")]
    require(checked.returncode == 0 and not words, f"git fsck: {words}")
    if scenario.head:
        kept = git(scenario, home, "merge-base", "--is-ancestor", scenario.head, "HEAD")
        require(kept.returncode == 0, f"commits lost: {scenario.head} is not in the log ({kept.stderr.strip()})")


def check_recorded(scenario: Scenario, home: str, files: Files, *, source: str = "") -> None:
    """The last commit is what is on disk, and what is new there came in under the name of who brought it (S14)."""
    listed = git(scenario, home, "ls-tree", "-r", "-z", "HEAD").stdout
    recorded = {
        path: line.split()[2] for line, _, path in (item.partition("\t") for item in listed.split("\0") if item)
    }
    on_disk = {path: blob_id(data) for path, data in files.items()}
    require(
        recorded == on_disk,
        f"the history does not hold what is on disk: {set(recorded.items()) ^ set(on_disk.items())}",
    )
    kept = held(scenario, home)
    for path, data in scenario.before.items():
        require(blob_id(data) in kept, f"what {path} held before is nowhere in the history")
    for path, data in files.items():
        if data in (scenario.before.get(path), None) or scenario.name == "recover_edited":
            continue
        log = git(scenario, home, "log", "--format=%x01%B%x02", "--raw", "--no-abbrev", "--root", "--", path).stdout
        sources = [entry for entry in log.split("\x01") if f" {blob_id(data)} " in entry]
        require(
            any(f"Source: {source or scenario.source}\n" in entry for entry in sources),
            f"the history does not know where {path} came from: {sources}",
        )


def held(scenario: Scenario, home: str) -> set[str]:
    """The ids of all contents that the history or the drafts hold."""
    listed = git(scenario, home, "rev-list", "--objects", "HEAD").stdout
    drafts = files_of(scenario.place(home).drafts).values()
    return {line.split()[0] for line in listed.splitlines()} | {blob_id(data) for data in drafts}


def git(scenario: Scenario, home: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Plain git, as a person would run it in the history's folder."""
    history = scenario.place(home).history
    return subprocess.run(
        ["git", "-c", "safe.directory=*", *arguments],
        cwd=history,
        env=variables(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def fingerprint(scenario: Scenario, home: str) -> str:
    """What is on disk, without what differs between two equal crashes: random names, times, inodes, process ids."""
    digest = hashlib.sha256()
    place = scenario.place(home)
    for root in (place.root, place.state):
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                inside = path.relative_to(root).as_posix()
                digest.update(RANDOM.sub("X", inside).encode() + b"\0")
                data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
                digest.update(_plain(inside, data) + b"\0")
            digest.update(repr([RANDOM.sub("X", name) for name in folders]).encode())
    return digest.hexdigest()


_INDEX_HEADER, _ENTRY_STAT, _ENTRY_FIXED = 12, 40, 62


def _plain(path: str, data: bytes) -> bytes:
    if path in ("lock", LOCK_NAME):
        return b""
    if path.endswith(("/index", "/index.lock")) and len(data) > _INDEX_HEADER:
        return _without_stat(data)
    return data


def _without_stat(data: bytes) -> bytes:
    """A git index without the inode numbers and times in it: header, then entries of 62 bytes and a padded name."""
    kept, at = [data[:_INDEX_HEADER]], _INDEX_HEADER
    for _ in range(int.from_bytes(data[8:12])):
        end = data.find(b"\0", at + _ENTRY_FIXED)
        if end < 0:
            break
        kept.append(data[at + _ENTRY_STAT : end])
        at += (end - at + 8) // 8 * 8
    return b"".join(kept) + b"%d" % len(data)


def _difference(files: Files, scenario: Scenario) -> str:
    lines = []
    for path in sorted({*files, *scenario.before, *scenario.after}):
        found, old, new = files.get(path), scenario.before.get(path), scenario.after.get(path)
        if not (found == old == new):
            state = "old" if found == old else "new" if found == new else _short(found)
            lines.append(f"{path} is {state}")
    return "; ".join(lines)


def _short(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes {content[:60]!r}"
