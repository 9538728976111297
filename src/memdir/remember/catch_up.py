"""Catch-up: what sessions said that ended before it was extracted is extracted when the next one starts (X10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memdir.agent.fork import ForkProgress
from memdir.agent.tools.tool import memory_tools
from memdir.disk.open_writers import left_alone
from memdir.errors import MemdirError
from memdir.events import Event, memory_extracted
from memdir.layout import Layout, is_session_id
from memdir.model.job import minute_of
from memdir.model.model import Model, Request
from memdir.remember.extract import (
    MAX_FAILURES,
    PASSED_OVER,
    Extracted,
    Extraction,
    ExtractionPlan,
    foreseen,
    would_fail_again,
)
from memdir.remember.session_state import SessionState, Unlearned, unlearned_sessions
from memdir.remember.turn import FinishedTurn, is_asked, last_asked, messages_after
from memdir.transcript.conversation import history
from memdir.transcript.message import Message, said_at
from memdir.transcript.reader import lines_backwards, read_line
from memdir.transcript.record import MESSAGE_TYPES, Record
from memdir.transcript.sources.source import SessionRef, newest_first, session_ref, transcripts_in
from memdir.transcript.tokens import estimate_message

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_SESSIONS = 5  # at one start: catching up must not eat the day's budget (B2)
MAX_DAYS = 7  # or pieces of them, of one session at one start; the next start goes on
IDLE_SECONDS = 600.0  # after which another agent's session counts as over: it holds no lock that would tell


@dataclass(frozen=True)
class CatchUp:
    """Extracts what other sessions of a project left behind, oldest first, one after the other."""

    layout: Layout
    plan: ExtractionPlan
    model: Model
    model_name: str
    sink: Sink
    clock: Callable[[], float]
    progress: ForkProgress = field(default_factory=ForkProgress)

    async def run(self, current_session: str) -> list[str]:
        """Catch up with every session but the current one. Returns the files that were written."""
        files: list[str] = []
        left, failed = await self._go_on(current_session, files)
        sessions = self.behind(current_session)
        for session in sessions:
            with left_alone(self.layout.session(session.id)) as is_left:
                if not is_left:  # somebody has resumed it since, or is catching up with it too
                    continue
                written = None
                with suppress(MemdirError), foreseen():
                    messages = history(self.layout.session(session.id)).messages  # before a compaction, too
                    written = await self.learn(session, messages)
                    if written is not None and self._turn(session, messages) is None:
                        self._pass_over(session)
                files += written or ()
                failed += written is None
        if sessions or left:
            self.sink.emit(Event("session.catch_up", sessions=len(sessions) + left, files=len(files), failed=failed))
        return files

    async def _go_on(self, current_session: str, files: list[str]) -> tuple[int, int]:
        """Learn from turns that sessions without a transcript left behind. Returns how many sessions those were, and
        how many of them failed."""
        count = failed = 0
        for session_id in sorted(unlearned_sessions(self.layout)):
            unlearned = Unlearned(SessionState.load(session_id, self.layout))
            if session_id == current_session or count == MAX_SESSIONS or not unlearned.session.is_ours:
                continue
            with left_alone(unlearned.lock_path) as is_left:
                if is_left:
                    count += 1
                    failed += not await self._learn_left(unlearned, files)
        return count, failed

    async def _learn_left(self, unlearned: Unlearned, files: list[str]) -> bool:
        work, told = (unlearned.session, self.plan, self.model, self.sink, self.clock), self.progress
        machine = Extraction(*work, files.extend, unlearned, progress=told)
        try:
            machine.take_up(self._request(), is_over=True)
            await machine.run()
            return not machine.has_failed
        finally:
            unlearned.close()

    def behind(self, current_session: str) -> list[SessionState]:
        """Sessions that memdir attended to, that are over, and that said something after their cursor; oldest first.
        One without a state of ours is another agent's old one, and none of our business; so is another person's."""
        found = []
        refs = (session_ref(path, "") for path in transcripts_in(self.layout.project_home))
        for ref in reversed(newest_first(refs)):
            if is_session_id(ref.id) and ref.id != current_session and SessionState.was_begun(ref.id, self.layout):
                session = SessionState.load(ref.id, self.layout)
                if session.is_ours and self._is_behind(ref, session):
                    found.append(session)
        return found[:MAX_SESSIONS]

    def _is_behind(self, ref: SessionRef, session: SessionState) -> bool:
        last = _last_message(ref.path)
        if last is None or last.uuid == session.extract_cursor or not (last.message and session.is_known(last.message)):
            return False
        is_own = str(last.fields.get("version", "")).startswith("memdir")
        if not is_own and self.clock() - ref.modified < IDLE_SECONDS:
            return False
        with left_alone(ref.path) as is_left:
            return is_left

    async def learn(self, session: SessionState, messages: Sequence[Message]) -> Sequence[str] | None:
        """Extract what a conversation says after the session's cursor. The files that were written; None when it failed
        and shall be tried again. What was said on several days is extracted day by day: dates count from the day on
        which they were said."""
        files: list[str] = []
        for _ in range(MAX_DAYS):
            before, turn = session.extract_cursor, self._turn(session, messages)
            if turn is None:
                break
            if not await self._extract_day(session, turn, files):
                return files or None
            if session.extract_cursor == before:
                break
        return files

    async def _extract_day(self, session: SessionState, turn: FinishedTurn, files: list[str]) -> bool:
        """Whether it is done with: of one that comes again some files may be written."""
        before = session.extract_cursor
        moment = next((at for message in reversed(turn.messages) if (at := said_at(message)) is not None), self.clock())
        try:
            work = (session, self.plan, self.model, self.sink, lambda: moment)
            outcome = await Extraction(*work, progress=self.progress).extract(turn)
        except MemdirError as error:
            if would_fail_again(error) and session.count_failure(turn.reply.id) >= MAX_FAILURES:
                session.move_cursor(session.failed_up_to)
                self.sink.emit(memory_extracted(work={}, skipped=PASSED_OVER))
            return False
        if isinstance(outcome, Extracted):
            files += outcome.files
            return not outcome.lost or session.extract_cursor != before
        if outcome.reason in ("no_prose", "nothing_new"):
            session.move_cursor(turn.reply.id)  # it is over: nothing will be added to these
        return not outcome.reason.startswith("not_finished")

    def _turn(self, session: SessionState, messages: Sequence[Message]) -> FinishedTurn | None:
        return first_turn(session, messages, self.plan, self._request())

    def _request(self) -> Request:
        return Request(self.model_name, tools=tuple(tool.spec for tool in memory_tools()))

    def _pass_over(self, session: SessionState) -> None:
        """What comes after the last message that says something, such as an unanswered call, is done too."""
        last = _last_message(self.layout.session(session.id))
        if last is not None and last.uuid != session.extract_cursor:
            session.move_cursor(last.uuid)


def first_turn(
    session: SessionState, messages: Sequence[Message], plan: ExtractionPlan, request: Request
) -> FinishedTurn | None:
    """The messages of the first day after the cursor, as many as a model takes in at once, as a finished turn; None
    when there are none."""
    said = session.heard(messages)
    messages = [message for message in said if not message.is_off or message.id == session.extract_cursor]
    done = len(messages) - len(messages_after(messages, session.extract_cursor))
    end = _end_of_day(messages, done, plan)
    while end > done and messages[end - 1].tool_uses:
        end -= 1  # a call that was never answered
    if end == done:
        return None
    # A whole turn before the first new message: no cache is shared, and no more is needed.
    *before, reply = messages[last_asked(messages[: done + 1]) : end]
    return FinishedTurn(replace(request, messages=tuple(before)), reply, is_past=True)


def _last_message(path: str) -> Record | None:
    """The last message of a transcript that counts (J3), from its end."""
    try:
        for raw in lines_backwards(path):
            for record in read_line(raw).records[::-1]:
                if record.type in MESSAGE_TYPES and record.uuid and record.message and not record.is_sidechain:
                    return record
    except OSError:
        return None
    return None


def _end_of_day(messages: Sequence[Message], done: int, plan: ExtractionPlan) -> int:
    """Where the user first says something on another day than before, or when no more is taken in at once."""
    day, tokens = None, 0
    for at in range(done, len(messages)):
        moment = said_at(messages[at]) if is_asked(messages[at]) else None
        said = minute_of(moment, plan.zone).date() if moment is not None else None
        if day is not None and said is not None and (said != day or tokens > plan.piece_tokens):
            return at
        day, tokens = said or day, tokens + estimate_message(messages[at])
    return len(messages)
