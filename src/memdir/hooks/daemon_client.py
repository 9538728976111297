"""Asks the daemon that keeps the sentence model, and has one brought up (ADR 0063).

On the path of every prompt: the standard library only, and as little of it as possible. Whatever is wrong with the
daemon, or with what stands in its place, there is no answer, and words choose.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from memdir.disk.plain_json import decode, encode
from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping, Sequence

    from memdir.memdir import MemDir
    from memdir.recall.recall import RecallRequest

PROTOCOL = 1
MAX_SECONDS = 0.08  # that a prompt waits
MAX_MESSAGE_BYTES = 1 << 20  # a prompt is cut at 20,000 characters, and a session is shown some hundred memories
MAX_PATH_BYTES = 100  # of a socket: systems take 104 to 108
SCOPES = ("project", "user")  # what a prompt brings back comes from


class DaemonPlace:
    """Where the daemon of a home is found. The socket is in the home, or where that is too long a path, in a folder of
    the user's own; the lock is always in the home: there is never a second one."""

    __slots__ = ("folder", "lock", "resting", "socket")

    def __init__(self, folder: str, runtime: str = "") -> None:
        self.folder = folder
        self.lock = os.path.join(folder, "lock")
        self.resting = os.path.join(folder, "resting")  # it ended by itself, and the next prompt may wake it
        self.socket = os.path.join(folder, "socket")
        if os.name != "nt" and len(os.fsencode(self.socket)) > MAX_PATH_BYTES:
            from zlib import crc32

            name = f"memdir-{os.getuid()}-{crc32(os.fsencode(folder)):08x}"
            below = runtime if is_private(runtime, stat.S_IFDIR) and len(os.fsencode(runtime)) < 60 else "/tmp"  # noqa: S108 - a folder there counts only when it is ours
            self.socket = os.path.join(below, name, "socket")

    @staticmethod
    def of(memory: MemDir) -> DaemonPlace:
        return DaemonPlace(memory.layout.daemon, memory.places.environment.runtime)


def is_wanted(memory: MemDir) -> bool:
    """Whether a daemon may be asked for this project. There is none on Windows, whose sockets tell no owner."""
    return os.name != "nt" and memory.settings.recall_encoder == "auto" and not memory.places.environment.no_daemon


