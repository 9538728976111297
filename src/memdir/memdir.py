"""The front door: `open_memory` and the one object that a host holds. It opens the places, wires the parts and offers
the verbs. Its methods are synchronous; a host that runs a loop calls those that write with `asyncio.to_thread`."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.errors import MemdirError, UsageError
from memdir.layout import Layout, Place, is_session_id
from memdir.places import Places, Stores
from memdir.recall.recall import ShownBySession
from memdir.settings import Environment, Settings, checked_value, settings_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memdir.dream.dream import DreamReport, NotDreamt
    from memdir.dream.questions import Answer, OpenQuestion
    from memdir.events import Event, Sink
    from memdir.model.job import ChatJob
    from memdir.model.model import Model
    from memdir.model.raw import Form
    from memdir.remember.magic_docs import DocUpdate
    from memdir.remember.purge import PurgeReport
    from memdir.search.index_store import OnProgress
    from memdir.search.memory_search import Match
    from memdir.search.session_search import SessionSearch
    from memdir.serving import Models, Recallers
    from memdir.session import Session
    from memdir.store.guard import Guards
    from memdir.store.history import Commit, Origin
    from memdir.store.identity import Adoption
    from memdir.store.memories import Added
    from memdir.store.memory_file import Memory
    from memdir.store.move import Moved
    from memdir.store.scan import Header
    from memdir.store.store import MemoryStore
    from memdir.store.undo import Undone
    from memdir.team_memory import TeamMemory
    from memdir.transcript.session_list import SessionSummary
    from memdir.transcript.transcript import Transcript

MODEL_CALLS = "mcp"  # a source of changes where a model calls, not a person
FOUND = 10  # what `search` gives when nobody says how many


class MemDir:
    """A project's memory, opened. Its models and team are objects of their own; all state of one conversation is in
    its `Session`. `clock` is where it takes the time from."""

    def __init__(
        self,
        places: Places,
        *,
        model: Model | None = None,
        model_name: str = "",
        sink: Sink | None = None,
        clock: Callable[[], float] = time.time,
        source: str = "host",
    ) -> None:
        self.places = places
        self.clock = _careful(clock)
        self.sink: Sink = _Events(places, sink)
        self.stores = Stores(places, self.clock, self.sink)
        self.shown = ShownBySession(lambda session: self.layout.shown(session) if is_session_id(session) else "")
        self._given = (model, model_name)
        self._source = source
        self._sessions: dict[str, Session] = {}
        self._recallers: Recallers | None = None
        self._opening = allocate_lock()  # recall is opened in threads

    # Memories

    def add(  # noqa: PLR0913 - what a memory consists of
        self,
        text: str,
        type: str | None = None,  # noqa: A002 - what the file format calls it
        *,
        name: str = "",
        description: str = "",
        scope: str | None = "project",
        allow_secret: bool = False,
        session: str = "",
    ) -> Added:
        """Write a memory; type, name, description and file name are made from the text where they are not given, also
        not by a header that it brings, and its dates are made absolute, as extraction does it. With the scope None it
        goes where its type belongs: what is about the person is kept once, for all projects (T1). What a model wrote
        is this project's, unless it is plainly about the person or how they want to be worked with (X12).

        The same text twice is one memory. SecretRefused when it holds a secret; `allow_secret` is for a person who
        insists (S15). `session` is the conversation in which it was said, for who asks why or purges that (L2).
        """
        from datetime import datetime

        from memdir.model.builtin.eyes import notice
        from memdir.store.form import headed
        from memdir.store.memories import add_memory, require_words
        from memdir.store.topic import parse_type

        require_words(text, name, description)
        kind = parse_type(type)
        if type and kind is None:
            raise UsageError(f"there is no type {type!r}", remedy="Choose user, feedback, project or reference")
        if given := headed(text):
            text, kind = given.body.strip("\n"), kind or given.kind
            name, description = name or given.name, description or given.description
            require_words(text)
        words = {"name": name, "description": description}
        now = datetime.fromtimestamp(self.clock()).astimezone()
        seen = notice(text, now, kind=kind)
        if self._source == MODEL_CALLS and (scope == "user" or (scope is None and seen.kind == "user")):
            from memdir.remember.lineage import is_of_person

            if not is_of_person(text, name, description, now=now):
                seen, scope = notice(text, now), "project"
        store = self.stores.to_write(scope or self._scope_of(seen.kind, seen.text))
        return add_memory(
            store, seen.text, kind=seen.kind, **words, origin=self._origin(session), allow_secret=allow_secret
        )

    def get(self, memory: str, *, scope: str = "project") -> Memory:
        """One memory, by file name, title, or a part that fits only one. MemoryNotFound when there is none."""
        from memdir.store.memories import find_key

        store = self.stores.to_read(scope)
        return store.read(find_key(store, memory))

    def list(self, type: str | None = None, *, scope: str = "project") -> Sequence[Header]:  # noqa: A002
        """The memories of a scope, newest first, by their frontmatter; of one type where one is given."""
        from memdir.store.topic import parse_type

        kind = parse_type(type) or type
        if kind and kind != "none" and not parse_type(type):
            raise UsageError(f"there is no type {type!r}", remedy="Choose user, feedback, project, reference or none")
        headers = self.stores.to_read(scope).scan(limit=None).headers
        return [header for header in headers if kind in (None, header.type or "none")]

    def search(
        self, words: str, *, limit: int = FOUND, scope: str = "project", on_progress: OnProgress | None = None
    ) -> Sequence[Match]:
        """Memories that hold all of the words first, then those that are near in words or meaning (R8). The scope `all`
        is what recall covers: the project's, the team's where that is on, and the user's own for all projects."""
        from memdir.recall.recall import of_team
        from memdir.search.memory_search import search_memories

        self.stores.require_found()
        found: list[tuple[int, Match]] = []
        now = self.clock()
        for one in ("project", "user") if scope == "all" else (scope,):
            place = self.places.of(one)
            if not os.path.isdir(place.root):
                continue
            hidden = of_team(place.root) if one == "project" and not self.places.has_team else frozenset()
            room = limit + len(hidden)
            near = search_memories(place.root, place.derived, words, limit=room, now=now, on_progress=on_progress)
            for match in near:
                match.scope = one
            found += enumerate(match for match in near if match.key not in hidden)
        best = sorted(found, key=lambda one: (one[1].held < len(one[1].words), one[0]))
        return [match for _, match in best[:limit]]

    def update(
        self,
        memory: str | Memory,
        text: str,
        *,
        name: str = "",
        description: str = "",
        scope: str = "project",
        allow_secret: bool = False,
    ) -> Memory:
        """Put another text into a memory; what others changed meanwhile is merged in. Name and description stay, unless
        they are given, or were made from the text and are made again. Of a `Memory`, as `get` gave it, `text` is what
        somebody made of the whole file since. `allow_secret` as for `add`."""
        from memdir.store.memories import find_key, require_words, save_memory, with_text
        from memdir.store.memory_file import Memory
        from memdir.store.topic import Topic

        require_words(text, name, description)
        store = self.stores.to_write(scope)
        read = memory if isinstance(memory, Memory) else store.read(find_key(store, memory))
        before, by = read.topic, self._origin()
        after = Topic(text.encode()) if read is memory else with_text(before, text, name=name, description=description)
        return save_memory(store, read.key, after.data, origin=by, base=before.data, allow_secret=allow_secret)

    def forget(self, memory: str, *, scope: str = "project") -> str:
        """Delete a memory and its index line; gives its file name. `undo` brings both back."""
        from memdir.store.memories import find_key, forget_memories

        store = self.stores.to_write(scope)
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
        has other sources in the same sentence (`private`: or is a namesake's in another team), is pinned or carries a
        guard is only told, unless `derived` or for files of the names `also`. MemoryNotFound where nothing came."""
        from memdir.remember.purge import Purge
        from memdir.remember.purge_source import Conversations
        from memdir.share.team import Address

        self.stores.to_write("project")
        if scope == "docs":
            told = "magic docs are files of yours, which no purge changes"
            raise UsageError(told, remedy="`memdir log --scope docs` tells which update to take back")
        said, docs = Conversations.of(self.places.environment, self.layout), self.stores.of("docs")
        remote = self.settings.team_remote if scope == "private" else None
        team = str(Address.parse(remote)) if remote else ""
        purge = Purge(self.stores.among(scope), self.store, docs, said, self.layout, self.stores.side_named, team)
        return purge.run(source, lambda one: derived or one.name in also, is_dry=is_dry, on_progress=on_progress)

    def move(self, *memories: str, scope: str, is_dry: bool = False) -> Sequence[Moved]:
        """Move memories from the project to the user's own for all projects (`scope="user"`), or from there into this
        project (`scope="project"`), each with its line in the index, its links and its lineage. `undo` takes it back on
        both sides."""
        from memdir.store.move import key_to_move, move_memories

        if scope not in ("user", "project"):
            raise UsageError(f"a memory cannot be moved to {scope!r}", remedy="Choose user or project")
        source, target = self.stores.side("project" if scope == "user" else "user"), self.stores.side(scope)
        if source.store.root == target.store.root:
            raise UsageError("this project's memories are those for all projects", remedy="Call it in another project")
        keys = [key_to_move(source.store, target.store, memory) for memory in memories]
        return move_memories(source, target, keys, is_dry=is_dry)

    def questions(self, *, scope: str = "project") -> Sequence[OpenQuestion]:
        """What dreams ask about memories that are likely of one subject, until it is answered or a month is over."""
        from memdir.dream.questions import Questions

        return Questions(self.stores.to_read(scope), self.clock).waiting()

    def answer(self, question: str, answer: Answer, *, scope: str = "project") -> Sequence[str]:
        """Answer one by its id: `same` and `replace` make one memory of two, which `undo` takes back; `keep` leaves
        both as they are, `never` for good. Gives the files that changed."""
        from memdir.dream.questions import Questions

        return Questions(self.stores.to_write(scope), self.clock).answer(question, answer)

    def undo(self, change: str = "", *, scope: str = "project", is_dry: bool = False) -> Undone:
        """Take back a change: the newest that was not taken back yet, or the one with this id (S14); what was moved
        between scopes on both sides; in the scope `docs` an update of a magic doc, in the file itself (M3). Only tell
        which when dry."""
        if scope == "docs":
            self.places.require_enabled()
            return self.stores.docs().undo(change, is_dry=is_dry)
        from memdir.store.move import undo_both

        undone = undo_both(self.stores.to_write(scope), change, opener=self.stores.side_named, is_dry=is_dry)
        if undone.commit.source == "purge" and not is_dry:
            from memdir.remember.purge import lift

            lift(undone.commit, self.stores.among("all").values(), self.store, self.layout)
        return undone

    def why(self, memory: str, *, scope: str = "project") -> Mapping[str, Sequence[Commit]]:
        """Where a memory comes from: the changes that made it, newest first, under its file name; then under their own
        the memories that it was made from (L1)."""
        from memdir.store.move import before_moves
        from memdir.store.undo import history_key

        store = self.stores.to_read(scope)
        store.record_outside_changes()
        prefix = store.place.prefix
        found = store.history.lineage(prefix + history_key(store, memory, is_rather_gone=False))
        told = {name.removeprefix(prefix): commits for name, commits in found.items()}
        return {**told, **before_moves(told, self.stores.side_named)}

    # Conversations

    def session(
        self,
        session_id: str,
        *,
        form: Form | None = None,
        on_saved: Callable[[Sequence[str]], None] | None = None,
        on_updated: Callable[[DocUpdate], None] | None = None,
        on_dreamt: Callable[[DreamReport | NotDreamt], None] | None = None,
        is_learning: bool = True,
    ) -> Session:
        """A conversation, new or gone on with; the same object for the same id until it is closed.

        `form` is how its messages are written: "memdir", "anthropic" or "openai". `on_saved` is told which files were
        written behind the conversation, `on_updated` of each magic doc that was brought up to date, `on_dreamt` what
        came of each dream. On one that is open, the new form holds and all are told. Without `is_learning` memories are
        recalled in it, and nothing that is said in it is ever learned.
        """
        if not isinstance(session_id, str):
            raise UsageError(f"the id of a session is a text, not {session_id!r}", remedy="Name it, as in `monday`")
        if session_id not in self._sessions:
            from memdir.session import Session

            self.layout.session_folder(session_id)  # an id that could lead elsewhere is refused here
            self.stores.begin()
            shown, kept = self.shown.of(session_id, is_logged=is_learning), self._sessions
            kept[session_id] = Session(
                self, session_id, shown=shown, on_closed=lambda name: kept.pop(name, None), is_learning=is_learning
            )
        self._sessions[session_id].tell_too(form, saved=on_saved, updated=on_updated, dreamt=on_dreamt)
        return self._sessions[session_id]

    def transcript(self, session_id: str, *, is_off: Callable[[], bool] | None = None) -> Transcript:
        """The transcript of a session, to be appended to (J1). Nothing is on disk before the first message. What is
        written while memory is off says so, and nothing is ever learned from it."""
        from memdir.transcript.transcript import Transcript

        path, is_off = self.layout.session(session_id), is_off or (lambda: not self.places.is_on)
        return Transcript(path, session_id=session_id, cwd=self.layout.work_tree, clock=self.clock, is_off=is_off)

    def sessions(self) -> Sequence[SessionSummary]:
        """The conversations of this project that memdir wrote down, newest first (J4)."""
        from memdir.transcript.session_list import summary_of
        from memdir.transcript.sources.source import OwnSessions

        own = OwnSessions(self.layout.home)
        found = own.sessions(self.layout.work_tree)
        return [summary_of(ref, own, notes=self.layout.session_memory(ref.id)) for ref in found]

    def session_search(self, *, on_progress: OnProgress | None = None) -> SessionSearch:
        """Searches the sessions of this project, whichever agent had them, and its daily logs, as they are now (R8)."""
        from memdir.search.session_search import SessionSearch
        from memdir.transcript.session_list import all_sources, sessions_of

        sources, place = all_sources(self.places.environment), self.layout.session_index
        found = SessionSearch(sources, sessions_of(self.layout, sources), self.place.logs, place)
        found.refresh(on_progress=on_progress)
        return found

    def start(self) -> Adoption | None:
        """What every session and write begins with by itself: find a lost store (I1), create the directory (S4), finish
        a broken write. Nothing where memory is off (S5)."""
        return self.stores.start()

    async def close(self) -> None:
        """Close the sessions that are open, end what runs beside them, let go of the model unless it is the host's."""
        for part in (*self._sessions.values(), self._recallers):
            try:
                if part is not None:
                    await part.close()
            except Exception as error:  # noqa: BLE001 - what one part cannot end must not keep the others from it
                from memdir.events import request_refused

                self.sink.emit(request_refused(what="close", reason=type(error).__name__))

    def over(self, home: str) -> MemDir:
        """The same project and settings over another home: for a conversation of which nothing may stay (S5)."""
        return MemDir(self.places.over(home), source=self._source)

    def keep_crash(self, error: BaseException) -> str:
        """Keep what went wrong inside, without secrets, in the home's logs; gives in words where it is."""
        from memdir.process import keep_crash

        return keep_crash(error, self.environment.home)

    # What a model is told

    def prompt(self, *, is_brief: bool = False) -> str:
        """The memory section of a system prompt (P1, P2); a session keeps its own. Brief where a host shows little."""
        if not self.places.is_on:
            return ""
        from memdir.prompts.compose import load_prompt

        own = ""
        if self.places.learns_for_all_projects and not self.settings.daily_log:  # there only the log is written
            own = load_prompt("behaviour/own.md").render(directory=self.layout.user_memory.root).rstrip()
        has_index, is_log = not self.settings.skip_index, self.settings.daily_log
        name = "hooks/behaviour.md" if is_brief else "behaviour.md"
        prompt = load_prompt(name, overrides=self.layout.prompts, has_index=has_index, is_log=is_log)
        told = prompt.render(directory=self.place.root, own=own)
        team = self.place.team().root
        shared = load_prompt("behaviour/team.md").render(team_directory=team) if self.places.has_team else ""
        return f"{told}\n{shared}" if shared else told

    def context(self) -> str:
        """The index as it goes into the user context, beside the instruction files (P6), and after it that of the
        user's own memories for all projects, and the guards; empty when there is none."""
        if not self.places.is_on:
            return ""
        from memdir.prompts.listing import guards_told, indexes_told

        scopes = () if self.settings.skip_index else self.places.scopes()
        guards = guards_told(self.guards.those_of(self.places.own_scopes()), overrides=self.layout.prompts)
        return "\n\n".join(filter(None, (indexes_told(map(self.stores.of, scopes)), guards)))

    def chat_job(self, question: str = "") -> ChatJob:
        """What a request to the built-in model carries beside the conversation, so that it can look things up.
        `question` is what it shall look up where that is not what the user said last."""
        from memdir.model.job import ChatJob
        from memdir.prompts.listing import index_of, lines_of
        from memdir.store.index import Index

        listing = lines_of if self.settings.skip_index else index_of
        told = listing(self.store) if self.places.is_on else ""
        entries = Index(told.encode("utf-8", "replace")).entries()
        return ChatJob(self.place.root, tuple((entry.key, entry.render()) for entry in entries), question)

    # Places and parts

    @property
    def folder(self) -> str:
        """The project's folder, where paths that are not absolute begin."""
        return self.layout.work_tree

    @property
    def environment(self) -> Environment:
        """What the process environment said when this was opened."""
        return self.places.environment

    @property
    def layout(self) -> Layout:
        """Every path."""
        return self.places.layout

    @property
    def settings(self) -> Settings:
        """The settings that hold here."""
        return self.places.settings

    def keep_settings(self, values: Mapping[str, str]) -> str:
        """Write settings into the person's own file, which holds in all projects where nothing stronger does; gives the
        file. What `open_memory` opens from then on goes by them."""
        from memdir.settings_file import put_setting

        path = settings_files(self.environment, self.layout)["user"]
        for name, value in {name: checked_value(name, text, "user") for name, text in values.items()}.items():
            put_setting(path, name, value)
        return path

    @property
    def place(self) -> Place:
        """Where the project's own memories lie."""
        return self.places.place

    @property
    def store(self) -> MemoryStore:
        """The project's own store; `root` is its folder."""
        return self.stores.of("project")

    @property
    def model_name(self) -> str:
        """What our own requests call the model: what the host says, or the settings, or else the model itself."""
        return self.models.name

    @property
    def guards(self) -> Guards:
        """The rules that are checked before a tool runs (Q1)."""
        from memdir.store.guard import Guards

        return Guards(self.stores.of, self.places.is_own)

    @property
    def models(self) -> Models:
        """Which model serves which job, and the budget."""
        return self.recallers.models

    @property
    def recallers(self) -> Recallers:
        """What finds the memories that help with a message."""
        with self._opening:
            if self._recallers is None:
                from memdir.serving import Models, Recallers

                given, name = self._given
                models = Models(self.places, self.clock, self.sink, given=given, name=name)
                self._recallers = Recallers(self.places, self.stores, models, self.clock, self.sink)
            return self._recallers

    @property
    def team(self) -> TeamMemory:
        """What is shared with a team, and the sync with it."""
        from memdir.team_memory import TeamMemory

        return TeamMemory(self.places, self.stores, self.clock, self.sink, purge=self.purge)

    def _scope_of(self, kind: str, text: str) -> str:
        """Whose a memory is that comes without a scope: as extraction judges what a person says (T1)."""
        from memdir.remember.lineage import is_personal

        is_rule = kind == "feedback" and self._source != MODEL_CALLS
        is_own = kind == "user" or (is_rule and is_personal([text]))
        return "user" if is_own and self.places.learns_for_all_projects else "project"

    def _origin(self, session: str = "") -> Origin:
        from memdir.store.history import Origin

        return Origin(self._source, session=session, trust="assistant" if self._source == MODEL_CALLS else "user")


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
    places = Places.read(environment, folder, user=user, flags=flags)
    return MemDir(places, model=model, model_name=model_name, sink=sink, clock=clock, source=source)


def _careful(clock: Callable[[], float]) -> Callable[[], float]:
    if clock is time.time:
        return clock
    from memdir.events import careful_clock

    return careful_clock(clock)


class _Events:
    """The host's sink and the event log, loaded when there is something to tell: most hooks have nothing."""

    def __init__(self, places: Places, given: Sink | None) -> None:
        self._places = places
        self._given = given
        self._sink: Sink | None = None

    def emit(self, event: Event) -> None:
        if self._sink is None:
            from memdir.events import CleanSink, FanOut, careful_sink

            sinks: list[Sink] = [careful_sink(self._given)] if self._given is not None else []
            settings = self._places.settings
            if settings.event_log and settings.enabled:  # off, nothing is created (S5)
                from memdir.telemetry.jsonl import JsonlLog

                sinks.append(JsonlLog(self._places.layout.event_log, max_bytes=settings.event_log_max_bytes))
            self._sink = CleanSink(FanOut(sinks), _without_secrets)
        self._sink.emit(event)


def _without_secrets(text: str) -> str:
    from memdir.store.secrets import redact  # a hook whose events hold no text loads none of it

    return redact(text)
