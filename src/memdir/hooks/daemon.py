"""The daemon that keeps the sentence model in memory, for hooks that have no time to load it (ADR 0063).

One to a home. It chooses exactly as a conversation would (`recall/selection.py`), and ends by itself: when nobody asks
any more, when memdir changed, or when it has grown too large. It writes nothing but the derived index and keeps no word
of what it was asked.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import stat
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from memdir.disk.atomic import FOLDER_MODE, make_folder, write_bytes_atomic
from memdir.disk.lock import locked
from memdir.disk.plain_json import decode
from memdir.disk.shipped import shipped_path
from memdir.errors import LockBusy, PathEscape
from memdir.hooks.daemon_client import DaemonPlace, is_of_this_version, is_private, packed, peer_of, received
from memdir.layout import Place
from memdir.recall.prefetch import RecallThreads
from memdir.recall.recall import RecallRequest, Shown
from memdir.recall.selection import LocalChooser, LocalSelector
from memdir.search.minilm import PairEncoder, SentenceModel
from memdir.text.embedding import open_table

IDLE_SECONDS = 15 * 60.0  # a pause; after a longer one the memory is worth more than the second that loading takes
TICK_SECONDS = 15.0  # between two looks at whether to go on, while nobody asks
LOOK_SECONDS = 1.0  # between two looks at the files of the package, while somebody does
CLIENT_SECONDS = 1.0  # for a client to say what it wants; a hook has given up long before
BUSY_SECONDS = 0.05  # to wait for another question about the same memories, but not for their index
STOP_SECONDS = 5.0  # for one of before an upgrade to end
MAX_CLIENTS = 16  # at once
MAX_STORES = 8  # whose index is kept open
MAX_MEMORY_BYTES = 640 << 20  # three times what it takes with two thousand memories

Json = Any  # what a client says: whatever is not as it should be raises, and the client gets no answer


class Ended(Exception):
    """Somebody wants the daemon to end."""


def serve(told: str) -> None:
    """`memdir hook --daemon JSON`: be the daemon, unless there is one."""
    given: Json = decode(told.encode("utf-8", "surrogateescape"))
    place = DaemonPlace(given["folder"])
    place.socket = given["socket"]
    for folder in (place.folder, os.path.dirname(place.socket)):
        _own(folder)
    try:
        with locked(place.lock, wait_seconds=STOP_SECONDS if given["waits"] else 0.0):
            limits = {name: given[name] for name in ("idle_seconds", "max_memory_bytes") if name in given}
            Daemon(place, **limits).run(given["stores"])
    except LockBusy:
        return


class Daemon:
    """Listens until there is a reason to end."""

    def __init__(
        self, place: DaemonPlace, *, idle_seconds: float = IDLE_SECONDS, max_memory_bytes: int = MAX_MEMORY_BYTES
    ) -> None:
        self._place = place
        self._idle_seconds = idle_seconds
        self._max_memory_bytes = max_memory_bytes
        self._installed = _installation()
        self._threads = RecallThreads()
        self._clients = threading.Semaphore(MAX_CLIENTS)
        self._stores = _WarmStores(SentenceModel(check=self._threads.check))
        self._looked = self._asked = self._began = time.monotonic()

    def run(self, stores: Json) -> None:
        """Be found at the socket, answer, and leave nothing there at the end."""
        listener = _listener(self._place.socket)
        mine, reason = _inode(self._place.socket), ""
        try:
            signal.signal(signal.SIGTERM, _end)
            with suppress(OSError):
                os.unlink(self._place.resting)
            self._threads.run(partial(self._warm, stores))
            while not reason:
                connection = _client(listener, max(0.01, min(TICK_SECONDS, self._idle_seconds - self._idle)))
                reason = self._reason_to_end(mine)
                if connection is not None and not reason:
                    self._take(connection)
        except Ended:
            pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            listener.close()
            if _inode(self._place.socket) == mine:
                os.unlink(self._place.socket)
            if reason in ("idle", "changed"):
                write_bytes_atomic(self._place.resting, b"", durably=False)
            asyncio.run(self._threads.close())  # an index that is being made keeps what is done of it

    @property
    def _idle(self) -> float:
        return time.monotonic() - self._asked

    def _reason_to_end(self, mine: int) -> str:
        if _inode(self._place.socket) != mine or not os.path.exists(self._place.lock):
            return "replaced"
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if _installation() != self._installed:
                return "changed"  # what was loaded would choose as the new one does not
        if _memory_bytes() > self._max_memory_bytes:
            return "large"
        return "idle" if self._idle >= self._idle_seconds else ""

    def _take(self, connection: socket.socket) -> None:
        """Answer beside: a client that is slow, or talks nonsense, costs nobody else anything."""
        if self._clients.acquire(blocking=False):
            self._threads.run(partial(self._answer, connection))
        else:
            connection.close()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                if peer_of(connection)[0] != os.getuid():
                    return
                told: Json = decode(received(connection, time.monotonic() + CLIENT_SECONDS))
                answer = packed(self._done(told))
                connection.settimeout(CLIENT_SECONDS)
                connection.sendall(answer)
            if told["do"] == "warm":
                self._warm(told["stores"])
        finally:
            self._clients.release()

    def _done(self, told: Json) -> dict[str, object]:
        """What a client gets. One of another version learns which this is, and may have it stop."""
        if told["do"] == "stop":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        if told["do"] == "status":
            return self._status()
        if told["do"] != "choose" or not is_of_this_version(told):
            return {}
        self._asked = time.monotonic()
        shown = Shown()
        for store in told["stores"]:
            for key in store["surfaced"]:
                shown.add(store["scope"], key, 0)
        request = RecallRequest(told["text"], recent_tools=told["tools"], shown=shown, on_progress=self._threads.check)
        return {"chosen": dict(self._stores.choose(told["stores"], request, told["now"]))}

    def _warm(self, stores: Json) -> None:
        """Make or read the index before somebody asks."""
        self._asked = time.monotonic()
        for _ in self._stores.choose(stores, RecallRequest("", on_progress=self._threads.check), time.time()):
            self._asked = time.monotonic()

    def _status(self) -> dict[str, object]:
        now = time.monotonic()
        return {
            "pid": os.getpid(),
            "upSeconds": round(now - self._began, 1),
            "idleSeconds": round(now - self._asked, 1),
            "endsAfterIdleSeconds": self._idle_seconds,
            "memoryBytes": _memory_bytes(),
            "stores": len(self._stores.kept),
        }


class _Store:
    """The memories of one directory, with the index that the sentence model made. One question at a time."""

    def __init__(self, root: str, derived: str, model: SentenceModel) -> None:
        encoder = PairEncoder(open_table(), model)  # a table's memory is not made for two
        self.selector = LocalSelector(root, os.path.join(derived, "minilm"), encoder=encoder)
        self.lock = threading.Lock()


class _WarmStores:
    """The directories that were asked about last."""

    def __init__(self, model: SentenceModel) -> None:
        self._model = model
        self._opening = threading.Lock()
        self.kept: OrderedDict[tuple[str, str], _Store] = OrderedDict()

    def choose(self, stores: Json, request: RecallRequest, now: float) -> Iterator[tuple[str, dict[str, object]]]:
        """What is chosen in each scope, as in a conversation; nothing of one whose index is being made."""
        for told in stores:
            scope, root = told["scope"], told["root"]
            if not os.path.isdir(root):
                yield scope, {"keys": [], "documents": 0}
                continue
            store = self._opened(root, told["derived"])
            if store.lock.acquire(timeout=BUSY_SECONDS):
                try:
                    chooser = LocalChooser(Place(root), scope, store.selector, clock=lambda: now)
                    selection = chooser.choose(request)
                finally:
                    store.lock.release()
                yield scope, {"keys": selection.keys, "documents": selection.scanned}

    def _opened(self, root: str, derived: str) -> _Store:
        with self._opening:
            store = self.kept.pop((root, derived), None) or _Store(root, derived, self._model)
            self.kept[root, derived] = store
            while len(self.kept) > MAX_STORES:
                self.kept.popitem(last=False)
        return store


def _end(*_: object) -> None:
    raise Ended


def _own(folder: str) -> None:
    """A folder that nobody else can put anything into, or PathEscape."""
    make_folder(folder)
    if is_private(folder, stat.S_IFDIR, open_to=0o077):
        os.chmod(folder, FOLDER_MODE)
    if not is_private(folder, stat.S_IFDIR):
        raise PathEscape(
            f"{folder} is a link or somebody else's", remedy="Move it away: the daemon's socket goes there"
        )


def _listener(path: str) -> socket.socket:
    """A socket of our own there, in place of whatever one that was killed left behind."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(MAX_CLIENTS)
    return listener


def _client(listener: socket.socket, seconds: float) -> socket.socket | None:
    listener.settimeout(seconds)
    try:
        return listener.accept()[0]
    except OSError:  # nobody came, or whoever did is gone
        return None


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0


def _installation() -> dict[str, tuple[int, int]]:
    """The files of the package, with their times and sizes."""
    found = {}
    for folder, folders, files in os.walk(shipped_path("")):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in [os.path.join(folder, name) for name in files]:
            with suppress(OSError):
                status = os.stat(path)
                found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _memory_bytes() -> int:
    """The most that it ever took. What `getrusage` tells on Linux begins with the size of whoever started it."""
    with suppress(OSError, StopIteration), open("/proc/self/status", "rb") as told:
        return next(int(line.split()[1]) << 10 for line in told if line.startswith(b"VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
