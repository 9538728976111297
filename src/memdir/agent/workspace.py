"""A fork's files: what it writes stays a draft until its whole run has succeeded, then becomes one change set.

So a run that fails, is killed or is refused leaves nothing behind and can be repeated with the same messages (X4),
a run is undone by one command, and what others changed meanwhile is merged, never overwritten (S13, D7).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from memdir.agent.file_access import DiskFiles, RecordedFiles, walking_order
from memdir.disk.safe_path import INDEX_NAME, is_index, is_inside, is_key
from memdir.errors import BadMemoryFile, EditConflict, MemdirError, MemoryNotFound, PathEscape
from memdir.store.form import as_seen, deletion_in, well_formed
from memdir.store.guard import GUARD_FIELD, guard_of
from memdir.store.history import Origin
from memdir.store.index import MAX_LINES, Index, entry_for, parse_entry, with_edits
from memdir.store.kept import is_another, kept, unsaid
from memdir.store.log_lines import log_day
from memdir.store.merge import merge_bytes
from memdir.store.scan import is_in_no_place, most_bytes, too_large, walk
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.shared import refuse_private
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.topic import Topic
from memdir.store.trust import is_of_team, marked_trust
from memdir.text.naming import file_stem, free_key
from memdir.text.nearness import Sentence

_UNFIT = str.maketrans(':*?"<>|', "-" * 7)  # signs that not every file system takes in a name
_OF_A_MEMORY = (b"- ", b"* ", b"name:", b"description:", b"type:")  # how a line of one may begin in an index


@dataclass(frozen=True)
class Draft:
    """A file that a fork wrote: where, what stood there, what shall stand there (None: deleted, and why)."""

    store: MemoryStore  # where it belongs
    key: str  # its file name below the directory of the store
    before: bytes | None  # what stood there, None for no file
    after: bytes | None  # what shall stand there, None when it is deleted
    reason: str = ""  # why it is deleted
    seen: bytes | None = None  # the file as it was when lines were last taken out of it on purpose

    @property
    def path(self) -> str:
        """Where it stands below the directory that its store shares with others."""
        return self.store.place.prefix + self.key


@dataclass(frozen=True)
class Ruling:
    """What a job's rules say of a draft: why it may not be kept, or what will be left out of it."""

    refusal: str = ""  # told to the model; the draft is not kept
    note: str = ""  # told beside the success
    place: MemoryStore | None = None  # where it belongs, if not where it was written
    is_quiet: bool = False  # nothing of the refusal is told elsewhere: it speaks of what somebody forgot


