"""Session: all state of one conversation, what joins it and what is learned behind it.

Nothing here waits for a model before the host goes on, and nothing that fails behind the conversation breaks it: it is
an event, and comes again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Self
from weakref import WeakSet

from memdir.agent.evidence import heard_and_agreed
from memdir.agent.forgotten import Forgotten
from memdir.agent.fork import BackgroundTask, ForkProgress
from memdir.agent.gate import WRITING
from memdir.agent.tools.tool import memory_tools
from memdir.agent.workspace import HostFiles
from memdir.dream.dream import Confirm, Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.dream.gates import DreamGates, Due, LogGates, last_dream, sessions_since
from memdir.errors import BudgetReached, MemdirError, UsageError
from memdir.events import Event, memory_dreamt, request_refused, tell
from memdir.model.model import Reply, Request, SystemBlock, Usage
from memdir.model.raw import FORMS, Content, Form, finished_call, host_message, tools_of, words_of
from memdir.model.window import context_tokens, window_of
from memdir.prompts.instructions import instruction_texts, instructions_of
from memdir.recall.prefetch import HostMessage, Prefetch
from memdir.recall.recall import Shown
from memdir.remember.catch_up import CatchUp, first_turn
from memdir.remember.compaction import Compacted, Compaction, CompactionPlan, Trigger
from memdir.remember.daily_log import LogDraft
from memdir.remember.extract import DRAIN_SECONDS, Extraction, ExtractionPlan
from memdir.remember.lineage import DraftJudge
from memdir.remember.magic_docs import MagicDocs
from memdir.remember.session_memory import SessionMemory
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import FinishedTurn, Skipped, known_as, messages_after, written_since
from memdir.serving import WhenAsked
from memdir.store.history import Commit, Origin
from memdir.store.undo import newest_own
from memdir.transcript.attended import attended_times
from memdir.transcript.conversation import Conversation, history, resume
from memdir.transcript.file_history import FileHistory
from memdir.transcript.message import Message
from memdir.transcript.session_list import AttendedSession, all_sources
from memdir.transcript.transcript import Transcript

if TYPE_CHECKING:
    from threading import Thread

    from memdir.memdir import MemDir
    from memdir.share.team import TeamBehind
    from memdir.store.store import MemoryStore


START_SECONDS = 2.0  # how long a conversation waits for what the team changed, at its beginning
CLOSE_SECONDS = 120.0  # how long closing waits for what runs behind the session, all of it together (X10)
TOO_LATE = "cut short, because the session was closed; it comes again"
SWITCHED_OFF = "stopped, because memory was switched off"


class Session:
    """One conversation. `async with` begins and closes it; without, the first turn that ends begins it, and `close`
    ends it; the first `prompt`, `context` or `recall` waits for the team's changes then, two seconds at most. A turn
    that nothing was learned from by then is kept on disk, and learned when the next session starts. `id` is what the
    host called it, `dream_task` the last dream that began behind it."""

    def __init__(
        self,
        memory: MemDir,
        session_id: str,
        *,
        shown: Shown,
        on_closed: Callable[[str], object],
        is_learning: bool = True,
    ) -> None:
        self.id = session_id
        self._is_learning = is_learning
        self._memory = memory
        self._shown = shown
        self._is_wanted = True
        self._was_on = memory.settings.enabled
        self._stopping: asyncio.Task[None] | None = None
        self._ending: dict[str, Any] = {}  # parts that are waited for, or stopped
        self._form: Form = "memdir"
        self._listeners: dict[str, list[Callable[[Any], None]]] = {"saved": [], "updated": [], "dreamt": []}
        self._on_closed = on_closed
        self._users = 0
        self._is_closed = False
        self._prompt: str | None = None
        self._own_request: Request | None = None
        self._late: Prefetch | None = None
        self._recalls: WeakSet[Prefetch] = WeakSet()
        self._heard: frozenset[str] | None = None
        self._last: tuple[Request, Message, Usage | None] | None = None
        self._is_emptied = False  # the context, since that last one
        self._catching_up: asyncio.Task[None] | None = None
        self._behind = ForkProgress()  # of catching up
        self._dreaming: asyncio.Task[None] | None = None
        self._team: TeamBehind | None = None
        self.dream_task: DreamTask | None = None

    async def __aenter__(self) -> Self:
        self._require_open()
        self._users += 1
        self._begin()
        await self.meet_team()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        if not self._users:  # whoever entered it too goes on with it
            await self.close()

    def tell_too(self, form: Form | None, **listeners: Callable[[Any], None] | None) -> None:
        """What another user of the same conversation asks of it: to be told what was saved, updated or dreamt."""
        self._form = _checked(form) or self._form
        for what, listener in listeners.items():
            if listener is not None and listener not in self._listeners[what]:
                self._listeners[what].append(listener)

    def _tell(self, what: str, about: object) -> None:
        for listener in self._listeners[what]:
            tell(listener, about)

    def _saved(self, files: Sequence[str]) -> None:
        if self._team is not None:
            self._team.changed()
        self._tell("saved", files)

    def _require_open(self) -> None:
        if self._is_closed:
            raise UsageError(f"session {self.id!r} is closed", remedy=f"memory.session({self.id!r}) opens it again")

    # What joins the conversation

    def prompt(self) -> str:
        """The memory section of the system prompt: the same text until `clear`, `compact` or `toggle` (P6)."""
        self._follow()
        self._wait_for_team()
        return self._section()

    def _section(self) -> str:
        if self._prompt is None:
            self._prompt = self._memory.prompt() if self._was_on else ""
        return self._prompt

    def context(self) -> str:
        """The index for the first user message (P6); empty when there is none."""
        self._follow()
        self._wait_for_team()
        try:
            return self._memory.context() if self._was_on else ""
        except MemdirError as error:  # somebody put a link or a folder there: the turn goes on without
            self._memory.sink.emit(request_refused(what="index", reason=type(error).__name__))
            return ""

    def instructions(self) -> str:
        """What the project's instruction files say, CLAUDE.md and AGENTS.md with the files of the project that they
        import, bounded: for the first user message, behind the index (H3)."""
        return instructions_of(self._memory.layout)

    def prefetch(self, text: Content, *, form: Form | None = None, recent_tools: Sequence[str] = ()) -> Prefetch:
        """Start recall for a user's message; it runs beside the main request and never delays it (R4). The message is
        its words, or its content as an SDK takes it. Needs a running event loop."""
        _require_loop("prefetch")
        self._follow()
        shape = _checked(form) or self._form
        if self._team is not None:
            self._team.turn_began()
        pending = Prefetch(
            self._memory.recallers.of if self._was_on else None,
            self._memory.recallers.threads(),
            words_of(text),
            shown=self._shown,
            recent_tools=recent_tools,
            as_message=lambda found: host_message(found, shape),
        )
        self._recalls.add(pending)
        return pending

    async def recall(
        self, text: Content, wait: float = 0.0, *, form: Form | None = None, recent_tools: Sequence[str] = ()
    ) -> Sequence[Any]:
        """The memories that help with a user's message, as messages to append in the host's form. Waits no longer than
        `wait` seconds. What comes later joins at the next call: a memory is shown once (R1)."""
        self._follow()
        await self.meet_team()
        late, pending = self._late, self.prefetch(text, form=form, recent_tools=recent_tools)
        await pending.wait(wait)
        found: list[HostMessage] = late.ready() if late is not None else []
        if late is not None:
            late.cancel()
        found += pending.ready()
        self._late = None if pending.is_done else pending
        return found

    def clear(self) -> None:
        """The host emptied the context: the prompt is rendered again, and memories may be shown again (P6, R1)."""
        self._prompt = self._own_request = None
        self._is_emptied = True
        self._shown.forget()

    @property
    def is_on(self) -> bool:
        """Whether memory is on for this session (S5), by the settings as they are now."""
        return self._is_wanted and self._memory.places.is_on

    async def toggle(self, *, is_on: bool) -> bool:
        """Switch memory off for this session, or on again (S5); gives whether it is on. Off, what runs behind it is
        stopped, nothing is recalled, and what is said meanwhile is never learned. What the settings turned off stays
        off until they say otherwise."""
        self._is_wanted = is_on
        self._follow()
        await self._stopped()
        await self.meet_team()
        return self._was_on

    def _follow(self) -> None:
        """Switch where this conversation, or a person in a file of settings, has switched since: the next call is
        early enough, for no model is asked behind it meanwhile (`Models.for_job`)."""
        is_on = self.is_on
        if is_on == self._was_on:
            return
        self._was_on = self.state.memory_is_on = is_on
        self._prompt = self._own_request = None
        self._heard = self._heard_so_far() if self._heard is None else self._heard
        if not is_on:
            if self._team is not None:
                self._team.stop()
                self._team = None
            with suppress(RuntimeError):  # without a loop nothing runs
                self._stopping = asyncio.get_running_loop().create_task(self._stop(0.0, SWITCHED_OFF))
        self._memory.sink.emit(Event("memory.toggled", session=self.id, is_on=is_on))

    async def _stopped(self) -> None:
        stopping, self._stopping = self._stopping, None
        if stopping is not None and not stopping.done():  # by now, or with the loop that it ran in
            await stopping

    # What is learned from it

    def attend(self) -> None:
        """Say that memdir attends to a conversation whose first words come: they are learned when a turn ends, or when
        the next session starts, also where no reply ever came (X10)."""
        if self.is_learning:
            with suppress(MemdirError):  # a disk that refuses the words says so
                self.state.begin()

    def turn_ended(
        self,
        request: Request | Mapping[str, object],
        reply: Reply | Message | object,
        *,
        usage: Usage | None = None,
        is_subagent: bool = False,
        updates_docs: bool = True,
    ) -> None:
        """A reply came: learn from it, keep notes, dream when one is due (X1, N3, D1). Returns at once; needs a running
        event loop. `request` and `reply` are memdir's, or the keyword arguments and the response of the Anthropic or
        OpenAI SDK as they are. A reply that calls tools only brings the notes up to date. Without
        `updates_docs` no magic doc is written after this one, whatever the settings say (M2)."""
        self._require_open()
        _require_loop("turn_ended")
        turn, counted = self._finished(request, reply, is_subagent=is_subagent)
        was_on = self._was_on
        try:
            self._follow()
            if not (was_on and self.is_learning):  # one that began while memory was off, too
                self._pass_over(turn)
                return
            if self._heard is not None and not turn.is_subagent:  # a host may have told of no turn while it was off
                self.state.pass_over(turn.messages[: -len(turn.own)], self._heard, is_saved=True)
                self._heard = None
            self._begin()
            self._learn(turn, usage or counted, updates_docs=updates_docs)
        except MemdirError as error:  # no key, no SDK, no disk: the conversation goes on without
            reason = getattr(error, "kind", type(error).__name__)
            self._memory.sink.emit(request_refused(what="learning from a turn", reason=reason))
        finally:
            self._last, self._is_emptied = (turn.request, turn.reply, usage or counted), False
            if self._team is not None and not turn.is_subagent and not turn.reply.tool_uses:
                self._team.turn_ended()

    def _pass_over(self, turn: FinishedTurn) -> None:
        """What is said while memory is off is not caught up on either. Nothing is written where memory never was."""
        if turn.is_subagent:
            return
        self._heard = self._heard_so_far() if self._heard is None else self._heard
        self.state.pass_over(turn.messages, self._heard, is_saved=os.path.exists(self._memory.place.identity))

    def _heard_so_far(self) -> frozenset[str]:
        """What was said while memory was on: here, as far as it waits on disk, and as the transcript tells."""
        before = FinishedTurn(self._last[0], self._last[1]).messages if self._last else ()
        waiting = (message for turn in self._unlearned.turns(Request("")) for message in turn.messages)
        written: Sequence[Message] = ()
        if os.path.exists(self._memory.layout.session(self.id)):
            written = resume(self._memory.layout.session(self.id)).messages
        said = (message for message in (*before, *waiting, *written) if not message.is_off)
        return frozenset(map(known_as, said)) - self.state.unheard

    def _finished(
        self, request: Request | Mapping[str, object], reply: object, *, is_subagent: bool
    ) -> tuple[FinishedTurn, Usage | None]:
        if isinstance(request, Request):
            if isinstance(reply, Reply):
                return FinishedTurn(request, reply.message, is_subagent), reply.usage
            if isinstance(reply, Message):
                return FinishedTurn(request, reply, is_subagent), None
            raise UsageError("to a Request of memdir belongs its Reply", remedy="Pass what `complete` returned")
        raw, answer = finished_call(request, reply)
        self._form = "anthropic" if raw.provider == "anthropic" else "openai"
        return FinishedTurn(Request(self._memory.model_name, raw=raw), answer.message, is_subagent), answer.usage

    def _for_forks(self, turn: FinishedTurn, model: str | None = None) -> FinishedTurn:
        """What forks start from: the host's request, whose cache they share; a request of their own, to the model that
        the settings name for it, where the host's list of tools holds none that writes, or its request not all of the
        turn."""
        if not turn.earlier and any(tool.name in WRITING for tool in tools_of(turn.request)):
            return turn
        return replace(turn, request=replace(self.own_request(model), messages=turn.messages[:-1]), earlier=())

    def _learn(self, turn: FinishedTurn, usage: Usage | None, *, updates_docs: bool) -> None:
        settings = self._memory.settings
        turn = turn if turn.is_subagent else self.extraction.joined(turn)
        if not turn.reply.tool_uses:  # first: what comes next may need what is missing
            self.extraction.turn_ended(self._for_forks(self._with_taken(turn), settings.extract_model))
        self.session_memory.after_sampling(self._for_forks(turn), usage)
        if turn.reply.tool_uses:
            return
        if updates_docs and not turn.is_subagent and self.keeps_docs:
            self.magic_docs.turn_ended(turn)
        if turn.is_subagent or self._dreaming is not None:
            return
        if isinstance(due := self._gates.check(), Due):
            self.dream_task = DreamTask(len(due.sessions))
            own = settings.dream_model
            parent = self.own_request(own) if own else self._for_forks(turn).request
            work = self._dream(parent, due, self.dream_task)
            self._dreaming = asyncio.get_running_loop().create_task(work, name="memdir dream")

    def _with_taken(self, turn: FinishedTurn) -> FinishedTurn:
        """A turn with what compactions took from before it and nothing was learned from yet (X4). Where that is more
        than is learned from at once, the first piece of it alone: the next turn goes on from there."""
        conversation = vars(self).get("conversation")
        known = {message.id for message in turn.messages}
        if turn.is_subagent or not getattr(conversation, "compacted", 0) or self.state.extract_cursor in known:
            return turn
        said = messages_after(history(self.transcript.path).messages, self.state.extract_cursor)
        piece = first_turn(self.state, said, self._plan, self.own_request(self._memory.settings.extract_model))
        if piece is not None and piece.reply.id != said[-1].id:
            return piece
        return replace(turn, earlier=tuple(message for message in said if message.id not in known))

    # What is learned from a conversation that another program had

    async def learn(self, messages: Sequence[Message]) -> Sequence[str] | None:
        """Learn from what a conversation says after the cursor, when it is over or rests. The files that were written;
        None when it failed, or memory is off, and comes again (X10). What was written into memory meanwhile is known by
        the history."""
        if not self.is_learning:
            return None
        memory = self._memory
        self.state.begin()
        stores, texts = self._plan.stores, tuple(instruction_texts(memory.layout).values())
        plan = replace(self._plan, written_since=lambda moment: written_since(stores, moment), instructions=texts)
        name = memory.settings.extract_model or memory.model_name
        model = memory.models.for_job("extract", at_cap="raise")
        return await CatchUp(memory.layout, plan, model, name, memory.sink, memory.clock).learn(self.state, messages)

    async def take_notes(self, messages: Sequence[Message], tokens: int) -> None:
        """Bring the notes of such a conversation up to date, if that is due; `tokens` are what it holds in all (N3)."""
        if not self.is_learning:
            return
        request = replace(self.own_request(), messages=tuple(messages[:-1]))
        self.session_memory.after_sampling(FinishedTurn(request, messages[-1]), Usage(input=tokens))
        await self.session_memory.settle(CLOSE_SECONDS)

    async def update_docs(self, messages: Sequence[Message], *, folder: str = "") -> None:
        """Bring the magic docs that such a conversation read in this folder up to date, after its reply (M2)."""
        last = next((one for one in reversed(messages) if not one.is_meta), None)
        is_reply = last is not None and last.role == "assistant" and not last.tool_uses
        if is_reply and self.keeps_docs:
            await self.magic_docs.update(messages, folder=folder)

    async def dream_if_due(self) -> None:
        """A dream, when the gates are open (D1)."""
        if isinstance(due := self._gates.check(), Due):
            self.dream_task = DreamTask(len(due.sessions))
            await self._dream(self.own_request(self._memory.settings.dream_model), due, self.dream_task)

    @property
    def should_compact(self) -> bool:
        """Whether the conversation fills so much of the model's window that it should be compacted now (N7). A host
        that keeps its conversation itself shortens that itself, and then calls `clear`."""
        last = None if self._is_emptied else self._last
        return last is not None and self.compaction.is_due(context_tokens(*last))

    async def compact(self, *, keep: str = "", is_automatic: bool = False) -> Compacted | Skipped:
        """Put a summary in the place of what `conversation` holds, and behind it its last messages (N7). `keep` is what
        the user wants kept in particular. Of a host that keeps its conversation itself there is nothing to summarise:
        `Skipped("nothing_said")`."""
        request = self._last[0] if self._last else self.own_request()
        trigger: Trigger = "auto" if is_automatic else "manual"
        outcome = await self.compaction.compact(self.conversation, request, keep=keep, trigger=trigger)
        if isinstance(outcome, Compacted):
            self.clear()
        return outcome

    @cached_property
    def transcript(self) -> Transcript:
        """Where the conversation is written down with its first message, for hosts that let memdir do so (J1)."""
        return self._memory.transcript(self.id, is_off=lambda: not self.is_learning)

    def side_chain(self, agent_id: str) -> Transcript:
        """Where a sub-agent of the conversation writes down what it says and does (J2)."""
        layout, clock = self._memory.layout, self._memory.clock
        path, off = layout.subagent(self.id, agent_id), lambda: not self.is_learning
        return Transcript(path, session_id=self.id, cwd=layout.work_tree, clock=clock, agent_id=agent_id, is_off=off)

    @property
    def is_learning(self) -> bool:
        """Whether anything is kept of what is said now."""
        return self._is_learning and self.is_on

    @property
    def keeps_docs(self) -> bool:
        """Whether magic docs that are read in it are kept up to date, by the settings as they are now (M2)."""
        return self._memory.places.keeps_docs

    @cached_property
    def conversation(self) -> Conversation:
        """The conversation as the transcript has it: as it was left, or empty; `add` writes the next message down."""
        return Conversation.resume(self.transcript)

    @cached_property
    def files(self) -> HostFiles:
        """The files of the conversation's own agent: what it writes into memory goes through the store, and what else
        it changes is kept as it was before (J2)."""
        kept = FileHistory(self.transcript, self._memory.layout.file_history(self.id))
        origin = Origin("chat", session=self.id, trust="assistant")
        learning = self._memory.stores.learning
        return HostFiles((kept.changed,), learning, origin, self._judge, self._add_to_log, self._saved)

    def _judge(self, stores: Sequence[MemoryStore]) -> DraftJudge:
        """What the agent itself writes down is judged by what was said up to now, as what is learned is (X12)."""
        said = [message for message in self.state.heard(self.conversation.messages) if not message.is_off]
        return DraftJudge(stores, said, Forgotten(stores, lambda: heard_and_agreed(said), is_live=True))

    def _add_to_log(self, store: MemoryStore, key: str, data: bytes, origin: Origin) -> str:
        """What the agent itself puts into a daily log, as all its lines are (K4)."""
        draft = LogDraft(store, self._judge([store]))
        return draft.add_behind(key, data, self._memory.clock(), self._plan.zone, origin)

    @property
    def tasks(self) -> Sequence[BackgroundTask]:
        """What runs behind the conversation now, for a person to watch and to stop (D5)."""
        parts = self._ending | vars(self)
        extraction, notes, docs = map(parts.get, ("extraction", "session_memory", "magic_docs"))
        dream, found = self.dream_task, list[BackgroundTask]()
        if extraction is not None and extraction.is_running:
            found.append(BackgroundTask("saving", extraction.progress, extraction.stop))
        if self._catching_up is not None and not self._catching_up.done():
            found.append(BackgroundTask("catching up", self._behind, self._catching_up.cancel))
        if notes is not None and notes.running is not None:
            found.append(BackgroundTask("taking notes", notes.progress, notes.stop))
        if docs is not None and docs.running is not None:
            found.append(BackgroundTask("updating docs", docs.progress, docs.stop))
        if self._dreaming is not None and dream is not None:
            found.append(BackgroundTask("dreaming", dream.progress, dream.kill, dream.phase))
        return found

    async def close(self) -> None:
        """Wait for what runs behind it, no longer than a limit: the last turn's memories, what earlier sessions left,
        a dream. What is not done by then comes again (X10)."""
        try:
            self._follow()
            await self._stopped()
            self._go_on()
            await self._stop(0.0 if self._is_at_cap() else CLOSE_SECONDS, TOO_LATE)
            if self._team is not None and self._was_on:
                await asyncio.to_thread(self._team.close)
            for part in filter(None, map(vars(self).get, ("_unlearned", "transcript"))):
                part.close()
        finally:
            self._is_closed = True
            self._on_closed(self.id)

    def _go_on(self) -> None:
        """What went away with a loop of the host's, and was stopped by nobody, begins again."""
        if (behind := self._catching_up) is not None and behind.cancelled() and behind.get_loop().is_closed():
            self._catching_up = None
            self._begin()
        if (dream := self.dream_task) is not None and dream.phase == "stopped" and not dream.abort.is_set:
            vars(self).pop("_gates", None)  # which have just looked
            self._dreaming = asyncio.get_running_loop().create_task(self.dream_if_due(), name="memdir dream")

    async def _stop(self, wait_seconds: float, reason: str) -> None:
        """End what runs, after a wait for what is worth it; what was never needed was never made."""
        until = asyncio.get_running_loop().time() + wait_seconds
        self._ending = {name: vars(self).get(name) for name in ("extraction", "magic_docs")}
        for pending in list(self._recalls):
            pending.cancel()
        if (extraction := vars(self).pop("extraction", None)) is not None:
            if wait_seconds:
                extraction.go_on()  # turns that were not due yet, or whose loop went away
            await extraction.drain(min(wait_seconds, DRAIN_SECONDS))
        if (notes := vars(self).pop("session_memory", None)) is not None:
            vars(self).pop("compaction", None)
            await notes.close()
        docs = vars(self).pop("magic_docs", None)
        tasks = (self._catching_up, self._dreaming, docs.running if docs is not None else None)
        running = [task for task in tasks if task is not None and not task.done()]
        left = max(0.0, until - asyncio.get_running_loop().time())
        if running and left:
            await asyncio.wait(running, timeout=left)
        if self._catching_up is not None and self._catching_up in running:
            self._catching_up.cancel()  # its cursors move only after success
        if docs is not None:
            docs.stop(reason)
        if self.dream_task is not None:
            self.dream_task.abort.set(reason)
        await asyncio.gather(*running, return_exceptions=True)

    # What runs behind it

    def _begin(self) -> None:
        """Mark the session as attended to, and learn what a crash kept earlier ones from learning (X10); once."""
        if self._catching_up is not None or not self.is_learning:
            return
        try:
            self._memory.stores.begin()  # memory may have been off when it was opened
            self.state.begin()
            if os.path.exists(self._unlearned.path):
                self.extraction.go_on()
        except MemdirError as error:  # a disk that cannot be written to: the conversation goes on without
            self._memory.sink.emit(request_refused(what="begin of a session", reason=type(error).__name__))
        self._catching_up = asyncio.get_running_loop().create_task(self._catch_up(), name="memdir catch-up")

    async def meet_team(self) -> None:
        """Take in what teammates changed, before the first turn; nobody waits for it longer than a limit (E4)."""
        if (syncing := self._first_sync()) is not None:
            await asyncio.to_thread(syncing.join, START_SECONDS)

    def _wait_for_team(self) -> None:
        """The same for a host that never entered."""
        if (syncing := self._first_sync()) is not None:
            syncing.join(START_SECONDS)

    def _first_sync(self) -> Thread | None:
        if self._team is not None or not self._was_on or not self._memory.places.syncs:
            return None
        from memdir.share.team import TeamBehind  # most projects have no team

        team = TeamBehind(lambda pushes_only: self._memory.team.sync_behind(pushes_only, team.require_free))
        self._team = team
        return team.start()

    @cached_property
    def _unlearned(self) -> Unlearned:
        return Unlearned(self.state)

    @cached_property
    def state(self) -> SessionState:
        """How far the work behind the conversation has come."""
        memory = self._memory
        state = SessionState.load(self.id, memory.layout, memory_is_on=self._was_on)
        if state.damage:
            memory.sink.emit(request_refused(what="learning from what was said before", reason=f"see {state.damage}"))
        return state

    @cached_property
    def _plan(self) -> ExtractionPlan:
        memory = self._memory
        return ExtractionPlan(
            memory.stores.learning(),
            memory.layout.work_tree,
            every_turns=max(1, memory.settings.extract_every_turns),
            is_remote=memory.places.environment.remote,
            is_log=memory.settings.daily_log,
            overrides=memory.layout.prompts,
            piece_tokens=self._window // 2,
        )

    @property
    def _window(self) -> int:
        return window_of(self._memory.model_name, configured=self._memory.settings.model_context_tokens)

    @cached_property
    def extraction(self) -> Extraction:
        """Writes down what turns taught (X1), those first that wait on disk."""
        memory, model = self._memory, WhenAsked(lambda: self._memory.models.for_job("extract"))
        made = Extraction(self.state, self._plan, model, memory.sink, memory.clock, self._saved, self._unlearned)
        if os.path.exists(self._unlearned.path):
            made.take_up(self.own_request())
        return made

    @cached_property
    def session_memory(self) -> SessionMemory:
        """Keeps the notes that a compaction is made from (N1)."""
        memory = self._memory
        return SessionMemory(
            self.state,
            memory.models.for_job("session-memory", at_cap="raise"),  # a compaction may wait for it
            memory.sink,
            memory.layout.work_tree,
            auto_compact=memory.settings.auto_compact,
        )

    @cached_property
    def magic_docs(self) -> MagicDocs:
        """Keeps the magic docs that were read up to date (M2)."""
        memory = self._memory
        model = memory.models.for_job("magic-docs", at_cap="raise")  # the next reply comes again
        return MagicDocs(
            *(self.state, memory.stores.docs(), model, memory.model_name, memory.sink, memory.clock),
            memories=memory.stores.learning(),
            on_updated=partial(self._tell, "updated"),
        )

    @cached_property
    def compaction(self) -> Compaction:
        """Compacts the conversation (N7)."""
        memory, settings = self._memory, self._memory.settings
        plan = CompactionPlan(self._window, settings.compact_percent, settings.auto_compact, memory.layout.prompts)
        return Compaction(self.session_memory, plan, memory.models.for_job("compact", at_cap="go_on"), memory.sink)

    @cached_property
    def _gates(self) -> DreamGates | LogGates:
        memory = self._memory
        if memory.settings.daily_log:
            return LogGates(memory.store, self._why_no_dream, memory.clock)
        return DreamGates(
            memory.place.root,
            memory.layout.project_home,
            self.id,
            self._why_no_dream,
            memory.clock,
            min_hours=memory.settings.dream_hours,
            min_sessions=memory.settings.dream_sessions,
        )

    async def dream(
        self,
        task: DreamTask,
        *,
        since: float | None = None,
        is_dry: bool = False,
        confirm: Confirm | None = None,
        scope: Literal["project", "user"] = "project",
    ) -> DreamReport | NotDreamt:
        """A dream that one asked for: no gate but the lock (D1). `confirm` sees what it would write and decides. That
        of the user's own memories for all projects takes nothing from sessions."""
        memory = self._memory
        self._follow()
        if not self._was_on:
            return NotDreamt("memory is off")
        from_when = since if since is not None else last_dream(memory.place.root, memory.clock()) or 0.0
        sessions = sessions_since(memory.layout.project_home, from_when, without=self.id)
        if memory.settings.daily_log and since is None:
            sessions = ()  # what was said there is in the log
        task.sessions = len(sessions)
        dreamer = self._dreamer(sessions, confirm, is_asked=True) if scope == "project" else self._own_dreamer(confirm)
        return await dreamer.dream(self.own_request(memory.settings.dream_model), task, is_dry=is_dry)

    def last_change(self) -> tuple[str, Commit, str]:
        """The newest change to memories or a magic doc that this conversation or program made and that stands: its
        scope, the change, and the diff of it (S14)."""
        self._memory.places.require_enabled()
        stores = self._memory.stores
        store, commit = newest_own([*stores.among("all").values(), stores.of("docs")], self.id)
        return store.scope, commit, store.history.patch(commit)

    def own_request(self, model: str | None = None) -> Request:
        """The request of a fork that has no conversation to start from; the same until `clear`. `model` is another one
        than the usual."""
        if self._own_request is None:
            tools = tuple(tool.spec for tool in memory_tools())
            system = (SystemBlock(self._section(), ends_prefix=True),)
            self._own_request = Request(self._memory.model_name, system, tools)
        return replace(self._own_request, model=model) if model else self._own_request

    def _dreamer(self, sessions: tuple[str, ...], confirm: Confirm | None = None, *, is_asked: bool = False) -> Dreamer:
        """Puts the project's memories in order. The team's it only reads, unless somebody here asked for a dream: the
        nights of all members together would edit against each other."""
        memory = self._memory
        others = tuple(self._sessions_of_others(sessions))
        of_others = {other.attended.session for other in others}
        plan = DreamPlan(
            memory.stores.of_project(),
            memory.layout.work_tree,
            memory.layout.project_home,
            tuple(name for name in sessions if name not in of_others),
            has_log=True,
            beside=[memory.stores.of("user")],
            others=others,
            attended=lambda: self._sessions_of_others(attended_times(memory.layout.project_home)),
            overrides=memory.layout.prompts,
            max_lost_share=memory.settings.dream_max_lost_percent / 100,
            changes_team=is_asked and memory.places.has_team,
        )
        # At a cap it gives its lock back and comes again, rather than hold it until midnight.
        return Dreamer(plan, memory.models.for_job("dream", at_cap="raise"), memory.sink, memory.clock, confirm)

    def _sessions_of_others(self, names: Iterable[str]) -> Iterator[AttendedSession]:
        """Those of the sessions that other agents had."""
        sources = all_sources(self._memory.places.environment)
        return filter(None, (AttendedSession.of(name, self._memory.layout, sources) for name in names))

    def _own_dreamer(self, confirm: Confirm | None = None) -> Dreamer:
        """Puts the user's own memories for all projects in order, under their own lock: what other projects dream of
        them at the same time is no harm."""
        memory, store = self._memory, self._memory.stores.of("user")
        lost = memory.settings.dream_max_lost_percent / 100
        plan = DreamPlan([store], store.root, store.root, (), memory.layout.prompts, max_lost_share=lost)
        return Dreamer(plan, memory.models.for_job("dream", at_cap="raise"), memory.sink, memory.clock, confirm)

    def _is_own_dream_due(self) -> bool:
        """Whether something is new among the user's own memories since they were last put in order, a night ago."""
        memory = self._memory
        if not memory.places.learns_for_all_projects:
            return False
        store, now = memory.stores.of("user"), memory.clock()
        since = last_dream(store.root, now) or 0.0
        is_night = now - since >= memory.settings.dream_hours * 3600
        return is_night and any(header.mtime > since for header in store.scan(limit=None).headers)

    async def _dream(self, parent: Request, due: Due, task: DreamTask) -> None:
        try:
            self._tell("dreamt", await self._dreamer(due.sessions).dream(parent, task))
            if self._is_own_dream_due() and not task.abort.is_set:
                self.dream_task = DreamTask(0)  # to be seen, stopped and told like the first
                self._tell("dreamt", await self._own_dreamer().dream(parent, self.dream_task))
        except MemdirError as error:
            self._memory.sink.emit(memory_dreamt(work={}, refused=error.message))
        finally:
            self._dreaming = None

    async def _catch_up(self) -> None:
        """What failed is counted, and tried again next time."""
        await self.meet_team()  # of a host that asked for nothing yet
        memory = self._memory
        with suppress(MemdirError):
            model, name = memory.models.for_job("extract"), memory.settings.extract_model or memory.model_name
            machine = CatchUp(memory.layout, self._plan, model, name, memory.sink, memory.clock, self._behind)
            if files := await machine.run(self.id):
                self._saved(files)

    def _is_at_cap(self) -> bool:
        """Whether work in flight waits for tomorrow. Nobody waits for that: the next session goes on where it stood."""
        try:
            self._memory.models.budget().check(self._memory.layout.slug)
        except BudgetReached:
            return True
        return False

    def _why_no_dream(self) -> str:
        if self._memory.places.environment.remote:
            return "remote"
        if not self.state.memory_is_on:
            return "memory_off"
        return "" if self._memory.settings.dream_enabled else "dream_off"


def _checked(form: Form | None) -> Form | None:
    if form is not None and form not in FORMS:
        raise UsageError(f"there is no form {form!r}", remedy=f"Choose one of {', '.join(FORMS)}")
    return form


def _require_loop(what: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            f"{what} works behind the conversation and needs a running event loop",
            remedy="Call it in an `async def` that asyncio.run runs, and close the session there",
        ) from None
