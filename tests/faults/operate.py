"""One operation on one home, in a process of its own, through the code that every surface uses.

`python operate.py OPERATION PROJECT MATERIAL` with MEMDIR_HOME set. Ends like the command line: 0, or a MemdirError's
exit code with its words on standard error. Whatever else happens is a traceback, which the tests take for a bug.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from datetime import UTC

from memdir.dream.dream import Dreamer, DreamPlan, DreamTask, NotDreamt
from memdir.errors import MemdirError
from memdir.events import NullSink
from memdir.memdir import open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.store.archive import import_memories
from memdir.store.history import Origin
from memdir.store.index import entry_for
from memdir.store.memories import add_memory, forget_memories, save_memory
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType, Topic
from memdir.store.undo import undo

NOW = 1_790_000_000.0  # a clock that stands still gives the same commits in every run
CLI = Origin("cli", trust="user", session="s-1", messages=("m-1", "m-2"))

EDITED = "feedback_real_database.md"
DELETED = "deploy/staging.md"
CREATED = "project_release_freeze.md"
CREATED_BODY = "Releases are frozen until 2026-12-01.\n\n**Why:** the auditors are in the house.\n"
NEW_DESCRIPTION = "Tests run against a real PostgreSQL, never against mocks"


def create(store: MemoryStore, material: str) -> None:
    add_memory(store, CREATED_BODY, kind=MemoryType.PROJECT, name="Release freeze", origin=CLI)


def edit(store: MemoryStore, material: str) -> None:
    data = store.read(EDITED).topic.data
    edited = Topic(data).with_field("description", NEW_DESCRIPTION).data.replace(b"mocks lie.", b"mocks lied in March.")
    save_memory(store, EDITED, edited, origin=CLI, base=data)


def overwrite(store: MemoryStore, material: str) -> None:
    """Without a base: whatever stands there is replaced, also what a person wrote a moment ago."""
    data = Topic.compose(name="Real database", description="Overwritten", kind=MemoryType.FEEDBACK, body="New text.\n")
    save_memory(store, EDITED, data.data, origin=CLI)


def delete(store: MemoryStore, material: str) -> None:
    if store.read_bytes(DELETED) is not None:  # a second run after a crash finds the work done
        forget_memories(store, [DELETED], origin=CLI)


def index(store: MemoryStore, material: str) -> None:
    """No topic file is written: only the lines of the index."""
    with store.changing(CLI, "repair the index") as change:
        entries = [
            entry_for(header.key, header) for header in sorted(store.scan().headers, key=lambda header: header.key)
        ]
        change.edit_index(lambda current: current.repaired(entries, holds_unread=lambda _: False))


def commit(store: MemoryStore, material: str) -> None:
    """The history picks up what a person changed by hand."""
    store.record_outside_changes()


def take_in(store: MemoryStore, material: str) -> None:
    import_memories(store, os.path.join(material, "import"), origin=CLI)


def take_back(store: MemoryStore, material: str) -> None:
    changed = next(commit for commit in store.history.log() if commit.subject.startswith("edit "))
    undo(store, changed.id)


def dream(store: MemoryStore, material: str) -> None:
    """A night of the built-in model, as `memdir dream --yes` runs it."""
    plan = DreamPlan((store,), material, material, (), zone=UTC)
    dreamer = Dreamer(plan, BuiltinModel(), NullSink(), lambda: NOW)
    outcome = asyncio.run(dreamer.dream(Request("builtin"), DreamTask(0)))
    if isinstance(outcome, NotDreamt):
        raise MemdirError(outcome.reason)


def start(store: MemoryStore, material: str) -> None:
    """Nothing more than what every session begins with."""


OPERATIONS: dict[str, Callable[[MemoryStore, str], None]] = {
    "create": create,
    "edit": edit,
    "overwrite": overwrite,
    "delete": delete,
    "index": index,
    "commit": commit,
    "import": take_in,
    "undo": take_back,
    "dream": dream,
    "start": start,
}


def main(words: list[str]) -> int:
    operation, project, material = words
    try:
        memory = open_memory(project, clock=lambda: NOW)
        memory.start()
        OPERATIONS[operation](memory.store, material)
    except MemdirError as error:
        print(f"memdir: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
