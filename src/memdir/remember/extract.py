"""Extraction: after each finished turn a fork writes down what is worth keeping, without the user waiting (X1–X12).

This module is the machine around the fork: when it runs, over which messages, and what moves when it has succeeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

from memdir.agent.fork import ForkReport, ForkTools, Job, run_fork
from memdir.agent.gate import memory_gate
from memdir.agent.loop import Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools, told_of_bash
from memdir.agent.workspace import Workspace
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX
from memdir.errors import MemdirError
from memdir.events import memory_extracted, tell
from memdir.model.job import ExtractJob, MemoryFolder, minute_of
from memdir.model.model import Model
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.listing import manifest, told_now
from memdir.remember.evidence import has_prose
from memdir.remember.lineage import Lineage, weigh
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn, Skipped, instructions_in, messages_after, wrote_below
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.store.trust import Trust
from memdir.transcript.message import Message

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_TURNS = 5  # two are normal: read, write (X8)
DRAIN_SECONDS = 60.0  # how long a shutdown waits for the last turn's memories (X10)
NOTHING_YET = "(none yet)"


@dataclass(frozen=True)
class Extracted:
    """Memories were written, or there was nothing worth writing."""

    files: tuple[str, ...]
    report: ForkReport


@dataclass(frozen=True)
class ExtractionPlan:
    """What extraction needs to know besides the conversation."""

    stores: Sequence[MemoryStore]
    cwd: str
    every_turns: int = 1
    is_remote: bool = False
    overrides: str = ""
    zone: tzinfo | None = None  # the user's; the machine's by default


@dataclass
class Extraction:
    """The extraction of one session: at most one run at a time, the newest request waiting behind it."""

    session: SessionState
    plan: ExtractionPlan
    model: Model
    sink: Sink
    clock: Callable[[], float]
    on_saved: Callable[[Sequence[str]], None] | None = None
    _running: asyncio.Task[None] | None = None
    _stashed: FinishedTurn | None = None
    _abort: Abort = field(default_factory=Abort)

    def turn_ended(self, turn: FinishedTurn) -> Skipped | None:
        """Called by the host at the end of a turn. Returns at once; the work happens behind its back (X1)."""
        reason = self._why_not(turn)
        if reason:
            return self._skip(reason)
        if self._running is not None:
            self._stashed = turn  # the newest replaces older ones: it covers their messages too (X5)
            return None
        self.session.turns_since_extraction += 1
        if self.session.turns_since_extraction < self.plan.every_turns:
            return self._skip("throttled")
        self.session.turns_since_extraction = 0
        self._running = asyncio.get_running_loop().create_task(self._run_and_trail(turn), name="memdir extraction")
        return None

    async def drain(self, wait_seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the run in flight, so that the last turn is not lost; past the limit it is stopped (X10)."""
        while self._running is not None:
            try:
                await asyncio.wait_for(asyncio.shield(self._running), wait_seconds)
            except TimeoutError:
                self._stashed = None
                self._abort.set("shutdown")
                await asyncio.gather(self._running, return_exceptions=True)

    def _why_not(self, turn: FinishedTurn) -> str:
        if turn.is_subagent:
            return "subagent"
        if self.plan.is_remote:
            return "remote"
        if not self.session.memory_is_on:
            return "memory_off"
        return "tool_call_in_reply" if turn.reply.tool_uses else ""

    async def _run_and_trail(self, turn: FinishedTurn) -> None:
        """One run, then one trailing run over what came meanwhile, and so on until nothing is stashed (X5)."""
        try:
            await self._guarded(turn)
            while (pending := self._stashed) is not None:
                self._stashed = None
                if not self.session.memory_is_on:
                    self._skip("memory_off")
                    return
                await self._guarded(pending)
        finally:
            self._running = None

    async def _guarded(self, turn: FinishedTurn) -> None:
        """Background work never breaks the conversation: a failure is an event, and the same messages come again."""
        try:
            outcome = await self.extract(turn)
        except MemdirError as error:
            self._skip(f"failed: {type(error).__name__}")
            return
        if isinstance(outcome, Extracted) and outcome.files:
            tell(self.on_saved, outcome.files)

    async def extract(self, turn: FinishedTurn) -> Extracted | Skipped:
        """Run over what came after the cursor. The cursor moves only when the memories are on disk (X4)."""
        new = messages_after(turn.messages, self.session.extract_cursor)
        roots = [store.root for store in self.plan.stores]
        if not new:
            return self._skip("nothing_new")
        if wrote_below(new, roots, self.plan.cwd):
            self.session.move_cursor(new[-1].id)
            return self._skip("main_already_wrote")
        if not has_prose(new):
            return self._skip("no_prose")
        workspace = Workspace(self.plan.stores)
        report = await self._fork(turn, new, workspace)
        if not report.is_complete:
            return self._skip(f"not_finished: {report.run.ending}")
        # The judging takes a while on a long conversation, and the host's loop goes on meanwhile.
        weighed = await asyncio.to_thread(weigh, workspace, turn.messages)
        subject = "extract " + (", ".join(weighed.lineages) or "nothing new")
        written = workspace.commit(_origin(self.session.id, weighed.lineages), subject)
        topics = [draft for draft in written if draft.key != INDEX_NAME]
        team = sum(draft.store.scope == "team" for draft in topics)
        work = {
            **report.counts(),
            "private_files": len(topics) - team,
            "team_files": team,
            "refusals": report.run.refusals + weighed.refused,
            "quoted": weighed.quoted,
        }
        self.sink.emit(memory_extracted(work=work, prompt_hash=report.job.prompt_hash))
        self.session.move_cursor(new[-1].id)
        return Extracted(tuple(draft.key for draft in topics), report)

    async def _fork(self, turn: FinishedTurn, new: Sequence[Message], workspace: Workspace) -> ForkReport:
        tools = Toolbox(memory_tools(), ToolContext(self.plan.cwd, workspace))
        gate = memory_gate([store.root for store in self.plan.stores], cwd=self.plan.cwd)
        hands = ForkTools(self.model, tools, gate)
        folders = tuple(MemoryFolder.of(store, without=(TEAM_PREFIX,)) for store in self.plan.stores)
        now = minute_of(self.clock(), self.plan.zone)
        job = ExtractJob(len(new), folders, now, instructions_in(turn.request))
        name = "extract/combined.md" if len(folders) > 1 else "extract/private.md"
        prompt = load_prompt(name, overrides=self.plan.overrides)
        asked = Job(_rendered(prompt, job, tools), MAX_TURNS, prompt.hash, job)
        return await run_fork(turn.request, asked, hands, since=(turn.reply,), abort=self._abort)

    def _skip(self, reason: str) -> Skipped:
        self.sink.emit(memory_extracted(work={}, skipped=reason))
        return Skipped(reason)


def _rendered(prompt: Prompt, job: ExtractJob, tools: Toolbox) -> str:
    values = {"new_messages": str(job.new_messages), "bash": told_of_bash(tools)}
    for folder, prefix in zip(job.folders, ("", "team_"), strict=False):
        values[f"{prefix}directory"] = folder.root
        values[f"{prefix}manifest"] = manifest(folder.headers, scope=folder.scope) or NOTHING_YET
    return f"{prompt.render(**values)}\n{told_now(job.now)}"


def _origin(session_id: str, lineages: dict[str, Lineage]) -> Origin:
    messages = dict.fromkeys(message for lineage in lineages.values() for message in lineage.messages if message)
    trust = min((lineage.trust for lineage in lineages.values()), default=Trust.ASSISTANT)
    told = "; ".join(f"{key} = {lineage.trust.word}: {' '.join(lineage.messages)}" for key, lineage in lineages.items())
    return Origin("extract", session=session_id, messages=tuple(messages), trust=trust.word, reason=told)
