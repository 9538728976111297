"""The one door for writes: a reader sees the old file or the new one, never half of it, whatever happens (S13).

Write aside, flush, rename, flush the folder. Serialising writers is `disk/lock.py`'s job, not this module's.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from memdir.disk.open_writers import try_lock
from memdir.disk.plain_file import BINARY, NO_LINK, open_descriptor, reason_of
from memdir.errors import DiskError

FILE_MODE = 0o600  # memories are private
FOLDER_MODE = 0o700
_NEW_PROJECT_FILE = 0o664  # no text needs to be run, and none has to be written by strangers, even in /tmp
TEMPORARY_PREFIX = ".memdir-tmp-"  # a leading dot keeps a half-written file out of every scan

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | BINARY
_REMEDIES = {
    errno.ENOSPC: "The disk is full: free some space, then run the same command again",
    errno.EDQUOT: "Your disk quota is used up: free some space, then run the same command again",
    errno.EACCES: "Check the owner and the permissions of the folder (files 0600, folders 0700)",
    errno.EPERM: "Check the owner and the permissions of the folder (files 0600, folders 0700)",
    errno.EROFS: "The file system is mounted read-only: mount it read-write, or set MEMDIR_HOME to another place",
    errno.EIO: "The disk reports a hardware error: check it and your backups before you go on",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ELOOP: "A symbolic link stands there: remove it",
    errno.ENOTDIR: "A file stands where a folder is needed: move it away",
    errno.ENXIO: "A FIFO or a socket stands where a file is needed: move it away",
    errno.EISDIR: "A folder stands where a file is needed: move it away",
}


def disk_error(error: OSError, doing: str, path: str) -> DiskError:
    """An OSError in words that name the path and the remedy."""
    code = error.errno or 0
    return DiskError(f"cannot {doing} {path}: {reason_of(error)}", remedy=_REMEDIES.get(code, ""), code=code)


@contextmanager
def disk_errors(doing: str, path: str) -> Iterator[None]:
    """What is done here fails with such an error."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, doing, path) from error


def write_bytes_atomic(path: str, data: bytes, *, mtime_ns: int | None = None, durably: bool = True) -> None:
    """Put `data` at `path`, whole or not at all; what stood there before stays until the last moment.

    Not `durably`, for copies of what is safe elsewhere: a power cut soon after may cost it, a crash may not.
    """
    folder = os.path.dirname(path)
    with disk_errors("write", path):
        with written_aside(folder, data, mtime_ns=mtime_ns, durably=durably) as temporary:
            os.replace(temporary, path)
        if durably:
            flush_folder(folder)


def keep_bytes(path: str, data: bytes, *, mtime_ns: int | None = None, durably: bool = True) -> None:
    """The same, and the folder where there is none."""
    make_folder(os.path.dirname(path))
    write_bytes_atomic(path, data, mtime_ns=mtime_ns, durably=durably)


