"""What happens behind a conversation: extraction, session memory, compaction, catching up, a dream when one is due.

Wired once for each session. `MemDir` creates it when the first turn ends; what only reads memories never loads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memdir.agent.tools.tool import memory_tools
from memdir.dream.dream import Confirm, Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.dream.dream_lock import last_dream
from memdir.dream.gates import DreamGates, Due, sessions_since
from memdir.errors import BudgetReached, MemdirError
from memdir.events import memory_dreamt, tell
from memdir.model.choose import model_name
from memdir.model.model import Request, SystemBlock, Usage
from memdir.model.window import window_of
from memdir.remember.catch_up import CatchUp
from memdir.remember.compaction import Compaction, CompactionPlan
from memdir.remember.extract import DRAIN_SECONDS, Extraction, ExtractionPlan
from memdir.remember.session_memory import SessionMemory
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn

if TYPE_CHECKING:
    from memdir.memdir import MemDir


class Background:
    """The background work of one session."""

    def __init__(
        self, memory: MemDir, session: SessionState, *, on_saved: Callable[[Sequence[str]], None] | None = None
    ) -> None:
        self._memory = memory
        self._session = session
        plan = ExtractionPlan(
            memory.stores(),
            memory.layout.work_tree,
            every_turns=max(1, memory.settings.extract_every_turns),
            is_remote=memory.environment.remote,
            overrides=memory.layout.prompts,
        )
        self.extraction = Extraction(
            session, plan, memory.model_for("extract"), memory.sink, memory.clock, on_saved=on_saved
        )
        self.session_memory = SessionMemory(
            session,
            memory.model_for("session-memory", at_cap="raise"),  # a compaction may wait for it
            memory.sink,
            memory.layout.work_tree,
            auto_compact=memory.settings.auto_compact,
        )
        self.compaction = Compaction(
            self.session_memory, self._compaction_plan(), memory.model_for("compact", at_cap="go_on"), memory.sink
        )
        self._catching_up: asyncio.Task[None] | None = None
        self._gates = DreamGates(
            memory.place.root,
            memory.layout.project_home,
            session.id,
            self._why_no_dream,
            memory.clock,
            min_hours=memory.settings.dream_hours,
            min_sessions=memory.settings.dream_sessions,
        )
        self.dream_task: DreamTask | None = None
        self._dreaming: asyncio.Task[None] | None = None

    def session_started(self) -> None:
        """Mark the session as attended to, and learn what a crash kept earlier ones from learning (X10)."""
        self._session.begin()
        self._catching_up = asyncio.get_running_loop().create_task(self._catch_up(), name="memdir catch-up")

    def sampled(self, turn: FinishedTurn, usage: Usage | None = None) -> None:
        """A reply came that calls tools: bring the session memory up to date if that is due (N3). Returns at once."""
        self.session_memory.after_sampling(turn, usage)

    def turn_ended(self, turn: FinishedTurn, usage: Usage | None = None) -> None:
        """The final reply came: extract, keep the session memory, dream if one is due (X1, N3, D1). Returns at once."""
        self.extraction.turn_ended(turn)
        self.sampled(turn, usage)
        if turn.is_subagent or self._dreaming is not None:
            return
        due = self._gates.check()
        if isinstance(due, Due):
            self.dream_task = DreamTask(len(due.sessions))
            self._dreaming = asyncio.get_running_loop().create_task(self._dream(turn.request, due), name="memdir dream")

    async def close(self) -> None:
        """Wait for the last turn's memories; stop a dream that is under way, it will come again (X10)."""
        await self.extraction.drain(0.0 if self._is_at_cap() else DRAIN_SECONDS)
        await self.session_memory.close()
        if self._catching_up is not None:
            self._catching_up.cancel()  # its cursors move only after success
            await asyncio.gather(self._catching_up, return_exceptions=True)
        if self._dreaming is not None and self.dream_task is not None:
            self.dream_task.kill()
            await asyncio.gather(self._dreaming, return_exceptions=True)

    def _is_at_cap(self) -> bool:
        """Whether work in flight waits for tomorrow. Nobody waits for that: the next session goes on where it stood."""
        try:
            self._memory.budget().check(self._memory.layout.slug)
        except BudgetReached:
            return True
        return False

    def dreamer(self, sessions: tuple[str, ...]) -> Dreamer:
        plan = DreamPlan(
            self._memory.stores(),
            self._memory.layout.work_tree,
            self._memory.layout.project_home,
            sessions,
            overrides=self._memory.layout.prompts,
            max_lost_share=self._memory.settings.dream_max_lost_percent / 100,
        )
        # At a cap it gives its lock back and comes again, rather than hold it until midnight.
        model = self._memory.model_for("dream", at_cap="raise")
        return Dreamer(plan, model, self._memory.sink, self._memory.clock)

    async def dream_now(
        self,
        task: DreamTask,
        *,
        since: float | None = None,
        is_dry: bool = False,
        confirm: Confirm | None = None,
    ) -> DreamReport | NotDreamt:
        """A dream that one asked for: no gate but the lock (D1). `confirm` sees what it would write and decides."""
        from_when = since if since is not None else last_dream(self._memory.place.root, self._memory.clock()) or 0.0
        sessions = sessions_since(self._memory.layout.project_home, from_when, without=self._session.id)
        task.sessions = len(sessions)
        dreamer = self.dreamer(sessions)
        dreamer.confirm = confirm
        return await dreamer.dream(self.own_request(), task, is_dry=is_dry)

    def own_request(self) -> Request:
        """The request of a fork that has no conversation to start from."""
        name = model_name(self._memory.settings, self._memory.environment)
        tools = tuple(tool.spec for tool in memory_tools())
        return Request(name, (SystemBlock(self._memory.prompt(), ends_prefix=True),), tools)

    async def _catch_up(self) -> None:
        """Background work never breaks the conversation: what failed is counted, and tried again next time."""
        name = model_name(self._memory.settings, self._memory.environment)
        machine = CatchUp(
            self._memory.layout,
            self.extraction.plan,
            self._memory.model_for("extract"),
            name,
            self._memory.sink,
            self._memory.clock,
        )
        try:
            files = await machine.run(self._session.id)
        except MemdirError:
            return
        if files:
            tell(self.extraction.on_saved, files)

    def _compaction_plan(self) -> CompactionPlan:
        settings = self._memory.settings
        name = model_name(settings, self._memory.environment)
        window = window_of(name, configured=settings.model_context_tokens)
        return CompactionPlan(window, settings.compact_percent, settings.auto_compact, self._memory.layout.prompts)

    async def _dream(self, parent: Request, due: Due) -> None:
        """Background work never breaks the conversation: whatever happens is an event."""
        try:
            await self.dreamer(due.sessions).dream(parent, self.dream_task or DreamTask(len(due.sessions)))
        except MemdirError as error:
            self._memory.sink.emit(memory_dreamt(work={}, refused=error.message))
        finally:
            self._dreaming = None

    def _why_no_dream(self) -> str:
        if self._memory.environment.remote:
            return "remote"
        if not self._session.memory_is_on or not self._memory.settings.enabled:
            return "memory_off"
        return "" if self._memory.settings.dream_enabled else "dream_off"