@dataclass
class Workspace:
    """Memory directories seen through a fork's drafts; everything else on disk can be read and not written.

    Form and rules answer at the write, where the model can still act on it: `rule` is what the job has to say besides.
    A draft that is refused costs no other; `refused` keeps the reasons of those that were not written again.
    """

    stores: Sequence[MemoryStore]
    rule: Callable[[Workspace, Draft], Ruling] | None = None
    keeps_lines: bool = False  # at each write; a dream moves lines between files, and keeps them at its end
    drafts: dict[str, Draft] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    lost: dict[str, bytes] = field(default_factory=dict)  # refused for its form, and not written since
    is_judged: bool = False  # whether something came so far that its form and the rules were asked about it
    _apart: dict[str, str] = field(default_factory=dict)  # names of what was written over an unrelated memory
    _elsewhere: dict[str, str] = field(default_factory=dict)  # where drafts are that belong to another of the stores
    _disk: DiskFiles = field(default_factory=DiskFiles)
    _in_turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        self._stood = {store.root: {key for key, _ in walk(store.root)} for store in self.stores}  # when it began

    def is_draft(self, path: str) -> bool:
        return self._real(path) in self.drafts

    def _real(self, path: str) -> str:
        real = os.path.realpath(path)
        return self._elsewhere.get(real, real)

    def meant(self, path: str, cwd: str) -> str:
        """The file that a model means by a bare name, a path from the memory directory, or one without its ending."""
        text = path.strip().strip("`'\"").removeprefix("file://")
        full = os.path.join(cwd, text)
        if os.path.lexists(full) or "\0" in text:
            return full
        root = self.stores[0].root
        if os.path.isabs(text) or text.startswith("~"):
            found = os.path.expanduser(text)
        else:
            parts = [part for part in text.split("/") if part not in ("", ".")]
            while len(parts) > 1 and parts[0] != "team" and parts[0] in root.split(os.sep):
                parts = parts[1:]  # memory/a.md, or the whole way from the home
            is_ours = len(parts) == 1 or os.path.isdir(os.path.join(root, *parts[:1]))
            found = os.path.join(root, *parts) if is_ours and ".." not in parts else full
        if not any(is_inside(found, store.root) for store in self.stores):
            return full
        return found if os.path.lexists(found) else _with_ending(found)

    def read(self, path: str) -> bytes:
        draft = self.drafts.get(self._real(path))
        if draft is None:
            return self._disk.read(path)
        if draft.after is None:
            raise MemoryNotFound(f"there is no file {path}: you deleted it")
        return draft.after

    async def put(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        """Write beside the host's loop, one file after the other in the order of the calls."""
        async with self._in_turn:
            return await asyncio.to_thread(self.write, path, data, is_cut=is_cut)

    def write(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        """Draft a file, in the form of a memory. Returns what was repaired; BadMemoryFile says what to do instead."""
        store, key = self.locate(self._real(path))
        refuse_place(key)
        self.is_judged |= not is_index(key)
        real = store.path_of(key)
        known = self.drafts.get(real)
        before = known.before if known else store.read_bytes(key)
        try:
            draft, told = _drafted(store, key, before, data)
        except BadMemoryFile as error:
            if not is_index(key):
                self.refused[real], self.lost[real] = error.message, data
            raise
        draft = replace(draft, seen=draft.after if is_cut else known.seen if known else None)
        if self.keeps_lines and not is_cut and draft.after and not is_index(key):
            draft, kept_told = self._with_lines(draft, known)
            real, told = store.path_of(draft.key), (*told, *kept_told)
        _refuse_guarded(draft)
        if draft.after is None and before is None and known is None:
            raise MemoryNotFound(f"there is no memory {key} to delete", remedy="Glob lists what there is")
        ruling = self._ruling(draft)
        if ruling.refusal:
            if not ruling.is_quiet:
                self.refused[real] = ruling.refusal
            raise BadMemoryFile(ruling.refusal, remedy="The other files are not touched by that")
        if ruling.place is not None:
            draft = self._placed(draft, ruling.place, os.path.realpath(path))
        if is_of_team(draft.store.scope, draft.key):
            self._refuse_private(draft, real, data)
        self._settle(real, draft.after or b"")
        if real in self.drafts and draft.store is not store:
            del self.drafts[real]
        self.drafts[draft.store.path_of(draft.key)] = draft
        told = (*told, *(f"{one} is not written yet, and its line alone is lost" for one in self.unwritten(draft)))
        return "; ".join((*told, *filter(None, (ruling.note,))))

    def unwritten(self, draft: Draft) -> list[str]:
        """The files that an index newly names and nobody wrote."""
        if not is_index(draft.key):
            return []
        stood = {entry.key for entry in Index(draft.before or b"").entries()}
        new = (entry.key for entry in Index(draft.after or b"").entries() if entry.key not in stood)
        there = {name for one in self.drafts.values() for name in (one.path, one.key)}
        return [key for key in new if is_key(key) and key not in there and draft.store.read_bytes(key) is None]

    def _refuse_private(self, draft: Draft, real: str, written: bytes) -> None:
        """Nothing about a person lies where others read, whoever thinks that it should, repaired or not (E2)."""
        try:
            for data in (written, draft.after or b""):
                refuse_private(draft.key, data, has_team=draft.store.has_team)
        except BadMemoryFile as error:
            self.refused[real] = error.message
            raise

    def _settle(self, real: str, data: bytes) -> None:
        """A file is written: what was refused of it, or the same under another name, is made good."""
        said = Sentence(data.decode("utf-8", "replace")).terms if self.lost else frozenset()
        meant = {path: Sentence(lost.decode("utf-8", "replace")).terms for path, lost in self.lost.items()}
        for path in (real, *(path for path, terms in meant.items() if len(terms & said) * 2 > len(terms))):
            self.refused.pop(path, None)
            self.lost.pop(path, None)

    def _with_lines(self, draft: Draft, known: Draft | None) -> tuple[Draft, tuple[str, ...]]:
        """The draft with every line that it left out of a memory and does not replace (X6, ADR 0055); under a name of
        its own beside a memory about something else, also where that is new as well."""
        after = Topic(draft.after or b"")
        over = draft.before if known is None else None if draft.before else known.after
        if over and is_another(Topic(over), after):
            key = self._key_apart(draft, after)
            told = f"{draft.key} is about something else and stays; this is {key} now: two rules are two memories"
            return Draft(draft.store, key, None, draft.after), (told,)
        if not draft.before:
            return draft, ()
        before = Topic(draft.before)
        result = kept(before, after, seen=Topic(draft.seen) if draft.seen else before)
        return replace(draft, after=result.topic.data), tuple(result.told())

    def _key_apart(self, draft: Draft, topic: Topic) -> str:
        """A name beside the memory that it was written over; the same one when it is written there again."""
        known = self._apart.get(draft.path, "")
        earlier = self.drafts.get(draft.store.path_of(known)) if known else None
        if earlier is None or earlier.after is None or is_another(Topic(earlier.after), topic):
            stem = draft.key[: draft.key.rfind("/") + 1] + file_stem(topic.name, str(topic.kind or ""))
            named = draft.store.path_of
            known = free_key(stem, lambda key: os.path.lexists(named(key)) or self.is_draft(named(key)))
            self._apart[draft.path] = known
        return known

    def keep_lines(self) -> None:
        """Give every changed memory back what it lost, unless another draft says it now."""
        for path, draft in list(self.drafts.items()):
            if draft.before and draft.after and draft.before != draft.after and not is_index(draft.key):
                others = (one.after for place, one in self.drafts.items() if place != path and one.after)
                elsewhere = b"\n".join(others).decode("utf-8", "replace")
                before = Topic(draft.before)
                result = kept(before, Topic(draft.after), Topic(draft.seen) if draft.seen else before, elsewhere)
                self.drafts[path] = replace(draft, after=result.topic.data)

    def _placed(self, draft: Draft, store: MemoryStore, written: str) -> Draft:
        """A new file in the store that it belongs to. What has its name there is told first: it may be the same memory.
        A model that insists gets a name beside it, as does what is new in this run and something else."""

        def is_taken(key: str) -> bool:
            return store.read_bytes(key) is not None or self.is_draft(store.path_of(key))

        there = store.path_of(draft.key)
        known = self.drafts.get(there)
        new = known.after if known and known.before is None else None
        is_same = new is not None and not is_another(Topic(new), Topic(draft.after or b""))
        if is_taken(draft.key) and not is_same:
            if new is None and written not in self.refused:
                told = f"{there} is a memory of that name. Read it, then Edit it there if it is the same"
                self.refused[written] = told
                raise BadMemoryFile(told, remedy="Else write this again, under another name")
            draft = replace(draft, key=free_key(draft.key.removesuffix(".md"), is_taken))
        self._elsewhere[written] = store.path_of(draft.key)
        return replace(draft, store=store)

    def _ruling(self, draft: Draft) -> Ruling:
        if draft.after is not None:
            kinds, told = secrets_in(draft.key, draft.after, draft.before)
            if kinds:
                name = harmless_name(draft.key, draft.after)
                return Ruling(f"{name} would hold a secret: {told}. Leave it out and say where it is kept instead")
        return self.rule(self, draft) if self.rule else Ruling()

    def walk(self, folder: str) -> Iterator[str]:
        found = set(self._disk.walk(folder))
        prefix = os.path.realpath(folder) + os.sep
        for path, draft in list(self.drafts.items()):
            if path.startswith(prefix):
                named = os.path.join(folder, path.removeprefix(prefix))  # as the caller names it, links or not
                (found.discard if draft.after is None else found.add)(named)
        yield from sorted(found, key=walking_order)

    def locate(self, path: str) -> tuple[MemoryStore, str]:
        """The store and key of a path; the innermost store where one lies inside another. PathEscape outside all."""
        real = os.path.realpath(path)
        inside = [store for store in self.stores if is_inside(real, store.root)]
        if not inside:
            roots = ", ".join(store.root for store in self.stores)
            raise PathEscape(f"{path} is outside the memory directory", remedy=f"Write below {roots}")
        store = max(inside, key=lambda store: len(store.root))
        key = os.path.relpath(real, os.path.realpath(store.root)).replace(os.sep, "/")
        store.path_of(key)
        return store, key

    def changed(self) -> list[Draft]:
        """The drafts that differ from what stood there."""
        return [draft for draft in self.drafts.values() if draft.before != draft.after]

    def on_disk(self) -> dict[tuple[MemoryStore, str], bytes | None]:
        """What memories say before the drafts are written."""
        found = ((store, store.readable(store.scan(limit=None).headers)) for store in self.stores)
        return {(store, memory.key): memory.topic.data for store, memories in found for memory in memories}

    def unsaid_elsewhere(self, draft: Draft) -> list[tuple[str, str]]:
        """What stands in a file now and in no other when the drafts are written, each sentence with its label. In one
        that nobody vouched for it would lose its authority."""
        topic = Topic(draft.before or b"")
        changed = {(other.store, other.key): other.after for other in self.drafts.values()}
        others = {place: data for place, data in (self.on_disk() | changed).items() if data and not is_index(place[1])}
        topics = [Topic(data) for place, data in others.items() if place != (draft.store, draft.key)]
        known = [one for one in topics if marked_trust(one) >= marked_trust(topic)]
        return unsaid(topic, [f"{one.description}\n{one.body}" for one in known])

    def drop_conflicts(self) -> list[str]:
        """Give up the drafts of files that others changed in the same lines meanwhile: their text wins (D7).

        Then nothing is deleted either: what a deleted file said may have been meant for a file that stays as it is.
        """
        lost = [path for path, draft in self.drafts.items() if draft.key != INDEX_NAME and _clashes(draft)]
        spared = [path for path, draft in self.drafts.items() if draft.after is None] if lost else []
        keys = [self.drafts[path].key for path in lost]
        for path in dict.fromkeys((*lost, *spared)):
            self.give_up(path)
        return keys

    def drop_repeated(self) -> None:
        """Give up new memories that say only what somebody else wrote into new files meanwhile: it is written once."""
        for path, draft in list(self.drafts.items()):
            if draft.before is None and draft.after and not is_index(draft.key):
                root = draft.store.root
                keys = (key for key, _ in walk(root) if key not in self._stood[root])
                others = [draft.store.read_bytes(key) or b"" for key in keys if draft.store.path_of(key) != path]
                left = unsaid(Topic(draft.after), [data.decode("utf-8", "replace") for data in others])
                if others and not any(label == "main" for label, _ in left):
                    self.give_up(path)

    def give_up(self, path: str) -> None:
        """Forget a draft: its file stays as it is, and so does its line in the index, or that it has none."""
        draft = self.drafts.pop(path)
        index_path = draft.store.path_of(INDEX_NAME)
        index = self.drafts.get(index_path)
        if index is None or index.after is None:
            return
        line = next((entry for entry in Index(index.before or b"").entries() if entry.key == draft.key), None)
        after = Index(index.after)
        kept = after.without([draft.key]) if line is None else after.with_entries([line])
        self.drafts[index_path] = replace(index, after=kept.data)

    def bases(self) -> list[str]:
        """The directories with a history of their own in which something changes."""
        return list(dict.fromkeys(draft.store.place.base for draft in self.changed()))

    def commit(
        self, origin: Origin, subject: str, *, times: Mapping[str, int] | None = None, base: str = "", **more: str
    ) -> list[Draft]:
        """Write all drafts, merging what others changed since. Stores of one directory, a project's own and its team's,
        change together or not at all. `times` are the modification times that files bear, by their path, when they
        are put in order and not learned again (S11). `base` is the one of the directories that is meant. `more` goes
        into the history's record. Returns what was written.

        EditConflict when somebody changed the same lines, or deleted or made the same file: nothing is written then.
        """
        written = []
        for place in [base] if base else self.bases():
            drafts = [draft for draft in self.changed() if draft.store.place.base == place]
            reasons = "; ".join(f"{draft.key}: {draft.reason}" for draft in drafts if draft.after is None)
            self._commit_base(drafts, origin, subject, times, Deleted=reasons, **more)
            written += drafts
            self.drafts = {path: one for path, one in self.drafts.items() if one.store.place.base != place}
        return written

    def _commit_base(
        self, drafts: list[Draft], origin: Origin, subject: str, times: Mapping[str, int] | None, **more: str
    ) -> None:
        place = drafts[0].store.place
        outer = next((store for store in self.stores if store.place.root == place.base), drafts[0].store)
        with outer.changing(origin, subject, **more) as change:
            # The fork's own lines first: the index is completed only where it forgot one.
            for draft in sorted(drafts, key=lambda draft: draft.key != INDEX_NAME):
                prefix = draft.store.place.prefix if outer is not draft.store else ""
                keys = [one.key for one in drafts if one.store is draft.store and one.key != INDEX_NAME]
                # What puts everything in order knows which lines a full index has no room for.
                room = sys.maxsize if self.keeps_lines or times is None else MAX_LINES
                _put(change, draft, prefix, (times or {}).get(draft.path), (keys, room))


def _put(change: ChangeSet, draft: Draft, prefix: str, mtime_ns: int | None, index: tuple[Sequence[str], int]) -> None:
    key, index_key = prefix + draft.key, prefix + INDEX_NAME
    changed, room = index
    if draft.key == INDEX_NAME:
        change.edit_index(_merger(change, draft, prefix, changed), key=index_key)
        return
    _refuse_clash(draft, change.read(key))
    if draft.after is None:
        change.delete(key)
        change.edit_index(lambda index: index.without([draft.key]), key=index_key)
        return
    change.write(key, draft.after, base=draft.before or b"", mtime_ns=mtime_ns)
    if not is_index(draft.key):
        change.edit_index(_completer(draft, Topic(draft.after), room), key=index_key)


def _clashes(draft: Draft) -> bool:
    """Whether somebody changed the file meanwhile in a way that cannot be merged."""
    current = draft.store.read_bytes(draft.key)
    if current == draft.before:
        return False
    if draft.after is None or current is None or draft.before is None:
        return True
    return merge_bytes(draft.before, draft.after, current) is None


def _refuse_clash(draft: Draft, current: bytes | None) -> None:
    """What somebody else deleted or changed meanwhile is not ours to bring back or to delete."""
    if current != draft.before and (current is None or draft.after is None):
        verb = "deleted" if current is None else "changed"
        raise EditConflict(f"{draft.key} was {verb} by someone else meanwhile", remedy="Read it again, then decide")


def _merger(change: ChangeSet, draft: Draft, prefix: str, changed: Sequence[str]) -> Callable[[Index], Index]:
    """Brings a fork's own edit of the index into the index as it stands now: it is the store's (S7)."""

    def is_living(key: str) -> bool:
        try:
            return change.read(prefix + key) is not None
        except MemdirError:
            return True  # somebody's file that cannot be read now, and is not ours to judge

    @cache
    def told() -> str:
        keys = (header.key for header in draft.store.scan(limit=None).headers)
        texts = (change.read(prefix + key) or b"" for key in dict.fromkeys((*keys, *changed)) if is_key(key))
        return " ".join(b"\n".join(texts).decode("utf-8", "replace").split())

    def is_told(line: bytes) -> bool:
        return " ".join(line.decode("utf-8", "replace").split()).lstrip("# ") in told()

    edit = (draft.before or b"", draft.after or b"")
    return lambda current: with_edits(current, edit, is_living=is_living, is_told=is_told)


def _completer(draft: Draft, topic: Topic, room: int) -> Callable[[Index], Index]:
    """Gives a memory the line that its writer forgot, and one that still tells the old name or description the new one;
    a line that somebody worded otherwise stays as it is."""
    entry = entry_for(draft.key, topic)
    before = parse_entry(entry_for(draft.key, Topic(draft.before or b"")).render().encode())
    old = (before.title, before.hook) if before and draft.before else ("", "")

    def complete(index: Index) -> Index:
        known = next((known for known in index.entries() if known.key == draft.key), None)
        if known is None:
            return index.with_entries([entry]) if index.data.count(b"\n") < room else index
        is_old = (known.title, known.hook) == old or (old[1] and known.hook == old[1] != entry.hook)
        return index.with_entries([entry]) if is_old else index

    return complete


def _drafted(store: MemoryStore, key: str, before: bytes | None, data: bytes) -> tuple[Draft, tuple[str, ...]]:
    """What a model's text makes of a file, and what was repaired about it. A fork has no tool to delete, since it must
    keep its parent's list of tools (G1): it writes a line that says so."""
    if len(data) > most_bytes(key):
        raise BadMemoryFile(f"{key}: {too_large(len(data), most_bytes(key))}", remedy="Keep the point, drop the rest")
    data = as_seen(data)
    reason = deletion_in(data)
    if is_index(key):
        if store.skip_index:
            raise BadMemoryFile(f"{key} stays as it is: there is no index here", remedy="Write topic files only")
        if reason is not None:
            raise BadMemoryFile(f"{key} is the index and stays", remedy="It is kept in step with the files by itself")
        _refuse_prose(key, before or b"", data)
        return Draft(store, key, before, data), ()
    if reason is not None:
        return Draft(store, key, before, None, reason), ("it is deleted when your work is done",)
    after, told = well_formed(key, data, before)
    return Draft(store, key, before, after), told


def _refuse_prose(key: str, before: bytes, data: bytes) -> None:
    """A memory, or one told in a line, would be lost in an index: it belongs into a file of its own."""
    known = frozenset(before.splitlines())
    if any(line.startswith(_OF_A_MEMORY) and b".md" not in line and line not in known for line in data.splitlines()):
        told = f"{key} is the index, and no memory is kept in it"
        raise BadMemoryFile(told, remedy="Write the memory to a file of its own; its line comes by itself")


def refuse_place(key: str) -> None:
    """A daily log is nobody's to write, and what lies among them, or below the name of a file, is never found again."""
    if log_day(key):
        told = f"{key} is a daily log: what it says stays as it is"
        raise BadMemoryFile(told, remedy="Write what lasts into a memory of its own")
    if is_in_no_place(key):
        raise BadMemoryFile(f"no memories are looked for in {key.rpartition('/')[0]}/", remedy="Choose another folder")


def _refuse_guarded(draft: Draft) -> None:
    """A guard that a person set goes with no deletion of a model's, nor with another type or a mark (Q1); its line the
    form keeps as it stood."""
    before, after = (Topic(data or b"") for data in (draft.before, draft.after))
    was, now = (guard_of(one, key=draft.key, scope=draft.store.scope) for one in (before, after))
    if draft.after is None and GUARD_FIELD in before.fields:
        raise BadMemoryFile(f"{draft.key} stays: the user set a guard on it", remedy="They can `memdir forget` it")
    if was and not now:
        told = f"{draft.key} stays feedback without a mark of trust: the user set a guard on it"
        raise BadMemoryFile(told, remedy="Write what is no rule into a memory of its own")


def _with_ending(path: str) -> str:
    """A path with the ending of a memory where a model left it out or spelled it otherwise; the index by its name."""
    folder, name = os.path.split(path)
    name = name.translate(_UNFIT).replace("-.", ".")
    path = os.path.join(folder, name)
    stem, ending = os.path.splitext(name)
    if name.lower() in (INDEX_NAME.lower(), INDEX_NAME.lower()[:-3]):
        return os.path.join(folder, INDEX_NAME)
    if ending.lower() in (".md", ".markdown", ".mdx"):
        return os.path.join(folder, stem + ".md")
    return path if os.path.isdir(path) or (ending[1:].isalpha() and ending) else path + ".md"


class Judge(Protocol):
    """Says of drafts whose words they are: at the write, and marking those that will be kept (X12, L1)."""

    def rule(self, workspace: Workspace, draft: Draft, /) -> Ruling: ...

    def weighed(self, workspace: Workspace, by: Origin, /) -> Origin: ...


@dataclass(frozen=True)
class HostFiles(RecordedFiles):
    """The files of a host's main agent: what it writes into a memory directory goes through the store, with its form,
    its refusals and its history (S6, S14, S15); the rest to disk, what was there before kept beside the transcript."""

    stores: Callable[[], Sequence[MemoryStore]]  # whose folders hold memories
    origin: Origin  # whom the history names for what is written there
    _judge: Callable[[Sequence[MemoryStore]], Judge]  # whose words may be written there
    log: Callable[[MemoryStore, str, bytes, Origin], str] | None = None  # takes what goes into one, if one is kept
    on_saved: Callable[[Sequence[str]], None] | None = None  # told the memories that were written or deleted
    _in_turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one file after the other

    async def put(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        stores = self.stores()
        if not any(is_inside(path, store.root) for store in stores):
            return await super().put(path, data)
        async with self._in_turn:
            told, saved = await asyncio.to_thread(self._remember, stores, path, data, is_cut=is_cut)
        if saved and self.on_saved is not None:
            self.on_saved(saved)
        return told

    def _remember(
        self, stores: Sequence[MemoryStore], path: str, data: bytes, *, is_cut: bool
    ) -> tuple[str, Sequence[str]]:
        judge = self._judge(stores)

        def rule(files: Workspace, draft: Draft) -> Ruling:
            pinned = keeps_pinned(files, draft)
            return pinned if pinned.refusal else judge.rule(files, draft)

        files = Workspace(stores, rule, keeps_lines=True)
        store, key = files.locate(path)
        if log_day(key):
            if self.log is None:
                raise BadMemoryFile(f"{key} is a daily log, and none is kept here", remedy="Write a memory instead")
            return self.log(store, key, data, self.origin), ()
        told = files.write(path, data, is_cut=is_cut)
        written = files.commit(judge.weighed(files, self.origin), f"write {os.path.basename(path)}")
        return told, [draft.key for draft in written if not is_index(draft.key)]


def keeps_pinned(_files: Workspace, draft: Draft) -> Ruling:
    """The rule of who writes one file at a time for a model: what a person pinned stays."""
    if draft.before is not None and Topic(draft.before).is_pinned:
        return Ruling(f"{draft.key} is pinned by a person and stays as it is")
    return Ruling()
