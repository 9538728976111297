"""A stranger's git index, read entry by entry and written anew, so that git finds in it what we understood (ADR 0040).

Git trusts an index: by its modes it runs itself in folders, and by its paths it opens files, through links as well. So
every entry is a plain file or a link at a plain path. Submodules are left out, and so is every extension.
"""

from __future__ import annotations

import hashlib
import struct

from memdir.disk.repository import LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER = struct.Struct(">4sII")
_STAT_BYTES = 40  # times, numbers, owner and size; the mode stands among them
_MODE_AT = 24
_MODES = frozenset((0o100644, 0o100755, 0o120000))
_SUBMODULE = 0o160000
_KIND = 0o170000  # all that git looks at in a mode
_ASSUME_UNCHANGED, _EXTENDED, _LENGTH = 0x8000, 0x4000, 0x0FFF  # in the flags of an entry


def plain_index(data: bytes, hash_name: str, is_hidden: Callable[[str], bool]) -> bytes:
    """The same index without submodules and extensions; LeftOut when anything in it is not plain.

    Git takes a path that `is_hidden` for unchanged, and does not open it in the work tree.
    """
    try:
        kept = list(_kept(data, hashlib.new(hash_name).digest_size, is_hidden))
    except (struct.error, IndexError, ValueError) as error:
        raise _left_out("is damaged") from error
    whole = _HEADER.pack(b"DIRC", data[7], len(kept)) + b"".join(kept)
    return whole + hashlib.new(hash_name, whole).digest()


def _kept(data: bytes, digest_bytes: int, is_hidden: Callable[[str], bool]) -> Iterator[bytes]:
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3):
        raise _left_out("has a format that is not read here")
    at = _HEADER.size
    flags_at = _STAT_BYTES + digest_bytes
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + _MODE_AT)
        (flags,) = struct.unpack_from(">H", data, at + flags_at)
        name_at = at + flags_at + (4 if flags & _EXTENDED else 2)
        name_end = data.index(b"\0", name_at)
        end = at + (name_end - at + 8) // 8 * 8
        name = data[name_at:name_end]
        if flags & _LENGTH != min(len(name), _LENGTH) or (version == 2 and flags & _EXTENDED):
            raise _left_out("is damaged")
        _check_path(name)
        if mode & _KIND != _SUBMODULE:
            if mode not in _MODES:
                raise _left_out(f"holds an entry of mode {mode:o}")
            if is_hidden(name.decode("utf-8", "surrogateescape")):
                flags |= _ASSUME_UNCHANGED
            yield (
                data[at : at + flags_at]
                + struct.pack(">H", flags)
                + data[at + flags_at + 2 : name_end].ljust(end - at - flags_at - 2, b"\0")
            )
        at = end
    _check_extensions(data[at : len(data) - digest_bytes])


def _check_path(name: bytes) -> None:
    if any(part.lower() in (b"", b".", b"..", b".git") for part in name.split(b"/")):
        raise _left_out("holds a path that leads out of the project")


def _check_extensions(rest: bytes) -> None:
    """One whose name begins with a small letter changes what the entries mean: a split or a sparse index."""
    while rest:
        name, size = struct.unpack_from(">4sI", rest)
        if not name[:1].isupper():
            raise _left_out("is split or sparse")
        rest = rest[8 + size :]


def _left_out(what: str) -> LeftOut:
    return LeftOut(
        f"its index {what}",
        "Run `git update-index --no-split-index --index-version 2` in the project, if you trust it",
    )
