"""The front door: `open_memory` and the one object that a host holds. It opens the places, wires the parts and offers
the verbs. Its methods are synchronous; a host that runs a loop calls those that write with `asyncio.to_thread`."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.disk.safe_path import is_inside
from memdir.errors import DiskError, LockBusy, MemdirError, MemoryNotFound, ModelError, UsageError
from memdir.layout import Layout, Place, is_same_folder, is_session_id
from memdir.recall.recall import ShownBySession
from memdir.settings import (
    Environment,
    Settings,
    is_of_other_agent,
    load_settings,
    memory_root,
    own_memory,
    provider_of,
    root_in_place,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memdir.dream.questions import Answer, OpenQuestion
    from memdir.events import Event, Sink
    from memdir.layout import AgentScope
    from memdir.model.budget import AtCap, Budget
    from memdir.model.job import ChatJob
    from memdir.model.model import Model
    from memdir.model.raw import Form
    from memdir.recall.prefetch import RecallThreads
    from memdir.recall.recall import Chooser, Recaller, Shown
    from memdir.recall.selection import LocalChooser
    from memdir.remember.magic_docs import DocUpdate
    from memdir.remember.purge import PurgeReport
    from memdir.search.index_store import OnProgress
    from memdir.search.memory_search import Match
    from memdir.search.session_search import SessionSearch
    from memdir.session import Session
    from memdir.share.sync import Sync, SyncReport
    from memdir.store.guard import Guard
    from memdir.store.history import Commit, Origin
    from memdir.store.identity import Adoption
    from memdir.store.magic_doc import DocShelf
    from memdir.store.memories import Added
    from memdir.store.memory_file import Memory
    from memdir.store.move import Moved, Side
    from memdir.store.scan import Header
    from memdir.store.shared import TeamAuthors
    from memdir.store.store import MemoryStore
    from memdir.store.topic import Topic
    from memdir.store.undo import Undone
    from memdir.transcript.session_list import SessionSummary
    from memdir.transcript.transcript import Transcript

SCOPES = ("project", "user", "team", "docs", "agent:NAME", "agent-project:NAME", "agent-local:NAME")
_AGENT_SCOPES: dict[str, AgentScope] = {
    "agent": "user",
    "agent-user": "user",
    "agent-project": "project",
    "agent-local": "local",
}
MODEL_CALLS = "mcp"  # a source of changes where a model calls, not a person
FOUND = 10  # what `search` gives when nobody says how many


class MemDir:
    """A project's memory, opened. Holds settings, places and stores; all state of one conversation is in its
    `Session`."""

    def __init__(  # noqa: PLR0913 - as `open_memory` hands it on
        self,
        environment: Environment,
        layout: Layout,
        settings: Settings,
        *,
        model: Model | None = None,
        model_name: str = "",
        sink: Sink | None = None,
        clock: Callable[[], float] = time.time,
        source: str = "host",
        flags: Mapping[str, str] | None = None,
    ) -> None:
        self.environment = environment
        self.layout = layout
        self.settings = settings
        self.clock = _careful(clock)
        self.place = Place(memory_root(environment, settings, layout))
        self._given_model = model
        self._model_name = model_name
        self._given_sink = sink
        self._source = source
        self._flags = flags
        self._has_looked = False
        self._sink: Sink | None = None
        self._project_store: MemoryStore | None = None
        self._is_started = False
        self._chosen_model: Model | None = None
        self._not_installed: ModelError | None = None
        self._has_told = False
        self._opening = allocate_lock()  # recall is opened in threads
        self._choosing = allocate_lock()  # recall chooses in a thread: loading an SDK takes long
        self._sessions: dict[str, Session] = {}
        self._choosers: dict[str, LocalChooser] = {}
        self._recallers: dict[tuple[str, bool], Recaller] = {}
        self._threads: RecallThreads | None = None
        self._shown = ShownBySession(lambda session: self.layout.shown(session) if is_session_id(session) else "")

    # Memories

    def add(
        self,
        text: str,
        type: str | None = None,  # noqa: A002 - what the file format calls it
        *,
        name: str = "",
        description: str = "",
        scope: str = "project",
        allow_secret: bool = False,
    ) -> Added:
        """Write a memory; type, name, description and file name are made from the text where they are not given, and
        its dates are made absolute, as extraction does it.

        The same text twice is one memory. SecretRefused when it holds a secret; `allow_secret` is for a person who
        insists (S15).
        """
        from datetime import datetime

        from memdir.model.builtin.extract.eyes import notice
        from memdir.store.memories import add_memory, require_words
        from memdir.store.taxonomy import parse_type

        require_words(text, name, description)
        kind = parse_type(type)
        if type and kind is None:
            raise UsageError(f"there is no type {type!r}", remedy="Choose user, feedback, project or reference")
        words = {"name": name, "description": description}
        seen = notice(text, datetime.fromtimestamp(self.clock()).astimezone(), kind=kind)
        store = self._open_for_writing(scope)
        return add_memory(store, seen.text, kind=seen.kind, **words, origin=self._origin(), allow_secret=allow_secret)

    def get(self, memory: str, *, scope: str = "project") -> Memory:
        """One memory, by file name, title, or a part that fits only one. MemoryNotFound when there is none."""
        from memdir.store.memories import find_key

        store = self._open(scope)
        return store.read(find_key(store, memory))

    def list(self, type: str | None = None, *, scope: str = "project") -> Sequence[Header]:  # noqa: A002
        """The memories of a scope, newest first, by their frontmatter; of one type where one is given."""
        from memdir.store.taxonomy import parse_type

        kind = parse_type(type) or type
        if kind and kind != "none" and not parse_type(type):
            raise UsageError(f"there is no type {type!r}", remedy="Choose user, feedback, project, reference or none")
        headers = self._open(scope).scan(limit=None).headers
        return [header for header in headers if kind in (None, header.type or "none")]

    def search(
        self, words: str, *, limit: int = FOUND, scope: str = "project", on_progress: OnProgress | None = None
    ) -> Sequence[Match]:
        """Memories that hold all of the words first, then those that are near in words or meaning (R8). The scope `all`
        is what recall covers: the project's, the team's, and the user's own for all projects."""
        from memdir.search.memory_search import search_memories

        self._require_found()
        now, found = self.clock(), []
        for one in ("project", "user") if scope == "all" else (scope,):
            place = self.place_of(one)
            if not os.path.isdir(place.root):
                continue
            near = search_memories(place.root, place.derived, words, limit=limit, now=now, on_progress=on_progress)
            for match in near:
                match.scope = one
            found += near
        return sorted(found, key=lambda match: match.held < len(match.words))[:limit]

    def update(
        self,
        memory: str,
        text: str,
        *,
        name: str = "",
        description: str = "",
        scope: str = "project",
        allow_secret: bool = False,
    ) -> Memory:
        """Put another text into a memory; what others changed meanwhile is merged in. Name and description stay, unless
        they are given, or were made from the text and are made again. `allow_secret` as for `add`."""
        from memdir.store.memories import find_key, require_words, save_memory, with_text

        require_words(text, name, description)
        store = self._open_for_writing(scope)
        key = find_key(store, memory)
        before = store.read(key).topic
        after = with_text(before, text, name=name, description=description)
        by, base = self._origin(), before.data
        return save_memory(store, key, after.data, origin=by, base=base, allow_secret=allow_secret)

    def forget(self, memory: str, *, scope: str = "project") -> str:
        """Delete a memory and its index line; gives its file name. `undo` brings both back."""
        from memdir.store.memories import find_key, forget_memories

        store = self._open_for_writing(scope)
        key = find_key(store, memory)
        forget_memories(store, [key], origin=self._origin())
        return key

    def purge(
        self,
        source: str,
        *,
        scope: str = "all",
        derived: bool = False,
        also: Collection[str] = (),
        is_dry: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> PurgeReport:
        """Remove what came from a session (its id), a page (its address) or a member of the team (their name), and what
        was made from it (L2), in all scopes, in one, or in all but the team's (`private`); `undo` brings it back. What
        has other sources in the same sentence, is pinned or carries a guard is only told, unless `derived`, or for the
        files of these names (`also`).
        MemoryNotFound where no memory ever came from there."""
        from memdir.remember.purge import Purge
        from memdir.remember.purge_source import Conversations

        self._open_for_writing("project")
        if scope == "docs":
            told = "magic docs are files of yours, which no purge changes"
            raise UsageError(told, remedy="`memdir log --scope docs` tells which update to take back")
        said, docs = Conversations.of(self.environment, self.layout.work_tree), self.store_for("docs")
        purge = Purge(self._stores_of(scope), self.store, docs, said, self.layout, self._side_named)
        return purge.run(source, lambda one: derived or one.name in also, is_dry=is_dry, on_progress=on_progress)

    def move(self, *memories: str, scope: str, is_dry: bool = False) -> Sequence[Moved]:
        """Move memories from the project to the user's own for all projects (`scope="user"`), or from there into this
        project (`scope="project"`), each with its line in the index, its links and its lineage. `undo` takes it back on
        both sides."""
        from memdir.store.memories import find_key
        from memdir.store.move import move_memories

        if scope not in ("user", "project"):
            raise UsageError(f"a memory cannot be moved to {scope!r}", remedy="Choose user or project")
        source, target = self._side("project" if scope == "user" else "user"), self._side(scope)
        if source.store.root == target.store.root:
            raise UsageError("this project's memories are those for all projects", remedy="Call it in another project")
        keys = [find_key(source.store, memory) for memory in memories]
        return move_memories(source, target, keys, is_dry=is_dry)

    def share(self, memory: str) -> str:
        """Hand a memory of the project to the team; gives its file name there. It travels with the next sync, and
        `undo` takes it back here. BadMemoryFile for one about a person, or with a secret (E2, E5)."""
        return self.share_all([memory])[0]

    def share_all(self, memories: Sequence[str]) -> Sequence[str]:
        """The same for several, as one change: all of them or none. What is the team's already is passed over."""
        from memdir.store.hand_over import share_memories
        from memdir.store.memories import find_key

        team = self._open_for_writing("team")
        keys = [find_key(self.store, memory, elsewhere=team) for memory in memories]
        return share_memories(self.store, keys, max_bytes=self.settings.team_max_entry_bytes)

    def unshare(self, memory: str) -> str:
        """Take a memory back from the team into the project's own: with the next sync it is gone for the others. Gives
        its file name. What a teammate wrote stays marked as theirs (L1)."""
        return self.unshare_all([memory])[0]

    def unshare_all(self, memories: Sequence[str]) -> Sequence[str]:
        """The same for several: one change for one's own, and one for those of each teammate."""
        from memdir.store.hand_over import is_written_here, unshare_memories
        from memdir.store.memories import find_key
        from memdir.store.shared import author_of

        team = self._open_for_writing("team")
        keys = [find_key(team, memory.removeprefix("team/")) for memory in memories]
        authors = {key: author_of(self.place, key) for key in keys}
        own = [key for key in keys if authors[key] in ("", self.member_name) and is_written_here(team, key)]
        others = {key: authors[key] for key in keys if key not in own}
        return unshare_memories(self.store, keys, others=others)

    def questions(self, *, scope: str = "project") -> Sequence[OpenQuestion]:
        """What dreams ask about memories that are likely of one subject, until it is answered or a month is over."""
        from memdir.dream.questions import Questions

        return Questions(self._open(scope), self.clock).waiting()

    def answer(self, question: str, answer: Answer, *, scope: str = "project") -> Sequence[str]:
        """Answer one by its id: `same` and `replace` make one memory of two, which `undo` takes back; `keep` leaves
        both as they are, `never` for good. Gives the files that changed."""
        from memdir.dream.questions import Questions

        return Questions(self._open_for_writing(scope), self.clock).answer(question, answer)

    def team_sync(self, *, on_progress: Callable[[int, int], None] | None = None) -> Sync:
        """What keeps the team's directory in step with the remote that was joined; UsageError where there is none."""
        from memdir.share.remote import TeamCaps
        from memdir.share.sync import Sync
        from memdir.share.team import JOIN, Address, open_remote
        from memdir.store.shared import remote_of_note

        settings = self.settings
        if not self.has_team or not settings.team_remote:
            raise UsageError("no team was joined here", remedy=JOIN)
        if not self._is_started:
            self.start()
        caps = TeamCaps(settings.team_max_entries, settings.team_max_entry_bytes, settings.team_max_bytes)
        address, name = Address.parse(settings.team_remote), self.member_name
        before = remote_of_note(self.place)
        if before and Address.parse(before) != address:  # what one team wrote goes to no other by a setting alone
            told = f"what lies in team/ is of another team, {before}"
            raise UsageError(told, remedy=f"`memdir join` {address.where}: it sets that aside, or takes it along")
        remote = open_remote(address, self.place, self.layout, name=name, clock=self.clock)
        remote.caps = caps
        store = self.store_for("team")
        purge = self._purge_member
        return Sync(store, remote, str(address), name, caps, self.clock, self.sink, on_progress, purge)

    def _purge_member(self, name: str) -> tuple[Sequence[str], Sequence[str]]:
        """What private memories took over from a member whom the hub has purged goes, too; what may be of others, or a
        person's own, is only named."""
        try:
            report = self.purge(f"person:{name}", scope="private")
        except MemoryNotFound:
            return [], []
        return [one.name for one in report.files], [one.name for one in report.held]

    def sync(
        self,
        *,
        is_dry: bool = False,
        pushes_only: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> SyncReport:
        """Take in what teammates changed, and give them what was changed here (E4). A remote that cannot be reached is
        no error: `reason` and `problem` tell, and what waits is sent by the next one."""
        from memdir.store.shared import note_outcome

        self.require_enabled()
        try:
            report = self.team_sync(on_progress=on_progress).run(is_dry=is_dry, pushes_only=pushes_only)
        except MemdirError as error:
            if self.syncs and not isinstance(error, LockBusy):  # another is at it
                note_outcome(self.place, getattr(error, "kind", "broken"), str(error), self.clock())
            raise
        if not is_dry:
            note_outcome(self.place, str(report.reason), report.problem, self.clock())
        return report

    def sync_behind(self, pushes_only: bool = False) -> None:
        """The same where nobody waits for it: what goes wrong is an event, and comes again."""
        try:
            self.sync(pushes_only=pushes_only)
        except MemdirError as error:
            from memdir.events import request_refused

            self.emit(request_refused(what="sync with the team", reason=error.message))

    def sync_later(self) -> None:
        """Have what was changed given to the team by a process of its own, once for several changes; for commands,
        which end at once (E4). What it cannot give waits for the next sync."""
        if not self.syncs or self.environment.no_daemon or os.name == "nt":
            return
        from memdir.process import detach
        from memdir.share.team import note_change

        if note_change(self.place):
            detach("sync", "--later", "--project", self.layout.work_tree, "--home", self.environment.home)

    def team_authors(self, scope: str = "project") -> TeamAuthors:
        """Who of the team wrote the memories of a scope, as far as this machine knows."""
        from memdir.store.shared import TeamAuthors

        return TeamAuthors(self.place, scope)

    @property
    def syncs(self) -> bool:
        """Whether there is a team to keep in step with."""
        return self.has_team and bool(self.settings.team_remote)

    @property
    def member_name(self) -> str:
        """The name under which the team sees what is shared from here. UsageError where `team.member` is no name."""
        from memdir.settings import login_name
        from memdir.store.shared import SOMEBODY, fault_of_member, told_member

        named = self.settings.team_member
        fault = fault_of_member(named) if named else ""
        if fault:
            raise UsageError(f"team.member: {fault}", remedy="`memdir join … --as NAME`, or set another")
        return named or told_member(login_name()) or SOMEBODY

    def undo(self, change: str = "", *, scope: str = "project", is_dry: bool = False) -> Undone:
        """Take back a change: the newest that was not taken back yet, or the one with this id (S14); what was moved
        between scopes on both sides; in the scope `docs` an update of a magic doc, in the file itself (M3). Only tell
        which when dry."""
        if scope == "docs":
            self.require_enabled()
            return self.magic_docs().undo(change, is_dry=is_dry)
        from memdir.store.move import undo_both

        undone = undo_both(self._open_for_writing(scope), change, opener=self._side_named, is_dry=is_dry)
        if undone.commit.source == "purge" and not is_dry:
            from memdir.remember.purge import lift

            lift(undone.commit, self._stores_of("all").values(), self.store, self.layout)
        return undone

    def why(self, memory: str, *, scope: str = "project") -> Mapping[str, Sequence[Commit]]:
        """Where a memory comes from: the changes that made it, newest first, under its file name; then under their own
        the memories that it was made from (L1)."""
        from memdir.store.move import before_moves
        from memdir.store.undo import history_key, require_history

        store = self._open(scope)
        require_history(store)
        store.record_outside_changes()
        prefix = store.place.prefix
        found = store.history.lineage(prefix + history_key(store, memory))
        told = {name.removeprefix(prefix): commits for name, commits in found.items()}
        return {**told, **before_moves(told, self._side_named)}

    def guard_of(self, memory: Topic | Header, key: str, *, scope: str = "project") -> Guard | None:
        """The guard that a memory carries: what is checked before a tool runs (Q1). None where it has none that a
        person set for themselves; what lies in the project's own folder came with it."""
        from memdir.store.guard import guards_among

        found = guards_among(self.store_for(scope), {key: memory}) if self.is_own_place(scope) else {}
        return found.get(key, (None, None))[0]

    def guards(self, scope: str = "project") -> dict[str, tuple[Guard, Topic]]:
        """The guards of a scope that a person set, by key, each with the memory as they wrote it (Q1)."""
        from memdir.store.guard import guards_among

        if not self.is_own_place(scope):
            return {}
        store = self.store_for(scope)
        return guards_among(store, {one.key: one for one in store.scan(limit=None).headers})

    def has_guards(self) -> bool:
        """Whether any project has a guard that may hold: only then a person's agents have to ask before a tool runs."""
        from memdir.store.guard import any_guard

        own = [self.place_of(scope).root for scope in ("project", "user") if self.is_own_place(scope)]
        homes = [self.layout.home, self.environment.memory_homes.get(self.settings.memory_home, self.layout.home)]
        folders = [os.path.join(home, "projects") for home in dict.fromkeys(homes)]
        found = [(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
        return any_guard([*own, *(os.path.join(folder, name, "memory") for folder, name in found)])

    def instructions(self) -> dict[str, str]:
        """What the project tells its agents in files of its own, by their names (H3)."""
        from memdir.prompts.instructions import instruction_texts

        return instruction_texts(self.layout)

    def is_own_place(self, scope: str) -> bool:
        """Whether the memories of a scope lie with the person, and not in the project, where others may put some."""
        root = self.place_of(scope).root
        return is_inside(root, self.layout.home) or not is_inside(root, self.layout.work_tree)

    # Conversations

    def session(
        self,
        session_id: str,
        *,
        form: Form | None = None,
        on_saved: Callable[[Sequence[str]], None] | None = None,
        on_updated: Callable[[DocUpdate], None] | None = None,
        is_learning: bool = True,
    ) -> Session:
        """A conversation, new or gone on with; the same object for the same id until it is closed.

        `form` is how its messages are written: "memdir", "anthropic" or "openai". `on_saved` is told which files were
        written behind the conversation, `on_updated` of each magic doc that was brought up to date. On one that is
        open, the new form holds and both are told. Without
        `is_learning` memories are recalled in it, and nothing that is said in it is ever learned.
        """
        if not isinstance(session_id, str):
            raise UsageError(f"the id of a session is a text, not {session_id!r}", remedy="Name it, as in `monday`")
        if session_id not in self._sessions:
            from memdir.session import Session

            self.layout.session_folder(session_id)  # an id that could lead elsewhere is refused here
            if not self._is_started:
                self.start()
            shown, closed = self._shown.of(session_id), lambda name: self._sessions.pop(name, None)
            self._sessions[session_id] = Session(
                self, session_id, shown=shown, on_closed=closed, is_learning=is_learning
            )
        self._sessions[session_id].tell_too(form, on_saved, on_updated)
        return self._sessions[session_id]

    def shown_in(self, session_id: str) -> Shown:
        """What a session was shown, for hosts that recall without one (R1)."""
        return self._shown.of(session_id)

    async def close(self) -> None:
        """Close the sessions that are open, end what runs beside them, let go of the model unless it is the host's."""
        chosen, self._chosen_model = self._chosen_model, None
        threads, self._threads = self._threads, None
        self._choosers.clear()
        self._recallers.clear()
        for part in (*self._sessions.values(), threads, chosen):
            try:
                if part is not None:
                    await part.close()
            except Exception as error:  # noqa: BLE001 - what one part cannot end must not keep the others from it
                from memdir.events import request_refused

                self.emit(request_refused(what="close", reason=type(error).__name__))

    # Places and parts

    @property
    def sink(self) -> Sink:
        """Where events go: the host's sink and the event log."""
        if self._sink is None:
            from memdir.events import CleanSink

            self._sink = CleanSink(_sinks(self.layout, self.settings, self._given_sink), _without_secrets)
        return self._sink

    def emit(self, event: Event) -> None:
        """Tell the sink, which is opened when there is something to tell."""
        self.sink.emit(event)

    @property
    def is_default_place(self) -> bool:
        """Whether the memory lies where the home puts it, and not where someone pointed it."""
        return self.place.root == self.layout.default_memory

    @property
    def is_in_place(self) -> bool:
        """Whether the memory is that of another agent, served where it lies (Q2)."""
        return self.place.root == root_in_place(self.environment, self.settings, self.layout)

    def is_told_by(self, agent: str) -> bool:
        """Whether an agent shows its model the index of this very directory by itself: once is enough (Q2)."""
        own = own_memory(self.environment, self.layout, agent)
        return bool(own) and is_same_folder(own, self.place.root)

    @property
    def store(self) -> MemoryStore:
        """The project's own store."""
        if self._project_store is None:
            self._project_store = self._store(self.place, "project")
        return self._project_store

    def store_for(self, scope: str) -> MemoryStore:
        """The store of a scope: project, user, team, or an agent's own."""
        return self.store if scope == "project" else self._store(self.place_of(scope), scope)

    def magic_docs(self) -> DocShelf:
        """The magic docs of this work tree, and what stood in them (M1). The store of scope `docs` holds copies."""
        from memdir.store.magic_doc import DocShelf

        roots = [store.root for store in self.learning_stores()]
        return DocShelf(self.store_for("docs"), self.layout.work_tree, roots)

    @property
    def keeps_docs(self) -> bool:
        """Whether magic docs are kept up to date, by the settings as they are now: a running conversation takes up what
        a person switches on or off meanwhile (M2)."""
        try:
            return load_settings(self.environment, self.layout, flags=self._flags).magic_docs
        except MemdirError:  # a file of settings that somebody is at
            return self.settings.magic_docs

    def _side(self, scope: str) -> Side:
        """A scope as the histories of both sides of a move know it."""
        from memdir.store.move import Side, side_name

        return Side(self._open_for_writing(scope), side_name(scope, self.layout))

    def _side_named(self, name: str) -> MemoryStore | None:
        """The store on one side of a move, by the name that a history has for it; None where it is gone."""
        scope, _, slug = name.partition(" ")
        if scope == "user" or (scope == "project" and slug == self.layout.slug):
            return self.store_for(scope)
        if scope != "project" or not slug.replace("-", "").isalnum():
            return None
        root = os.path.join(self.layout.projects, slug, "memory")
        return self._store(Place(root), "project") if os.path.isdir(root) else None

    def _stores_of(self, scope: str) -> dict[str, MemoryStore]:
        """The store of a scope, of all that are here (`all`), or of all but the team's (`private`), by scope."""
        if scope not in ("all", "private"):
            return {scope: self.store_for(scope)}
        found = [one for one in self._scopes() if one != "team" or scope == "all"]
        return {one: self.store_for(one) for one in (*found, *self.layout.agent_scopes())}

    def _scopes(self) -> Sequence[str]:
        """The scopes that a conversation here is told of."""
        own = [] if self.place.root == self.layout.user_memory.root else ["user"]
        return ["project", *own, *(["team"] if self.has_team else [])]

    def stores(self) -> Sequence[MemoryStore]:
        """The stores of this project: its own, and the team's where that is on."""
        return [self.store, self.store_for("team")] if self.has_team else [self.store]

    @property
    def has_team(self) -> bool:
        """Whether the team's memories are read and written here (E1). Somebody said so: a folder alone does not."""
        return self.settings.enabled and self.settings.team_enabled

    @property
    def learns_for_all_projects(self) -> bool:
        """Whether what is about the person is kept once for all projects (T1); not in a home that another agent owns,
        which sees only the project's directory, nor where that is the person's own."""
        is_own, places = self.place.root == self.layout.user_memory.root, (self.layout, self.place.root)
        return not is_own and (self.is_in_place or not is_of_other_agent(self.environment, *places))

    def learning_stores(self) -> Sequence[MemoryStore]:
        """The stores that what is learned goes to: those of this project, and the person's own for all projects."""
        return [*self.stores(), self.store_for("user")] if self.learns_for_all_projects else self.stores()

    def start(self) -> Adoption | None:
        """What every session begins with: find a lost store (I1), create the directory (S4), finish a broken write.
        Nothing where memory is off (S5)."""
        adoption = self.find_lost_store() if self.settings.enabled else None
        if not self.settings.enabled:  # the settings that were found with the store may say so, too
            return adoption
        self._is_started = True
        self.store.ensure()
        if self.has_team:
            self.store_for("team").ensure()
        if self.learns_for_all_projects:
            from contextlib import suppress

            with suppress(DiskError):  # a home that cannot be written to, and a project that lies elsewhere
                self.store_for("user").ensure()
        if self.is_default_place or self.is_in_place:
            from memdir.store.identity import remember_identity

            remember_identity(self.place, self.layout)
        return adoption

    def require_enabled(self) -> None:
        """MemdirError when memory is off; DiskError when a file stands where its directory should be, which is not the
        same as none."""
        if not self.settings.enabled:
            raise MemdirError(f"memory is off: {self.settings.off_because}", remedy=self.settings.turn_on)
        if not os.path.isdir(self.place.root):
            from memdir.disk.atomic import require_room_for_folder

            require_room_for_folder(self.place.root)

    def prompt(self) -> str:
        """The memory section of a system prompt (P1, P2); a session keeps its own."""
        if not self.settings.enabled:
            return ""
        from memdir.prompts.compose import load_prompt

        own = ""
        if self.learns_for_all_projects:
            own = load_prompt("behaviour/own.md").render(directory=self.layout.user_memory.root).rstrip()
        has_index, is_log = not self.settings.skip_index, self.settings.daily_log
        prompt = load_prompt("behaviour.md", overrides=self.layout.prompts, has_index=has_index, is_log=is_log)
        told = prompt.render(directory=self.place.root, own=own)
        team = self.place.team().root
        shared = load_prompt("behaviour/team.md").render(team_directory=team) if self.has_team else ""
        return f"{told}\n{shared}" if shared else told

    def context(self) -> str:
        """The index as it goes into the user context, beside the instruction files (P6), and after it that of the
        user's own memories for all projects, and the guards; empty when there is none."""
        if not self.settings.enabled:
            return ""
        return "\n\n".join(filter(None, (self._indexes_told(), self.guards_told())))

    def guards_told(self) -> str:
        """The rules that the user has checked before a tool runs, for a model to mind; empty without one (Q1)."""
        from memdir.prompts.compose import load_prompt
        from memdir.prompts.listing import guards_listed

        scopes = ("project", "user") if self.learns_for_all_projects else ("project",)
        listed = [one for scope in scopes for one in self.guards(scope).values()]
        prompt = load_prompt("behaviour/guards.md", overrides=self.layout.prompts) if listed else None
        return prompt.render(guards=guards_listed(listed)).strip() if prompt else ""

    def _indexes_told(self) -> str:
        if self.settings.skip_index:
            return ""
        from memdir.prompts.listing import indexes_told

        return indexes_told(map(self.store_for, self._scopes()))

    def instructions_told(self) -> str:
        """What the project's instruction files say (CLAUDE.md, AGENTS.md), for hosts that do not load them themselves:
        next to `context` in the first user message (H3). Empty when there is none."""
        from memdir.prompts.instructions import instructions_of

        return instructions_of(self.layout)

    def chat_job(self, question: str = "") -> ChatJob:
        """What a request to the built-in model carries beside the conversation, so that it can look things up.
        `question` is what it shall look up where that is not what the user said last."""
        from memdir.model.job import ChatJob
        from memdir.prompts.listing import index_of, lines_of
        from memdir.store.index import Index

        listing = lines_of if self.settings.skip_index else index_of
        told = listing(self.store) if self.settings.enabled else ""
        entries = Index(told.encode("utf-8", "replace")).entries()
        return ChatJob(self.place.root, tuple((entry.key, entry.render()) for entry in entries), question)

    def chooser(self, scope: str = "project") -> LocalChooser:
        """Chooses among the memories of a scope on this machine (R3)."""
        if scope not in self._choosers:
            from memdir.recall.selection import LocalChooser, LocalSelector

            place = self.place_of(scope)
            selector, warm = LocalSelector(place.root, place.derived), None
            if self.settings.recall_encoder == "auto":
                from memdir.recall.prefetch import WarmSelector, open_selector

                warm = WarmSelector(lambda check: open_selector(place.root, place.derived, check=check), self.threads())
            self._choosers[scope] = LocalChooser(place, scope, selector, clock=self.clock, warm=warm)
        return self._choosers[scope]

    def recaller(self, scope: str = "project", *, is_alone: bool = False) -> Recaller:
        """Finds the memories that help with a message and renders them (R1): those of a scope by the selector that the
        settings name (R2, R3), and after the project's the user's own for all projects."""
        selector = self.settings.recall_selector
        if selector == "model" or (selector == "auto" and self.environment.keys):
            self._tell_who_serves()
        with self._opening:
            if (scope, is_alone) not in self._recallers:
                from memdir.recall.recall import Recaller

                others = [self.chooser("user")] if scope == "project" and not is_alone else []
                self._recallers[scope, is_alone] = Recaller(
                    self._model_chooser(scope) if self.asks_model and self._has_model else self.chooser(scope),
                    others,
                    self.place_of,
                    self.layout.work_tree,
                    sink=self,
                    clock=self.clock,
                    has_team=self.has_team,
                )
            return self._recallers[scope, is_alone]

    def _model_chooser(self, scope: str) -> Chooser:
        from memdir.recall.model_select import ModelChooser

        return ModelChooser(
            self.chooser(scope),
            self.store_for(scope),
            open_model=self._model_that_chooses,
            name=self.settings.recall_model or self.model_name,
            sink=self,
            overrides=self.layout.prompts,
        )

    def _model_that_chooses(self) -> Model:
        model = self.model_for("recall", at_cap="raise")  # the local choice is there at once
        if self._not_installed is not None:
            raise self._not_installed  # the built-in model has no opinion
        return model

    def threads(self) -> RecallThreads:
        """What recall runs beside a conversation."""
        from memdir.recall.prefetch import RecallThreads

        self._threads = self._threads or RecallThreads()
        return self._threads

    @property
    def asks_model(self) -> bool:
        """Whether a model is to choose what is recalled (R2)."""
        selector = self.settings.recall_selector
        return selector == "model" or (selector == "auto" and self._has_model)

    @property
    def _has_model(self) -> bool:
        """Whether there is a model besides the built-in one, which has no opinion."""
        if self._given_model is None:
            return provider_of(self.settings) != "builtin"
        from memdir.model.choose import name_of_model

        return name_of_model(self._given_model) != "builtin"

    @property
    def model_name(self) -> str:
        """What our own requests call the model: what the host says, or the settings, or else the model itself."""
        from memdir.model.choose import model_name, name_of_model

        if self._given_model is None:
            return self._model_name or model_name(self.settings)
        return self._model_name or self.settings.model_name or name_of_model(self._given_model)

    def transcript(self, session_id: str, *, is_off: Callable[[], bool] | None = None) -> Transcript:
        """The transcript of a session, to be appended to (J1). Nothing is on disk before the first message. What is
        written while memory is off says so, and nothing is ever learned from it."""
        from memdir.transcript.transcript import Transcript

        path, is_off = self.layout.session(session_id), is_off or (lambda: not self.settings.enabled)
        return Transcript(path, session_id=session_id, cwd=self.layout.work_tree, clock=self.clock, is_off=is_off)

    def sessions(self) -> Sequence[SessionSummary]:
        """The conversations of this project that memdir wrote down, newest first (J4)."""
        from memdir.transcript.session_list import all_sources, summary_of

        own = all_sources(self.environment)["memdir"]
        found = sorted(own.sessions(self.layout.work_tree), key=lambda ref: -ref.modified)
        return [summary_of(ref, own, notes=self.layout.session_memory(ref.id)) for ref in found]

    def session_search(self, *, on_progress: OnProgress | None = None) -> SessionSearch:
        """Searches the sessions of this project, whichever agent had them, and its daily logs, as they are now (R8)."""
        from memdir.search.session_search import SessionSearch
        from memdir.transcript.session_list import all_sources

        sources, place = all_sources(self.environment), self.layout.session_index
        found = SessionSearch(sources, self.layout.work_tree, self.place.logs, place)
        found.refresh(on_progress=on_progress)
        return found

    def budget(self) -> Budget:
        """What background work may use, and has used (B2)."""
        from memdir.model.budget import Budget, Caps, Prices
        from memdir.model.ledger import Ledger

        return Budget(Ledger(self.layout.ledger), Caps.of(self.settings), Prices(self.layout.prices), self.clock)

    def model_for(self, job: str, *, at_cap: AtCap = "wait") -> Model:
        """The host's model, or the one that the settings name, with a ledger and caps before it (B1, B2)."""
        from memdir.model.budget import BudgetedModel, under_budget

        model, budget, slug = self.model(), self.budget(), self.layout.slug
        return under_budget(model, lambda inner: BudgetedModel(inner, budget, job, slug, self.sink, at_cap))

    def model(self) -> Model:
        """The host's model, or the one that the settings name, for the conversation itself: no cap stands before it."""
        with self._choosing:
            model = self._given_model if self._given_model is not None else self._chosen_model
            if model is None:
                model = self._chosen_model = self._choose_model()
        self._tell_who_serves()
        return model

    def _choose_model(self) -> Model:
        """What the settings name; where that is not installed, the built-in model, and it is told."""
        from memdir.model.choose import choose_model  # a hook that asks no model loads none of it

        try:
            return choose_model(self.settings, self.environment)
        except ModelError as error:
            if error.kind != "no_sdk":
                raise
            from memdir.model.builtin.builtin_model import BuiltinModel

            self._not_installed = error
            return BuiltinModel()

    def _tell_who_serves(self) -> None:
        """Say once that the built-in model serves and nobody chose it. A host that passed a model has chosen."""
        missing = self._not_installed
        is_chosen = self._given_model is not None or self.settings.model_provider != "auto"
        if self._has_told or (is_chosen and missing is None):
            return
        self._has_told = True
        from memdir.events import builtin_serves

        reason = f"{missing.message}. {missing.remedy}" if missing else "nobody chose a model"
        self.emit(builtin_serves(reason=reason, unused=self.environment.keys))

    def find_lost_store(self) -> Adoption | None:
        """Take over the one store that was this project's before it was moved (I1), where it has none here."""
        self._has_looked = True
        is_ours = self.is_default_place or self.is_in_place
        if not is_ours or (os.path.isdir(self.place.root) and os.path.lexists(self.place.identity)):
            return None
        from memdir.store.identity import find_lost_store

        slug, adoption = self.layout.slug, find_lost_store(self.layout)
        if adoption.adopted:
            from memdir.events import store_adopted

            self._open_places()
            self.emit(store_adopted(slug_before=adoption.adopted.slug, slug_now=slug))
        return adoption if adoption.adopted or adoption.candidates else None

    def _open_places(self) -> None:
        """Look again where everything is: with a store come its settings, and it may be that of a folder above."""
        folder, user = self.layout.work_tree, self.layout.user
        self.layout, self.settings = _read_places(self.environment, folder, user, self._flags)
        self.place = Place(memory_root(self.environment, self.settings, self.layout))
        self._project_store = None
        self._choosers.clear()
        self._recallers.clear()

    def _open(self, scope: str) -> MemoryStore:
        self._require_found()
        return self.store_for(scope)

    def _require_found(self) -> None:
        """The memory is on, and where it was before the project moved is known."""
        self.require_enabled()
        if not self._has_looked:
            from contextlib import suppress  # a hook opens nothing this way, and loads it only where it must

            with suppress(DiskError, LockBusy):  # whoever reads is not kept from it by a home that cannot be written to
                self.find_lost_store()
            self.require_enabled()

    def _open_for_writing(self, scope: str) -> MemoryStore:
        self.require_enabled()
        if scope == "docs":
            raise UsageError(
                "the copies of magic docs are not written by hand", remedy="Edit the file itself; `undo` takes back"
            )
        if not self._is_started:
            self.start()
        return self.store_for(scope)

    def _origin(self) -> Origin:
        from memdir.store.history import Origin

        return Origin(self._source, trust="assistant" if self._source == MODEL_CALLS else "user")

    def _store(self, place: Place, scope: str) -> MemoryStore:
        from memdir.store.store import MemoryStore

        settings = self.settings
        is_indexed = {"skip_index": settings.skip_index, "has_team": settings.team_enabled}
        return MemoryStore(place, scope=scope, **is_indexed, clock=self.clock, sink=self.sink)

    def place_of(self, scope: str) -> Place:
        """Where a scope's memories lie (A1, E1)."""
        kind, _, agent = scope.partition(":")
        if scope == "project":
            return self.place
        if scope == "user":
            return self.layout.user_memory
        if scope == "team":
            return self.place.team()
        if scope == "docs":
            return self.layout.magic_docs
        if ":" in scope and kind in _AGENT_SCOPES:
            return self.layout.agent_memory(agent, _AGENT_SCOPES[kind])
        raise UsageError(f"there is no scope {scope!r}", remedy=f"Choose one of {', '.join(SCOPES)}")


def open_memory(  # noqa: PLR0913 - everything that a host may choose
    project: str | os.PathLike[str] = ".",
    *,
    home: str | os.PathLike[str] | None = None,
    model: Model | None = None,
    model_name: str = "",
    sink: Sink | None = None,
    user: str = "",
    environment: Environment | None = None,
    flags: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.time,
    source: str = "host",
) -> MemDir:
    """Open the memory of a project (S1–S5). Reads settings; touches nothing on disk before a session or a write.

    `home` is memdir's home instead of `~/.memdir`. `model` does the background work and is called `model_name` in
    requests; without one the settings choose, and it is the built-in one until a person chose another, whatever key is
    there. `sink` is told every event.
    `user` names whose memories for all projects join: a host that serves several people gives each a folder.
    `environment`, `flags` (settings by name), `clock` and `source` (who the history says wrote) are for command lines
    and tests.
    """
    environment = environment or Environment.read(home=os.fspath(home) if home is not None else "")
    folder = os.path.expanduser(os.fspath(project))
    if not os.path.isdir(folder):
        raise MemdirError(f"there is no folder {folder}", remedy="Name the project's folder")
    if model is not None and not hasattr(model, "complete"):
        raise UsageError(
            f"model= is no model but {model!r}", remedy="Pass a Model; a name of one goes into model_name="
        )
    layout, settings = _read_places(environment, folder, user, flags)
    return MemDir(
        environment,
        layout,
        settings,
        model=model,
        model_name=model_name,
        sink=sink,
        clock=clock,
        source=source,
        flags=flags,
    )


def _read_places(
    environment: Environment, folder: str, user: str, flags: Mapping[str, str] | None
) -> tuple[Layout, Settings]:
    """Where everything of a project is, and the settings found there."""
    layout = Layout(environment.home, folder, user=user)
    settings = load_settings(environment, layout, flags=flags)
    if settings.worktrees == "isolated":
        layout = Layout(environment.home, folder, worktrees="isolated", user=user)
    return layout, settings


def _careful(clock: Callable[[], float]) -> Callable[[], float]:
    if clock is time.time:
        return clock
    from memdir.events import careful_clock

    return careful_clock(clock)


def _sinks(layout: Layout, settings: Settings, sink: Sink | None) -> Sink:
    from memdir.events import FanOut, careful_sink

    sinks: list[Sink] = [careful_sink(sink)] if sink else []
    if settings.event_log and settings.enabled:  # off, nothing is created (S5)
        sinks.append(_EventLog(layout, settings))
    return FanOut(sinks)


class _EventLog:
    """The event log, loaded when there is something to tell: most hooks have nothing."""

    def __init__(self, layout: Layout, settings: Settings) -> None:
        self._path, self._max_bytes = layout.event_log, settings.event_log_max_bytes

    def emit(self, event: Event) -> None:
        from memdir.telemetry.jsonl import JsonlLog

        JsonlLog(self._path, max_bytes=self._max_bytes).emit(event)


def _without_secrets(text: str) -> str:
    from memdir.store.secrets import redact  # a hook whose events hold no text loads none of it

    return redact(text)
