"""Extraction: after each finished turn a fork writes down what is worth keeping, without the user waiting (X1–X12).

This module is the machine around the fork: when it runs, over which messages, and what moves when it has succeeded.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from memdir.agent.bash import why_no_bash
from memdir.agent.evidence import has_prose, heard_and_agreed
from memdir.agent.file_access import DiskFiles
from memdir.agent.forgotten import Forgotten
from memdir.agent.fork import ForkProgress, ForkReport, ForkTools, Job, run_fork
from memdir.agent.gate import WRITING, memory_gate
from memdir.agent.judged import Lineage
from memdir.agent.loop import STOPPED, Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools, told_of_bash
from memdir.agent.workspace import Draft, Workspace
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index, is_inside
from memdir.errors import BadMemoryFile, BudgetReached, DiskError, MemdirError, ModelError
from memdir.events import memory_extracted, tell
from memdir.model.budget import require_on
from memdir.model.job import ExtractJob, MemoryFolder, minute_of
from memdir.model.model import CUT_OFF, Model, Request
from memdir.model.window import DEFAULT_WINDOW
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.door import shown_line
from memdir.prompts.listing import manifest, more_than_listed, told_now
from memdir.remember.daily_log import LogDraft, LogGate
from memdir.remember.lineage import OWN, DraftJudge, weigh, with_lineages
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import (
    FinishedTurn,
    Skipped,
    echoes_in,
    has_more_than,
    instructions_in,
    known_as,
    messages_after,
    saved_below,
)
from memdir.store.form import deletion_in
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import Origin, tell_moment
from memdir.store.log_lines import PATTERN, LogLine
from memdir.store.memories import forget_memories
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.store.undo import restore
from memdir.transcript.message import Message, said_at

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_WAITING = 100  # turns of a host without a history, where nothing can be learned for long
MAX_TURNS = 5  # two are normal: read, write (X8)
SPARE_TURNS = 15  # more, for a model that reads or writes one file a turn
MAX_FAILURES = 3  # of one turn or range of messages, none of them the network's; then it is passed over
DRAIN_SECONDS = 60.0  # how long a shutdown waits for the last turn's memories (X10)
LASTING = ("bad_request", "bad_reply", "context_too_long")  # a model's failures that have to do with what it was asked
LATE_SECONDS = 600.0  # after its end that a turn is learned late
PASSED_OVER = "passed_over"
NOTHING_YET = "(none yet)"
TOLD_CHARACTERS = 80  # of a message: enough to know it again
MAX_NEAR = 20  # of the newest messages: what is near to one of them is listed before what is newer


@dataclass(frozen=True)
class Extracted:
    """Memories were written, or there was nothing worth writing."""

    files: tuple[str, ...]
    report: ForkReport
    lost: int = 0  # drafts that were refused for their form, and a last reply that broke off: the messages come again


@dataclass(frozen=True)
class ExtractionPlan:
    """What extraction needs to know besides the conversation."""

    stores: Sequence[MemoryStore]
    cwd: str
    every_turns: int = 1
    is_remote: bool = False
    is_log: bool = False  # lines of a daily log are kept instead of memories (K4)
    overrides: str = ""
    zone: tzinfo | None = None  # the user's; the machine's by default
    piece_tokens: int = DEFAULT_WINDOW // 2  # after which no further turn is learned from at once, where many wait
    written_since: Callable[[float], tuple[str, ...] | None] | None = None  # by the main agent, as the history tells it
    instructions: Sequence[str] = ()  # the texts of instruction files, where the conversation does not hold them


@dataclass
class Extraction:
    """The extraction of one session: at most one run at a time, turns that came meanwhile waiting behind it."""

    session: SessionState
    plan: ExtractionPlan
    model: Model
    sink: Sink
    clock: Callable[[], float]
    on_saved: Callable[[Sequence[str]], None] | None = None
    unlearned: Unlearned | None = None
    _running: asyncio.Task[None] | None = None
    _waiting: list[FinishedTurn] = field(default_factory=list)  # the one that runs is the first
    _left: list[FinishedTurn] = field(default_factory=list)  # tried again at the next start, unless they come again
    _unfinished: FinishedTurn | None = None  # up to a reply that calls tools
    _begun: str = ""  # where the cursor stood as the run began
    _abort: Abort = field(default_factory=Abort)
    progress: ForkProgress = field(default_factory=ForkProgress)  # of the run that goes on

    def joined(self, turn: FinishedTurn) -> FinishedTurn:
        """A call of a turn with what was said in its calls before, where the host sends only what is new (with
        `previous_response_id`): what the user asked for came with the first of them. On disk until the turn ends."""
        before, turn = self._unfinished, self._timed(turn)
        if before is not None and turn.sends_only_news and not turn.holds(before):
            turn = replace(turn, earlier=before.messages)
        self._unfinished = turn if turn.reply.tool_uses else None
        if self._unfinished is not None and turn.sends_only_news:
            self._keep()
        return turn

    def turn_ended(self, turn: FinishedTurn) -> Skipped | None:
        """Called by the host at the end of a turn. Returns at once; the work happens behind its back (X1)."""
        reason = self._why_not(turn)
        if reason:
            return self._skip(reason)
        # The newest replaces older ones whose messages it covers too (X5); without a history it covers none.
        turn = self._timed(turn)
        self._waiting = [*(one for one in self._waiting if not turn.holds(one)), turn][-MAX_WAITING:]
        self._left = [one for one in self._left if not turn.holds(one)]
        self._keep()
        if self.is_running:
            return None
        self.session.turns_since_extraction += 1
        if self.session.turns_since_extraction < self.plan.every_turns:
            return self._skip("throttled")
        self.session.turns_since_extraction = 0
        self.go_on()
        return None

    def take_up(self, request: Request, *, is_over: bool = False) -> None:
        """Let what an earlier start left behind wait, as turns of this request; what failed too often is given up. A
        turn that was not finished may go on, unless the session is over."""
        for turn in self.unlearned.turns(request, is_over=is_over) if self.unlearned else ():
            if turn.reply.tool_uses:
                self._unfinished = turn
            elif turn.tries < MAX_FAILURES:
                self._waiting.append(turn)
            else:
                self._skip("given_up")
        self._keep()

    def go_on(self) -> None:
        """Learn from what waits, if something does and no run goes on."""
        if self._waiting and not self.is_running:
            self.progress = ForkProgress()
            self._running = asyncio.get_running_loop().create_task(self.run(), name="memdir extraction")

    async def drain(self, wait_seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the run in flight, so that the last turn is not lost; past the limit it is stopped (X10)."""
        while (running := self._running) is not None:
            try:
                await asyncio.wait_for(asyncio.shield(running), wait_seconds)
            except TimeoutError:
                self._abort.set("shutdown")
                await asyncio.gather(running, return_exceptions=True)

    @property
    def has_failed(self) -> bool:
        """Whether something is left that is tried again at another start."""
        return bool(self._left)

    @property
    def is_running(self) -> bool:
        """Whether a run goes on: one in a loop that is gone does not."""
        return self._running is not None and self._running.get_loop().is_running()

    def _keep(self) -> None:
        if self.unlearned is not None:
            self.unlearned.keep([*self._left, *self._waiting, *([self._unfinished] if self._unfinished else ())])

    def _why_not(self, turn: FinishedTurn) -> str:
        if turn.is_subagent:
            return "subagent"
        if self.plan.is_remote:
            return "remote"
        if not self.session.memory_is_on:
            return "memory_off"
        return "tool_call_in_reply" if turn.reply.tool_uses else ""

    async def run(self) -> None:
        """One run, then a trailing run over what came meanwhile, and so on until nothing waits (X5)."""
        try:
            while self._waiting and not self._abort.is_set:
                if not self.session.memory_is_on:
                    self._skip("memory_off")
                    break  # it was said while memory was on, and waits until it is again
                await self._learn(self._waiting[0])
                self._keep()
        except MemdirError as error:  # no disk to keep them on
            self._skip(f"failed: {type(error).__name__}")
        finally:
            self._running = None
            if self._abort.reason == STOPPED:
                self._abort = Abort()

    def stop(self) -> None:
        """End the run that goes on. What it had to learn from waits for the next one."""
        self._abort.set(STOPPED)

    async def _learn(self, turn: FinishedTurn) -> None:
        left = await self._guarded(turn)
        if any(one is turn for one in self._waiting) and (left is None or not self._abort.is_set):
            self._waiting = [one for one in self._waiting if one is not turn]
            if left is not None:
                self._left.append(left)
            else:  # somebody answers again: what only the network kept from being learned need not wait for a start
                self._waiting += [one for one in self._left if not one.tries]
                self._left = [one for one in self._left if one.tries]

    async def _guarded(self, turn: FinishedTurn) -> FinishedTurn | None:
        """Background work never breaks the conversation: a failure is an event, and the same messages come again.
        Returns the turn that does, with its tries; what the network did is none."""
        failed = replace(turn, tries=turn.tries + 1)
        try:
            outcome = await self.extract(turn)
        except MemdirError as error:
            reason = f"failed: {type((type(error) is MemdirError and error.__cause__) or error).__name__}"
            new = messages_after(turn.messages, self.session.extract_cursor)
            if not would_fail_again(error):
                self._skip(reason)
                return turn
            _ = self._failed(reason, new) if new else self._skip(reason)
            return failed
        if isinstance(outcome, Extracted) and outcome.files:
            tell(self.on_saved, outcome.files)
        is_done = not outcome.lost if isinstance(outcome, Extracted) else not outcome.reason.startswith("not_finished")
        return None if is_done else failed

    async def extract(self, turn: FinishedTurn) -> Extracted | Skipped:
        """Run over what came after the cursor. The cursor moves only when the memories are on disk (X4). Once more
        about the rest, where something of it is settled by then; what is past comes again by itself."""
        with foreseen():
            while (outcome := await self._extract(turn)) is None and not turn.is_past:
                pass
            return outcome or self._skip("not_finished: settled elsewhere")

    async def _extract(self, turn: FinishedTurn) -> Extracted | Skipped | None:
        turn = self._timed(turn)
        said, self._begun = self.session.heard(turn.messages), self.session.extract_cursor
        dated = [replace(message, timestamp=self._time_of(message)) for message in said]
        new = [message for message in messages_after(dated, self.session.extract_cursor) if not message.is_off]
        roots = [store.root for store in self.plan.stores]
        if not new:
            return self._skip("nothing_new" if all(map(self.session.is_known, turn.messages)) else "damaged_state")
        own = self._written_in(new)
        saved = self._without_deleted(saved_below(new, roots, self.plan.cwd) if own is None else own)
        if saved and not has_more_than(new, b"\n".join(map(_bytes_of, saved)).decode("utf-8", "replace")):
            self.session.move_cursor(new[-1].id)
            return self._skip("main_already_wrote")
        if not has_prose(new, [message for message in dated[: dated.index(new[0])] if not message.is_off]):
            return self._skip("no_prose")
        forgotten = Forgotten(self.plan.stores, lambda: heard_and_agreed(dated), is_live=not turn.is_past)
        judge = DraftJudge(self.plan.stores, [message for message in said if not message.is_off], forgotten)
        if self.plan.is_log:
            draft = LogDraft(self.plan.stores[0], judge)
            return await self._log(turn.of(said), new, dated, saved, draft)
        workspace = Workspace(self.plan.stores, judge.rule, keeps_lines=True)
        tools = Toolbox(memory_tools(), ToolContext(self.plan.cwd, workspace))
        gate = memory_gate([store.root for store in self.plan.stores], cwd=self.plan.cwd)
        report = await self._fork(turn.of(said), new, ForkTools(self.model, tools, gate), saved)
        if report.run.ending == "aborted" or (not report.is_complete and not workspace.changed()):
            return self._failed(f"not_finished: {report.run.failure}", new)
        unwritten = int(_is_unwritten(workspace, tools, report))
        # The judging takes a while on a long conversation, and the host's loop goes on meanwhile.
        await asyncio.to_thread(workspace.drop_repeated)
        lost = unwritten + len(workspace.lost) + len(await asyncio.to_thread(workspace.drop_conflicts))
        weighed = await asyncio.to_thread(weigh, workspace, judge)
        written = self._write(workspace, weighed.lineages, turn, dated)
        if written is None:
            return None
        topics = [draft for draft in written if draft.key != INDEX_NAME]
        team = sum(draft.store.scope == "team" for draft in topics)
        work = {
            **report.counts(),
            "private_files": len(topics) - team,
            "team_files": team,
            "user_files": sum(draft.store.scope == OWN for draft in topics),
            "refusals": report.run.refusals + weighed.refused,
            "quoted": weighed.quoted,
            "lost": lost,
        }
        return self._settled(tuple(draft.key for draft in topics), report, work, new)

    def _is_settled(self, said: Sequence[Message]) -> bool:
        """Whether some of it was purged (L2), or learned from by another program, while the model thought."""
        require_on(is_on=self.session.memory_is_on)  # it takes a while to judge what a model wrote
        return self.session.is_purged(said) or self.session.extract_cursor != self._begun

    def _write(
        self, workspace: Workspace, lineages: Mapping[str, Lineage], turn: FinishedTurn, said: Sequence[Message]
    ) -> list[Draft] | None:
        """Put the drafts on disk; None where what was said is settled. A purge comes before this look or after it is
        written, and finds it then."""
        written = []
        with self.session.locked():
            if self._is_settled(said):
                return None
            for base in workspace.bases():  # each history tells of its own
                drafts = [draft for draft in workspace.changed() if draft.store.place.base == base]
                own = {draft.path: lineages[draft.path] for draft in drafts if draft.path in lineages}
                gone = [draft.path for draft in drafts if draft.after is None]
                told = [f"{verb} {', '.join(of)}" for verb, of in (("extract", own), ("forget", gone)) if of]
                subject = "; ".join(told) or f"extract {INDEX_NAME}"
                moment = tell_moment(_moment_of(said, own, turn.ended))
                times = self._times_of(turn, said, own, workspace)
                origin = with_lineages(Origin("extract", session=self.session.id), own)
                written += workspace.commit(origin, subject, times=times, base=base, Moment=moment)
        return written

    async def _log(
        self, turn: FinishedTurn, new: Sequence[Message], dated: Sequence[Message], kept: Sequence[str], draft: LogDraft
    ) -> Extracted | Skipped | None:
        """The same, where what was learned goes into the log of the day (K4); None where it has to be done again."""
        root, cwd, now = draft.store.root, self.plan.cwd, self.clock()
        tools = Toolbox(draft.tools(), ToolContext(cwd, DiskFiles()))
        gate = LogGate(root, cwd, why_no_bash())
        report = await self._fork(turn, new, ForkTools(self.model, tools, gate), kept)
        if report.run.ending == "aborted" or (not report.is_complete and not draft.lines):
            return self._failed(f"not_finished: {report.run.failure}", new)

        def moment(lineage: Lineage) -> float:
            said = _moment_of(dated, {"": lineage}, turn.ended)
            return said if 0 < said <= now + LATE_SECONDS else now  # a clock that nobody believes tells no day

        by = Origin("extract", session=self.session.id)

        def write() -> list[LogLine] | None:
            with self.session.locked():
                return None if self._is_settled(dated) else draft.write(moment, self.plan.zone, by)

        written = await asyncio.to_thread(write)
        if written is None:
            return None
        tried = any(use.name == "Write" for message in report.run.messages for use in message.tool_uses)
        lost = int(tried and not draft.lines and not draft.refused)
        refusals = report.run.refusals + len(draft.refused)
        work = {**report.counts(), "log_lines": len(written), "refusals": refusals, "lost": lost}
        return self._settled(tuple(dict.fromkeys(line.key for line in written)), report, work, new)

    def _settled(
        self, files: tuple[str, ...], report: ForkReport, work: dict[str, int | float], new: Sequence[Message]
    ) -> Extracted:
        """Tell what came of a run; the cursor moves unless something was lost, or may be, where a reply broke off."""
        self.sink.emit(memory_extracted(work=work, prompt_hash=report.job.prompt_hash))
        is_cut_off = report.run.failure in CUT_OFF
        if work["lost"] or is_cut_off:
            self._failed(f"not_finished: {report.run.failure}" if is_cut_off else "form_lost", new)
        else:
            self.session.move_cursor(new[-1].id)
        return Extracted(files, report, int(work["lost"]) + is_cut_off)

    def _times_of(
        self, turn: FinishedTurn, said: Sequence[Message], lineages: dict[str, Lineage], workspace: Workspace
    ) -> dict[str, int]:
        """How old new memories are that are learned late: their "tomorrow" counts from the day when it was said."""
        if not turn.is_past and self.clock() - turn.ended < LATE_SECONDS:
            return {}
        new = {draft.path for draft in workspace.changed() if draft.before is None}
        moments = {path: _moment_of(said, {path: one}, turn.ended) for path, one in lineages.items() if path in new}
        return {path: int(moment * 1e9) for path, moment in moments.items()}

    def _written_in(self, new: Sequence[Message]) -> tuple[str, ...] | None:
        """What the main agent wrote down itself, with whatever tool (X3); None where the history does not tell."""
        moment = next((at for message in new if (at := said_at(message)) is not None), None)
        written_since = self.plan.written_since
        return written_since(moment) if written_since is not None and moment is not None else None

    def _without_deleted(self, saved: Sequence[str]) -> list[str]:
        """What the main agent wrote over with the line that deletes is deleted: not every host has a tool for it. What
        a person pinned or set a guard on is only put back."""
        deleted = [path for path in saved if deletion_in(_bytes_of(path)) is not None]
        for path in deleted:
            store = next(store for store in reversed(self.plan.stores) if is_inside(path, store.root))
            key = os.path.relpath(path, os.path.realpath(store.root)).replace(os.sep, "/")
            with suppress(MemdirError):
                restore(store, key)  # so that `undo` brings the memory back, and not that line
            if (topic := Topic(_bytes_of(path))).is_pinned or GUARD_FIELD in topic.fields:
                continue
            with suppress(BadMemoryFile):  # the team's, while that is off
                forget_memories(store, [key], origin=Origin("host", session=self.session.id))
        return [path for path in saved if path not in deleted]

    def _timed(self, turn: FinishedTurn) -> FinishedTurn:
        """A turn with its time, which is that of those of its own messages that bear none."""
        turn = replace(turn, ended=turn.ended or self.clock())
        for message in () if turn.is_past else turn.own:
            if not message.timestamp:
                self.session.times.setdefault(known_as(message), turn.ended)
        return turn

    def _time_of(self, message: Message) -> str:
        """When a message was said; "" for an old one of which nobody knows."""
        known = self.session.times.get(known_as(message))
        return message.timestamp or (datetime.fromtimestamp(known, UTC).isoformat() if known else "")

    async def _fork(
        self, turn: FinishedTurn, new: Sequence[Message], fork_tools: ForkTools, saved: Sequence[str]
    ) -> ForkReport:
        said = [message.text for message in new if message.text and not message.is_meta][-MAX_NEAR:]
        folders = tuple(MemoryFolder.of(store, without=(TEAM_PREFIX,), near=said) for store in self.plan.stores)
        now, today = (minute_of(moment, self.plan.zone) for moment in (turn.ended, self.clock()))
        days = {minute_of(at, self.plan.zone).date() for one in new if (at := said_at(one)) is not None}
        is_earlier = turn.is_past or bool(days - {today.date()})
        instructed = instructions_in(turn.request) or echoes_in(self.plan.instructions, new)
        log = os.path.join(folders[0].root, PATTERN) if self.plan.is_log else ""
        job = ExtractJob(len(new), folders, now, instructed, tuple(saved), log)
        name = "extract/log.md" if log else "extract/combined.md" if job.folder("team") else "extract/private.md"
        prompt = load_prompt(name, overrides=self.plan.overrides, has_index=folders[0].has_index)
        told = _rendered(prompt, job, fork_tools.tools, _earlier(new, self.plan.zone) if is_earlier else "")
        asked = Job(told, MAX_TURNS, prompt.hash, job, spare_turns=SPARE_TURNS, is_writing=True)
        since, follow = (turn.reply,), self.progress.saw
        return await run_fork(turn.request, asked, fork_tools, since=since, abort=self._abort, on_progress=follow)

    def _failed(self, reason: str, new: Sequence[Message]) -> Skipped:
        """The same messages come again; those that failed three times are passed over, and that is told (X4)."""
        skipped = self._skip(reason)
        if not self._abort.is_set and self.session.count_failure(new[-1].id) >= MAX_FAILURES:
            self.session.move_cursor(self.session.failed_up_to)
            self._skip(PASSED_OVER)
        return skipped

    def _skip(self, reason: str) -> Skipped:
        self.sink.emit(memory_extracted(work={}, skipped=reason))
        return Skipped(reason)