def is_private(path: str, kind: int, *, open_to: int = 0) -> bool:
    """Whether something of this kind stands there, itself and no link to it, ours and closed to everybody else, but
    for `open_to`."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    mode = status.st_mode
    return stat.S_IFMT(mode) == kind and status.st_uid == os.getuid() and not mode & 0o077 & ~open_to


def bring_up(memory: MemDir) -> None:
    """Have a daemon that knows the memories of this project; nothing is tried without the sentence model."""
    if not is_wanted(memory):
        return
    from memdir.search import has_sentence_model

    if not has_sentence_model():
        return
    place, stores = DaemonPlace.of(memory), stores_of(memory)
    told = ask(place, {"do": "warm", "stores": stores})
    if told is None or not is_of_this_version(told):
        is_other = told is not None  # of before an upgrade
        if is_other:
            ask(place, {"do": "stop"})
        start(place, stores, waits=is_other)


def start(place: DaemonPlace, stores: Sequence[object], *, waits: bool = False) -> None:
    """Start a daemon; one that finds another at work leaves, or waits until that one has ended."""
    from memdir.process import detach

    detach(
        "hook", "--daemon", encode({"folder": place.folder, "socket": place.socket, "stores": stores, "waits": waits})
    )


def stores_of(memory: MemDir, request: RecallRequest | None = None) -> list[dict[str, object]]:
    """The memories that a prompt of this project is answered from, and which of them its session has seen."""
    found: list[dict[str, object]] = []
    for scope in SCOPES:
        place = memory.places.of(scope)
        over = request.passed_over(scope, place.root, has_team=memory.places.has_team) if request is not None else ()
        found.append({"scope": scope, "root": place.root, "derived": place.derived, "surfaced": sorted(over)})
    return found


def chosen(memory: MemDir, request: RecallRequest) -> Mapping[str, tuple[list[str], int]]:
    """The keys that the sentence model chooses in each scope, and among how many; no scope where it did not in time."""
    if not is_wanted(memory):
        return {}
    place = DaemonPlace.of(memory)
    if not os.path.lexists(place.socket):
        _wake(memory, place)
        return {}
    question = {"do": "choose", "text": request.text, "tools": list(request.recent_tools), "now": memory.clock()}
    told = ask(place, {**question, "stores": stores_of(memory, request)})
    found = told.get("chosen") if told is not None and is_of_this_version(told) else None
    return {scope: one for scope, told in found.items() if (one := _choice(told))} if isinstance(found, dict) else {}


def _choice(told: object) -> tuple[list[str], int] | None:
    if not isinstance(told, dict):
        return None
    keys, documents = told.get("keys"), told.get("documents")
    if not isinstance(keys, list) or not isinstance(documents, int) or not all(isinstance(key, str) for key in keys):
        return None
    from memdir.disk.safe_path import is_index

    return [key for key in keys if not is_index(key)], documents


def _wake(memory: MemDir, place: DaemonPlace) -> None:
    """Once after a daemon ended for want of work, or because memdir changed; this prompt does not wait for it."""
    try:
        os.unlink(place.resting)
    except OSError:
        return
    start(place, stores_of(memory))


def is_of_this_version(told: Mapping[str, object]) -> bool:
    return told.get("memdir") == PROTOCOL and told.get("version") == __version__


def ask(place: DaemonPlace, message: Mapping[str, object], *, seconds: float = MAX_SECONDS) -> dict[str, object] | None:
    """What the daemon says; None where there is none, it says nothing in time, or it is not ours."""
    until = time.monotonic() + seconds
    connection = None
    try:
        connection = _connected(place, seconds)
        connection.sendall(packed(message))
        told = decode(received(connection, until))
    except OSError:  # late ones among them
        return None
    finally:
        if connection is not None:
            connection.close()
    return told if isinstance(told, dict) else None


def peer_at(place: DaemonPlace) -> int:
    """The process that has the socket, whether it answers or not; 0 where that cannot be known."""
    try:
        connection = _connected(place, MAX_SECONDS)
    except OSError:
        return 0
    process = peer_of(connection)[1]
    connection.close()
    return process


def _connected(place: DaemonPlace, seconds: float) -> _socket.socket:
    """A way to the daemon; OSError where there is none, or somebody else stands in its place."""
    import _socket

    if not is_private(place.socket, stat.S_IFSOCK) or not is_private(os.path.dirname(place.socket), stat.S_IFDIR):
        raise ConnectionRefusedError
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(place.socket)
        if peer_of(connection)[0] != os.getuid():
            raise ConnectionRefusedError
    except OSError:
        connection.close()
        raise
    return connection


def packed(message: Mapping[str, object]) -> bytes:
    """A message as one line, whatever bytes are in the name of a file."""
    line = encode({"memdir": PROTOCOL, "version": __version__, **message})
    return line.encode("utf-8", "backslashreplace") + b"\n"


def received(connection: _socket.socket, until: float) -> bytes:
    """The one line that the other side says; OSError where it is late, breaks off or goes on too long."""
    data = bytearray()
    while not data.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(data) > MAX_MESSAGE_BYTES:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionResetError
        data += part
    return bytes(data)


def peer_of(connection: _socket.socket) -> tuple[int, int]:
    """The user and the process at the other end, as the kernel knows them; the process is 0 where it does not say."""
    import _socket

    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(told[4:8], sys.byteorder), int.from_bytes(told[:4], sys.byteorder)
    told = connection.getsockopt(0, 1, 76)  # LOCAL_PEERCRED of macOS and the BSDs
    return int.from_bytes(told[4:8], sys.byteorder), 0
