"""What waits to be learned from: a small file a session, put there by a hook and taken up by the worker (X5, X10).

A later turn of the same session takes the place of an earlier one: the worker learns from all that came after its
cursor. What it has taken up stays on disk until it is done. What was saved is told by the history: of a worker that was
killed, too, whoever looks next finds what it wrote (X9).
"""

from __future__ import annotations

import os
import time

from memdir.disk.append import append_bytes
from memdir.disk.atomic import delete_file, keep_bytes, write_bytes_atomic
from memdir.disk.lock import locked
from memdir.disk.plain_file import read_if_plain
from memdir.errors import DiskError, HistoryError, LockBusy
from memdir.layout import is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memdir.layout import Layout
    from memdir.remember.magic_docs import DocUpdate
    from memdir.store.store import MemoryStore

    Told = dict[str, list[tuple[str, list[str]]]]  # by what happened: how it is taken back, and the files

MAX_TRIES = 3  # to learn from a turn; what ends the worker as often as that is passed over
MAX_TOLD_BYTES = 8 << 20  # of what was saved and not told yet: of more nobody is told
_DOC = "doc"  # in the place of a time
MAX_KNOWN = 500  # changes that somebody was told of: those that a worker may still be about to note


class WorkQueue:
    """The queue of one project."""

    def __init__(self, layout: Layout) -> None:
        self._folder = os.path.join(layout.attached, "queue")
        self._saved = os.path.join(layout.attached, "saved")
        self._known = os.path.join(layout.attached, "told")
        self.lock = os.path.join(layout.attached, "worker.lock")
        self.preparing = os.path.join(layout.attached, "preparing.lock")

    def add(self, session: str, *, is_begun: bool = False) -> None:
        """A turn of this session ended, or began of whose end nobody may tell."""
        keep_bytes(os.path.join(self._folder, session), b"begun" if is_begun else b"")

    def is_begun(self, session: str) -> bool:
        """Whether the turn that waits began, and nobody told of its end."""
        return bool(read_if_plain(os.path.join(self._folder, session), 10))

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
            write_bytes_atomic(f"{path}~{tries + 1}", str(self._since(session)).encode())
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

    def tell(self, session: str, files: Iterable[str]) -> None:
        """These were saved; the next hook of the project tells the user."""
        since = self._since(session)
        append_bytes(self._saved, "".join(f"{since} {session} {file}\n" for file in files).encode("utf-8", "replace"))

    def tell_of_doc(self, doc: DocUpdate) -> None:
        """The same of a magic doc that was brought up to date."""
        append_bytes(self._saved, f"{_DOC} {doc.change[:8]} {doc.path}\n".encode("utf-8", "replace"))

    def told(self, stores: Sequence[MemoryStore]) -> tuple[Told, Callable[[], object]]:
        """What was saved, still stands and nobody was told yet, with the command that takes it back, and which docs
        were updated; and what to call once somebody is told. Of two hooks at once one gets it; what the one does not
        come to tell, the next does."""
        steps = self._telling(stores)
        return next(steps, {}), lambda: next(steps, None)

    def _telling(self, stores: Sequence[MemoryStore]) -> Iterator[Told]:
        try:
            with locked(f"{self._known}.lock", wait_seconds=0.0):
                data = read_if_plain(self._saved, MAX_TOLD_BYTES) or b""
                noted = [line.split(" ", 2) for line in data.decode("utf-8", "replace").split("\n")]
                noted = [words for words in noted if len(words) == 3]
                marks = {session: since for since, session, _ in reversed(noted) if since.isdecimal()}
                taken = {name.partition("~")[0] for name in self._names() if "~" in name}
                marks |= {session: str(self._since(session)) for session in taken}
                known = (read_if_plain(self._known, MAX_TOLD_BYTES) or b"").decode("ascii", "replace").split()
                changes = {one[0]: one[1:] for store in stores for one in _saved_in(store, marks)}
                new = {change: told for change, told in changes.items() if change not in known}
                docs = {path: change for kind, change, path in noted if kind == _DOC}
                undo = {path: f"memdir undo {one} --scope docs" if one else "" for path, one in docs.items()}
                files = list(dict.fromkeys(file for kind, _, file in noted if kind != _DOC))
                here = [file for file in files if any(os.path.exists(os.path.join(one.root, file)) for one in stores)]
                found = {"": ("", (here, [file for file in files if file not in here]))}  # nothing can be taken back
                if any(store.history.is_readable for store in stores):
                    found = new
                saved, gone = ([(how, files[of]) for how, files in found.values() if files[of]] for of in (0, 1))
                docs_told = [(how, [path]) for path, how in undo.items()]
                yield {"Memory saved": saved, "Memory deleted": gone, "Doc updated": docs_told}
                write_bytes_atomic(self._known, " ".join([*known, *new][-MAX_KNOWN:]).encode())
                if since := (read_if_plain(self._saved, MAX_TOLD_BYTES) or b"")[len(data) :]:
                    write_bytes_atomic(self._saved, since)
                else:
                    delete_file(self._saved)
        except (LockBusy, DiskError, HistoryError):
            return

    def _since(self, session: str) -> int:
        """When it was first taken up, or now."""
        found = (read_if_plain(os.path.join(self._folder, name), 100) or b"" for name in self._taken(session))
        return min((int(data) for data in found if data.isdigit()), default=int(time.time()))

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


def _saved_in(store: MemoryStore, marks: dict[str, str]) -> Iterator[tuple[str, str, tuple[list[str], list[str]]]]:
    """The changes of a store that were learned from these sessions since they were taken up and that stand: the id of
    each, the command that takes it back, what it saved that is still there, and what it deleted that is not."""
    from memdir.disk.safe_path import INDEX_NAME
    from memdir.store.guard import LEARNED
    from memdir.store.undo import standing

    scope = "" if store.scope == "project" else f" --scope {store.scope}"
    try:
        for at, commit in enumerate(standing(store)):
            since = marks.get(commit.trailers.get("Session", ""), "")
            if commit.source == LEARNED and since and commit.time >= int(since):
                saved, gone = list[str](), list[str]()
                for file in commit.files:
                    is_there = os.path.exists(os.path.join(store.place.base, file.path))
                    if os.path.basename(file.path) != INDEX_NAME and is_there == bool(file.after):
                        (saved if is_there else gone).append(file.path.removeprefix(store.place.prefix))
                which = f" {commit.id[:8]}" if at else ""
                yield commit.id, f"memdir undo{which}{scope}", (saved, gone)
    except HistoryError:
        if store.history.is_readable:  # it may be so the next time: nothing counts as told
            raise
