"""Removes what came from a session, a page or a person, and what was made from it (L2, ADR 0076).

What comes from where is told sentence by sentence (`store/line_origins.py`). Only what came from there alone goes by
itself; a sentence that has another source as well, and what a person pinned or guards, is held until they say so.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from memdir.disk.plain_file import read_if_plain
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, has_link_below
from memdir.errors import EditConflict, MemdirError
from memdir.layout import Layout
from memdir.remember.purge_source import (
    Conversations,
    PurgeSource,
    SourceTest,
    asked_for,
    hear_again,
    leave_alone,
    named,
)
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import OUTSIDE, Commit, Origin
from memdir.store.index import Entry, Index, entry_for
from memdir.store.line_origins import PURGED, Causes, FileOrigins, OnProgress, Told, sentences_told, trace_origins
from memdir.store.log_lines import log_day, log_lead
from memdir.store.move import Opener, side_name
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.store.undo import require_history, standing
from memdir.text.naming import describe, file_stem, first_words, free_key, titled
from memdir.text.sentences import CLAUSES, bounds, sentences_of
from memdir.text.stems import terms_in

Places = dict[str, tuple[MemoryStore, FileOrigins]]
_HANDS = ("cli", OUTSIDE, "review", "host")  # what the history calls people, and whom it does not know
MAX_SHARED = 500  # files of a snapshot that are looked at
_NOTHING = re.compile(
    r"^[\s>*+#_-]*(?:\d+[.)]\s*)?(?:\*\*[^*\n]{1,40}\*\*:?)?[\s;–—:,-]*$"
)  # a line of marks and a label

_LEAD = re.compile(r"[ \t]*(?:(?:[-*+>]|#{1,6}|\d+[.)])[ \t]+)*(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True)
class PurgedFile:
    """A file that something goes from, or would; or that is held."""

    scope: str  # project, user, team or an agent's
    file: str  # its name there
    lines: tuple[str, ...]  # the sentences that go
    kept: int = 0  # those of other sources that stay; 0: the file goes
    held_because: str = ""  # why nothing goes before a person says so
    renamed: str = ""  # what it is called now, where its name came from there as well

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.scope}/{self.file}"


@dataclass(frozen=True)
class PurgeReport:
    """What was removed, or would be, and what is left for a person to decide."""

    source: PurgeSource  # what was named
    files: tuple[PurgedFile, ...]  # those that something went from
    held: tuple[PurgedFile, ...]  # those that are left to a person
    is_dry: bool = False  # whether nothing was changed
    not_ours: tuple[str, ...] = ()  # files of the project that may say it, and are left to a person: docs, snapshots


@dataclass(frozen=True)
class PurgePlan:
    """What becomes of one file."""

    told: PurgedFile
    store: MemoryStore
    before: bytes
    after: bytes | None


@dataclass(frozen=True)
class _Found:
    """What of a file comes from a source: the sentences that surely do, and those that have other sources as well."""

    sure: tuple[str, ...]
    mixed: tuple[str, ...]
    topic: Topic
    names_it: bool = False  # whether its name comes from there, and says more than the rest

    @staticmethod
    def of(asked: SourceTest, told: Told, read: Callable[[], bytes | None]) -> _Found | None:
        """What of these sentences does; None where nothing does, or there is no such file any more."""
        verdicts = {one: asked.verdict(one, causes) for one, causes in told.items()}
        sure = tuple(one for one, verdict in verdicts.items() if verdict == "from")
        mixed = tuple(one for one, verdict in verdicts.items() if verdict == "mixed")
        data = read() if sure or mixed else None
        return _Found(sure, mixed, Topic(data)).in_file() if data is not None else None

    def in_file(self) -> _Found:
        """The same where it stands: what a person pinned or guards is not sure to go, and what is made from the text,
        name and description, is made again where some of the text goes."""
        topic, sure, mixed = self.topic, self.sure, self.mixed
        body, description = set(sentences_of(topic.body)), set(sentences_of(topic.description))
        if _why_held(topic):
            return _Found((), tuple(one for one in (*sure, *mixed) if one != topic.name), topic)
        is_named = topic.name in (*sure, *mixed)
        sure = tuple(one for one in sure if one != topic.name or one in body | description)
        mixed = tuple(one for one in mixed if one != topic.name or one in body | description)
        headline = tuple(one for one in mixed if sure and one in description - body)
        mixed = tuple(one for one in mixed if one not in headline)
        return _Found((*sure, *headline), mixed, topic, is_named and (bool(sure) or topic.name in self.sure))


@dataclass(frozen=True)
class Purge:
    """What a purge of these scopes needs to know of a project."""

    stores: Mapping[str, MemoryStore]  # by scope
    project: MemoryStore
    docs: MemoryStore
    conversations: Conversations
    layout: Layout
    opener: Opener
    team: str = ""  # the remote of a person's

    def run(
        self, source: str, chosen: Callable[[PurgedFile], bool], *, is_dry: bool, on_progress: OnProgress | None
    ) -> PurgeReport:
        """Find where all sentences come from, and take away what came from there."""
        places, known = self._traced(on_progress)
        found = named(source, known, self.conversations)
        if not is_dry:  # first the conversation: whoever is killed here calls again
            leave_alone(found, self.conversations, self.layout)
            places, _ = self._traced(None)  # with what was being learned from it until then
        asked = asked_for(found, self.conversations, [store.root for store in self.stores.values()], self.team)
        planned, held = plan_purge(places, asked, chosen)
        if not is_dry:
            carry_out(planned, found, self.project)
        left = left_to_people(planned, found, self.layout, self.docs)
        return PurgeReport(found, tuple(one.told for one in planned), tuple(held), is_dry, tuple(left))

    def _traced(self, on_progress: OnProgress | None) -> tuple[Places, set[tuple[str, str]]]:
        """What every sentence comes from, by scope, and every source that there is."""
        places: Places = {}
        sides: dict[str, FileOrigins] = {}  # by the names that moves between them have
        for scope, store in self.stores.items():
            require_history(store)
            store.record_outside_changes()
            name = side_name("project" if scope == "team" else scope, self.layout)
            places[scope] = store, sides.setdefault(name, FileOrigins(store))
        trace_origins(sides, opener=self.opener, on_progress=on_progress)
        return places, {one for side in sides.values() for one in side.known}


def plan_purge(
    places: Places, asked: SourceTest, chosen: Callable[[PurgedFile], bool]
) -> tuple[list[PurgePlan], list[PurgedFile]]:
    """What becomes of each file of these scopes, and what is held. `chosen` tells of one that would be held whether it
    goes after all."""
    planned: list[PurgePlan] = []
    taken: set[str] = set()  # the names that files get: no two get the same
    held: list[PurgedFile] = []
    for scope, (store, origins) in places.items():
        for path, told in sorted(origins.files.items()):
            is_here = path.startswith(store.place.prefix) and (scope != "project" or not path.startswith(TEAM_PREFIX))
            key = path.removeprefix(store.place.prefix)
            one = _Found.of(asked, told, functools.partial(_bytes_of, store, key)) if is_here else None
            if one is None:
                continue
            because = _why_held(one.topic) or _why_mixed(told, one.mixed)
            doubted = PurgedFile(scope, key, one.mixed, held_because=because)
            if one.mixed and chosen(doubted):
                one = replace(one, sure=(*one.sure, *one.mixed), mixed=())
            changed = _planned(scope, store, key, one, taken) if one.sure or one.names_it else None
            if changed and changed.after != changed.before:
                planned.append(changed)
                taken.add(f"{scope}/{changed.told.renamed}")
            if one.mixed:
                held.append(doubted)
    return planned, held


def carry_out(planned: Sequence[PurgePlan], source: PurgeSource, project: MemoryStore) -> None:
    """One change in each history: whoever is killed between two of them does the rest by the same call. The project's
    has one even where nothing goes there: by it dreams know what they are not to look into."""
    by_base: dict[str, list[PurgePlan]] = {project.place.base: []}
    for one in planned:
        by_base.setdefault(one.store.place.base, []).append(one)
    for base, some in by_base.items():
        store, more = project if base == project.place.base else some[0].store, {PURGED: str(source)}
        with store.changing(Origin("purge", trust="user"), f"purge what came from {source}", **more) as change:
            change.is_note = source.kind == "session"
            for one in some:
                prefix, key = one.store.place.prefix, one.told.file
                if change.read(prefix + key) != one.before:
                    raise EditConflict(f"{one.told.name} was changed meanwhile", remedy="Purge once more")
                new = one.told.renamed or key
                if new != key and change.read(prefix + new) is not None:
                    raise EditConflict(f"there is a {new} by now", remedy="Purge again: another name is found")
                if one.after is None or new != key:
                    change.put_back(prefix + key, None)
                if one.after is not None:
                    change.put_back(prefix + new, one.after, mtime_ns=one.store.read_with_time(key)[1])
                if not log_day(key):  # which is no memory, and has no line in the index
                    entry = entry_for(new, Topic(one.after)) if one.after is not None else None
                    change.edit_index(_index_edit(key, entry), key=prefix + INDEX_NAME)


def lift(undone: Commit, stores: Iterable[MemoryStore], project: MemoryStore, layout: Layout) -> None:
    """One change of a purge was taken back. Where none of its others stands any more, in no scope, its note goes as
    well, and what it kept from being learned is learned."""
    source = undone.trailers.get(PURGED, "")
    others = [one for store in stores for one in standing(store) if one.trailers.get(PURGED) == source]
    if any(one.files for one in others):
        return
    for note in {one.id: one for one in others}.values():
        with project.changing(Origin("undo"), f"undo {note.id[:8]}: {note.subject}", Undoes=note.id) as change:
            change.is_note = True
    hear_again(source, layout)


def left_to_people(planned: Sequence[PurgePlan], source: PurgeSource, layout: Layout, docs: MemoryStore) -> list[str]:
    """The files of the project that may still say what goes: magic docs that were updated from the session, and what
    was shared of a sub-agent's memory."""
    found = {}
    if source.kind == "session" and docs.history.is_readable:
        commits = [one for one in docs.history.log() if one.trailers.get("Session") == source.name]
        found = {os.path.join(layout.work_tree, file.path): None for one in commits for file in one.files}
    for one in planned:
        folder = layout.agent_snapshot(one.store.place.agent) if one.store.place.agent else ""
        is_safe = folder and not has_link_below(layout.work_tree, folder)  # a stranger may have put it there
        files = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".md"))
        for path in islice(files, MAX_SHARED) if is_safe else ():
            data = read_if_plain(path, MAX_MEMORY_BYTES) or b""
            if not set(one.told.lines).isdisjoint(sentences_told(data, "")):
                found[path] = None
    return [path for path in found if os.path.isfile(path)]


