"""A year of nights: memories come in by day, the built-in model dreams every night, nothing that counts may be lost.

    python -m evals.nights [--nights 365] [--out FOLDER]

Every day brings new memories, and now and then one that says the same as an older one, one that a newer value puts
right, one with a date that only its day explains, and a pointer to nothing. Each carries a mark that stands nowhere
else; at the end every mark must still be in some memory. The plot shows the files, the index and each night's cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evals.nights_plot import draw
from memdir.dream.dream import Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.events import NullSink
from memdir.layout import Place
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.store.history import Origin
from memdir.store.index import MAX_BYTES, MAX_LINES
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType

FIRST_DAY = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
PARTS = (
    "billing",
    "search",
    "checkout",
    "login",
    "export",
    "mailer",
    "scheduler",
    "gateway",
    "cache",
    "audit",
    "webhooks",
)
THINGS = (
    "timeout",
    "retry-limit",
    "batch-size",
    "alert",
    "owner",
    "dashboard",
    "runbook",
    "quota",
    "migration",
    "schema",
)
PEOPLE = ("Marek", "Aiko", "Lena", "Tomas", "Priya", "Jonas", "Ines", "Farid", "Noor", "Olga", "Pablo", "Wen")
ORIGIN = Origin("nights", trust="user")


@dataclass
class Year:
    """A store that grows by day, and the marks that must survive."""

    store: MemoryStore
    chance: random.Random
    day: datetime = FIRST_DAY
    marks: dict[str, str] = field(default_factory=dict)  # mark: the day it came
    said: list[tuple[str, str, str]] = field(
        default_factory=list
    )  # part, thing, value of what a newer value may replace
    count: int = 0

    def live(self) -> None:
        """One day: two or three new memories."""
        for _ in range(self.chance.choice((2, 3))):
            kind = self.chance.random()
            if kind < 0.15 and self.said:
                self._again()
            elif kind < 0.25 and self.said:
                self._otherwise()
            else:
                self._new()
        if self.chance.random() < 0.1:
            self._point_to_nothing()

    def _new(self) -> None:
        part, thing, person = (self.chance.choice(words) for words in (PARTS, THINGS, PEOPLE))
        value = f"{self.chance.randint(100, 9_999)}"
        mark, when = self._mark(), self._when()
        topic = f"{part} {thing} {self.count}"
        text = f"The {topic} is set to {value} units. {person} decided it {when}, see {mark}."
        kind = self.chance.choice((MemoryType.PROJECT, MemoryType.REFERENCE, MemoryType.FEEDBACK))
        self._write(f"{topic} is {value} units", text, kind)
        self.said.append((part, f"{thing} {self.count}", value))

    def _again(self) -> None:
        """What is there already, in almost the same words, with one thing more."""
        part, thing, value = self.chance.choice(self.said)
        mark = self._mark()
        self._write(f"{part} {thing} is {value} units", f"The {part} {thing} is set to {value} units, see also {mark}.")

    def _otherwise(self) -> None:
        """A newer value: the old one need not survive, what else was said with it must."""
        at = self.chance.randrange(len(self.said))
        part, thing, old = self.said[at]
        new, mark = f"{self.chance.randint(10_000, 99_999)}", self._mark()
        text = f"Since {self.day:%Y-%m-%d} the {part} {thing} is {new} units, no longer {old} units, see {mark}."
        self._write(f"{part} {thing} is {new} units, no longer {old}", text)
        self.said[at] = (part, thing, new)

    def _point_to_nothing(self) -> None:
        index = Path(self.store.root, "MEMORY.md")
        gone = f"- [Gone {self.count}](gone_{self.count}.md) — a file that is no more\n"
        index.write_text(index.read_text(encoding="utf-8") + gone, encoding="utf-8")

    def _mark(self) -> str:
        self.count += 1
        mark = f"NOTE-{self.count:05d}"
        self.marks[mark] = f"{self.day:%Y-%m-%d}"
        return mark

    def _when(self) -> str:
        return self.chance.choice(("today", "yesterday", "last Friday", f"on {self.day:%Y-%m-%d}", "this week"))

    def _write(self, description: str, text: str, kind: MemoryType = MemoryType.PROJECT) -> None:
        name = f"{description.partition(' is ')[0]} ({self.count})"
        added = add_memory(self.store, text, kind=kind, name=name, description=description, origin=ORIGIN)
        stamp = self.day.timestamp()
        os.utime(added.memory.path, (stamp, stamp))


@dataclass(frozen=True)
class Morning:
    """What one night left."""

    day: str
    memories: int
    index_lines: int
    index_bytes: int
    changed: int
    cpu_ms: float
    lost: tuple[str, ...]


@dataclass
class _Clock:
    now: datetime = FIRST_DAY

    def seconds(self) -> float:
        return self.now.timestamp()


def nights(count: int, folder: Path) -> Iterator[Morning]:
    """Live and dream so many times."""
    place = Place(str(folder / "memory"))
    clock = _Clock()
    store = MemoryStore(place, clock=clock.seconds)
    store.ensure()
    year = Year(store, random.Random(7))
    for number in range(count):
        year.day = FIRST_DAY + timedelta(days=number)
        clock.now = year.day
        year.live()
        clock.now = year.day + timedelta(hours=17)
        yield _dream(store, year, clock.now)


def _dream(store: MemoryStore, year: Year, now: datetime) -> Morning:
    plan = DreamPlan((store,), store.root, store.root, (), zone=UTC)
    dreamer = Dreamer(plan, BuiltinModel(), NullSink(), now.timestamp)
    start = time.process_time()
    outcome = asyncio.run(dreamer.dream(Request("builtin"), DreamTask(0)))
    spent = time.process_time() - start
    if isinstance(outcome, NotDreamt):
        raise SystemExit(f"{now:%Y-%m-%d}: no dream: {outcome.reason}")
    return _look(store, year, outcome, spent)


def _look(store: MemoryStore, year: Year, outcome: DreamReport, spent: float) -> Morning:
    headers = store.scan(limit=None).headers
    text = "\n".join(Path(store.root, header.key).read_text(encoding="utf-8") for header in headers)
    index = (store.read_bytes("MEMORY.md") or b"").decode()
    return Morning(
        day=f"{year.day:%Y-%m-%d}",
        memories=len(headers),
        index_lines=len(index.splitlines()),
        index_bytes=len(index.encode()),
        changed=len(outcome.written),
        cpu_ms=spent * 1000,
        lost=tuple(mark for mark in year.marks if mark not in text),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.nights", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    mornings: list[Morning] = []
    with tempfile.TemporaryDirectory() as folder:
        for morning in nights(options.nights, Path(folder)):
            mornings.append(morning)
            if len(mornings) % 30 == 0 or morning.lost:
                print(_line(len(mornings), morning), flush=True)
            if morning.lost:
                break
    options.out.mkdir(parents=True, exist_ok=True)
    figures = [vars(morning) | {"lost": list(morning.lost)} for morning in mornings]
    (options.out / "nights.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (options.out / "nights.svg").write_text(draw(figures), encoding="utf-8")
    return _verdict(mornings, options.out)


def _line(number: int, morning: Morning) -> str:
    return (
        f"night {number:>4}  {morning.memories:>5} memories   index {morning.index_lines:>3} lines, "
        f"{morning.index_bytes:>6,} bytes   {morning.changed:>3} files changed   {morning.cpu_ms:6.0f} ms"
        f"   lost {len(morning.lost)}"
    )


def _verdict(mornings: list[Morning], out: Path) -> int:
    last = mornings[-1]
    over = [one.day for one in mornings if one.index_lines > MAX_LINES or one.index_bytes > MAX_BYTES]
    each = [1000 * one.cpu_ms / one.memories for one in mornings if one.memories >= 50]
    print(_line(len(mornings), last))
    print(f"marks lost {len(last.lost)}   nights with an index over its limits {len(over)}")
    if each:
        print(f"cost of a night for one memory: {min(each):.0f} to {max(each):.0f} microseconds of CPU")
    print(f"plot: {out / 'nights.svg'}   figures: {out / 'nights.json'}")
    return 1 if last.lost or over else 0


if __name__ == "__main__":
    sys.exit(main())
