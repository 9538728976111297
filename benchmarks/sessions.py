"""`make bench-sessions`: appending beside a bare write, resuming beside a bare decode, listing beside a bare look.

    python -m benchmarks.sessions [--records 200000]

The floor of resuming is orjson, or msgspec, decoding every line of the file (development dependencies only).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from benchmarks.measure import Row, best_cpu_seconds, report, save
from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.session_list import END_BYTES, summary_of
from memdir.transcript.sources.source import OwnSessions, newest_first, session_ref, transcripts_in
from memdir.transcript.transcript import Transcript

T = TypeVar("T")
RECORDS = 200_000  # about 100 MB
AFTER_SHARE = 0.05  # of the records come after the last compaction: five megabytes, a window of a million tokens
APPENDS = 2_000
DURABLE_APPENDS = 400  # an fsync takes a fraction of a millisecond here and many on a spinning disk
SESSIONS = 2_000
SESSION_TURNS = 120  # about 100 kB each
ROUNDS = 5
WRITE_LIMIT = 1.3
RESUME_LIMIT = 2.0
WHOLE_LIMIT = 3.0  # of one that was never compacted, beside `json.loads` over every line: all of it is read and kept
LIST_LIMIT = 20.0  # times a bare read of both ends: the rest is decoding a few of their records
MEMORY_LIMIT = 12.0  # times the bytes after the boundary: decoded objects are larger than their text


def texts(number: int) -> Iterator[Message]:
    """One turn of about two kilobytes in four records."""
    yield user(f"Question {number}: why does the test of part {number % 97} fail? " + "The log says nothing. " * 5)
    yield Message("assistant", (Text("I look."), ToolUse(f"c{number}", "Grep", {"pattern": f"part_{number}"})))
    yield Message("user", (ToolResult(f"c{number}", f"src/part_{number}.py:{number}: return value\n" * 8),))
    yield Message("assistant", (Text(f"Part {number} rounds too early. " + "It should round at the end. " * 6),))


def transcript(path: Path, *, is_durable: bool = False) -> Transcript:
    return Transcript(str(path), session_id="bench", cwd="/app", clock=time.time, is_durable=is_durable)


def append_rows(folder: Path) -> list[Row]:
    """The way to the disk alone, and whole messages, each beside `os.write` of the same bytes."""
    said = [message for number in range(APPENDS // 4) for message in texts(number)]
    first = folder / "first.jsonl"
    opened = transcript(first)
    for message in said:
        opened.append_message(message)
    opened.close()
    lines = first.read_bytes().splitlines(keepends=True)
    plain, calm, whole = best_cpu_seconds(
        (
            lambda: _write_bare(folder / "bare.jsonl", lines),
            lambda: _append_lines(folder / "ours.jsonl", lines),
            lambda: _append_messages(folder / "whole.jsonl", said),
        ),
        rounds=6 * ROUNDS,
    )
    durable, durable_floor = _durable(folder, said[:DURABLE_APPENDS], lines[:DURABLE_APPENDS])
    print(
        f"  one message made into JSON and appended, no fsync: {whole / len(said) * 1e6:.1f} µs"
        f" = {whole / plain:.1f} x a bare os.write ({plain / len(said) * 1e6:.1f} µs)"
    )
    return [
        Row(f"append of {len(lines)} lines, no fsync", calm, "os.write", plain, WRITE_LIMIT),
        Row(f"append of {DURABLE_APPENDS} messages, fsync", durable, "os.write + fsync", durable_floor, WRITE_LIMIT),
    ]


def _write_bare(path: Path, lines: list[bytes]) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for line in lines:
        os.write(descriptor, line)
    os.close(descriptor)


def _append_lines(path: Path, lines: list[bytes]) -> None:
    path.unlink(missing_ok=True)
    opened = transcript(path)
    for line in lines:
        opened.append(line)
    opened.close()


def _append_messages(path: Path, messages: list[Message]) -> None:
    path.unlink(missing_ok=True)
    opened = transcript(path)
    for message in messages:
        opened.append_message(message)
    opened.close()


def _durable(folder: Path, messages: list[Message], lines: list[bytes]) -> tuple[float, float]:
    """The wall time of appends with fsync, ours and bare ones taking turns; the best of each counts, as everywhere."""
    opened = transcript(folder / "durable.jsonl", is_durable=True)
    descriptor = os.open(folder / "synced.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def bare(line: bytes) -> None:
        os.write(descriptor, line)
        os.fsync(descriptor)

    ours: list[float] = []
    floor: list[float] = []
    for number, (message, line) in enumerate(zip(messages, lines, strict=True)):
        if number % 2:
            floor.append(_wall(bare, line))
        ours.append(_wall(opened.append_message, message))
        if not number % 2:
            floor.append(_wall(bare, line))
    opened.close()
    os.close(descriptor)
    return min(ours) * len(lines), min(floor) * len(lines)


def _wall(work: Callable[[T], object], given: T) -> float:
    start = time.perf_counter()
    work(given)
    return time.perf_counter() - start


def build_long(path: Path, records: int, *, compacted: bool) -> int:
    """A transcript of so many records. Returns the bytes after its last compaction; all of them without one."""
    talk = Conversation(transcript(path))
    talk.transcript.append(b"")
    boundary = int(records * (1 - AFTER_SHARE)) if compacted else -1
    start = written = 0
    for number in range(records // 4):
        for message in texts(number):
            talk.transcript.append_message(message)
        written += 4
        if 0 <= boundary <= written:
            start, boundary = path.stat().st_size, -1
            talk.compact(user("What was said until here. " * 200, is_meta=True), (), {"trigger": "auto"})
    talk.transcript.close()
    return path.stat().st_size - start


def resume_rows(folder: Path, records: int) -> list[Row]:
    compacted, whole = folder / "compacted.jsonl", folder / "whole.jsonl"
    after = build_long(compacted, records, compacted=True)
    build_long(whole, records, compacted=False)
    name, decode = line_decoder()
    size = compacted.stat().st_size
    print(f"  resume: {size / 1e6:.0f} MB in {records:,} records, {after / 1e6:.1f} MB after the boundary")
    ours, everything, floor, plain = best_cpu_seconds(
        (
            lambda: resume(str(compacted)),
            lambda: resume(str(whole)),
            lambda: decode(compacted),
            lambda: _decode(whole, json.loads),
        ),
        rounds=2,
    )
    peak = _peak_bytes(compacted)
    print(f"  resume: at most {peak / 1e6:.1f} MB of memory = {peak / after:.1f} x the bytes after the boundary")
    save("bench-sessions-memory", {"peak": peak, "after": after, "file": size})
    return [
        Row("resume after a compaction", ours, f"{name}, every line", floor, RESUME_LIMIT),
        Row("resume of a conversation never compacted", everything, "json.loads, every line", plain, WHOLE_LIMIT),
        Row("memory of a resume (bytes/1e9)", peak / 1e9, "bytes after the boundary", after / 1e9, MEMORY_LIMIT),
    ]


def line_decoder() -> tuple[str, Callable[[Path], None]]:
    """The fastest JSON decoder that is installed, over every line of a file."""
    for name, attribute in (("orjson", "loads"), ("msgspec.json", "decode"), ("json", "loads")):
        try:
            loads = getattr(importlib.import_module(name), attribute)
        except ImportError:
            continue
        return name, lambda path, loads=loads: _decode(path, loads)
    raise SystemExit("no JSON decoder")


def _decode(path: Path, loads: Callable[[bytes], object]) -> None:
    with path.open("rb") as file:
        for line in file:
            loads(line)


def _peak_bytes(path: Path) -> int:
    """What a process that resumes needs more than one that only loads the code."""
    code = "import sys; from memdir.transcript.conversation import resume; {} print(open('/proc/self/status').read())"
    figures = []
    for work in ("", "resume(sys.argv[1]);"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(work), str(path)], capture_output=True, text=True, check=True
        )
        figures.append(int(done.stdout.partition("VmHWM:")[2].split()[0]) * 1024)  # the kernel's high-water mark
    return figures[1] - figures[0]


def list_rows(folder: Path) -> list[Row]:
    home = folder / "sessions"
    home.mkdir()
    first = home / "session-00000.jsonl"
    _append_messages(first, [message for number in range(SESSION_TURNS) for message in texts(number)])
    data = first.read_bytes()
    for number in range(1, SESSIONS):
        (home / f"session-{number:05}.jsonl").write_bytes(data)
    source = OwnSessions(str(folder))

    def ours() -> None:
        for ref in newest_first(session_ref(path, "memdir") for path in transcripts_in(str(home))):
            assert summary_of(ref, source).messages == 4 * SESSION_TURNS

    def floor() -> None:
        for path in transcripts_in(str(home)):
            descriptor = os.open(path, os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            os.pread(descriptor, END_BYTES, 0), os.pread(descriptor, END_BYTES, size - END_BYTES)
            os.close(descriptor)

    before = _bytes_read()
    ours()
    read = _bytes_read() - before
    total = SESSIONS * len(data)
    print(f"  list: {read / 1e6:.0f} MB read of {total / 1e6:.0f} MB in {SESSIONS:,} sessions")
    spent, bare = best_cpu_seconds((ours, floor), rounds=2)
    return [
        Row("list 2,000 sessions", spent, "read both ends", bare, LIST_LIMIT),
        Row("bytes read by the list (bytes/1e9)", read / 1e9, "both ends of each", 2 * END_BYTES * SESSIONS / 1e9, 2.0),
    ]


def _bytes_read() -> int:
    """What this process has asked the kernel for, cached or not."""
    try:
        fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_inblock * 512
    return int(fields["rchar"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions")
    parser.add_argument("--records", type=int, default=RECORDS)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = [*append_rows(folder), *resume_rows(folder, records), *list_rows(folder)]
    return report("bench-sessions: transcripts", rows)


if __name__ == "__main__":
    sys.exit(main())