def _index_edit(key: str, entry: Entry | None) -> Callable[[Index], Index]:
    """The line of a file as it is now; none for one that is gone."""
    gone = [key] if entry is None or entry.key != key else []
    return lambda index: index.without(gone).with_entries([entry] if entry else [])


def _why_held(topic: Topic) -> str:
    if topic.is_pinned:
        return "it is pinned"
    return "it carries a guard that you set" if GUARD_FIELD in topic.fields else ""


def _why_mixed(told: Told, mixed: Iterable[str]) -> str:
    causes: Causes = frozenset().union(*(told[one] for one in mixed))
    if any(one.kind == "other" and one.name in _HANDS for one in causes):
        return "it was changed by hand since"
    return "it says in one sentence what came from elsewhere, too"


def _planned(scope: str, store: MemoryStore, key: str, found: _Found, taken: Collection[str]) -> PurgePlan:
    """A file without some of its sentences; no file where nothing is left that says something. `taken` are the names
    that other files of this purge get."""
    topic, gone = found.topic, frozenset(found.sure)
    body = _without(topic.body, gone, log_lead if log_day(key) else _list_lead)
    left = [one for one in sentences_of(body) if one != log_day(key)]
    told = PurgedFile(scope, key, found.sure, len(left))
    if not left or (not log_day(key) and not Topic(body.encode("utf-8", "surrogateescape")).has_text):
        return PurgePlan(replace(told, kept=0), store, topic.data, None)
    after = topic.with_body(body)
    if topic.has_frontmatter and not gone.isdisjoint(sentences_of(topic.description)):
        after = after.with_field("description", describe(titled(body)[1]) or left[0])
    if found.names_it and not terms_in(topic.name) <= terms_in(body):
        after = after.with_field("name", titled(body)[0] or first_words(after.description or left[0]))
        folder, stem = key.rpartition("/")[0], file_stem(after.name, str(after.kind or ""))
        new = free_key(
            f"{folder}/{stem}" if folder else stem,
            lambda one: one != key and (f"{scope}/{one}" in taken or _stands(store, one)),
        )
        told = replace(told, renamed="" if new == key else new)
    return PurgePlan(told, store, topic.data, after.data)


