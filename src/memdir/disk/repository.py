"""What a project's `.git` says, read as data by ourselves: git would also do what its configuration says (ADR 0040).

Believed are plain files and real folders that belong to the user, as git itself demands it. Everything else is a
reason to leave the repository out; nothing in it can make us wait: all that is read has a size, all that is walked
through a number and a depth, and the whole of it a deadline.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import time
from collections.abc import Callable, Iterator

from memdir.disk.git_root import common_git_folder, git_folder
from memdir.disk.plain_file import is_plain_file, read_if_plain

_MAX_CONFIG_BYTES = 1 << 20  # written by hand and by `git branch`; a thousand branches fill a tenth of it
_MAX_REF_BYTES = 4096  # one name, or one commit
_MAX_PACKED_BYTES = 16 << 20
_MAX_PACKED_REFS = 200_000  # taking them in takes a fifth of a second
_MAX_LOOSE_REFS = 2_000  # each is a file to open; git packs them whenever it cleans up
_MAX_OBJECT_FILES = 200_000  # git packs at 6,700; looking at this many takes a fifth of a second
_MAX_DEPTH = 32  # of folders in folders: those of objects go three deep, those of refs as deep as a name has parts
_MAX_STEPS = 5  # from one symbolic ref to the next, as in git
_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(rb"refs(?:/(?!\.)[^\x00-\x20~^:?*\[\\\x7f/]+)+")
_HASHES = ("sha1", "sha256")
# Extensions of the format that change nothing in what we read. Any other may mean a repository that we misread.
_EXTENSIONS = frozenset(
    ("noop", "objectformat", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig")
)

_CONFIG_LINE = re.compile(
    r"[ \t]*"
    r'(?:\[(?P<section>[\w.-]+)(?:[ \t]+"(?P<part>(?:[^"\\\n]|\\.)*)")?\][ \t]*)?'
    r'(?:(?P<name>[A-Za-z][\w-]*)[ \t]*(?P<value>=(?:"(?:[^"\\\n]|\\[\s\S])*"|\\[\s\S]|[^"\\\n#;])*)?)?'
    r"[^\n]*(?:\n|\Z)"
)
_ESCAPED = re.compile(r'\\([\s\S])|"')
_MEANT = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}

_INDEX_HEADER = struct.Struct(">4sII")
_STAT_BYTES = 40  # times, numbers, owner and size; the mode stands among them
_MODE_AT = 24
_MODES = frozenset((0o100644, 0o100755, 0o120000))
_SUBMODULE = 0o160000
_KIND = 0o170000  # all that git looks at in a mode
_ASSUME_UNCHANGED, _EXTENDED, _LENGTH = 0x8000, 0x4000, 0x0FFF  # in the flags of an entry


class LeftOut(Exception):
    """Why a project's git is not asked, and what a person can do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Repository:
    """The git folder of a work tree; in a linked worktree `common` is the main repository's, which holds the rest."""

    def __init__(self, tree: str, folder: str, common: str, config: dict[str, list[str]]) -> None:
        self._packed: dict[bytes, bytes] | None = None
        self.tree = tree
        self.folder = folder
        self.common = common
        self.config = config

    @property
    def object_format(self) -> str:
        return self.config.get("extensions.objectformat", ["sha1"])[-1].lower()

    @property
    def objects(self) -> str:
        return os.path.join(self.common, "objects")

    @property
    def is_shallow(self) -> bool:
        """Its history is cut off, so that its oldest commits are not the first ones."""
        return os.path.lexists(os.path.join(self.common, "shallow"))

    @property
    def remotes(self) -> set[str]:
        """The addresses it is fetched from and pushed to."""
        keys = [key for key in self.config if key.startswith("remote.") and key.endswith((".url", ".pushurl"))]
        return {url for key in keys for url in self.config[key] if url}

    def head(self) -> bytes:
        """The full name of the branch that is checked out, or a commit."""
        head = _ref_value(os.path.join(self.folder, "HEAD"))
        if not head:
            raise LeftOut("its HEAD is neither a branch nor a commit", "`git fsck` in the project tells more")
        return head

    def commit_of(self, ref: bytes) -> bytes:
        """The commit that a ref stands for, or that stands there itself; empty when there is none."""
        if _COMMIT.fullmatch(ref):
            return ref
        for _ in range(_MAX_STEPS):
            value = _ref_value(os.path.join(self.common, os.fsdecode(ref))) or self._packed_refs().get(ref, b"")
            if not _REF.fullmatch(value):
                return value
            ref = value
        return b""

    def refs(self, deadline: float) -> dict[bytes, bytes]:
        """Every ref with its commit, but those that put one object in another's place."""
        found = dict(self._packed_refs())
        for path in _files_below(os.path.join(self.common, "refs"), _MAX_LOOSE_REFS, deadline):
            name = os.fsencode(path[len(self.common) + 1 :])
            found[name] = self.commit_of(name)
        return {
            name: commit
            for name, commit in found.items()
            if _REF.fullmatch(name) and _COMMIT.fullmatch(commit) and not name.startswith(b"refs/replace/")
        }

    def _packed_refs(self) -> dict[bytes, bytes]:
        """The refs that stand in one file, with their commits. Read once: every loose ref may ask for it."""
        if self._packed is None:
            path = os.path.join(self.common, "packed-refs")
            data = read_if_plain(path, _MAX_PACKED_BYTES)
            if data is None and os.path.lexists(path):
                raise _strange(path, f", or is larger than {_MAX_PACKED_BYTES:,} bytes")
            if data and data.count(b"\n") > 2 * _MAX_PACKED_REFS:  # behind a tag stands a line of the commit it means
                raise LeftOut(f"it has more than {_MAX_PACKED_REFS:,} refs")
            self._packed = unpacked_refs(data or b"")
        return self._packed


