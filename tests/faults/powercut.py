"""A power cut, simulated: the system calls of an operation, replayed on a model that knows what is durable.

A file's bytes are durable after `fsync` of the file, a name only after `fsync` of its folder: less than any real file
system keeps. The model's own end state is compared with the real one, so that it cannot forget a call.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .trace import by_name

# What may be left of the calls since the last flush. Between these extremes lies what a real disk does.
SURVIVORS = {
    "durable": "only what was flushed",
    "names": "every name, but of the bytes only what was flushed",
    "removals": "what was deleted or moved away is gone, what was created is not there",
    "additions": "what was created is there, and so is what was deleted",
}
TRACED = (
    "openat,open,creat,lseek,write,pwrite64,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,"
    "fsync,fdatasync,ftruncate,symlink,symlinkat,truncate,writev,pwritev,fallocate,copy_file_range,sendfile"
)
_UNKNOWN = (
    "open",
    "creat",
    "symlink",
    "symlinkat",
    "truncate",
    "writev",
    "pwritev",
    "fallocate",
    "copy_file_range",
    "sendfile",
)

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?")
_BEGUN = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
_ARGUMENT = re.compile(r'\s*((?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,"<])+)(?:,|$)')

Tree = dict[str, bytes | None]  # every path below the home: bytes of a file, None for a folder


@dataclass(eq=False)
class Node:
    """A file or a folder: as the processes see it, and as it is on the disk."""

    is_folder: bool
    data: bytearray = field(default_factory=bytearray)
    durable_data: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    durable_names: dict[str, Node] = field(default_factory=dict)

    def flush(self) -> None:
        self.durable_data = bytes(self.data)
        self.durable_names = dict(self.names)

    def names_left(self, survivors: str) -> dict[str, Node]:
        if survivors == "durable":
            return self.durable_names
        if survivors == "names":
            return self.names
        if survivors == "removals":
            return {name: node for name, node in self.durable_names.items() if name in self.names}
        return {**self.durable_names, **self.names}


@dataclass
class Opened:
    node: Node
    offset: int
    appends: bool


class Disk:
    """The model: one home, starting from what is on disk, everything on it durable."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._root = _load(home)
        self._opened: dict[tuple[str, int], Opened] = {}

    def apply(self, line: str) -> bool:
        """Replay one line of a trace; whether it changed or flushed anything in the home."""
        match = _CALL.match(line)
        if match is None:
            return False
        pid, name, rest, result, _ = match.groups()
        if int(result) < 0:
            return False
        if name in _UNKNOWN:
            assert self._home not in rest, f"a call the model does not know: {line[:200]}"
            return False
        arguments = [_plain(argument) for argument in _ARGUMENT.findall(rest)]
        step = getattr(self, f"_{name}")
        done: bool = step(pid, arguments, int(result))
        return done

    def left(self, survivors: str) -> Tree:
        """What a power cut would leave now."""
        tree: Tree = {}
        _walk(self._root, "", survivors, tree)
        return tree

    def seen(self) -> Tree:
        """What the processes see now."""
        tree: Tree = {}
        _walk(self._root, "", "", tree)
        return tree

    # Calls ----------------------------------------------------------------------------------------------------------

    def _openat(self, pid: str, arguments: list[str], result: int) -> bool:
        _, path, flags = arguments[:3]
        self._opened.pop((pid, result), None)
        folder, name = self._locate(path)
        if folder is None:
            return False
        node = folder.names.get(name)
        is_new = node is None
        if node is None:
            assert "O_CREAT" in flags, f"{path} was opened but the model has no such file"
            node = folder.names[name] = Node(is_folder=False)
        is_cut = "O_TRUNC" in flags and bool(node.data)
        if is_cut:
            node.data.clear()
        self._opened[pid, result] = Opened(node, 0, "O_APPEND" in flags)
        return is_new or is_cut

    def _write(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is None or self._home not in arguments[0]:
            return False
        at = len(opened.node.data) if opened.appends else opened.offset
        opened.node.data[at : at + result] = _bytes(arguments[1])[:result]
        opened.offset = at + result
        return True

    def _lseek(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is not None:
            opened.offset = result
        return False

    def _read(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is not None:
            opened.offset += result
        return False

    def _pwrite64(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is None:
            return False
        at = int(arguments[3])
        opened.node.data[at : at + result] = _bytes(arguments[1])[:result]
        return True

    def _ftruncate(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is None:
            return False
        del opened.node.data[int(arguments[1]) :]
        return True

    def _fsync(self, pid: str, arguments: list[str], result: int) -> bool:
        opened = self._opened.get((pid, _number(arguments[0])))
        if opened is None:
            return False
        opened.node.flush()
        return True

    _fdatasync = _fsync

    def _rename(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._move(*map(_text, arguments[:2]), flags="")

    def _renameat(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._move(_text(arguments[1]), _text(arguments[3]), flags="")

    def _renameat2(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._move(_text(arguments[1]), _text(arguments[3]), flags=arguments[4])

    def _move(self, source: str, target: str, *, flags: str) -> bool:
        (old_folder, old_name), (new_folder, new_name) = self._locate(source), self._locate(target)
        if old_folder is None or new_folder is None:
            assert old_folder is new_folder, "a move across the border of the home"
            return False
        moved = old_folder.names.pop(old_name)
        if "RENAME_EXCHANGE" in flags:
            old_folder.names[old_name] = new_folder.names[new_name]
        new_folder.names[new_name] = moved
        return True

    def _link(self, pid: str, arguments: list[str], result: int) -> bool:
        (old_folder, old_name), (new_folder, new_name) = map(self._locate, map(_text, arguments[:2]))
        if old_folder is None or new_folder is None:
            return False
        new_folder.names[new_name] = old_folder.names[old_name]
        return True

    def _linkat(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._link(pid, [arguments[1], arguments[3]], result)

    def _unlink(self, pid: str, arguments: list[str], result: int) -> bool:
        folder, name = self._locate(_text(arguments[0]))
        if folder is None:
            return False
        del folder.names[name]
        return True

    _rmdir = _unlink

    def _unlinkat(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._unlink(pid, arguments[1:], result)

    def _mkdir(self, pid: str, arguments: list[str], result: int) -> bool:
        folder, name = self._locate(_text(arguments[0]))
        if folder is None:
            return False
        folder.names[name] = Node(is_folder=True)
        return True

    def _mkdirat(self, pid: str, arguments: list[str], result: int) -> bool:
        return self._mkdir(pid, arguments[1:], result)

    def _locate(self, argument: str) -> tuple[Node | None, str]:
        """The folder a path lies in and its name there; None for what is not in the home."""
        path = os.path.normpath(_text(argument))
        if not path.startswith(self._home + "/"):
            if path == self._home:
                return Node(is_folder=True, names={"": self._root}), ""
            assert not path.startswith(self._home), path
            return None, ""
        *folders, name = path.removeprefix(self._home + "/").split("/")
        node = self._root
        for folder in folders:
            node = node.names[folder]
        return node, name


def recording(trace: str, command: list[str], *, with_reads: bool) -> list[str]:
    """The command, all it writes recorded; its reads too, where one reads and writes by turns."""
    traced = TRACED + ",read" * with_reads
    return ["strace", "-f", "-y", "-qq", "-s", "99999999", "-o", trace, "-e", f"trace={traced}", *command]


def replayed(home: str, trace: str) -> Tree:
    """What the processes see after all of a trace."""
    disk = Disk(home)
    for line in events(trace):
        disk.apply(line)
    return disk.seen()


def kept(home: str, trace: str) -> Iterator[tuple[str, Tree]]:
    """What a power cut would leave right after the operation has reported success."""
    disk = Disk(home)
    for line in events(trace):
        disk.apply(line)
    yield from ((survivors, disk.left(survivors)) for survivors in SURVIVORS)


def events(trace: str) -> Iterator[str]:
    """The calls of a trace in the order in which they took effect, those split by other processes put together."""
    begun: dict[str, str] = {}
    for line in by_name(Path(trace).read_text(errors="surrogateescape").splitlines()):
        if first := _BEGUN.match(line):
            begun[first[1]] = line.removesuffix(" <unfinished ...>")
        elif rest := _RESUMED.match(line):
            if rest[1] in begun:
                yield begun.pop(rest[1]) + rest[2]
        else:
            yield line


def crash_states(home: str, trace: str) -> Iterator[tuple[str, str, Tree]]:
    """After every call: the call, what survives, and the home as the power cut would leave it. Each home once."""
    disk = Disk(home)
    known: set[int] = set()
    for line in events(trace):
        if disk.apply(line):
            for survivors in SURVIVORS:
                tree = disk.left(survivors)
                digest = hash(frozenset(tree.items()))
                if digest not in known:
                    known.add(digest)
                    yield line, survivors, tree


def restore(tree: Tree, home: str, *, before: str) -> None:
    """Write a home as the model has it; what is as it was before the operation is as old as it was, too."""
    os.makedirs(home)
    for path in sorted(tree):
        data = tree[path]
        target = Path(home, path)
        if data is None:
            target.mkdir()
        else:
            target.write_bytes(data)
            known = Path(before, path)
            if known.is_file() and known.read_bytes() == data:
                shutil.copystat(known, target)


def tree_of(home: str) -> Tree:
    tree: Tree = {}
    _walk(_load(home), "", "", tree)
    return tree


def _load(path: str) -> Node:
    node = Node(is_folder=True)
    for entry in os.scandir(path):
        node.names[entry.name] = _load(entry.path) if entry.is_dir() else _load_file(entry.path)
    node.flush()
    return node


def _load_file(path: str) -> Node:
    node = Node(is_folder=False, data=bytearray(Path(path).read_bytes()))
    node.flush()
    return node


def _walk(folder: Node, prefix: str, survivors: str, tree: Tree) -> None:
    for name, node in (folder.names_left(survivors) if survivors else folder.names).items():
        path = prefix + name
        if node.is_folder:
            tree[path] = None
            _walk(node, path + "/", survivors, tree)
        else:
            tree[path] = node.durable_data if survivors else bytes(node.data)


def _plain(argument: str) -> str:
    return argument.strip()


def _text(argument: str) -> str:
    return os.fsdecode(_bytes(argument)) if argument.startswith('"') else argument


def _bytes(argument: str) -> bytes:
    value: bytes = ast.literal_eval("b" + argument)
    return value


def _number(argument: str) -> int:
    return int(argument.partition("<")[0])
