"""One memory as it stands on disk. Whoever only reads loads this and not the store, which knows how to write."""

from __future__ import annotations

from memdir.disk.plain_file import TooLarge, read_with_status
from memdir.errors import BadMemoryFile, MemoryNotFound
from memdir.store.scan import MAX_FILE_BYTES, most_bytes
from memdir.store.topic import Topic


class Memory:
    """One memory as it stands on disk."""

    __slots__ = ("key", "mtime_ns", "path", "topic")

    def __init__(self, key: str, path: str, topic: Topic, mtime_ns: int) -> None:
        self.key = key  # the file name below the memory directory
        self.path = path  # the file
        self.topic = topic  # its content, read
        self.mtime_ns = mtime_ns  # when it was last changed, in nanoseconds

    def __repr__(self) -> str:
        return f"Memory({self.key!r}, name={self.name!r})"

    @property
    def name(self) -> str:
        """Its title; the file name where there is none."""
        return self.topic.name or self.key.rsplit("/", 1)[-1][:-3]

    @property
    def mtime(self) -> float:
        """When it was last changed, in seconds since the epoch."""
        return self.mtime_ns / 1e9


def read_memory(root: str, key: str, path: str) -> Memory:
    """The memory of a key; MemoryNotFound when its file is gone."""
    data, mtime_ns = read_with_time(path, max_bytes=most_bytes(key))
    if data is None or mtime_ns is None:
        raise MemoryNotFound(f"there is no memory {key} in {root}", remedy="`memdir list` shows what there is")
    return Memory(key, path, Topic(data), mtime_ns)


def read_with_time(path: str, *, max_bytes: int = MAX_FILE_BYTES) -> tuple[bytes | None, int | None]:
    """A file's bytes and its time, from one open file; None when there is none."""
    try:
        data, status = read_with_status(path, max_bytes=max_bytes)
    except FileNotFoundError:
        return None, None
    except TooLarge as error:
        raise BadMemoryFile(
            f"{path} is no memory: {error}", remedy="Keep the point of it, or move it out of the directory"
        ) from None
    except OSError as error:
        from memdir.disk.atomic import disk_error

        raise disk_error(error, "read", path) from error
    return data, status.st_mtime_ns