def _is_unwritten(workspace: Workspace, tools: Toolbox, report: ForkReport) -> bool:
    """Whether a run would have written, and nothing came so far as to be judged: a name, place or call was wrong."""
    if workspace.is_judged:
        return False
    failed = {one.tool_use_id for message in report.run.messages for one in message.tool_results if one.is_error}
    uses = [tools.understood(use) for message in report.run.messages for use in message.tool_uses if use.id in failed]
    tried = (use for use in uses if use.name in WRITING or not tools.knows(use.name))
    is_there = (use.name == "Write" and os.path.exists(str(use.input.get("file_path"))) for use in tried)
    return not all(is_there) or any(map(workspace.unwritten, workspace.drafts.values()))


@contextmanager
def foreseen() -> Iterator[None]:
    """What nobody foresaw is a failure of this one run like any other: no other turn or session pays for it."""
    try:
        yield
    except MemdirError:
        raise
    except Exception as error:
        raise MemdirError(f"nobody foresaw this: {type(error).__name__}") from error


def would_fail_again(error: MemdirError) -> bool:
    """Whether the same messages would fail in the same way: what a disk, a network, a provider or a cap did passes."""
    return not isinstance(error, BudgetReached | DiskError) and not (
        isinstance(error, ModelError) and error.kind not in LASTING
    )


