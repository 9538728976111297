"""Session memory: a rolling summary of one session, kept by a fork, so that the session survives compaction (N1–N6).

The headings of the template are the sections of the notes, whatever their case, level and order in what a model wrote:
the file is kept in the template's form. A line that looks like a heading but is none of them is part of the text.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memdir.agent.file_access import SingleFile
from memdir.agent.fork import ForkProgress, ForkTools, Job, run_fork
from memdir.agent.gate import SingleFileGate
from memdir.agent.loop import STOPPED, Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools
from memdir.disk.atomic import keep_bytes
from memdir.disk.plain_file import read_plain
from memdir.errors import MemdirError
from memdir.events import session_memory_updated
from memdir.model.job import NotesJob, NotesSection
from memdir.model.model import Model, Usage
from memdir.model.window import ContextCount
from memdir.prompts.compose import load_prompt
from memdir.remember.session_state import MAX_STATE_BYTES, SessionState
from memdir.remember.turn import FinishedTurn, Skipped, messages_after
from memdir.store.form import unspoilt
from memdir.store.secrets import redact
from memdir.transcript.tokens import estimate_text

if TYPE_CHECKING:
    from memdir.events import Sink

FIRST_TOKENS = 10_000  # context before the first update: shorter sessions need no notes (N3)
MORE_TOKENS = 5_000  # context that came since the last one (N3)
MORE_CALLS = 3  # tool calls since, unless the agent has come to a halt (N3)
MAX_TURNS = 4  # read, edit, done, and one to repair an edit that did not fit
SETTLE_SECONDS = 15.0  # how long a compaction waits for an update that is under way
SECTION_TOKENS = 2_000  # of one section; more crowds out the others
TOTAL_TOKENS = 12_000  # of the notes: what a context after compaction can well afford
_HEADING = re.compile(r"#{1,6}\s*(.+?)\s*#*|(?:\*\*|__)(.+?)(?:\*\*|__):?")
CUT = "… (cut here: the rest is in {path})"


@dataclass
class SessionMemory:
    """The notes of one session. At most one update at a time; nothing waits for it."""

    session: SessionState
    model: Model
    sink: Sink
    cwd: str
    auto_compact: bool = True
    running: asyncio.Task[None] | None = None  # the update that is under way
    progress: ForkProgress = field(default_factory=ForkProgress)  # how far it is
    _abort: Abort = field(default_factory=Abort)
    _count: ContextCount = field(default_factory=ContextCount)

    @property
    def path(self) -> str:
        return self.session.layout.session_memory(self.session.id)

    def after_sampling(self, turn: FinishedTurn, usage: Usage | None = None) -> Skipped | None:
        """Called by the host after every reply of the main agent. Starts an update behind its back when one is due."""
        tokens = self._count.tokens(turn.request, turn.reply, usage)
        reason = self._why_not(turn, tokens)
        if reason:
            return Skipped(reason)
        work = self._guarded(turn, tokens)
        self.running = asyncio.get_running_loop().create_task(work, name="memdir session memory")
        return None

    async def settle(self, wait_seconds: float = SETTLE_SECONDS) -> None:
        """Wait for the update that is under way; past the limit it is left to itself."""
        if self.running is not None:
            await asyncio.wait({self.running}, timeout=wait_seconds)

    async def close(self) -> None:
        """Stop the update that is under way. Nothing is lost: the transcript has it all."""
        if self.running is not None:
            self._abort.set("shutdown")
            await asyncio.gather(self.running, return_exceptions=True)

    def stop(self) -> None:
        """End the update that is under way; the next one comes when more was said."""
        self._abort.set(STOPPED)

    def notes(self) -> Notes | None:
        """The notes as they are on disk; None when there are none, or nothing in them, or memory is off."""
        if not self.session.memory_is_on:
            return None
        try:
            text = read_plain(self.path, max_bytes=MAX_STATE_BYTES).decode("utf-8", "replace")
            notes = Notes.parse(text, self._template())
        except OSError:
            return None
        return None if notes.is_empty else notes

    def _why_not(self, turn: FinishedTurn, tokens: int) -> str:
        """Why no update is due (N3); empty when one is."""
        for is_so, reason in (
            (turn.is_subagent, "subagent"),
            (not self.auto_compact, "auto_compact_off"),
            (not self.session.memory_is_on, "memory_off"),
            (self.running is not None, "running"),
        ):
            if is_so:
                return reason
        if not self.session.tokens_at_summary:
            return "" if tokens >= FIRST_TOKENS else "short_session"
        # After a compaction the context is smaller than it was: what is new is counted from there.
        self.session.tokens_at_summary = min(self.session.tokens_at_summary, tokens)
        if tokens - self.session.tokens_at_summary < MORE_TOKENS:
            return "little_new"
        calls = sum(len(m.tool_uses) for m in messages_after(turn.messages, self.session.summarized_up_to))
        return "" if calls >= MORE_CALLS or not turn.reply.tool_uses else "in_the_middle"

    async def _guarded(self, turn: FinishedTurn, tokens: int) -> None:
        """Background work never breaks the conversation; what failed is tried again when more has come, not at once."""
        try:
            outcome = await self.update(turn, tokens)
        except MemdirError as error:
            outcome = self._skip(f"failed: {type(error).__name__}")
        finally:
            self.running = None
            if self._abort.reason == STOPPED:
                self._abort = Abort()
        if isinstance(outcome, Skipped):
            self.session.tokens_at_summary = tokens

    async def update(self, turn: FinishedTurn, tokens: int) -> Skipped | None:
        """Run the fork; what it wrote replaces the notes only when all of it is well."""
        template, turn = self._template(), turn.of(self.session.heard(turn.messages))
        file = SingleFile(self.path, template.encode("utf-8"))
        box = Toolbox(memory_tools(), ToolContext(self.cwd, file))
        tools = ForkTools(self.model, box, SingleFileGate(self.path, self.cwd))
        # A reply that calls tools has no results yet: the fork sees the conversation up to before it (N3).
        since = () if turn.reply.tool_uses else (turn.reply,)
        self.progress = ForkProgress()
        job, follow = self._job(template), self.progress.saw
        report = await run_fork(turn.request, job, tools, since=since, abort=self._abort, on_progress=follow)
        if not report.is_complete:
            return self._skip(f"not_finished: {report.run.failure}")
        if file.draft is None:
            return self._skip("nothing_written")
        written = Notes.parse(file.draft.decode("utf-8", "replace"), template).of_substance(template)
        if written.is_empty:
            return self._skip("form_lost")
        notes = written.with_others(self.notes())
        keep_bytes(self.path, redact(notes.in_form(template)).encode("utf-8", "replace"))
        covered = (*turn.messages[:-1], *since)
        self.session.mark_summarized(covered[-1].id if covered else "", tokens)
        work = {**report.counts(), "tokens": notes.tokens, "refusals": report.run.refusals}
        self.sink.emit(session_memory_updated(work=work, prompt_hash=report.job.prompt_hash))
        return None

    def _job(self, template: str) -> Job:
        own = os.path.join(self.session.layout.session_memory_config, "prompt.md")
        prompt = load_prompt("session_memory/update.md", own=own)
        notes = self.notes() or Notes.parse(template, template)
        values = {
            "path": self.path,
            "section_tokens": f"{SECTION_TOKENS:,}",
            "total_tokens": f"{TOTAL_TOKENS:,}",
            "reminders": notes.reminders(),
        }
        text = prompt.render(**{name: value for name, value in values.items() if name in prompt.variables})
        return Job(text, MAX_TURNS, prompt.hash, NotesJob(self.path, notes.sections))

    def _template(self) -> str:
        own = os.path.join(self.session.layout.session_memory_config, "template.md")
        return load_prompt("session_memory/template.md", own=own).text

    def _skip(self, reason: str) -> Skipped:
        self.sink.emit(session_memory_updated(work={}, skipped=reason))
        return Skipped(reason)


@dataclass(frozen=True)
class Notes:
    """Notes in the form of a template."""

    sections: tuple[NotesSection, ...]

    @staticmethod
    def parse(text: str, template: str) -> Notes:
        """A text in the form of a template, the template's own hints apart from what was noted."""
        titles, hints = titles_of(template), {}
        for section in _sections(template, titles):
            first = section.body.partition("\n")[0]
            hints[section.title] = first if first[:1] in ("_", "*") and first[:2] != "**" else ""
        return Notes(tuple(_apart(section, hints[section.title]) for section in _sections(text, titles)))

    @staticmethod
    def under(text: str, titles: Sequence[str]) -> Notes:
        """A text as the sections that begin with these headings."""
        return Notes(tuple(_sections(text, titles)))

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)

    @property
    def is_empty(self) -> bool:
        return not any(section.body for section in self.sections)

    def body(self, title: str) -> str:
        return next((section.body for section in self.sections if section.title == title), "")

    def of_substance(self, form: str) -> Notes:
        """Those sections that say something: what stands under several headings, or in the form itself, is filler."""
        told = Counter(" ".join(section.body.split()) for section in self.sections)
        is_filler = {body: count > 1 or body in " ".join(form.split()) for body, count in told.items()}
        return Notes(tuple(one for one in self.sections if not is_filler[" ".join(one.body.split())]))

    def with_others(self, before: Notes | None) -> Notes:
        """These notes, and the sections that they leave out as they were."""
        given = {section.title for section in self.sections}
        kept = [section for section in before.sections if section.title not in given] if before else []
        return Notes((*self.sections, *kept))

    def in_form(self, template: str) -> str:
        """The notes as the template has them."""
        form = Notes.parse(template, template)
        return "\n".join(replace(section, body=self.body(section.title)).text for section in form.sections)

    def shortened(self, path: str) -> str:
        """The notes for a context, each section within its limit."""
        parts = [NotesSection(s.title, "", _cut(s.body, path)).text for s in self.sections if s.body]
        return "\n".join(parts)

    def reminders(self) -> str:
        """What the next update is told about sections that are too long (N4)."""
        long = [section for section in self.sections if section.tokens > SECTION_TOKENS]
        if not long and self.tokens > TOTAL_TOKENS:
            long = sorted(self.sections, key=lambda section: -section.tokens)[:3]
        if not long:
            return ""
        listed = "\n".join(f'- "{s.title}": about {s.tokens:,} tokens, {SECTION_TOKENS:,} are allowed' for s in long)
        prompt = load_prompt("session_memory/oversized.md")
        return prompt.render(total=f"{self.tokens:,}", total_tokens=f"{TOTAL_TOKENS:,}", sections=listed)


