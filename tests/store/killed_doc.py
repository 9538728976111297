"""Kills an update of a magic doc at moments spread over all that it does, and looks at what is left (M3, S13).

python -m tests.store.killed_doc FOLDER TIMES prints what is wrong, and how often it killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from memdir.layout import Place
from memdir.store.history import Origin
from memdir.store.magic_doc import UPDATED, DocShelf
from memdir.store.store import MemoryStore

BEFORE = b"# MAGIC DOC: T\n\nAs it was.\n"
AFTER = b"# MAGIC DOC: T\n\nAs it is.\n"
LATER = b"# MAGIC DOC: T\n\nAs it will be.\n"
WATCHED = ("open", "os.", "ctypes.dlsym", "fcntl.")


def shelf_in(folder: Path) -> DocShelf:
    return DocShelf(MemoryStore(Place(str(folder / "copies"))), str(folder / "tree"))


def update(folder: Path, wanted: bytes) -> None:
    shelf = shelf_in(folder)
    shelf.update(shelf.read("docs/x.md"), wanted, Origin(UPDATED))


def counted(folder: Path, deadly: int = 0) -> int:
    """How many times a process that updates the doc calls the system; killed at one of them."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        calls = 0

        def watch(event: str, _: object) -> None:
            nonlocal calls
            calls += event.startswith(WATCHED)
            if calls == deadly:
                os._exit(9)

        sys.addaudithook(watch)
        update(folder, AFTER)
        os.write(writing, str(calls).encode())
        os._exit(0)
    os.close(writing)
    told = os.read(reading, 20)
    os.close(reading)
    os.waitpid(child, 0)
    return int(told or 0)


def faults(folder: Path) -> Iterator[str]:
    """What is wrong after a process was killed."""
    doc = folder / "tree" / "docs" / "x.md"
    left = doc.read_bytes()
    if left not in (BEFORE, AFTER):
        yield f"it holds {left!r}"
    update(folder, LATER)
    if doc.read_bytes() != LATER or os.listdir(doc.parent) != ["x.md"]:
        yield f"after the next update there is {os.listdir(doc.parent)}, {doc.read_bytes()!r}"
    shelf = shelf_in(folder)
    blobs = [file.after for commit in shelf.store.history.log() for file in commit.files]
    if not {BEFORE, left, LATER} <= set(shelf.store.history.contents(blobs).values()):
        yield "a text is not in the history"
    shelf.undo()
    if doc.read_bytes() != left:
        yield f"undone, it holds {doc.read_bytes()!r}"


def made(folder: Path) -> Path:
    (folder / "tree" / "docs").mkdir(parents=True)
    (folder / "tree" / "docs" / "x.md").write_bytes(BEFORE)
    return folder


def main(folder: Path, times: int) -> None:
    calls = counted(made(folder / "whole"))
    for number in range(times):
        deadly = 1 + calls * (2 * number + 1) // (2 * times)
        here = made(folder / str(number))
        if counted(here, deadly):
            print(f"{deadly} of {calls}: it was not killed")
        for fault in faults(here):
            print(f"{deadly} of {calls}: {fault}")
    print(f"killed {times} times")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
