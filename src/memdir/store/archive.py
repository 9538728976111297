"""Memories in and out as a folder or a zip, by the same path rules as everything from outside (E3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from memdir.disk.atomic import disk_error, disk_errors, keep_bytes, make_folder, write_exported
from memdir.disk.plain_file import read_beginning, read_with_status, reason_of
from memdir.disk.safe_path import INDEX_NAME, check_key, is_index
from memdir.errors import ImportRefused, MemoryNotFound, PathEscape, SecretRefused
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import Origin
from memdir.store.scan import MAX_MEMORY_BYTES, most_bytes, too_large, walk
from memdir.store.secrets import redact
from memdir.store.secrets.refuse import harmless_name
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.topic import Topic
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from zipfile import ZipInfo

MAX_FILES = 20_000  # more memories than any store we have seen
MAX_TOTAL_BYTES = 512 << 20
MAX_RATIO = 200  # text packs 3 to 10 times; a bomb packs 1,000
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # zip's first day: the same memories always give the same archive


@dataclass
class Imported:
    """What an import did: keys added, keys that were there already, and keys stored under another name."""

    added: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unguarded: list[str] = field(default_factory=list)  # whose guard stayed out: it is for a person here to set (Q1)

    def refuse(self, key: str, data: bytes, reason: str) -> None:
        """Leave a file out, under a name that tells no secret; two that may not be named are still two."""
        name = shown = harmless_name(key, data)
        while shown in self.refused:
            shown = f"{name} ({len(self.refused) + 1})"
        self.refused[shown] = redact(reason.replace(key, name))


@dataclass
class Exported:
    """What an export wrote: how many memories, and which files it had to leave out and why."""

    memories: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def export_memories(store: MemoryStore, target: str, *, replace: bool = False) -> Exported:
    """Write all memories and the index to a new folder, or to a zip when the name ends in .zip. DiskError when there is
    such a zip and nobody said to `replace` it; MemoryNotFound when there is no memory."""
    is_zip = target.lower().endswith(".zip")
    if not is_zip and os.path.isdir(target) and os.listdir(target):
        raise ImportRefused(f"{target} is not empty", remedy="Name a new folder, or a file that ends in .zip")
    result = Exported()
    files = list(_to_export(store, result))
    if not result.memories:
        reasons = "; ".join(f"{key}: {reason}" for key, reason in sorted(result.left_out.items()))
        told = (
            f"no memory in {store.root} can be read ({reasons})" if reasons else f"there is no memory in {store.root}"
        )
        raise MemoryNotFound(f"{told}: nothing was exported", remedy="`memdir list --scope all` shows what there is")
    if is_zip:
        write_exported(target, _packed(files, result), replace=replace)
    else:
        _write_folder(files, target)
    return result


def import_memories(store: MemoryStore, source: str, *, origin: Origin) -> Imported:
    """Take in all memories of a folder or zip as one change set. Nothing is overwritten: a clash gets a new name."""
    found = _from_zip(source) if os.path.isfile(source) else _from_folder(source)
    result = Imported()
    taken: dict[str, bytes] = {}
    for key, data in found:
        if is_index(key):
            continue  # lines are made from the memories; an index from elsewhere may name other files
        reason = _why_not(key, data)
        if reason:
            result.refuse(key, data, reason)
        else:
            taken[key] = data
    if not taken and not result.refused:
        raise ImportRefused(f"there is no memory in {source}", remedy="Name a folder of .md files, or a .zip")
    with store.changing(
        origin, f"import {counted(len(taken), 'memory', 'memories')} from {os.path.basename(source)}"
    ) as change:
        for key, data in sorted(taken.items()):
            try:
                _take_in(change, key, data, result)
            except SecretRefused as error:
                result.refuse(key, data, f"{error.message}; it is left out")
    return result


def _why_not(key: str, data: bytes) -> str:
    """Why a file of an import is left out; empty when it is taken in."""
    try:
        check_key(key)
    except PathEscape as error:
        return error.message
    return f"{key} is left out: {too_large(len(data))}" if len(data) > MAX_MEMORY_BYTES else ""


def _take_in(change: ChangeSet, key: str, data: bytes, result: Imported) -> None:
    stem, number, target, given = key[:-3], 1, key, data
    data = Topic(given).without_field(GUARD_FIELD).data
    while (present := change.read(target)) is not None:
        if present in (data, given):
            result.same.append(target)
            return
        number += 1
        target = f"{stem}_{number}.md"
    change.write(target, data)
    change.put_entry(target, Topic(data))
    if data != given:
        result.unguarded.append(target)
    if target == key:
        result.added.append(key)
    else:
        result.renamed[key] = target


def _from_folder(source: str) -> Iterator[tuple[str, bytes]]:
    if not os.path.isdir(source):
        remedy = "Name a folder of .md files, or a .zip"
        raise ImportRefused(f"{source} is neither a folder nor a zip file", remedy=remedy)
    total = 0
    for number, (key, entry) in enumerate(walk(source)):
        if not entry.is_file(follow_symlinks=False):
            remedy = "Replace it by a plain file"
            raise ImportRefused(f"{harmless_name(key)} in {source} is a link or no plain file", remedy=remedy)
        total += min(entry.stat(follow_symlinks=False).st_size, MAX_MEMORY_BYTES)
        _check_limits(source, number + 1, total)
        with disk_errors("read", entry.path):
            # One byte too many says that it is too large; the rest of it need not be read for that.
            yield key, read_beginning(entry.path, max_bytes=MAX_MEMORY_BYTES + 1, follow=False)


def _from_zip(source: str) -> Iterator[tuple[str, bytes]]:
    import zipfile
    import zlib

    damaged: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError, OSError)
    with suppress(ImportError):  # not every Python has it
        import lzma

        damaged = (*damaged, lzma.LZMAError)
    try:
        with zipfile.ZipFile(source) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _check_members(source, members)
            for member in members:
                key = member.filename.removeprefix("memory/")  # everything else must be a safe key
                with archive.open(member) as file:  # which gives no more than its directory says
                    yield key, file.read(MAX_MEMORY_BYTES + 1)
    except damaged as error:
        if isinstance(error, OSError) and error.errno:  # the disk, and not what stands on it
            raise disk_error(error, "read", source) from error
        raise ImportRefused(
            f"{source} cannot be read as a zip file: {error}", remedy="Pack it again, without a password"
        ) from error


def _check_members(source: str, members: list[ZipInfo]) -> None:
    total = 0
    seen: set[str] = set()
    for number, member in enumerate(members):
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ImportRefused(
                f"{harmless_name(member.filename)} in {source} is a link or no plain file",
                remedy="Pack plain files only",
            )
        if member.filename.casefold() in seen:
            raise ImportRefused(f"{source} holds {harmless_name(member.filename)} twice", remedy="Pack each file once")
        seen.add(member.filename.casefold())
        total += min(member.file_size, MAX_MEMORY_BYTES)
        _check_limits(source, number + 1, total)
        if member.file_size > 1 << 20 and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise ImportRefused(
                f"{harmless_name(member.filename)} in {source} unpacks to {member.file_size:,} bytes: a zip bomb"
            )


def _check_limits(source: str, files: int, total: int) -> None:
    if files > MAX_FILES or total > MAX_TOTAL_BYTES:
        raise ImportRefused(
            f"{source} is over a limit: {MAX_FILES:,} files, {MAX_TOTAL_BYTES:,} bytes in all",
            remedy="Import it in parts",
        )


def _to_export(store: MemoryStore, result: Exported) -> Iterator[tuple[str, bytes, int]]:
    """Key, bytes and time of every file, in order; what is no plain readable file is left out and told."""
    index = [(INDEX_NAME, store.place.index)] if os.path.lexists(store.place.index) else []
    closed: dict[str, OSError] = {}
    memories = sorted((key, entry.path) for key, entry in walk(store.root, closed=closed))
    result.left_out |= {folder: reason_of(error) for folder, error in closed.items()}
    for key, path in index + memories:
        try:
            data, status = read_with_status(path, max_bytes=most_bytes(path), follow=False)
        except OSError as error:
            result.left_out[key] = reason_of(error)
            continue
        result.memories += key != INDEX_NAME
        yield key, data, status.st_mtime_ns


def _write_folder(files: Iterable[tuple[str, bytes, int]], target: str) -> None:
    make_folder(target)
    for key, data, mtime_ns in files:
        destination = os.path.join(target, key)
        keep_bytes(destination, data, mtime_ns=mtime_ns, durably=False)


def _packed(files: Iterable[tuple[str, bytes, int]], result: Exported) -> bytes:
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, data, _ in files:
            if key.encode("utf-8", "ignore").decode() != key:
                result.left_out[key] = "a zip cannot hold a name that is not UTF-8"
                result.memories -= 1
                continue
            member = zipfile.ZipInfo(key, _ZIP_DATE)
            member.external_attr = 0o600 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
