"""Taking a file's place without losing what stood there: a person may save it at the very same moment (S13).

Where the kernel can (Linux), the two names are exchanged in one step: whatever stood there at that instant, whoever
put it there, is then in our hands, is compared with what was expected, and goes back when it is something else.
Elsewhere it is compared just before, which leaves a gap of microseconds.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable

from memdir.disk.atomic import TEMPORARY_PREFIX, disk_error, written_aside
from memdir.disk.plain_file import open_plain
from memdir.errors import EditConflict

Merge = Callable[[bytes, bytes, bytes], bytes | None]

MAX_ROUNDS = 8  # somebody who saves faster than this is a program in a loop
MAX_WAIT_SECONDS = 2.0  # for a program that has the file open for writing: an editor saves in milliseconds
_PAUSE_SECONDS = 0.005
_NOREPLACE, _EXCHANGE = 1, 2  # flags of renameat2
_AT_FDCWD = -100


def replace_file(
    path: str, expected: bytes | None, wanted: bytes | None, *, mtime_ns: int | None = None, merge: Merge | None = None
) -> bytes | None:
    """Turn a file that holds `expected` into one that holds `wanted` (None: no file); returns what it holds now.

    What somebody else saved there meanwhile is merged in; where that cannot be done it stays, and EditConflict tells.
    The folder is not flushed: whoever changes several files flushes each folder once.
    """
    try:
        for _ in range(MAX_ROUNDS):
            found = _exchange(path, expected, wanted, mtime_ns)
            if found == expected:
                return wanted
            if merge is None or expected is None or wanted is None or found is None:
                break
            merged = merge(expected, wanted, found)
            if merged is None:
                break
            expected, wanted = found, merged
    except OSError as error:
        raise disk_error(error, "write" if wanted is not None else "delete", path) from error
    remedy = "Read it again and repeat the change"
    raise EditConflict(f"{path} was changed by someone else at the same moment", remedy=remedy)


def _exchange(path: str, expected: bytes | None, wanted: bytes | None, mtime_ns: int | None) -> bytes | None:
    """Put `wanted` in place of `expected`; returns `expected`, or what stood there instead and still stands there."""
    if expected is None:
        return _create(path, wanted, mtime_ns)
    if wanted is None:
        aside = _remove(path)
    else:
        try:
            aside = _displace(path, wanted, mtime_ns)
        except _NoExchange:
            return _compare_and_replace(path, expected, wanted, mtime_ns)
    return _judge(path, aside, expected, wanted) if aside else expected  # deleted meanwhile: nothing to lose


def _judge(path: str, aside: str, expected: bytes, wanted: bytes | None) -> bytes | None:
    """Drop what was displaced if it is what we expected; give it its place back if not."""
    try:
        found, is_open = _settled(aside)
    except OSError:  # a link, a folder, a pipe: it goes back as it is, unread
        if wanted is None or not _rename(aside, path, _EXCHANGE):
            _rename_if_free(aside, path)
        else:
            os.unlink(aside)
        raise
    if found == expected and not is_open:
        os.unlink(aside)
        return expected
    _give_back(path, aside, wanted)
    return None if is_open else found  # a text that is still being written merges with nothing


def _create(path: str, wanted: bytes | None, mtime_ns: int | None) -> bytes | None:
    """Make a file where none is expected; returns what stands there if one does."""
    if wanted is None:
        return None
    with written_aside(os.path.dirname(path), wanted, mtime_ns=mtime_ns) as temporary:
        try:
            if not _rename(temporary, path, _NOREPLACE):
                _rename_if_free(temporary, path)
        except FileExistsError:
            os.unlink(temporary)
            return _settled(path)[0]
    return None


def _remove(path: str) -> str:
    """Take a file away from its name; returns where it is now, "" when there is none."""
    aside = os.path.join(os.path.dirname(path), TEMPORARY_PREFIX + os.urandom(8).hex())
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return ""
    return aside


def _displace(path: str, wanted: bytes, mtime_ns: int | None) -> str:
    """Put a new file at `path`; returns where the one that stood there is now, "" when there was none."""
    with written_aside(os.path.dirname(path), wanted, mtime_ns=mtime_ns) as temporary:
        for _ in range(MAX_ROUNDS):
            try:
                if not _rename(temporary, path, _EXCHANGE):
                    raise _NoExchange
                return temporary
            except FileNotFoundError:
                pass  # nothing there to exchange with
            try:
                if not _rename(temporary, path, _NOREPLACE):
                    raise _NoExchange
                return ""
            except FileExistsError:
                pass  # but now there is
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _give_back(path: str, aside: str, wanted: bytes | None) -> None:
    """Undo an exchange. Should somebody save in between, the newest text is the one that ends up in place."""
    if wanted is None:
        try:
            if not _rename(aside, path, _NOREPLACE):
                _rename_if_free(aside, path)
        except FileExistsError:
            os.unlink(aside)  # saved once more meanwhile: that one is newer
        return
    expected = wanted
    for _ in range(MAX_ROUNDS):
        theirs = _settled(aside)[0]
        try:
            _rename(aside, path, _EXCHANGE)
        except FileNotFoundError:
            os.rename(aside, path)
            return
        if _settled(aside)[0] == expected:
            os.unlink(aside)
            return
        expected = theirs
    # Left aside for the next sweep, which keeps a text it does not know as a draft.


def _compare_and_replace(path: str, expected: bytes, wanted: bytes, mtime_ns: int | None) -> bytes:
    """The same without an exchange: compare at the last moment, then rename."""
    with written_aside(os.path.dirname(path), wanted, mtime_ns=mtime_ns) as temporary:
        try:
            found = _settled(path)[0]
        except FileNotFoundError:
            found = expected
        if found == expected:
            os.replace(temporary, path)
        else:
            os.unlink(temporary)
    return found


class _NoExchange(Exception):
    """This system, or this file system, cannot exchange two names."""


def _rename(source: str, target: str, flag: int) -> bool:
    """Linux's rename with a flag; False where there is none."""
    if sys.platform != "linux":
        return False
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), source, None, target)


def _rename_if_free(source: str, target: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _settled(path: str) -> tuple[bytes, bool]:
    """A file's bytes once nobody writes to it any more, and whether somebody still does after all our patience."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    with open_plain(path, follow=False) as file:
        while (is_open := _has_writer(file.fileno())) and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
        return file.read(), is_open


def _has_writer(descriptor: int) -> bool:
    """Whether a process has the file open for writing: the kernel then grants no lease on it."""
    if sys.platform != "linux":
        return False
    import fcntl
    import signal

    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # the default, SIGIO, would end us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no leases on this file system, or somebody else's file
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
