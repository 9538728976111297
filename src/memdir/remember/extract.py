"""Extraction: after each finished turn a fork writes down what is worth keeping, without the user waiting (X1–X12).

This module is the machine around the fork: when it runs, over which messages, and what moves when it has succeeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from memdir.agent.file_access import FileState
from memdir.agent.fork import ForkReport, ForkTools, Job, fork
from memdir.agent.gate import memory_gate
from memdir.agent.loop import Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools, told_of_bash
from memdir.agent.workspace import Draft, Workspace
from memdir.disk.safe_path import INDEX_NAME
from memdir.errors import MemdirError
from memdir.events import memory_extracted, tell
from memdir.model.job import ExtractJob, MemoryFolder, minute_of
from memdir.model.model import Model
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.listing import manifest, told_now
from memdir.remember.evidence import Evidence, Said, has_prose, take_apart
from memdir.remember.lineage import PERSONAL, Judged, Lineage, Verdict, judge, trace, without_planted
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn, Skipped, instructions_in, messages_after, wrote_below
from memdir.store.history import Origin
from memdir.store.secrets.refuse import secrets_in
from memdir.store.store import MemoryStore
from memdir.store.taxonomy import MemoryType
from memdir.store.topic import Topic
from memdir.store.trust import Trust, marked_trust, with_trust
from memdir.text.speakers import Speaker
from memdir.transcript.message import Message

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_TURNS = 5  # two are normal: read, write (X8)
MAX_DELETED = (
    3  # memories that one run may delete; putting many in order is the dream's work, which is checked as a whole
)
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
        self._start(turn)
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

    def _start(self, turn: FinishedTurn) -> None:
        self.session.turns_since_extraction = 0
        self._running = asyncio.get_running_loop().create_task(self._run_and_trail(turn), name="memdir extraction")

    async def _run_and_trail(self, turn: FinishedTurn) -> None:
        """One run, then one trailing run over what came meanwhile, and so on until nothing is stashed (X5)."""
        try:
            pending: FinishedTurn | None = turn
            while pending is not None:
                await self._guarded(pending)
                pending, self._stashed = self._stashed, None
                if pending is not None and not self.session.memory_is_on:
                    self._skip("memory_off")
                    pending = None
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
        weighed = await asyncio.to_thread(_weigh, workspace, turn.messages)
        files = self._keep(workspace, weighed, report)
        self.session.move_cursor(new[-1].id)
        return Extracted(tuple(files), report)

    async def _fork(self, turn: FinishedTurn, new: Sequence[Message], workspace: Workspace) -> ForkReport:
        state = turn.state.clone() if turn.state else FileState()
        tools = Toolbox(memory_tools(), ToolContext(self.plan.cwd, workspace, state))
        gate = memory_gate([store.root for store in self.plan.stores], cwd=self.plan.cwd)
        hands = ForkTools(self.model, tools, gate)
        folders = tuple(_folder(store) for store in self.plan.stores)
        now = minute_of(self.clock(), self.plan.zone)
        job = ExtractJob(len(new), folders, now, instructions_in(turn.request))
        name = "extract/combined.md" if len(folders) > 1 else "extract/private.md"
        prompt = load_prompt(name, overrides=self.plan.overrides)
        asked = Job(_rendered(prompt, job, tools), "extract", MAX_TURNS, prompt.hash, job)
        return await fork(turn.request, asked, hands, since=(turn.reply,), abort=self._abort)

    def _keep(self, workspace: Workspace, weighed: _Weighed, report: ForkReport) -> list[str]:
        """Write the drafts that may be kept as one change set with its lineage."""
        lineages, quoted, refused = weighed.lineages, weighed.quoted, weighed.refused
        _take_type(workspace, quoted)
        _mark_low_trust(workspace, lineages)
        origin = _origin(self.session.id, lineages)
        subject = "extract " + (", ".join(lineages) or "nothing new")
        written = workspace.commit(origin, subject)
        files = [draft.key for draft in written if draft.key != INDEX_NAME]
        self._tell(report, written, refused=len(refused), quoted=len(quoted))
        return files

    def _tell(self, report: ForkReport, written: Sequence[Draft], *, refused: int, quoted: int) -> None:
        topics = [draft for draft in written if draft.key != INDEX_NAME]
        team = sum(draft.store.scope == "team" for draft in topics)
        work = {
            **report.counts(),
            "private_files": len(topics) - team,
            "team_files": team,
            "refusals": report.run.refusals + refused,
            "quoted": quoted,
        }
        self.sink.emit(memory_extracted(work=work, prompt_hash=report.job.prompt_hash))

    def _skip(self, reason: str) -> Skipped:
        self.sink.emit(memory_extracted(work={}, skipped=reason))
        return Skipped(reason)


def _folder(store: MemoryStore) -> MemoryFolder:
    """A store as the job tells of it; what a team's directory inside it holds is told with that."""
    found = store.scan()
    headers = [header for header in found.headers if store.scope == "team" or not header.key.startswith("team/")]
    return MemoryFolder(store.root, store.scope, tuple(headers), found.total)


def _rendered(prompt: Prompt, job: ExtractJob, tools: Toolbox) -> str:
    values = {"new_messages": str(job.new_messages), "bash": told_of_bash(tools)}
    for folder, prefix in zip(job.folders, ("", "team_"), strict=False):
        values[f"{prefix}directory"] = folder.root
        values[f"{prefix}manifest"] = manifest(folder.headers, scope=folder.scope) or NOTHING_YET
    return f"{prompt.render(**values)}\n{told_now(job.now)}"


