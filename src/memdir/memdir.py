"""MemDir: the one object a host holds. Opens the places, wires the parts, offers the verbs."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.errors import MemdirError, UsageError
from memdir.events import CleanSink, FanOut, LateSink, careful_clock, careful_sink, request_refused, store_adopted
from memdir.layout import Layout, Place
from memdir.recall.recall import ShownBySession
from memdir.settings import Environment, Settings, load_settings, memory_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memdir.background import Background
    from memdir.events import Sink
    from memdir.model.budget import AtCap, Budget
    from memdir.model.job import ChatJob
    from memdir.model.model import Model
    from memdir.recall.prefetch import Prefetch, RecallThreads
    from memdir.recall.recall import Chooser, Recaller
    from memdir.recall.selection import LocalChooser
    from memdir.search.index_store import OnProgress
    from memdir.search.session_search import SessionSearch
    from memdir.store.identity import Adoption
    from memdir.store.store import MemoryStore
    from memdir.transcript.transcript import Transcript

SCOPES = ("project", "user", "team", "agent:NAME", "agent-project:NAME", "agent-local:NAME")


class MemDir:
    """A project's memory, opened. Holds settings, places and stores; all state of one conversation is elsewhere."""

    def __init__(
        self,
        environment: Environment,
        layout: Layout,
        settings: Settings,
        *,
        clock: Callable[[], float],
        sink: Sink,
        model: Model | None = None,
    ) -> None:
        self.environment = environment
        self.layout = layout
        self.settings = settings
        self.clock = careful_clock(clock)
        self.sink = CleanSink(careful_sink(sink), _without_secrets)
        self.place = Place(memory_root(environment, settings, layout))
        self._project_store: MemoryStore | None = None
        self._prompt: str | None = None
        self._given_model = model
        self._chosen_model: Model | None = None
        self._choosing = allocate_lock()  # recall chooses in a thread: loading an SDK takes long
        self._background: Background | None = None
        self._choosers: dict[str, LocalChooser] = {}
        self._recallers: dict[tuple[str, bool], Recaller] = {}
        self._threads: RecallThreads | None = None
        self.shown_by_session = ShownBySession()  # what each session was shown

    @property
    def is_default_place(self) -> bool:
        """Whether the memory lies where the home puts it, and not where someone pointed it."""
        return self.place.root == self.layout.default_memory

    @property
    def store(self) -> MemoryStore:
        """The project's own store."""
        if self._project_store is None:
            self._project_store = self._store(self.place, "project")
        return self._project_store

    def store_for(self, scope: str) -> MemoryStore:
        """The store of a scope: project, user, team, or an agent's own."""
        return self.store if scope == "project" else self._store(self.place_of(scope), scope)

    def stores(self) -> list[MemoryStore]:
        """The stores that background work writes to: the project's, and the team's where there is a team directory."""
        team = self.place.team()
        return [self.store, self._store(team, "team")] if os.path.isdir(team.root) else [self.store]

    def start(self) -> Adoption | None:
        """What every session begins with: find a lost store (I1), create the directory (S4), finish a broken write."""
        adoption = self._find_lost_store()
        self.store.ensure()
        if self.is_default_place:
            from memdir.store.identity import remember_identity

            remember_identity(self.place, self.layout)
        return adoption

    def prompt(self) -> str:
        """The memory section of a system prompt: the same text until `reload` (P1, P2, P6)."""
        if not self.settings.enabled:
            return ""
        if self._prompt is None:
            from memdir.prompts.compose import load_prompt

            name = "behaviour_without_index.md" if self.settings.skip_index else "behaviour.md"
            self._prompt = load_prompt(name, overrides=self.layout.prompts).render(directory=self.place.root)
        return self._prompt

    def index_context(self) -> str:
        """The index as it goes into the user context, beside the instruction files (P6); empty when there is none."""
        if not self.settings.enabled or self.settings.skip_index:
            return ""
        from memdir.prompts.door import shown_line

        text = self._index()
        place = shown_line(self.place.index)
        return f"Contents of {place} (the user's memory, kept across conversations):\n\n{text}" if text else ""

    def chat_job(self) -> ChatJob:
        """What a request to the built-in model carries beside the conversation, so that it can look things up."""
        from memdir.model.job import ChatJob

        return ChatJob(self.place.root, self._index() if self.settings.enabled else "")

    def _index(self) -> str:
        from memdir.prompts.listing import index_of

        return index_of(self.store)

    def chooser(self, scope: str = "project") -> LocalChooser:
        """Chooses among the memories of a scope on this machine (R3)."""
        if scope not in self._choosers:
            from memdir.recall.selection import LocalChooser, LocalSelector

            place = self.place_of(scope)
            selector, warm = LocalSelector(place.root, place.derived), None
            if self.settings.recall_encoder == "auto":
                from memdir.recall.warm_selector import WarmSelector, open_selector

                warm = WarmSelector(lambda check: open_selector(place.root, place.derived, check=check), self.threads())
            self._choosers[scope] = LocalChooser(place, scope, selector, clock=self.clock, warm=warm)
        return self._choosers[scope]

    def recaller(self, scope: str = "project", *, is_alone: bool = False) -> Recaller:
        """Finds the memories that help with a message and renders them (R1): those of a scope by the selector that the
        settings name (R2, R3), and after the project's the user's own for all projects."""
        if (scope, is_alone) not in self._recallers:
            from memdir.recall.recall import Recaller
            from memdir.recall.verify import Verifier

            others = [self.chooser("user")] if scope == "project" and not is_alone else []
            self._recallers[scope, is_alone] = Recaller(
                self._model_chooser(scope) if self.asks_model and self._has_model else self.chooser(scope),
                others,
                self.store_for,
                Verifier(self.layout.work_tree),
                sink=self.sink,
                clock=self.clock,
            )
        return self._recallers[scope, is_alone]

    def _model_chooser(self, scope: str) -> Chooser:
        from memdir.model.choose import model_name
        from memdir.recall.model_select import ModelChooser

        return ModelChooser(
            self.chooser(scope),
            self.store_for(scope),
            open_model=lambda: self.model_for("recall", at_cap="raise"),  # the local choice is there at once
            name=model_name(self.settings, self.environment),
            sink=self.sink,
            overrides=self.layout.prompts,
        )

    def threads(self) -> RecallThreads:
        """What recall runs beside a conversation."""
        from memdir.recall.prefetch import RecallThreads

        self._threads = self._threads or RecallThreads()
        return self._threads

    def prefetch(self, text: str, *, recent_tools: Sequence[str] = (), session: str = "") -> Prefetch:
        """Start recall for a user's message; it runs beside the main request and never delays it (R4)."""
        from memdir.recall.prefetch import Prefetch

        recaller = self.recaller() if self.settings.enabled else None
        shown = self.shown_by_session.of(session)
        return Prefetch(recaller, self.threads(), text, recent_tools=recent_tools, shown=shown)

    @property
    def asks_model(self) -> bool:
        """Whether a model is to choose what is recalled (R2)."""
        selector = self.settings.recall_selector
        return selector == "model" or (selector == "auto" and self._has_model)

    @property
    def _has_model(self) -> bool:
        """Whether there is a model besides the built-in one, which has no opinion."""
        from memdir.model.choose import provider_of

        return self._given_model is not None or provider_of(self.settings, self.environment) != "builtin"

    def transcript(self, session_id: str) -> Transcript:
        """The transcript of a session, to be appended to (J1). Nothing is on disk before the first message."""
        from memdir.transcript.transcript import Transcript

        path = self.layout.session(session_id)
        return Transcript(path, session_id=session_id, cwd=self.layout.work_tree, clock=self.clock)

    def session_search(self, *, on_progress: OnProgress | None = None) -> SessionSearch:
        """Searches the sessions of this project and its daily logs, as they are now (R8)."""
        from memdir.search.session_search import SessionSearch
        from memdir.transcript.sources.source import OwnSessions

        sessions = list(OwnSessions(self.layout.home).sessions(self.layout.work_tree))
        found = SessionSearch(sessions, self.place.logs, self.layout.session_index)
        found.refresh(on_progress=on_progress)
        return found

    def background(self, session_id: str, *, on_saved: Callable[[Sequence[str]], None] | None = None) -> Background:
        """The background work of a session: extraction and dream."""
        if self._background is None:
            from memdir.background import Background
            from memdir.remember.session_state import SessionState

            session = SessionState.load(session_id, self.layout)
            self._background = Background(self, session, on_saved=on_saved)
        return self._background

    def budget(self) -> Budget:
        """What background work may use, and has used (B2)."""
        from memdir.model.budget import Budget, Caps, Prices
        from memdir.model.ledger import Ledger

        return Budget(Ledger(self.layout.ledger), Caps.of(self.settings), Prices(self.layout.prices), self.clock)

    def model_for(self, job: str, *, at_cap: AtCap = "wait") -> Model:
        """The host's model, or the one that the settings name, with a ledger and caps before it (B1, B2)."""
        from memdir.model.budget import BudgetedModel, under_budget

        with self._choosing:
            model = self._careful_model()
            if model is None:
                from memdir.model.choose import choose_model

                model = self._chosen_model = choose_model(self.settings, self.environment)
        budget, slug = self.budget(), self.layout.slug
        return under_budget(model, lambda inner: BudgetedModel(inner, budget, job, slug, self.sink, at_cap))

    def _careful_model(self) -> Model | None:
        if self._given_model is None:
            return self._chosen_model
        from memdir.model.careful import careful_model  # a hook that asks no model loads none of it

        return careful_model(self._given_model)

    async def close(self) -> None:
        """Wait, for a while, for what runs in the background (X10); let go of the model, unless it is the host's."""
        chosen, self._chosen_model = self._chosen_model, None
        threads, self._threads = self._threads, None
        self._choosers.clear()
        self._recallers.clear()
        for part in (threads, self._background, chosen):
            try:
                if part is not None:
                    await part.close()
            except Exception as error:  # noqa: BLE001 - what one part cannot end must not keep the others from it
                self.sink.emit(request_refused(what="close", reason=type(error).__name__))

    def reload(self, *, session: str | None = None) -> None:
        """Forget the rendered section, as `/clear` and `/compact` do (P6), and what was recalled into the context that
        is no more: of one session, or of all (R1)."""
        self._prompt = None
        if session is None:
            self.shown_by_session = ShownBySession()
        else:
            self.shown_by_session.of(session).forget()

    def _find_lost_store(self) -> Adoption | None:
        if not self.is_default_place or os.path.isdir(self.place.root):
            return None
        from memdir.store.identity import find_lost_store

        adoption = find_lost_store(self.layout)
        if adoption.adopted:
            self.sink.emit(store_adopted(slug_before=adoption.adopted.slug, slug_now=self.layout.slug))
        return adoption if adoption.adopted or adoption.candidates else None

    def _store(self, place: Place, scope: str) -> MemoryStore:
        from memdir.store.store import MemoryStore

        skip = self.settings.skip_index
        return MemoryStore(place, scope=scope, skip_index=skip, clock=self.clock, sink=self.sink)

    def place_of(self, scope: str) -> Place:
        """Where a scope's memories lie (A1, E1)."""
        kind, colon, agent = scope.partition(":")
        if scope == "project":
            return self.place
        if scope == "user":
            return self.layout.user_memory
        if scope == "team":
            return self.place.team()
        if colon and kind in ("agent", "agent-user"):
            return self.layout.agent_memory(agent, "user")
        if colon and kind == "agent-project":
            return self.layout.agent_memory(agent, "project")
        if colon and kind == "agent-local":
            return self.layout.agent_memory(agent, "local")
        raise UsageError(f"there is no scope {scope!r}", remedy=f"Choose one of {', '.join(SCOPES)}")