def find_repository(tree: str, deadline: float) -> Repository:
    """The repository whose work tree is at `tree`. LeftOut where git must not be asked about it, or it takes longer
    than until the deadline to know."""
    pointer = os.path.join(tree, ".git")
    if os.path.isdir(pointer) and not os.path.islink(pointer):
        folder = common = pointer
    elif is_plain_file(pointer):
        folder = git_folder(tree)
        common = common_git_folder(tree) or folder
    elif os.path.islink(pointer):
        raise LeftOut(f"{pointer} is a link, which memdir does not follow", "Move the folder itself there")
    elif os.path.lexists(pointer):
        raise _strange(pointer)
    else:
        raise LeftOut("there is no git repository")
    _check_owners(tree, pointer, folder, common)
    path = os.path.join(common, "config")
    data = read_if_plain(path, _MAX_CONFIG_BYTES)
    if data is None:
        raise _strange(path)
    found = Repository(tree, folder, common, read_git_config(data))
    _check_format(found)
    if folder == common:
        _check_work_tree(found, is_pointed_at=folder != pointer)
    _check_objects(found.objects, deadline)
    return found


def _check_owners(*paths: str) -> None:
    """As git does it before it reads a repository, which it does not where it is told which one to read."""
    if not hasattr(os, "geteuid"):
        raise LeftOut("on this system memdir cannot tell whose it is")
    for path in dict.fromkeys(paths):
        try:
            owner = os.lstat(path).st_uid
        except OSError:
            raise _strange(path) from None
        if owner != os.geteuid() and not (os.geteuid() == 0 and str(owner) == os.environ.get("SUDO_UID")):
            raise LeftOut(
                f"{path} belongs to another user (number {owner}), and git there could run what they wrote",
                "If you trust it, make it yours: `chown -R` on the project",
            )


def _check_format(repository: Repository) -> None:
    version = repository.config.get("core.repositoryformatversion", ["0"])[-1]
    extensions = {key.removeprefix("extensions.") for key in repository.config if key.startswith("extensions.")}
    if version not in ("0", "1") or repository.object_format not in _HASHES or extensions - _EXTENSIONS:
        raise LeftOut("it has a format that memdir does not know")


def _check_work_tree(repository: Repository, *, is_pointed_at: bool) -> None:
    """A git folder elsewhere, such as a submodule's, must name this work tree as its own; none may name another."""
    named = repository.config.get("core.worktree", [""])[-1]
    place = os.path.realpath(os.path.join(repository.folder, named)) if named else ""
    if place != os.path.realpath(repository.tree) and (named or is_pointed_at):
        raise LeftOut(f"{repository.folder} does not say that it belongs to this folder")


def _check_objects(folder: str, deadline: float) -> None:
    """Only real folders and plain files, and none of another repository: git opens them as they are."""
    if os.path.lexists(os.path.join(folder, "info", "alternates")):
        raise LeftOut(
            "it takes objects from another repository (objects/info/alternates)",
            "`git repack -a -d` and removing that file makes it whole",
        )
    for _ in _files_below(folder, _MAX_OBJECT_FILES, deadline):
        pass


def require_time(deadline: float) -> None:
    """LeftOut when a repository has taken longer to look at than it may."""
    if time.monotonic() > deadline:
        raise LeftOut("looking at it took too long", "`git gc` in the project makes it quicker to read")


def _files_below(folder: str, most: int, deadline: float) -> Iterator[str]:
    """Every plain file below a real folder. LeftOut where anything else stands, or more than are worth a look."""
    folders = [(folder, 1)]
    seen = 0
    while folders:
        current, depth = folders.pop()
        if depth > _MAX_DEPTH:
            raise LeftOut(f"folders in {folder} go more than {_MAX_DEPTH} deep")
        with _entries(current) as entries:
            for entry in entries:
                seen += 1
                require_time(deadline)
                if seen > most:
                    raise LeftOut(f"more than {most:,} files are in {folder}", "`git gc` in the project packs them")
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path
                else:
                    raise _strange(entry.path)


