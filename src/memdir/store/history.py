"""Every change of a memory directory as a commit in a git repository beside it (S14).

Reads and records; what to change back is decided in `store/undo.py`. Neither needs a git program (ADR 0041) as long as
no git has packed the history: then `is_readable` says no where there is none.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from memdir.disk.atomic import delete_file, disk_error
from memdir.disk.git import MANY_BLOBS, Git, object_id, object_path, read_batch, read_object, tree_objects, write_object
from memdir.disk.plain_file import read_with_status
from memdir.disk.programs import find_program
from memdir.errors import DiskError, HistoryError
from memdir.layout import Place
from memdir.store.journal import names_in
from memdir.store.last_commit import LastCommit, load_last_commit, look_of, time_of
from memdir.store.scan import MAX_FILE_BYTES, is_nameable, status_of, walk

MOMENT = "Moment"  # when a change was made or, of what was learned, when it was said; in seconds
_LINES = (
    "Lines"  # "made.md = session:message session:message; …" in the record of a change that took lines from several
)
_LOGGED = "Logged"  # the same for lines of daily logs: "made.md = logs/…/2026-11-16.md:id; …"
_DERIVED = "Derived"  # "kept.md < taken_in.md, another.md; …" in the record of a change that merged memories
OUTSIDE = "outside"  # the source of a change that nobody announced: a person in an editor, or another program
MADE = deque[str](maxlen=1_000)  # the last changes that this process recorded, in whatever store: their ids
PULLED = "team"  # the source of what a sync took in from teammates
BY, OF = "By", "Of"  # the trailers that name the teammate whose change it was, and the remote of their team
LOOSE_LIMIT = 16  # files in one of git's 256 object folders: about 4,000 loose objects, where git too would pack
_LOOSE_SAMPLE = "17"  # object names are spread evenly: one folder tells for all
_MISSING = "0" * 40
_AT_ONCE = 500  # changes whose contents are read together
_FORMAT = "%H%x00%P%x00%ct%x00%B%x00"  # no file name and no message holds a NUL, and what follows is told by its place
_LATEST = (1 << 62) // 10**9  # the year 2116, which every file system can still write down
_PLAIN = ("--no-renames", "--no-textconv")
_LOG = ("log", "-z", "--raw", "--no-abbrev", "--no-show-signature", *_PLAIN, f"--format={_FORMAT}")
_PATCH = ("diff-tree", "--root", "-r", "-p", "--no-commit-id", "--no-ext-diff", *_PLAIN)


class Origin:
    """Who made a change and from what: the trailers of its commit (S14, L1)."""

    __slots__ = ("messages", "reason", "session", "source", "trust")

    def __init__(
        self, source: str, *, session: str = "", messages: Sequence[str] = (), trust: str = "", reason: str = ""
    ) -> None:
        self.source = source  # who wrote: "host", "cli", "extract", "dream" …
        self.session = session  # the conversation it was taken from
        self.messages: tuple[str, ...] = tuple(messages)  # ids of the messages it was taken from
        self.trust = trust  # why it is of low trust, where it is
        self.reason = reason  # why, where somebody said so

    def message(self, subject: str, **more: str) -> str:
        """The commit message: a subject and one trailer a line."""
        trailers = {
            "Source": self.source,
            "Session": self.session,
            "Messages": " ".join(self.messages),
            "Trust": self.trust,
            "Reason": self.reason,
            **more,
        }
        lines = [f"{key}: {_one_line(value)}" for key, value in trailers.items() if value]
        return f"{_one_line(subject)}\n\n" + "\n".join(lines) + "\n"


class FileChange:
    """One file of a commit: its path below the base, and the ids of its content before and after ("" for no file)."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: str, after: str) -> None:
        self.path = path  # below the memory directory
        self.before = before  # id of its content before, "" for no file
        self.after = after  # id of its content after, "" for no file

    @property
    def verb(self) -> str:
        """ "added", "changed" or "deleted"."""
        return "added" if not self.before else "deleted" if not self.after else "changed"


