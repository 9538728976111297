"""Any file of ours damaged in any way: no traceback, no hang, no memory touched that nobody asked for (S13, S14)."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .damage import HAPPENINGS, DamagedHome, live_in, read_from
from .homes import Files

SAMPLE = 4  # `make test-faults` does all
ALL = 1000
BATCH = 100  # of one test, so that several processes share the work
READING = (
    ("list",),
    ("list", "--scope", "all"),
    ("search", "staging"),
    ("recall", "rebuild the staging database"),
    ("prompt",),
    ("check",),
    ("log",),
    ("sessions",),
    ("dream", "--dry-run"),
)

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def lived_in(workplace: str) -> DamagedHome:
    return live_in(os.path.join(workplace, "damage"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" in metafunc.fixturenames:
        thorough = metafunc.config.getoption("--faults", default="sample") == "all"
        total, batch = (ALL, BATCH) if thorough else (SAMPLE, SAMPLE // 2)
        given = os.environ.get("DAMAGE_SEED")
        batches = [range(first, first + batch) for first in range(0, total, batch)]
        metafunc.parametrize("seeds", [range(int(given), int(given) + 1)] if given else batches, ids=str)


def test_no_damage_costs_a_memory(
    seeds: range, lived_in: DamagedHome, workplace: str, count: Callable[[str, int], None]
) -> None:
    """One seed alone: DAMAGE_SEED=17 make test-faults."""
    failures = []
    for seed in seeds:
        home = lived_in.copy_to(os.path.join(workplace, f"damaged-{os.getpid()}-{seed}", "x"))
        try:
            _suffer(home, seed)
        except AssertionError as error:
            failures.append(str(error))
        shutil.rmtree(os.path.dirname(home.folder))
    count("files of ours damaged, then used", len(seeds))
    assert not failures, "\n".join(failures)


def _suffer(home: DamagedHome, seed: int) -> None:
    dice = random.Random(seed)
    if seed % 4 < 2:
        home.cut_short(waits=bool(seed % 2))
    path = home.any_file(dice)
    kind = dice.choice(sorted(HAPPENINGS))
    before = home.memories
    HAPPENINGS[kind](path, dice)
    is_harmless = kind == "close" or _is_still_read(home, path)  # root reads what is closed
    story = f"seed {seed}: {kind} {os.path.relpath(path, home.home)}"
    told = Story(home, story)
    named = told.run("doctor", "--json", allow={})
    key = sorted(key for key in before if key != "MEMORY.md")[dice.randrange(len(before) - 1)]
    for words in READING:
        told.run(*words, allow={})
    told.run("why", key, allow={})
    told.run("remember", "A text that came after the damage", allow=None)
    told.undo_or_nothing(before)
    told.run("forget", key, allow=None, but={key: before[key]})
    told.run("restore", key, allow=None, but={key: before[key]})
    for scope in ("user", "project"):
        told.run("move", key, "--scope", scope, allow=None, but={key: before[key]})
    told.attend()
    told.run("doctor", "--fix", allow=None)
    told.run("settings", allow={})
    told.check_nothing_lost(before)
    told.check_named(named, path, is_harmless=is_harmless)


class Story:
    """Commands on a damaged home, and what must hold after each."""

    def __init__(self, home: DamagedHome, story: str) -> None:
        self.home = home
        self.story = story
        self.said: list[str] = []

    def run(self, *words: str, allow: Files | None, but: Files | None = None) -> str:
        """Run a command that may change nothing (`allow={}`), or add memories and change the index."""
        before = self.home.memories
        told = self.home.tell(*words)
        self.said.append(told.err)
        assert told.code != 70 and "Traceback" not in told.err, f"{self.story}: `{' '.join(words)}`: {told.err}"
        assert "there is no command" not in told.err, told.err
        after = self.home.memories
        if allow == {}:
            assert after == before, f"{self.story}: `{' '.join(words)}` changed {_difference(before, after)}"
        else:
            free = {"MEMORY.md", *(but or {})}
            changed = {key for key in before if after.get(key) != before[key]} - free
            assert not changed, f"{self.story}: `{' '.join(words)}` changed {sorted(changed)}"
        return told.out

    def undo_or_nothing(self, before: Files) -> None:
        """The newest change was the memory that came after the damage: that one goes, or nothing does."""
        now = self.home.memories
        told = self.home.tell("undo")
        self.said.append(told.err)
        after = self.home.memories
        assert told.code != 70, f"{self.story}: undo: {told.err}"
        wanted = before if told.code == 0 else now
        assert after == wanted, f"{self.story}: undo ({told.code}) changed {_difference(wanted, after)}; {self.said}"

    def attend(self) -> None:
        """The hooks of a coding agent, and the worker behind them, which end well whatever happens, and say so here."""
        before = self.home.memories
        for event in ("start", "prompt", "--work"):
            crash = self.home.call_hook(event)
            assert not crash, f"{self.story}: the hook {event}: {crash}"
        changed = {key for key, data in before.items() if self.home.memories.get(key) != data} - {"MEMORY.md"}
        assert not changed, f"{self.story}: the worker changed {sorted(changed)}"
        is_noted = any(name in self.story for name in ("attended", self.home.agent.session, "settings.json"))
        is_kept = self.home.has_learned or self.home.has_to_learn
        assert is_kept or is_noted, f"{self.story}: what the agent was told is nowhere; {self.said}"

    def check_nothing_lost(self, before: Files) -> None:
        for key, data in before.items():
            if key != "MEMORY.md":
                assert self.home.held(data), f"{self.story}: the text of {key} is nowhere"

    def check_named(self, diagnosis: str, path: str, *, is_harmless: bool) -> None:
        """What a person would miss is named by doctor."""
        name = os.path.relpath(path, self.home.history)
        if name.startswith(("..", "logs")) or name.endswith(".rev") or is_harmless:
            return  # derived, or no damage at all
        checks = {finding["check"] for finding in json.loads(diagnosis)["findings"]}
        assert "history" in checks, f"{self.story}: doctor does not name it: {diagnosis[:500]} {self.said}"


def _is_still_read(home: DamagedHome, path: str) -> bool:
    """Whether an object is there nevertheless: in a pack, too."""
    folder, name = os.path.split(path)
    return len(name) == 38 and bool(read_from(home.history, os.path.basename(folder) + name))


def _difference(before: Files, after: Files) -> list[str]:
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


def test_the_home_that_is_damaged_has_a_file_of_every_kind(lived_in: DamagedHome) -> None:
    names = {Path(path).name for path in lived_in.files()}
    ours = ("recorded", "main", "HEAD", "config", "identity.json", "settings.json", "prices.json", "state.json")
    of_hooks = ("attended", "saved", lived_in.agent.session)
    assert {*ours, *of_hooks} <= names
