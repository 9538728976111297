"""The daily log: lines with a time, one file a day below `logs/`, that are only ever added to (K1).

A log is no memory: nothing scans, lists, recalls or shares it. A dream makes memories of its lines, each once (K3).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from itertools import takewhile

from memdir.disk.atomic import keep_bytes
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode
from memdir.errors import MemdirError
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType, parse_type
from memdir.store.trust import Trust

SAID_ON = "Said on {}."  # below a statement that a dream made a memory of: it tells when, and claims nothing
PATTERN = "logs/YYYY/MM/YYYY-MM-DD.md"  # as prompts name a log: never with a date (K2)
MAX_RECENT = 100  # logs that are read beside the memories, the newest
MAX_NEW = 400  # lines that one dream is given; the rest waits for the next
MAX_STATE_BYTES = 8 << 20
_KEY = re.compile(r"logs/(?:\d{4}/\d{2}/)?(\d{4}-\d{2}-\d{2})\.md")
_LINE = re.compile(
    r"^\s*[-*+]\s+(?:(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?::\d{2})?\s*(?:[-–—:]\s*)?)?"
    r"(?:\[(?P<marks>[a-z]+(?:, [a-z]+)*)\]\s+)?(?P<text>\S.*)$"
)
_TRUSTS = {trust.word: trust for trust in Trust if trust is not Trust.USER}


@dataclass(frozen=True)
class LogLine:
    """One line of a log. Its marks tell what kind of memory it would be, and whose words it is where not the user's."""

    text: str
    time: str = ""  # of the day, as in 14:05
    kind: MemoryType | None = None
    trust: Trust = Trust.USER
    key: str = ""  # of its log

    @property
    def rendered(self) -> str:
        marks = [str(self.kind)] if self.kind else []
        marks += [self.trust.word] if self.trust is not Trust.USER else []
        told = f"[{', '.join(marks)}] " if marks else ""
        return f"- {self.time} {told}{self.text}" if self.time else f"- {told}{self.text}"

    @property
    def id(self) -> str:
        """What it is known by in its log, whatever stands around it."""
        return hashlib.sha256(self.rendered.encode("utf-8", "replace")).hexdigest()[:12]

    def moment(self, zone: tzinfo | None) -> float:
        """When its minute begins, by the clock on the user's wall; its day, where it tells none."""
        hour, minute = map(int, (self.time or "0:0").split(":"))
        day = datetime.fromisoformat(log_day(self.key)).replace(tzinfo=zone)
        return day.replace(hour=hour % 24, minute=minute % 60).timestamp()


def log_day(key: str) -> str:
    """The day of a daily log as 2026-11-16; "" for what is none."""
    match = _KEY.fullmatch(key)
    with suppress(ValueError):
        return date.fromisoformat(match[1]).isoformat() if match else ""
    return ""


def log_key(moment: float, zone: tzinfo | None) -> tuple[str, str]:
    """The log that a moment belongs to, and its time there: by the clock on the user's wall."""
    local = datetime.fromtimestamp(moment, zone).astimezone(zone)
    return f"logs/{local:%Y/%m/%Y-%m-%d}.md", f"{local:%H:%M}"


def lines_in(data: bytes, key: str = "") -> Iterator[LogLine]:
    """The lines of a log, whoever wrote them; headings and the like are none."""
    for line in data.decode("utf-8", "replace").splitlines():
        if match := _LINE.match(line):
            time = f"{int(match['hour']):02}:{match['minute']}" if match["hour"] else ""
            marks, text = match["marks"].split(", ") if match["marks"] else [], match["text"].strip()
            if not all(mark in _TRUSTS or parse_type(mark) for mark in marks):
                marks, text = [], line[match.start("marks") - 1 :].strip()
            kind = next(filter(None, map(parse_type, marks)), None)
            trust = min((_TRUSTS[mark] for mark in marks if mark in _TRUSTS), default=Trust.USER)
            yield LogLine(text, time, kind, trust, key)


def log_lead(line: str) -> str:
    """What stands before the text of a line: its bullet, its time, its marks."""
    match = _LINE.match(line)
    return line[: match.start("text")] if match else ""


def append_lines(store: MemoryStore, key: str, lines: Sequence[LogLine], origin: Origin) -> list[LogLine]:
    """Add lines at the end of a log, as one change under the store's lock: several processes may, and one that is
    killed has added all or nothing. What the log says already is left out, unless something else was said since: the
    last word counts. Returns what was added."""
    with store.changing(origin, f"log {len(lines)} {'line' if len(lines) == 1 else 'lines'} in {key}") as change:
        before = change.read(key) or f"# {log_day(key)}\n\n".encode()
        known = list(lines_in(before))
        ids, texts = {line.id for line in known}, {line.text for line in lines}
        last = [line.text for line in takewhile(lambda line: line.text in texts, reversed(known))]
        new = [line for line in lines if line.id not in ids and line.text not in last]
        if new:
            end = b"" if before.endswith(b"\n") else b"\n"
            added = "".join(f"{line.rendered}\n" for line in new).encode("utf-8", "replace")
            change.write(key, before + end + added)
    return new


def log_keys(root: str) -> list[str]:
    """The logs below a memory directory, oldest first."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(root, "logs")) for name in names)
    keys = (os.path.relpath(path, root).replace(os.sep, "/") for path in found)
    return sorted((key for key in keys if log_day(key)), key=lambda key: (log_day(key), key))


def recent_lines(store: MemoryStore) -> Iterator[LogLine]:
    """What the newest logs say."""
    for key in log_keys(store.root)[-MAX_RECENT:]:
        with suppress(MemdirError, OSError):
            yield from lines_in(store.read_bytes(key) or b"", key)


def said_for(store: MemoryStore, lines: Iterable[LogLine]) -> dict[str, list[tuple[str, str]]]:
    """The sessions and messages that lines were taken from, by the line's id, as far as the history tells (L1)."""
    found: dict[str, list[tuple[str, str]]] = {}
    if not store.history.is_readable:
        return found
    for key in dict.fromkeys(line.key for line in lines):
        for commit in store.history.log(store.place.prefix + key):
            session = commit.trailers.get("Session", "")
            for part in commit.trailers.get("Reason", "").split("; ") if session else ():
                name, _, told = part.partition(" = ")
                found.setdefault(name, []).extend((session, one) for one in told.partition(": ")[2].split())
    return found


class LogNews:
    """The lines that no dream has made memories of yet. What was is kept beside the directory, by file and line: people
    may change a log, and lines may come late into that of an earlier day."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._done = _read_state(store.place.distilled)
        self.lines: tuple[LogLine, ...] = tuple(self._new())[:MAX_NEW]

    def settle(self) -> None:
        """These lines are memories now, or need not be."""
        if not self.lines:
            return
        for line in self.lines:
            self._done.setdefault(line.key, {"lines": []})["lines"] = [*self._done_in(line.key), line.id]
        keep_bytes(self.store.place.distilled, json.dumps(self._done).encode())

    def _new(self) -> Iterator[LogLine]:
        for key in log_keys(self.store.root):
            done = set(self._done_in(key))
            with suppress(MemdirError, OSError):
                new = lines_in(self.store.read_bytes(key) or b"", key)
                yield from (line for line in new if line.id not in done)

    def _done_in(self, key: str) -> list[str]:
        found = self._done.get(key, {}).get("lines")
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _read_state(path: str) -> dict[str, dict[str, object]]:
    """What was done; nothing where that cannot be read: a line that comes twice makes no second memory."""
    found = decode(read_if_plain(path, MAX_STATE_BYTES) or b"")
    return {key: one for key, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}