@contextmanager
def written_aside(folder: str, data: bytes, *, mtime_ns: int | None = None, durably: bool = True) -> Iterator[str]:
    """The path of a new file in `folder` that holds `data`, flushed; removed when the block fails to move it."""
    descriptor, temporary = _open_temporary(folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if mtime_ns is not None:
            os.utime(temporary, ns=(mtime_ns, mtime_ns))
        if durably:
            _flush_file(descriptor)
        if sys.platform == "win32":
            os.close(descriptor)  # Windows renames no open file
            descriptor = -1
        yield temporary
    except BaseException:
        with suppress(OSError):  # the next start sweeps it
            os.unlink(temporary)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def write_project_file(path: str, data: bytes, *, put: Callable[[str, bytes], object] | None = None) -> None:
    """Put `data` at `path`, by `put` where it matters what stands there. A file keeps its mode; a new one gets what its
    folder allows, so memories stay private."""
    folder = os.path.dirname(path)
    make_folder(folder)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = os.stat(folder).st_mode & _NEW_PROJECT_FILE
    (put or write_bytes_atomic)(path, data)
    with disk_errors("set the permissions of", path):
        os.chmod(path, mode)


def require_new(path: str, *, replace: bool) -> None:
    """DiskError where something stands at `path` that may not be replaced, or where its folder is missing."""
    if os.path.isdir(path):
        raise DiskError(f"{path} is a folder", remedy="Name a file in it")
    if os.path.lexists(path) and not replace:
        raise DiskError(f"{path} is there already", remedy="Choose another name, or replace it with --force")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise DiskError(f"there is no folder {folder}", remedy="Make it first, or name another place")


def write_exported(path: str, data: bytes, *, replace: bool) -> None:
    """Put `data` into a new private file at `path`, or in the place of the one there where that was asked for."""
    path = os.path.abspath(path)
    require_new(path, replace=replace)
    write_bytes_atomic(path, data)


def delete_file(path: str) -> None:
    """Remove a file for good; no error when it is already gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise disk_error(error, "delete", path) from error
    flush_folder(os.path.dirname(path))


def delete_tree(folder: str) -> None:
    """Remove a folder of ours with everything in it, links themselves and not what they lead to; no error when gone."""
    import shutil

    try:
        if os.path.islink(folder):
            os.unlink(folder)
        else:
            shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise disk_error(error, "delete", folder) from error
    flush_folder(os.path.dirname(folder))


def nearest_existing(path: str) -> str:
    """The path itself, or the nearest folder above it where something stands."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def require_room_for_folder(path: str) -> None:
    """DiskError where a file or something else stands in the way of a folder, which then cannot be empty either."""
    standing = nearest_existing(path)
    if not os.path.isdir(standing):
        raise disk_error(OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), "look into", standing)


def make_folder(path: str) -> None:
    """Create a folder and its parents, private and durable; no error when it exists (S4)."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_folder(parent)
    try:
        os.mkdir(path, FOLDER_MODE)
        if os.stat(path).st_mode & FOLDER_MODE != FOLDER_MODE:  # a umask that closes folders to their owner, too
            os.chmod(path, FOLDER_MODE)
    except FileExistsError:
        if os.path.isdir(path):
            return
        raise DiskError(
            f"cannot create the folder {path}: something else stands there", remedy="Move it away"
        ) from None
    except OSError as error:
        raise disk_error(error, "create the folder", path) from error
    try:
        flush_folder(parent)
    except DiskError:
        with suppress(OSError):  # someone put a file into it already
            os.rmdir(path)  # what is not durable must not look as if it were: the next call makes it again
        raise


def abandoned_temporaries(folder: str, *, is_deep: bool = True) -> Iterator[str]:
    """What killed writers left below `folder`, or only in it. A file that is still being written, by whomever, is not
    among them."""
    for current, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if is_deep and not name.startswith(".")]
        for name in files:
            path = os.path.join(current, name)
            if name.startswith(TEMPORARY_PREFIX) and _is_abandoned(path):
                yield path


def sweep_temporaries(folder: str) -> int:
    """Remove what killed writers left below `folder`. Returns how many."""
    swept = 0
    for path in abandoned_temporaries(folder):
        delete_file(path)
        swept += 1
    return swept


def flush_folder(folder: str) -> None:
    """Make renames and deletions inside `folder` survive a power cut."""
    if sys.platform == "win32":
        return  # Windows has no descriptor for a folder; NTFS journals its metadata
    with disk_errors("open the folder", folder):
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have no folder fsync
            raise disk_error(error, "flush the folder", folder) from error
    finally:
        os.close(descriptor)


def _open_temporary(folder: str) -> tuple[int, str]:
    """A new file that is locked for as long as it is open: by that a sweep sees that its writer lives."""
    while True:
        path = os.path.join(folder, TEMPORARY_PREFIX + os.urandom(8).hex())
        descriptor = os.open(path, _CREATE, FILE_MODE)
        try:
            if try_lock(descriptor) and os.path.lexists(path):
                return descriptor, path
        except OSError:
            return descriptor, path  # a file system without locks: nobody who could hold one sweeps here
        os.close(descriptor)  # a sweep came between the two calls: once more


def _is_abandoned(path: str) -> bool:
    try:
        descriptor, _ = open_descriptor(path, follow=False)
    except OSError:
        return False  # moved into place, or removed, a moment ago
    try:
        return try_lock(descriptor)
    except OSError as error:
        raise disk_error(error, "look at", path) from error
    finally:
        os.close(descriptor)


def _flush_file(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        # On macOS fsync stops at the drive's own cache; this goes through it.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)
