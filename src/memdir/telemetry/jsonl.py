"""The local event log: one JSON object a line, private, rotated by size, never sent anywhere (V1)."""

from __future__ import annotations

import os

from memdir.errors import MemdirError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.events import Event

KEPT_LOGS = 3  # events.1.jsonl … events.3.jsonl: enough to look back, little enough to forget


class JsonlLog:
    """Appends events to a file. A log that cannot be written never disturbs the work that it describes."""

    def __init__(self, path: str, *, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def emit(self, event: Event) -> None:
        from time import gmtime, strftime

        from memdir.disk.append import append_bytes
        from memdir.disk.plain_json import encode  # here: a command with nothing to tell loads none of it (ADR 0003)

        moment = f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(event.time))}.{int(event.time * 1000) % 1000:03}Z"
        line = encode({"time": moment, "event": event.name, **event.fields})
        try:
            rotate_if_full(self._path, max_bytes=self._max_bytes)
            append_bytes(self._path, line.encode("utf-8", "replace") + b"\n")
        except (MemdirError, OSError):
            return


def rotate_if_full(path: str, *, max_bytes: int) -> None:
    """Move a log aside that has grown to its size, and the older ones on; LockBusy when another process holds it up."""
    try:
        if os.stat(path).st_size < max_bytes:
            return
    except FileNotFoundError:
        return
    from memdir.disk.lock import locked

    newest_first = rotated(path)
    with locked(os.path.splitext(path)[0] + ".lock", wait_seconds=1.0):
        if os.stat(path).st_size < max_bytes:
            return  # another process was faster
        for number in range(KEPT_LOGS, 0, -1):
            if os.path.exists(newest_first[number - 1]):
                os.replace(newest_first[number - 1], newest_first[number])


def rotated(path: str) -> list[str]:
    """A log and the older ones beside it, newest first."""
    stem, ending = os.path.splitext(path)
    return [path, *[f"{stem}.{number}{ending}" for number in range(1, KEPT_LOGS + 1)]]