def _entries(folder: str) -> os._ScandirIterator[str]:
    if os.path.islink(folder):
        raise _strange(folder)
    try:
        return os.scandir(folder)
    except OSError:
        raise _strange(folder) from None


def _ref_value(path: str) -> bytes:
    """What a file of a ref names: another ref, or a commit; empty when neither."""
    value = (read_if_plain(path, _MAX_REF_BYTES) or b"").strip()
    name = value.removeprefix(b"ref:").strip()
    is_good = _COMMIT.fullmatch(value) or (value.startswith(b"ref:") and _REF.fullmatch(name))
    return name if is_good else b""


def unpacked_refs(data: bytes) -> dict[bytes, bytes]:
    """The refs of a file `packed-refs` with what each stands for."""
    lines = (line.partition(b" ") for line in data.split(b"\n"))
    return {name: commit for commit, _, name in lines if _COMMIT.fullmatch(commit)}


def _strange(path: str, more: str = "") -> LeftOut:
    return LeftOut(f"{path} is missing, or is not what git puts there{more}", "`git status` in the project tells more")


def read_git_config(data: bytes) -> dict[str, list[str]]:
    """The values of each key, such as `remote.origin.url`, in their order; sections and names in lower case.

    Nothing that it includes is read, and what git would refuse is skipped.
    """
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    values: dict[str, list[str]] = {}
    section = ""
    for line in _CONFIG_LINE.finditer(text):
        if line["section"]:
            part = f".{_unescaped(line['part'])}" if line["part"] is not None else ""
            section = line["section"].lower() + part
        if line["name"]:
            value = "true" if line["value"] is None else _unescaped(line["value"][1:].strip())
            values.setdefault(f"{section}.{line['name'].lower()}", []).append(value)
    return values


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]) if found[1] else "", text)


def plain_index(data: bytes, hash_name: str, is_hidden: Callable[[str], bool]) -> bytes:
    """The same index without submodules and extensions; LeftOut when anything in it is not plain.

    Git trusts an index: by its modes it runs itself in folders, and by its paths it opens files, through links as well.
    So every entry that it is shown is a plain file or a link at a plain path. A path that `is_hidden` it takes for
    unchanged, and does not open it in the work tree.
    """
    try:
        kept = list(_plain_entries(data, hashlib.new(hash_name).digest_size, is_hidden))
    except (struct.error, IndexError, ValueError) as error:
        raise _bad_index("is damaged") from error
    whole = _INDEX_HEADER.pack(b"DIRC", data[7], len(kept)) + b"".join(kept)
    return whole + hashlib.new(hash_name, whole).digest()


def _plain_entries(data: bytes, digest_bytes: int, is_hidden: Callable[[str], bool]) -> Iterator[bytes]:
    magic, version, count = _INDEX_HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3):
        raise _bad_index("has a format that is not read here")
    at = _INDEX_HEADER.size
    flags_at = _STAT_BYTES + digest_bytes
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + _MODE_AT)
        (flags,) = struct.unpack_from(">H", data, at + flags_at)
        name_at = at + flags_at + (4 if flags & _EXTENDED else 2)
        name_end = data.index(b"\0", name_at)
        end = at + (name_end - at + 8) // 8 * 8
        name = data[name_at:name_end]
        if flags & _LENGTH != min(len(name), _LENGTH) or (version == 2 and flags & _EXTENDED):
            raise _bad_index("is damaged")
        if any(part.lower() in (b"", b".", b"..", b".git") for part in name.split(b"/")):
            raise _bad_index("holds a path that leads out of the project")
        if mode & _KIND != _SUBMODULE:
            if mode not in _MODES:
                raise _bad_index(f"holds an entry of mode {mode:o}")
            if is_hidden(name.decode("utf-8", "surrogateescape")):
                flags |= _ASSUME_UNCHANGED
            yield (
                data[at : at + flags_at]
                + struct.pack(">H", flags)
                + data[at + flags_at + 2 : name_end].ljust(end - at - flags_at - 2, b"\0")
            )
        at = end
    _check_extensions(data[at : len(data) - digest_bytes])


def _check_extensions(rest: bytes) -> None:
    """One whose name begins with a small letter changes what the entries mean: a split or a sparse index."""
    while rest:
        name, size = struct.unpack_from(">4sI", rest)
        if not name[:1].isupper():
            raise _bad_index("is split or sparse")
        rest = rest[8 + size :]


def _bad_index(what: str) -> LeftOut:
    return LeftOut(
        f"its index {what}", "Run `git update-index --no-split-index --index-version 2` in the project, if you trust it"
    )