def _earlier(new: Sequence[Message], zone: tzinfo | None) -> str:
    """When the messages of the user were said; nothing where nobody wrote that down."""
    said = [(said_at(message), message.text) for message in new if message.role == "user" and not message.is_meta]
    lines = [
        f'- {minute_of(moment, zone):%A, %Y-%m-%d %H:%M}: "{shown_line(" ".join(text.split()), room=TOLD_CHARACTERS)}"'
        for moment, text in said
        if moment is not None and text.strip()
    ]
    return load_prompt("extract/earlier.md").render(times="\n".join(lines)) if lines else ""


def _rendered(prompt: Prompt, job: ExtractJob, tools: Toolbox, earlier: str = "") -> str:
    values = {"new_messages": str(job.new_messages), "bash": told_of_bash(tools)}
    if job.log:
        known = [
            manifest(folder.headers, scope=folder.scope) + more_than_listed(folder.older)
            for folder in job.folders
            if folder.headers
        ]
        return prompt.render(**values, log=job.log, manifest="\n".join(known) or NOTHING_YET) + _told_saved(job)
    values["own"] = ""
    for folder in job.folders:
        listed = (manifest(folder.headers, scope=folder.scope) or NOTHING_YET) + more_than_listed(folder.older)
        if folder.scope == OWN:
            values["own"] = load_prompt("extract/own.md").render(directory=folder.root, manifest=listed).rstrip()
        else:
            prefix = "team_" if folder.scope == "team" else ""
            values[f"{prefix}directory"], values[f"{prefix}manifest"] = folder.root, listed
    return f"{prompt.render(**values)}{earlier}\n{_told_saved(job)}{told_now(job.now)}"


def _told_saved(job: ExtractJob) -> str:
    paths = "\n".join(f"- {shown_line(path)}" for path in job.saved)
    return load_prompt("extract/saved.md").render(paths=paths) if paths else ""


def _bytes_of(path: str) -> bytes:
    """A memory's bytes, as far as it can be read; an index is none."""
    try:
        return b"" if is_index(path) else DiskFiles().read(path)
    except MemdirError:
        return b""


def _moment_of(messages: Sequence[Message], lineages: dict[str, Lineage], ended: float) -> float:
    """When what was learned was said: the last of the messages that it came from."""
    wanted = {message for lineage in lineages.values() for message in lineage.messages}
    times = [said_at(message) for message in messages if message.id in wanted and message.role == "user"]
    return max((time for time in times if time is not None), default=ended)
