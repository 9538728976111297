"""The dream: a fork consolidates memories on drafts, which are checked and written as one change set (D3–D7)."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Literal

from memdir.agent.file_access import FileState
from memdir.agent.forgotten import Forgotten
from memdir.agent.fork import ForkProgress, ForkReport, ForkTools, Job, run_fork
from memdir.agent.gate import memory_gate
from memdir.agent.judged import spare_memories
from memdir.agent.loop import STOPPED, Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools, told_of_bash
from memdir.agent.workspace import Draft, Workspace
from memdir.disk.atomic import keep_bytes
from memdir.disk.safe_path import INDEX_NAME
from memdir.dream.dream_check import (
    MAX_LOST_SHARE,
    DreamRules,
    heard_in_sessions,
    spare_facts,
    times_of,
    trace_lines,
    trace_log,
    trace_sources,
)
from memdir.dream.gates import DreamLock, last_dream, take_dream_lock
from memdir.dream.questions import OpenQuestion, Questions
from memdir.errors import MemdirError
from memdir.events import memory_dreamt, tell
from memdir.model.job import DreamJob, MemoryFolder, minute_of
from memdir.model.model import Model, Request
from memdir.prompts.compose import load_prompt
from memdir.prompts.door import shown_line
from memdir.prompts.listing import ended_among, manifest, told_now
from memdir.store.history import Origin, tell_derived, tell_lines, tell_moment
from memdir.store.index import MAX_BYTES, MAX_LINES
from memdir.store.log_lines import LogLine, LogNews, said_for
from memdir.store.secrets import beginning
from memdir.store.store import MemoryStore
from memdir.text.words import counted
from memdir.transcript.message import Message
from memdir.transcript.session_list import AttendedSession, said_in_sessions

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_TURNS = 60  # a night's work; extraction has five
MAX_LISTED = 500  # memories that the job names: about 15,000 tokens
MAX_REASON = 500  # characters of the model's own words in the history
MAX_SECONDS = 3000.0  # less than the hour after which the lock counts as abandoned (D2)
DECLINED = "it was declined"  # by a person, who is not told of a failure
Phase = Literal["starting", "updating", "done", "failed", "stopped"]


@dataclass(frozen=True)
class DreamPlan:
    """What a dream works on."""

    stores: Sequence[MemoryStore]
    cwd: str
    sessions_folder: str
    sessions: tuple[str, ...]
    overrides: str = ""
    max_lost_share: float = MAX_LOST_SHARE
    max_seconds: float = MAX_SECONDS
    zone: tzinfo | None = None  # the user's; the machine's by default
    others: tuple[AttendedSession, ...] = ()  # sessions of other agents
    attended: Callable[[], Iterable[AttendedSession]] = tuple  # all of them that there ever were
    changes_team: bool = True  # whether the team's memories may be put in order: somebody here asked for it
    has_log: bool = False  # whether the lines of daily logs are to become memories
    beside: Sequence[MemoryStore] = ()  # whose memories it leaves alone, and brings nothing back that is gone there


@dataclass(frozen=True)
class DreamReport:
    """What a dream did, or would do."""

    written: tuple[Draft, ...]  # what was written, or would be
    kept_theirs: tuple[str, ...]  # files that somebody changed meanwhile and that stay as they are
    words: str  # what the model says it did
    fork: ForkReport  # what it cost
    is_dry: bool = False  # whether nothing was written
    refused: tuple[str, ...] = ()  # why other files were left as they are
    kept: str = ""  # where drafts that were given up wait to be looked at
    questions: tuple[OpenQuestion, ...] = ()  # what it asks a person


@dataclass(frozen=True)
class NotDreamt:
    """Nothing was changed, and why. `kept` is where a refused change set waits to be looked at."""

    reason: str  # in words
    kept: str = ""  # the folder of a refused change set


Confirm = Callable[[DreamReport], bool | Awaitable[bool]]


@dataclass
class DreamTask:
    """Where a dream is: phase, sessions under review, turns taken, files touched. `kill` stops it and rolls it back."""

    sessions: int  # how many are under review
    on_change: Callable[[DreamTask], None] | None = None  # told when the phase changes
    phase: Phase = "starting"  # where it is
    progress: ForkProgress = field(default_factory=ForkProgress)  # its turns, files and last words
    abort: Abort = field(default_factory=Abort)  # what `kill` sets

    @property
    def turns(self) -> int:
        """Replies of the model so far."""
        return self.progress.turns

    @property
    def files(self) -> Sequence[str]:
        """Touched so far."""
        return self.progress.files

    def saw(self, message: Message) -> None:
        """Follow the fork's messages."""
        if message.role == "assistant":
            self.progress.saw(message)
            self.enter("updating" if self.files else self.phase)

    def kill(self) -> None:
        self.abort.set(STOPPED)

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        tell(self.on_change, self)