def open_memory(
    project: str | os.PathLike[str] = ".",
    *,
    environment: Environment | None = None,
    flags: Mapping[str, str] | None = None,
    sink: Sink | None = None,
    clock: Callable[[], float] = time.time,
    model: Model | None = None,
) -> MemDir:
    """Open the memory of a project (S1–S5). Reads settings; touches nothing on disk until `start` or a write."""
    environment = environment or Environment.read()
    folder = os.fspath(project)
    if not os.path.isdir(folder):
        raise MemdirError(f"there is no folder {folder}", remedy="Name the project's folder")
    layout = Layout(environment.home, folder)
    settings = load_settings(environment, layout, flags=flags)
    if settings.worktrees == "isolated":
        layout = Layout(environment.home, folder, worktrees="isolated")
    return MemDir(environment, layout, settings, clock=clock, sink=_sinks(layout, settings, sink), model=model)


def _sinks(layout: Layout, settings: Settings, sink: Sink | None) -> Sink:
    sinks: list[Sink] = [careful_sink(sink)] if sink else []
    if settings.event_log:
        sinks.append(LateSink(lambda: _event_log(layout, settings)))
    return FanOut(sinks)


def _event_log(layout: Layout, settings: Settings) -> Sink:
    from memdir.telemetry.jsonl import JsonlLog

    return JsonlLog(layout.event_log, max_bytes=settings.event_log_max_bytes)


def _without_secrets(text: str) -> str:
    from memdir.store.secrets import redact  # a hook whose events hold no text loads none of it

    return redact(text)