class Commit:
    """One change set of the history."""

    __slots__ = ("files", "has_parent", "id", "subject", "time", "trailers")

    def __init__(self, commit_id: str, when: int, message: str, files: list[FileChange], *, has_parent: bool) -> None:
        self.id = commit_id  # what `undo` takes
        self.has_parent = has_parent  # False for the first of a history
        self.time = when  # seconds since the epoch
        self.subject: str = message.split("\n", 1)[0]  # one line that says what was done
        self.trailers: dict[str, str] = _trailers(message)  # what the history wrote down beside it, by name
        self.files = files  # what it changed

    def __repr__(self) -> str:
        return f"Commit({self.id[:8]!r}, {self.subject!r}, source={self.source!r})"

    @property
    def source(self) -> str:
        """Who wrote: the host, the command line, extraction, a dream, or somebody outside memdir."""
        return self.trailers.get("Source", OUTSIDE)

    @property
    def derived(self) -> dict[str, tuple[str, ...]]:
        """Which memories of this change were made from which."""
        pairs = (part.partition(" < ") for part in self.trailers.get(_DERIVED, "").split("; "))
        return {path: tuple(sources.split(", ")) for path, sign, sources in pairs if sign}

    @property
    def moment(self) -> float:
        """When what it says was said or done: of what was learned late, the time of the conversation."""
        try:
            return float(self.trailers[MOMENT])
        except (KeyError, ValueError):
            return self.time + 1.0  # all that was said in its second came before it

    def lines_of(self, path: str) -> dict[str, list[str]]:
        """The messages that a file was taken from, by session; those of the whole change where it says no more (L1)."""
        found = self._told_of(path, _LINES)
        if not found and (ids := self._messages_of(path)):
            found[self.trailers.get("Session", "")] = ids
        return found

    @property
    def sessions(self) -> set[str]:
        """All conversations that something in this change was taken from (L1)."""
        lines = self.trailers.get(_LINES, "").replace("; ", " ").split()
        return {self.trailers.get("Session", ""), *(line.rpartition(":")[0] for line in lines)}

    def logged_of(self, path: str) -> dict[str, list[str]]:
        """The lines of daily logs that a file was made from: their ids, by log (K3)."""
        return self._told_of(path, _LOGGED)

    def _told_of(self, path: str, trailer: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for part in self.trailers.get(trailer, "").split("; "):
            name, _, told = part.partition(" = ")
            for line in told.split() if f"/{name}".endswith(f"/{path}") else ():
                source, _, one = line.rpartition(":")
                found.setdefault(source, []).append(one)
        return found

    def _messages_of(self, path: str) -> list[str]:
        for part in self.trailers.get("Reason", "").split("; ") if self.source == "extract" else ():
            name, _, told = part.partition(" = ")
            if f"/{name}".endswith(f"/{path}") and ": " in told:
                return told.partition(": ")[2].split()
        return self.trailers.get("Messages", "").split()

    @property
    def is_beginning(self) -> bool:
        """Whether this is no change but what a history found when it began: the files as they were."""
        return not self.has_parent and self.source == OUTSIDE


class History:
    """The repository of one memory directory."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._table: LastCommit | None = None
        self.git = Git(place.history)

    @property
    def is_readable(self) -> bool:
        """Whether one can look back: by git, or because every object still has a file of its own."""
        return self.has_git or not self.git.has_packs

    @property
    def has_git(self) -> bool:
        return bool(find_program("git"))

    def head(self) -> str:
        """The last commit, "" when there is none yet; HistoryError when that cannot be told."""
        if not self.git.exists:
            return ""
        self.git.look_over()
        return self.git.head()

    def unrecorded(self) -> list[str]:
        """Paths whose content is not that of the last commit: changes made behind our back."""
        table = self._recorded()
        looks = dict(table.looks)
        on_disk = dict(self._files())
        unlike = [path for path, status in on_disk.items() if not self._is_recorded(table, path, status)]
        changed = [path for path in unlike if is_nameable(path)]
        gone = [path for path in table.files if path not in on_disk and not self._stands(path)]
        if table.head and table.looks != looks:
            self._save(table)
        return sorted([*changed, *gone])

    def record(
        self,
        message: str,
        paths: Iterable[str],
        *,
        when: float,
        contents: Mapping[str, bytes | None] | None = None,
        is_note: bool = False,
    ) -> bool:
        """Commit these paths as they are on disk, durably. False when nothing differs from the last commit, unless it
        `is_note`: what it says is to be kept all the same. `contents` says what was written to them: that is what the
        commit holds, even if somebody saved over it already."""
        self.git.create()
        table = self._recorded()
        found = {path: self._on_disk(path)[0] for path in paths}
        found = {path: data for path, data in found.items() if data is not None or not self._stands(path)}
        wanted = found | dict(contents or {})
        self.keep([data for data in wanted.values() if data is not None])
        after = table.changed({path: "" if data is None else object_id("blob", data) for path, data in wanted.items()})
        trees = tree_objects(after.files)
        after.tree = object_id("tree", trees[-1])
        if not is_note and (after.tree == table.tree or not (after.files or table.head)):
            return False
        self.write_trees(trees)
        text = message.encode("utf-8", "replace")
        since_ns = time_of(self._place.journal)  # nothing is written before it is there
        after.head = self.git.commit(after.tree, table.head, text, date=int(when), since_ns=since_ns)
        self._note_looks(after, wanted)
        self._save(after)
        MADE.append(after.head)
        self._pack_if_many(after.head)
        return True

    def keep(self, contents: Sequence[bytes]) -> None:
        """Make sure that the repository holds these bytes, and that they can be read there."""
        unsure = [data for data in contents if read_object(self.git.objects, object_id("blob", data)) != data]
        if len(unsure) >= MANY_BLOBS and self.git.exists and self.is_readable:
            held = self._stored([object_id("blob", data) for data in unsure])
            unsure = [data for data in unsure if object_id("blob", data) not in held]
        self.git.write_blobs(unsure)

    def lost_trees(self) -> list[bytes]:
        """The folders of the last commit that cannot be read, made again from our note; packed ones are git's."""
        table = self._recorded()
        trees = tree_objects(table.files)
        if object_id("tree", trees[-1]) != table.tree or self.git.has_packs:
            return []
        return [tree for tree in trees if read_object(self.git.objects, object_id("tree", tree)) != tree]

    def write_trees(self, trees: Sequence[bytes]) -> None:
        for tree in trees:
            write_object(self.git.objects, "tree", tree)

    def missing(self, contents: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        """Those of these bytes that no commit holds; without git, that the last one does not hold."""
        files = self._recorded().files
        names = {path: object_id("blob", data) for path, data in contents.items() if data is not None}
        unknown = {path: name for path, name in names.items() if files.get(path) != name}
        if unknown and self.has_git and (head := self.head()):
            held = {line[:40].decode("ascii") for line in self.git.run("rev-list", "--objects", head).split(b"\n")}
            unknown = {path: name for path, name in unknown.items() if name not in held}
        return {path: contents[path] for path in unknown}

    def beginning(self) -> dict[str, bytes | None]:
        """The files as they are: what a history begins with."""
        return {path: self._on_disk(path)[0] for path, _ in self._files() if is_nameable(path)}

    def forget_table(self) -> None:
        """Read the last commit itself when it is next asked for."""
        self._table = None
        with suppress(DiskError):  # something else stands there, which is never taken for a table
            delete_file(self._place.recorded)

    def noted_head(self) -> str:
        """The last commit by our own note."""
        table = load_last_commit(self._place.recorded)
        return table.head if table else ""

    def read_through(self) -> None:
        """Read the last commit itself, and every one before it; HistoryError when that cannot be done."""
        head = self.head()
        self._table = self._read_commit(head)
        if head:
            self.git.run("rev-list", "--count", head)

    def _recorded(self) -> LastCommit:
        head = self.head()
        if self._table is None or self._table.head != head:
            table = load_last_commit(self._place.recorded)
            self._require_last(head, table.head if table else "")
            self._table = table if table and table.head == head else self._read_commit(head)
        return self._table

    def _require_last(self, head: str, noted: str) -> None:
        """HistoryError unless the branch leads to, or past, what our note and its log name as the last change."""
        witnesses = [name for name in (noted, self.git.logged_head()) if name]
        for name in witnesses:
            if name != head and not (head and self.is_behind(name, head)):
                raise self.git.failure(f"its branch does not lead to its last change {name[:8]}")
        if head and not witnesses:
            raise self.git.failure(f"nothing but its branch tells that {head[:8]} is its last change")

    def is_commit(self, name: str) -> bool:
        return self.git.run("cat-file", "-t", name, accept=(0, 128)) == b"commit\n"

    def is_behind(self, older: str, newer: str) -> bool:
        """Whether a commit is one of those that another, which is there, builds on."""
        if not self.has_git:
            return newer != older and any(one.id == older for one in self._loose_log(newer))
        if newer in ("", older) or not self.is_commit(newer):
            return False
        return not self.git.run("rev-list", "--max-count=1", f"{newer}..{older}", "--")

    def _read_commit(self, head: str) -> LastCommit:
        if not head:
            return LastCommit("", "", {})
        tree = self.git.run("rev-parse", "--verify", f"{head}^{{tree}}").decode("ascii").strip()
        files = {}
        for row in self.git.run("ls-tree", "-r", "-z", "--full-tree", head).split(b"\0"):
            kind, _, path = row.partition(b"\t")
            words = kind.split(b" ")
            if path and words[1] == b"blob":
                files[os.fsdecode(path)] = words[2].decode("ascii")
        return LastCommit(head, tree, files)

    def _save(self, table: LastCommit) -> None:
        self._table = table
        try:
            table.save(self._place.recorded)
        except DiskError:
            self._table = None  # derived: made again from the commit

    def _is_recorded(self, table: LastCommit, path: str, status: os.stat_result) -> bool:
        if table.is_unchanged(path, status):
            return True
        data, look = self._on_disk(path)
        if data is None:
            return self._stands(path)  # it cannot be read now: that is no change
        if object_id("blob", data) != table.files.get(path):
            return False
        table.looks[path] = look
        return True

    def _note_looks(self, table: LastCommit, contents: Mapping[str, bytes | None]) -> None:
        for path, data in contents.items():
            found, look = self._on_disk(path)
            if data is not None and found == data:
                table.looks[path] = look

    def _on_disk(self, path: str) -> tuple[bytes | None, str]:
        """A file's bytes and its look, from one open file; no bytes when there is none that we record."""
        try:
            place = os.path.join(self._place.base, path)
            data, status = read_with_status(place, max_bytes=MAX_FILE_BYTES, follow=False)
        except OSError:
            return None, ""
        return data, look_of(status)

    def log(self, *paths: str, limit: int | None = None, since: str = "") -> list[Commit]:
        """Commits newest first, all or those that touched one of `paths`, or that came after the commit `since`."""
        head = self.head()
        if not head:
            return []
        if not self.has_git:
            return list(islice(self._loose_log(head, [path for path in paths if path], since), limit))
        arguments = [*_LOG] if limit is None else [*_LOG, f"--max-count={limit}"]
        wanted = f"{since}..{head}" if since else head
        return self._commits(self.git.run(*arguments, wanted, "--", *filter(None, paths)))

    def _loose_log(self, head: str, paths: Sequence[str] = (), since: str = "") -> Iterator[Commit]:
        """The same without git: a commit has one parent at most, and what differs between their trees is its change."""
        name, after = head, dict[str, str]()
        while name and name != since:
            fields, _, message = self._loose(name).decode("utf-8", "replace").partition("\n\n")
            told = dict(line.partition(" ")[::2] for line in fields.split("\n"))
            after = after or self._loose_files(told["tree"])
            parent, when = told.get("parent", ""), int(told["committer"].split()[-2])
            is_of = self._loose(parent).decode("utf-8", "replace") if parent else ""
            before = self._loose_files(is_of[5 : 5 + len(name)]) if parent else {}
            changed = sorted(path for path in after.keys() | before.keys() if after.get(path) != before.get(path))
            wanted = [path for path in changed if not paths or any(f"{path}/".startswith(f"{one}/") for one in paths)]
            files = [FileChange(path, before.get(path, ""), after.get(path, "")) for path in wanted]
            if files or not paths:
                yield Commit(name, min(when, _LATEST), message, files, has_parent=bool(parent))
            name, after = parent, before

    def _loose_files(self, tree: str) -> dict[str, str]:
        files, data, at = dict[str, str](), self._loose(tree), 0
        while at < len(data):
            end = data.index(b"\0", at)
            mode, _, path = os.fsdecode(data[at:end]).partition(" ")
            name, at = data[end + 1 : end + 21].hex(), end + 21
            below = self._loose_files(name) if mode == "40000" else {"": name}
            files |= {f"{path}/{rest}" if rest else path: blob for rest, blob in below.items()}
        return files

    def _loose(self, name: str) -> bytes:
        data = read_object(self.git.objects, name)
        if data is None:
            raise HistoryError("git is not installed", remedy="Install git to get history: log, diff, restore and undo")
        return data

    def order_of(self, commit: Commit) -> tuple[int, int]:
        """When a change was made, to be compared with one of another history: within a second, by when it was
        recorded."""
        return commit.time, time_of(object_path(self.git.objects, commit.id))

    def lineage(self, path: str) -> dict[str, list[Commit]]:
        """The changes of a memory, newest first, then those of every memory it was made from, nearest first (L1)."""
        found: dict[str, list[Commit]] = {}
        waiting = [path]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found[current] = self.log(current)
                waiting += [source for commit in found[current] for source in commit.derived.get(current, ())]
        return found

    def find_commit(self, revision: str) -> Commit | None:
        """The commit that an id, or the beginning of one, names."""
        if not revision or not all(c in "0123456789abcdef" for c in revision) or not (head := self.head()):
            return None
        if not self.has_git:
            return next((one for one in self._loose_log(head) if one.id.startswith(revision)), None)
        return next(iter(self._commits(self.git.run(*_LOG, "-1", revision, "--", accept=(0, 128)))), None)

    def _commits(self, output: bytes) -> list[Commit]:
        try:
            return list(_parsed(iter(output.split(b"\0"))))
        except (ValueError, IndexError):  # a commit that was not written by us, nor by git
            raise self.git.failure("a change in it is not of the form that git gives it") from None

    def contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The bytes of each content id, from the history or, where it lost them, from a file that still holds them."""
        found = self._stored(ids)
        lost = {blob for blob in ids if blob and blob not in found}
        for data in self.beginning().values() if lost else ():
            if data is not None and (name := object_id("blob", data)) in lost:
                found[name] = data
        return found

    def with_texts(
        self, commits: Sequence[Commit], is_wanted: Callable[[str], bool]
    ) -> Iterator[tuple[Commit, list[tuple[FileChange, bytes, bytes]]]]:
        """Each change with those of its files whose path is wanted, and what they said before and after it."""
        for start in range(0, len(commits), _AT_ONCE):
            some = commits[start : start + _AT_ONCE]
            files = {commit.id: [file for file in commit.files if is_wanted(file.path)] for commit in some}
            texts = self.contents([blob for found in files.values() for f in found for blob in (f.before, f.after)])
            for commit in some:
                found = [(file, texts.get(file.before, b""), texts.get(file.after, b"")) for file in files[commit.id]]
                yield commit, found

    def _stored(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The bytes that the history itself has; what is gone or damaged is left out."""
        wanted = [blob for blob in dict.fromkeys(ids) if blob]
        if not wanted:
            return {}
        if not self.has_git:
            loose = ((blob, read_object(self.git.objects, blob)) for blob in wanted)
            return {blob: data for blob, data in loose if data is not None}
        output = self.git.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode("ascii"))
        found = zip(wanted, read_batch(output), strict=True)
        return {blob: data for blob, (_, data) in found if object_id("blob", data) == blob}

    def patch(self, commit: Commit, path: str = "") -> str:
        """A commit as a unified diff."""
        output = self.git.run(*_PATCH, commit.id, "--", *([path] if path else []))
        return output.decode("utf-8", "surrogateescape")

    def check(self) -> list[str]:
        """What git finds wrong with the repository."""
        if not self.git.exists:
            return ["it is gone"] if self.noted_head() else []
        self.git.look_over()
        self._recorded()
        return self.git.complaints()

    def _pack_if_many(self, head: str) -> None:
        sample = os.path.join(self.git.objects, _LOOSE_SAMPLE)
        if len(names_in(sample)) >= LOOSE_LIMIT and self.has_git:
            self.git.pack(head)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every plain file of the directory that we record; dot files are other programs' business."""
        closed: dict[str, OSError] = {}  # what is in such a folder stands, though nobody can look at it now
        for path, entry in walk(self._place.base, closed=closed, everything=True):
            status = status_of(entry)
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
                yield path, status
        if "./" in closed:
            raise disk_error(closed["./"], "read the folder", self._place.base)

    def _stands(self, path: str) -> bool:
        """Whether something is there, be it nothing that we record or may look at: then a recorded file was not
        deleted."""
        try:
            os.lstat(os.path.join(self._place.base, path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        return True


def _parsed(fields: Iterator[bytes]) -> Iterator[Commit]:
    """The commits of a log. A name follows its description and a message its date, whatever stands in them."""
    commit = None
    for field in fields:
        word = field.lstrip(b"\n")
        if word.startswith(b":") and commit is not None:
            before, after = (("" if name == _MISSING else name) for name in word.decode("ascii").split(" ")[2:4])
            commit.files.append(FileChange(os.fsdecode(next(fields, b"")), before, after))
        elif word:
            parents, when, message = next(fields, b""), int(next(fields, b"")), next(fields, b"")
            if commit is not None:
                yield commit
            text = message.decode("utf-8", "replace")
            commit = Commit(word.decode("ascii"), min(when, _LATEST), text, [], has_parent=bool(parents))
    if commit is not None:
        yield commit


def _trailers(message: str) -> dict[str, str]:
    paragraphs = message.strip().split("\n\n")
    pairs = (line.partition(": ") for line in paragraphs[-1].split("\n")) if len(paragraphs) > 1 else ()
    return {key: value for key, colon, value in pairs if colon}


def _one_line(text: str) -> str:
    """Text that cannot forge a trailer or break the log's own separators."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def tell_derived(derived: Mapping[str, Sequence[str]]) -> str:
    """What was made from what, as the history keeps it. No file name may hold any of the signs between them."""
    return "; ".join(f"{path} < {', '.join(sources)}" for path, sources in derived.items())


def tell_moment(moment: float) -> str:
    """A moment as the history keeps it: within a second a thing can be forgotten and said again."""
    return f"{moment:.6f}"


def tell_lines(lines: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """Which files were taken from which messages of which sessions, as the history keeps it."""
    told = {path: " ".join(f"{session}:{message}" for session, message in some) for path, some in lines.items()}
    return "; ".join(f"{path} = {some}" for path, some in told.items() if some)
