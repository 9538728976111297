"""What stands in the place of the daemon, and is none: a program of the same user, so nothing but its words tells."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memdir.hooks.daemon_client import DaemonPlace, chosen, packed, stores_of
from memdir.memdir import MemDir, open_memory
from memdir.recall.recall import RecallRequest
from memdir.version import __version__
from tests.conftest import Ran

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no daemon on Windows")


@pytest.fixture
def memory(project: Path, monkeypatch: pytest.MonkeyPatch) -> MemDir:
    monkeypatch.delenv("MEMDIR_NO_DAEMON")
    found = open_memory(project)
    found.start()
    return found


@contextmanager
def answering(memory: MemDir, told: dict[str, object]) -> Iterator[None]:
    """Something that says this to whoever asks."""
    place = DaemonPlace.of(memory)
    os.makedirs(os.path.dirname(place.socket), 0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place.socket)
        os.chmod(place.socket, 0o600)
        listener.listen()

        def serve() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    if connection.recv(1 << 20) == b"end\n":
                        return
                    connection.sendall(packed(told))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(place.socket)
                last.sendall(b"end\n")
            thread.join(10)
            os.unlink(place.socket)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"pid": "1", "stores": {}, "memoryBytes": None},
        {"running": False, "socket": "/elsewhere", "pid": -5},
        dict.fromkeys(("pid", "upSeconds", "idleSeconds", "endsAfterIdleSeconds", "memoryBytes", "stores"), 10**400),
    ],
)
def test_what_is_no_daemon_of_ours_is_told_as_that(
    memory: MemDir, memdir: Callable[..., Ran], told: dict[str, object]
) -> None:
    with answering(memory, {**told, "version": __version__}):
        for words in (("daemon", "status"), ("daemon", "status", "--json")):
            done = memdir(*words)
            assert done.code == 1 and "is no daemon of memdir" in done.out + done.err


def test_the_daemon_is_told_to_leave_out_what_a_team_left_here(memory: MemDir) -> None:
    """E1: while the team is switched off."""
    path = Path(memory.place.root, "team", "car.md")
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: Car\ndescription: the car starts with a key\ntype: project\n---\n\nA key.\n")
    told = {one["scope"]: one["surfaced"] for one in stores_of(memory, RecallRequest("how do I start the car?"))}
    assert told == {"project": ["team/car.md"], "user": []}


def test_an_index_is_no_memory_whoever_says_so(memory: MemDir) -> None:
    keys = {"keys": ["MEMORY.md", "car.md", "team/MEMORY.md"], "documents": 3}
    with answering(memory, {"version": __version__, "chosen": {"project": keys}}):
        assert chosen(memory, RecallRequest("how do I start the car?")) == {"project": (["car.md"], 3)}, (
            "MEMORY.md is the index"
        )