@dataclass
class Dreamer:
    """Runs dreams over one memory directory."""

    plan: DreamPlan
    model: Model
    sink: Sink
    clock: Callable[[], float]
    confirm: Confirm | None = None

    async def dream(self, parent: Request, task: DreamTask, *, is_dry: bool = False) -> DreamReport | NotDreamt:
        """One dream: take the lock, let the fork work on drafts, check them, write them. A failure changes nothing."""
        place = self.plan.stores[0].place
        lock = take_dream_lock(place.root, guard=place.lock, now=self.clock())
        if lock is None:
            return self._end(task, NotDreamt("another dream is running"))
        try:
            outcome = await self._under_lock(parent, task, lock, is_dry=is_dry)
        except MemdirError as error:
            outcome = NotDreamt(f"it failed: {error.message}")
        except BaseException:
            lock.give_up()
            task.enter("stopped")
            raise
        if isinstance(outcome, DreamReport) and not is_dry:
            lock.done(self.clock(), f"{len(outcome.written)} files")
        else:
            lock.give_up()
        return self._end(task, outcome)

    async def _under_lock(
        self, parent: Request, task: DreamTask, lock: DreamLock, *, is_dry: bool
    ) -> DreamReport | NotDreamt:
        self.plan = self._without_purged()
        rules = self._rules()
        workspace = Workspace(self.plan.stores, rules.rule)
        news = LogNews(self.plan.stores[0]) if self.plan.has_log else None
        log = news.lines if news else ()
        report = await self._fork(parent, workspace, task, log)
        if report.run.ending == "aborted":
            return NotDreamt(f"it was {task.abort.reason}")
        is_cut_short = report.run.ending == "max_turns" and bool(workspace.changed())
        if not report.is_complete and not is_cut_short:
            return NotDreamt(f"the model did not come to an end ({report.run.failure})")
        workspace.keep_lines()
        # Work that was cut short may have deleted what it would have written elsewhere: then nothing may be lost.
        given_up = spare_facts(workspace, max_lost_share=0.0 if is_cut_short else self.plan.max_lost_share)
        given_up += spare_memories(workspace, rules.lost_with)
        kept = "" if is_dry else self._keep_aside(given_up)
        refused = tuple(dict.fromkeys(workspace.refused.values()))
        if refused and not workspace.changed():
            if news is not None and not is_dry and not is_cut_short and lock.is_mine():
                news.settle()  # the same lines would be refused again, turn after turn (B2); they stay in the log
            return NotDreamt("; ".join(refused), kept)
        derived = trace_sources(workspace, rules, log)
        proposal = DreamReport(tuple(workspace.changed()), (), report.run.final_text, report, True, refused, kept)
        if is_dry:
            return proposal
        if self.confirm and proposal.written and not await self._is_confirmed(self.confirm, proposal):
            return NotDreamt(DECLINED)
        if not lock.is_mine():
            return NotDreamt("the lock was lost while the model worked", self._keep_aside(workspace.changed()))
        kept_theirs = workspace.drop_conflicts()
        workspace.drop_repeated()
        derived = {draft.path: derived[draft.path] for draft in workspace.changed() if draft.path in derived}
        origin = Origin("dream", trust="assistant", reason=beginning(report.run.final_text, MAX_REASON))
        times, lines = times_of(workspace, derived), self._lines(workspace, rules.forgotten, log)
        files, deleted = _counts(workspace.changed())
        subject = f"dream: {counted(files - deleted, 'memory', 'memories')} written, {deleted} removed"
        written = workspace.commit(origin, subject, times=times, Derived=tell_derived(derived), **lines)
        if news is not None and not is_cut_short and not kept_theirs:
            news.settle()
        words = report.run.final_text
        asked = Questions(self.plan.stores[0], self.clock).ask(words)
        return DreamReport(
            tuple(written), tuple(kept_theirs), words, report, refused=refused, kept=kept, questions=asked
        )

    def _rules(self) -> DreamRules:
        """The fork may look into older sessions than those under review, and take an old word for a new one."""
        plan = self.plan
        heard = partial(heard_in_sessions, plan.sessions_folder, plan.attended, plan.stores[0])
        forgotten = Forgotten(plan.stores, heard, beside=plan.beside)
        return DreamRules(forgotten, plan.stores, self._said, plan.changes_team)

    def _lines(self, workspace: Workspace, forgotten: Forgotten, log: Sequence[LogLine]) -> dict[str, str]:
        """What each memory was taken from, as the history keeps it: lines of logs with what was said for them, and what
        was said in sessions; and when the last of that was."""
        heard = trace_lines(workspace, forgotten)
        moment = max((one.time for some in heard.values() for one in some), default=0.0) or self.clock()
        told = {path: [one.line for one in some] for path, some in heard.items()}
        noted = trace_log(workspace, log)
        said = said_for(self.plan.stores[0], log) if noted else {}
        for path, some in noted.items():
            sources = (one for line in some for one in said.get(line.id, ()))
            told[path] = list(dict.fromkeys((*sources, *told.get(path, ()))))
        logged = tell_lines({path: [(line.key, line.id) for line in some] for path, some in noted.items()})
        return {"Lines": tell_lines(told), "Logged": logged, "Moment": tell_moment(moment)}

    def _without_purged(self) -> DreamPlan:
        """The plan without the sessions of which a person wants nothing kept (L2)."""
        purged = {name for store in self.plan.stores for name in store.gone().purged}
        others = tuple(one for one in self.plan.others if one.attended.session not in purged)
        return replace(self.plan, sessions=tuple(s for s in self.plan.sessions if s not in purged), others=others)

    def _said(self) -> Iterator[Message]:
        """What was said in the sessions under review, those of other agents too."""
        said = said_in_sessions(self.plan.sessions_folder, self.plan.sessions, self.plan.others)
        return (message for _, message in said if not message.is_off)

    async def _is_confirmed(self, confirm: Confirm, proposal: DreamReport) -> bool:
        """Only True says yes: a host's function that breaks, or answers something else, has not."""
        try:
            answer = confirm(proposal)
            return (await answer if inspect.isawaitable(answer) else answer) is True
        except Exception:  # noqa: BLE001 - it is a host's own code
            return False

    async def _fork(self, parent: Request, workspace: Workspace, task: DreamTask, log: Sequence[LogLine]) -> ForkReport:
        tools = Toolbox(memory_tools(), ToolContext(self.plan.cwd, workspace, FileState()))
        gate = memory_gate([store.root for store in self.plan.stores], cwd=self.plan.cwd)
        fork_tools = ForkTools(self.model, tools, gate)
        limit = asyncio.get_running_loop().call_later(
            self.plan.max_seconds, task.abort.set, "stopped: it took too long"
        )
        try:
            return await run_fork(parent, self._job(tools, log), fork_tools, abort=task.abort, on_progress=task.saw)
        finally:
            limit.cancel()

    def _job(self, tools: Toolbox, log: Sequence[LogLine]) -> Job:
        folder, now = MemoryFolder.of(self.plan.stores[0], limit=MAX_LISTED), minute_of(self.clock(), self.plan.zone)
        settled = last_dream(self.plan.stores[0].root, self.clock()) or 0.0
        job = DreamJob(
            folder, self.plan.sessions_folder, self.plan.sessions, now, self.plan.others, settled, tuple(log)
        )
        readable = [other.ref.path for other in job.others if other.ref.path.endswith(".jsonl")]
        ended = ended_among(self.plan.stores[0], folder.headers, self.clock())
        older = f"\n(and {folder.older} older ones: find them with Glob)" if folder.older else ""
        prompt = load_prompt("dream/consolidate.md", overrides=self.plan.overrides, has_index=folder.has_index)
        text = prompt.render(
            bash=told_of_bash(tools),
            directory=folder.root,
            sessions_directory=job.sessions_folder,
            sessions="\n".join(f"- {shown_line(session)}" for session in (*job.sessions, *readable)) or "(none)",
            manifest=(manifest(folder.headers, scope=folder.scope, ended=ended) or "(none)") + older,
            index_lines=str(MAX_LINES),
            index_bytes=f"{MAX_BYTES:,}",
        )
        if any(store.scope == "team" for store in self.plan.stores):
            name = "dream/team.md" if self.plan.changes_team else "dream/team_kept.md"
            text += "\n" + load_prompt(name).render()
        if log:
            text += "\n" + load_prompt("dream/log.md").render(lines=_told_by_day(log))
        return Job(f"{text}\n{told_now(now)}", MAX_TURNS, prompt.hash, job, is_writing=True)

    def _keep_aside(self, drafts: Sequence[Draft]) -> str:
        """What is refused stays where a person can look at it."""
        moment = datetime.fromtimestamp(self.clock()).astimezone()
        folder = os.path.join(self.plan.stores[0].place.state, "refused-dreams", f"{moment:%Y%m%d-%H%M%S}")
        for draft in drafts:
            path = os.path.join(folder, draft.store.place.prefix + draft.key)
            deleted = f"(deleted: {draft.reason})\n".encode()
            keep_bytes(path, deleted if draft.after is None else draft.after)
        return folder if drafts else ""

    def _end(self, task: DreamTask, outcome: DreamReport | NotDreamt) -> DreamReport | NotDreamt:
        if isinstance(outcome, NotDreamt):
            task.enter("stopped" if task.abort.is_set or outcome.reason == DECLINED else "failed")
            self.sink.emit(memory_dreamt(work={"sessions": task.sessions}, refused=outcome.reason))
            return outcome
        task.enter("done")
        files, deleted = _counts(outcome.written)
        work = {
            **outcome.fork.counts(),
            "sessions": task.sessions,
            "files": files,
            "deleted": deleted,
            "refusals": outcome.fork.run.refusals + len(outcome.refused),
        }
        self.sink.emit(memory_dreamt(work=work, prompt_hash=outcome.fork.job.prompt_hash))
        return outcome


def _counts(drafts: Sequence[Draft]) -> tuple[int, int]:
    """How many memories change, and how many of them are deleted."""
    topics = [draft for draft in drafts if draft.key != INDEX_NAME]
    return len(topics), sum(draft.after is None for draft in topics)


def _told_by_day(log: Sequence[LogLine]) -> str:
    """Lines of daily logs as the job names them."""
    days: dict[str, list[str]] = {}
    for line in log:
        days.setdefault(line.key, []).append(shown_line(line.rendered))
    return "\n\n".join(f"{key}:\n" + "\n".join(lines) for key, lines in days.items())
