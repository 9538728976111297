"""Objects of a git repository, written and read by our own hand: a file each, named by what it holds (ADR 0041).

git believes in an object that is there without looking into it, so that what a damaged one should hold would count as
recorded. Here it is looked into, and a damaged one is written anew.
"""

from __future__ import annotations

import os

from memdir.disk.atomic import disk_error, make_folder, written_aside
from memdir.disk.plain_file import read_if_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ID_DIGITS = 40
_MAX_BYTES = 256 << 20  # of one object: beyond any text, and no bomb
_FILE_MODE = b"100644"
_FOLDER_MODE = b"40000"
_BLOB_IN_A_PACK = 3  # git's number for the kind


def object_id(kind: str, data: bytes) -> str:
    """The name that git gives a content."""
    from hashlib import sha1

    return sha1(_framed(kind, data), usedforsecurity=False).hexdigest()


def is_object_id(text: str) -> bool:
    return len(text) == ID_DIGITS and all(c in "0123456789abcdef" for c in text)


def read_object(objects: str, name: str) -> bytes | None:
    """What an object that has a file of its own holds, of whatever kind; None when there is none, or a damaged one."""
    import zlib

    stored = read_if_plain(_path(objects, name), _MAX_BYTES)
    if stored is None:
        return None
    try:
        framed = zlib.decompressobj().decompress(stored, _MAX_BYTES)
    except zlib.error:
        return None
    from hashlib import sha1

    is_sound = sha1(framed, usedforsecurity=False).hexdigest() == name
    return framed.partition(b"\0")[2] if is_sound else None


def write_object(objects: str, kind: str, data: bytes) -> str:
    """Put a content into the repository, unless it is there and sound; returns its name. Its folder is not flushed."""
    import zlib

    name = object_id(kind, data)
    if read_object(objects, name) == data:
        return name
    path = _path(objects, name)
    make_folder(os.path.dirname(path))
    try:
        with written_aside(os.path.dirname(path), zlib.compress(_framed(kind, data), 1)) as temporary:
            os.replace(temporary, path)
    except OSError as error:
        raise disk_error(error, "write", path) from error
    return name


def tree_objects(files: Mapping[str, str]) -> list[bytes]:
    """The trees of a set of files (path to content's name), the innermost first and the root last."""
    folders: dict[str, dict[str, tuple[bytes, str]]] = {"": {}}
    for path, name in files.items():
        folder, _, base = path.rpartition("/")
        _folder(folders, folder)[base] = (_FILE_MODE, name)
    made = []
    for folder in sorted(folders, key=lambda path: -len(path.split("/")) if path else 1):
        tree = _tree(folders[folder].items())
        made.append(tree)
        if folder:
            parent, _, base = folder.rpartition("/")
            folders[parent][base] = (_FOLDER_MODE, object_id("tree", tree))
    return made


def pack_of(contents: Iterable[bytes]) -> bytes:
    """Contents as one pack, as `git index-pack` takes it in."""
    import zlib
    from hashlib import sha1

    distinct = list(dict.fromkeys(contents))
    pack = bytearray(b"PACK" + (2).to_bytes(4, "big") + len(distinct).to_bytes(4, "big"))
    for data in distinct:
        pack += _pack_header(len(data)) + zlib.compress(data, 1)
    return bytes(pack) + sha1(pack, usedforsecurity=False).digest()


def read_batch(output: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each object that `git cat-file --batch` printed; both are empty for one that is missing."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].rsplit(b" ", 2)
        at = end + 1
        if words[-1].isdigit():
            yield words[-2], output[at : at + int(words[-1])]
            at += int(words[-1]) + 1
        else:
            yield b"", b""


def _path(objects: str, name: str) -> str:
    return os.path.join(objects, name[:2], name[2:])


def _framed(kind: str, data: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode("ascii"), len(data)) + data


def _folder(folders: dict[str, dict[str, tuple[bytes, str]]], path: str) -> dict[str, tuple[bytes, str]]:
    """The entries of a folder, which is made known with all those above it."""
    if path not in folders:
        folders[path] = {}
        _folder(folders, path.rpartition("/")[0])
    return folders[path]


def _tree(entries: Iterable[tuple[str, tuple[bytes, str]]]) -> bytes:
    def order(entry: tuple[str, tuple[bytes, str]]) -> bytes:
        base, (mode, _) = entry
        return os.fsencode(base) + (b"/" if mode == _FOLDER_MODE else b"")  # so git sorts them

    return b"".join(
        mode + b" " + os.fsencode(base) + b"\0" + bytes.fromhex(name)
        for base, (mode, name) in sorted(entries, key=order)
    )


def _pack_header(size: int) -> bytes:
    """Kind and size, the lowest four bits first, then seven a byte."""
    byte, size = _BLOB_IN_A_PACK << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)
