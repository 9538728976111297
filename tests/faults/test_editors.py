"""A person saves while memdir writes: whoever comes last, no text of the person's is lost (S13, S14)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import Place
from memdir.store.store import MemoryStore

from . import editor, verify
from .homes import files_of, variables

pytestmark = pytest.mark.faults


class Program:
    """One of the two, waiting for its word."""

    def __init__(self, who: str, root: str, home: str) -> None:
        command = [sys.executable, str(Path(editor.__file__)), who, root]
        self._process = subprocess.Popen(
            command, env=variables(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def go(self, seed: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()

    def answer(self) -> object:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "it ended"
        return json.loads(line)

    def end(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@pytest.fixture
def root(workplace: str) -> str:
    folder = os.path.join(workplace, "editors", "memory")
    os.makedirs(folder)
    return folder


def test_the_last_text_of_a_person_is_on_disk_or_in_the_history(
    root: str, thorough: bool, count: Callable[[str, int], None]
) -> None:
    store = MemoryStore(Place(root))
    home = os.path.dirname(root)
    person, memdir = Program("person", root, home), Program("memdir", root, home)
    lost: list[str] = []
    rounds = 400 if thorough else 12
    for seed in range(rounds):
        person.go(seed)
        memdir.go(seed)
        saved, written = person.answer(), memdir.answer()
        assert isinstance(saved, dict)
        assert isinstance(written, list)
        on_disk = files_of(root)
        store.record_outside_changes()
        for name, text in saved.items():
            if on_disk.get(name) != text.encode() and not _is_kept(store, text):
                lost.append(f"round {seed}: the person's {text[-30:]!r} in {name}")
        lost += [f"round {seed}: memdir's {text[-30:]!r}" for text in written if not _is_kept(store, text)]
    person.end()
    memdir.end()
    count("rounds of a person and memdir on the same files", rounds)
    assert not lost
    assert store.history.check() == []


def _is_kept(store: MemoryStore, text: str) -> bool:
    """Whether a text is in the history, or was put where its author finds it."""
    drafts = files_of(store.place.drafts).values() if os.path.isdir(store.place.drafts) else ()
    if text.encode() in drafts:
        return True
    where = [
        "git",
        f"--git-dir={store.place.history}",
        "log",
        "--oneline",
        f"--find-object={verify.blob_id(text.encode())}",
    ]
    done = subprocess.run(where, capture_output=True, text=True, check=False, cwd=store.root)
    return bool(done.stdout)
