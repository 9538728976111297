"""What waits to be learned from: a small file a session, put there by a hook and taken up by the worker (X5, X10).

A later turn of the same session takes the place of an earlier one: the worker learns from all that came after its
cursor. What it has taken up stays on disk until it is done.
"""

from __future__ import annotations

import os

from memdir.disk.append import append_bytes
from memdir.disk.atomic import delete_file, make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_plain
from memdir.errors import DiskError
from memdir.layout import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memdir.layout import Layout

MAX_TRIES = 3  # to learn from a turn; what ends the worker as often as that is passed over
MAX_TOLD_BYTES = 64 << 10  # of what was saved and not told yet


class WorkQueue:
    """The queue of one project."""

    def __init__(self, layout: Layout) -> None:
        self._folder = os.path.join(layout.attached, "queue")
        self._saved = os.path.join(layout.attached, "saved")
        self.lock = os.path.join(layout.attached, "worker.lock")

    def add(self, session: str) -> None:
        """A turn of this session ended."""
        make_folder(self._folder)
        write_bytes_atomic(os.path.join(self._folder, session), b"")

    def is_empty(self) -> bool:
        return not self._names()

    def waiting(self) -> list[str]:
        """The sessions that wait, whoever had taken one up before and was killed: those last, so that one which ends
        every worker keeps no other waiting."""
        tries: dict[str, str] = {}
        for session, _, count in (name.partition("~") for name in self._names()):
            tries[session] = max(tries.get(session, ""), count)
        return sorted(tries, key=tries.__getitem__)

    def take(self, session: str) -> bool:
        """Take a session up, from now on a new turn of it waits beside; False when it was taken up too often."""
        path = os.path.join(self._folder, session)
        tries = max((int(name[-1]) for name in self._taken(session)), default=0)
        if tries < MAX_TRIES:
            write_bytes_atomic(f"{path}~{tries + 1}", b"")
        if os.path.lexists(path):
            delete_file(path)
        self.done(session, but=f"{session}~{tries + 1}")
        return tries < MAX_TRIES

    def done(self, session: str, *, but: str = "") -> None:
        """Nothing of what was taken up is left to do."""
        for name in self._taken(session):
            if name != but:
                delete_file(os.path.join(self._folder, name))

    def give_back(self, session: str) -> None:
        """It failed for a reason that passes: it waits as before, and this try does not count."""
        tries = max((int(name[-1]) for name in self._taken(session)), default=0) - 1
        before = f"{session}~{tries}" if tries > 0 else session
        self.add(before)
        self.done(session, but=before)

    def tell(self, files: Iterable[str]) -> None:
        """These were saved; the next hook of the project tells the user."""
        append_bytes(self._saved, "".join(f"{file}\n" for file in files).encode("utf-8", "replace"))

    def told(self) -> list[str]:
        """What was saved and nobody was told yet; from now on it is told."""
        mine = f"{self._saved}.{os.getpid()}"
        try:
            os.rename(self._saved, mine)  # of two hooks at once one finds it
            text = read_plain(mine, max_bytes=MAX_TOLD_BYTES, follow=False).decode("utf-8", "replace")
            delete_file(mine)
        except (OSError, DiskError):
            return []
        return list(dict.fromkeys(text.split("\n")[:-1]))

    def _taken(self, session: str) -> list[str]:
        return [name for name in self._names() if name.startswith(f"{session}~") and name[-1].isdecimal()]

    def _names(self) -> list[str]:
        """What names a session there. A folder does not, nor what a write that was cut short has left."""
        try:
            with os.scandir(self._folder) as entries:
                files = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(name for name in files if is_session_id(name.partition("~")[0]))