def titles_of(template: str) -> list[str]:
    """The headings of a template."""
    return [line[2:].strip() for line in template.splitlines() if line.startswith("# ")]


def headings_in(text: str, titles: Sequence[str]) -> dict[int, str]:
    """The lines that are headings, by number, and which of the titles each is. One that is written as it should be
    counts before any that only looks like it, and outside of code only these are looked for."""
    found: dict[str, tuple[bool, int]] = {}
    known = {_plain(title): title for title in titles}
    is_code = False
    for at, line in enumerate(text.split("\n")):
        is_code ^= line.lstrip().startswith("```")
        match = _HEADING.fullmatch(line.strip())
        title = known.get(_plain(match[1] or match[2])) if match else None
        if title is None:
            continue
        is_exact = line.rstrip() == f"# {title}"
        if (is_exact or not is_code) and (title not in found or (is_exact and not found[title][0])):
            found[title] = is_exact, at
    return {at: title for title, (_, at) in sorted(found.items(), key=lambda item: item[1][1])}


def _plain(title: str) -> str:
    """A heading without case, marks, numbers before it and the ways to write "and"."""
    return " ".join(re.sub(r"[\W_]+", " ", title.replace("&", " and ")).split()).casefold().lstrip("0123456789 ")


def _sections(text: str, titles: Sequence[str]) -> Iterator[NotesSection]:
    text = unspoilt(text)
    lines, headings = text.split("\n"), headings_in(text, titles)
    for (at, title), end in zip(headings.items(), [*list(headings)[1:], len(lines)], strict=False):
        yield NotesSection(title, "", "\n".join(lines[at + 1 : end]).strip())


def _apart(section: NotesSection, hint: str) -> NotesSection:
    """A section with its hint for itself: a line that a model emphasised is none."""
    first, _, rest = section.body.partition("\n")
    is_hint = hint != "" and first.strip("_* ") == hint.strip("_* ")
    return NotesSection(section.title, hint, rest.strip()) if is_hint else section


def _cut(body: str, path: str) -> str:
    """A section's text cut at the end of a line, with a word about where the rest is."""
    if estimate_text(body) <= SECTION_TOKENS:
        return body
    room, kept = SECTION_TOKENS, []
    for line in body.splitlines():
        room -= estimate_text(line) + 1
        if room < 0:
            break
        kept.append(line)
    kept = kept or [body[: SECTION_TOKENS * 2]]
    return "\n".join([*kept, CUT.format(path=path)])