@dataclass(frozen=True)
class _Weighed:
    """What became of a fork's drafts."""

    lineages: dict[str, Lineage]
    quoted: Sequence[str]
    refused: Sequence[str]


def _weigh(workspace: Workspace, messages: Sequence[Message]) -> _Weighed:
    """Drop the drafts that may not be kept. The whole conversation is asked: the fork saw it, and not only what is
    new; but where nothing was written, there is nothing to ask."""
    if not workspace.changed():
        return _Weighed({}, (), ())
    evidence = Evidence([*_doubtful(workspace.stores), *take_apart(messages)])
    _cut_planted(workspace, evidence)
    refused = [path for path, draft in workspace.drafts.items() if _fault_of_draft(draft, evidence)]
    refused += _refused_deletions(workspace)
    for path in refused:
        workspace.give_up(path)
    kept = [draft for draft in workspace.changed() if _is_topic(draft)]
    judged = {draft.path: judge(_topic(draft), _before(draft), evidence) for draft in kept}
    quoted = [path for path, one in judged.items() if one.verdict is Verdict.QUOTED]
    return _Weighed({path: trace(one) for path, one in judged.items()}, quoted, refused)


def _is_topic(draft: Draft) -> bool:
    return draft.key != INDEX_NAME and draft.after is not None


def _doubtful(stores: Sequence[MemoryStore]) -> Iterator[Said]:
    """What memories of low trust say: written again, by whatever way the fork came to read them, it gains none (L4)."""
    for store in stores:
        marked = (header for header in store.scan(limit=None).headers if marked_trust(header).is_low)
        for memory in store.readable(marked):
            topic = memory.topic
            text = f"{topic.name}\n{topic.description}\n{topic.body}"
            yield Said("", text, marked_trust(topic), Speaker.REMINDER)


def _cut_planted(workspace: Workspace, evidence: Evidence) -> None:
    """One planted sentence does not cost the user his memory, only itself."""
    for path, draft in workspace.drafts.items():
        if _is_topic(draft) and draft.after != draft.before:
            judged = judge(_topic(draft), _before(draft), evidence)
            workspace.drafts[path] = replace(draft, after=without_planted(judged).data)


def _topic(draft: Draft) -> Topic:
    return Topic(draft.after or b"") if _is_topic(draft) else _added_lines(draft)


def _before(draft: Draft) -> Topic | None:
    return Topic(draft.before) if draft.before and _is_topic(draft) else None


def _fault_of_draft(draft: Draft, evidence: Evidence) -> str:
    """Why a draft is not kept: it may not be what it claims to be, or it holds a secret."""
    if draft.after is None or draft.after == draft.before:
        return ""
    if any(secrets_in(draft.key, draft.after, draft.before)):
        return "it holds a secret"
    return _fault_of_trust(draft, judge(_topic(draft), _before(draft), evidence))


def _fault_of_trust(draft: Draft, judged: Judged) -> str:
    """Only a file of its own can be a quotation: what is unsure takes no memory's authority, and adds no index line."""
    can_be_quoted = _is_topic(draft) and (draft.before is None or marked_trust(Topic(draft.before)).is_low)
    if judged.verdict is Verdict.KEPT or (judged.verdict is Verdict.QUOTED and can_be_quoted):
        return ""
    return "what is told of the user, and every rule, must come from the user"


def _added_lines(draft: Draft) -> Topic:
    """What a fork put into the index, judged as if it were a rule: it stands in every prompt."""
    before = set((draft.before or b"").splitlines())
    added = b"\n".join(line for line in (draft.after or b"").splitlines() if line not in before)
    text = added.decode("utf-8", "replace")
    return Topic.compose(name="", description="", kind=MemoryType.FEEDBACK, body=text)


def _refused_deletions(workspace: Workspace) -> list[str]:
    """A turn takes back one thing or two; a model that deletes many, or what a person pinned, is wrong or misled."""
    deleted = [path for path, draft in workspace.drafts.items() if draft.after is None]
    if len(deleted) > MAX_DELETED:
        return deleted
    return [path for path in deleted if Topic(workspace.drafts[path].before or b"").is_pinned]


def _take_type(workspace: Workspace, quoted: Sequence[str]) -> None:
    """A quotation tells nothing of the user and is no rule of his, whatever it called itself (S6)."""
    for path, draft in workspace.drafts.items():
        if draft.path in quoted and _topic(draft).kind in PERSONAL:
            workspace.drafts[path] = replace(draft, after=_topic(draft).without_field("type").data)


def _mark_low_trust(workspace: Workspace, lineages: dict[str, Lineage]) -> None:
    """What nobody here vouched for says so in its file, and goes on saying so when it is added to (L1, L3)."""
    for path, draft in workspace.drafts.items():
        lineage = lineages.get(draft.path)
        if lineage is None or draft.after is None:
            continue
        before = marked_trust(Topic(draft.before)) if draft.before else Trust.USER
        workspace.drafts[path] = replace(draft, after=with_trust(Topic(draft.after), min(lineage.trust, before)).data)


def _origin(session_id: str, lineages: dict[str, Lineage]) -> Origin:
    messages = dict.fromkeys(message for lineage in lineages.values() for message in lineage.messages if message)
    trust = min((lineage.trust for lineage in lineages.values()), default=Trust.ASSISTANT)
    told = "; ".join(f"{key} = {lineage.trust.word}: {' '.join(lineage.messages)}" for key, lineage in lineages.items())
    return Origin("extract", session=session_id, messages=tuple(messages), trust=trust.word, reason=told)