def _without(body: str, gone: frozenset[str], lead_of: Callable[[str], str]) -> str:
    """A text without some of its sentences, and without the lines that have nothing left to say. What stays of a line
    keeps its bullet, and in a log its time and marks: without these it is none."""
    lines = []
    for line in body.splitlines(keepends=True):
        pieces = [line[start:end] for start, end in bounds(line, CLAUSES)]
        kept = [piece for piece in pieces if gone.isdisjoint(sentences_of(piece))]
        if len(kept) == len(pieces):
            lines.append(line)
            continue
        left, ending = "".join(kept).rstrip(), line[len(line.rstrip("\r\n")) :]
        if not _NOTHING.match(left):
            lead = "" if pieces[0] in kept[:1] else lead_of(line)
            lines.append(lead + left.rstrip(" ;–—") + ending)
    text = re.sub(r"(\r?\n)(?:[ \t]*\r?\n){2,}", r"\1\1", "".join(lines))
    return re.sub(r"\A(\r?\n)?(?:[ \t]*\r?\n)*(?:\*\*Before\b[^*\n]*\*\* +)?", r"\1", text)  # what leads holds now


def _list_lead(line: str) -> str:
    """What makes a line one of a list, a quotation or a heading."""
    found = _LEAD.match(line)
    return found[0] if found else ""


def _bytes_of(store: MemoryStore, key: str) -> bytes | None:
    try:
        return store.read_bytes(key)
    except MemdirError:
        return None  # nothing that memdir may read, or write


def _stands(store: MemoryStore, key: str) -> bool:
    try:
        return store.read_bytes(key) is not None
    except MemdirError:
        return True
