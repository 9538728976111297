"""Catch-up: what sessions said that ended before it was extracted is extracted when the next one starts (X10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.agent.file_access import DiskFiles
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools
from memdir.disk.open_writers import left_alone
from memdir.errors import MemdirError
from memdir.events import memory_extracted, session_caught_up
from memdir.layout import Layout, is_session_id
from memdir.model.model import Model, Request
from memdir.remember.extract import MAX_FAILURES, PASSED_OVER, Extracted, Extraction, ExtractionPlan, comes_again
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.transcript.message import Message
from memdir.transcript.reader import lines_backwards, read_line
from memdir.transcript.record import MESSAGE_TYPES, Record
from memdir.transcript.resume import resume
from memdir.transcript.sources.source import SessionRef, newest_first, session_ref, transcripts_in

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_SESSIONS = 5  # at one start: catching up must not eat the day's budget (B2)
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

    async def run(self, current_session: str) -> list[str]:
        """Catch up with every session but the current one. Returns the files that were written."""
        files: list[str] = []
        sessions = self.behind(current_session)
        failed = 0
        for session in sessions:
            with left_alone(self.layout.session(session.id)) as is_left:
                if not is_left:  # somebody has resumed it since, or is catching up with it too
                    continue
                written = await self._extract(session)
                files += written or ()
                failed += written is None
        if sessions:
            self.sink.emit(session_caught_up(sessions=len(sessions), files=len(files), failed=failed))
        return files

    def behind(self, current_session: str) -> list[SessionState]:
        """Sessions that memdir attended to, that are over, and that said something after their cursor; oldest first.
        One without a state of ours is another agent's old one, and none of our business."""
        found = []
        refs = (session_ref(path, "") for path in transcripts_in(self.layout.project_home))
        for ref in reversed(list(newest_first(refs))):
            if is_session_id(ref.id) and ref.id != current_session and SessionState.was_begun(ref.id, self.layout):
                session = SessionState.load(ref.id, self.layout)
                if session.failures < MAX_FAILURES and self._is_behind(ref, session):
                    found.append(session)
        return found[:MAX_SESSIONS]

    def _is_behind(self, ref: SessionRef, session: SessionState) -> bool:
        last = _last_message(ref.path)
        if last is None or last.uuid == session.extract_cursor:
            return False
        is_own = str(last.fields.get("version", "")).startswith("memdir")
        if not is_own and self.clock() - ref.modified < IDLE_SECONDS:
            return False
        with left_alone(ref.path) as is_left:
            return is_left

    async def _extract(self, session: SessionState) -> Sequence[str] | None:
        """The files that were written; None when it failed and shall be tried again."""
        turn = self._turn(session)
        if turn is None:
            return ()
        try:
            outcome = await Extraction(session, self.plan, self.model, self.sink, self.clock).extract(turn)
        except MemdirError as error:
            if comes_again(error) and session.count_failure(turn.reply.id) >= MAX_FAILURES:
                self.sink.emit(memory_extracted(work={}, skipped=PASSED_OVER))
            return None
        if isinstance(outcome, Extracted):
            return outcome.files
        if outcome.reason in ("no_prose", "nothing_new"):
            last = _last_message(self.layout.session(session.id))
            session.move_cursor(last.uuid if last else turn.reply.id)  # it is over: nothing will be added to these
        elif outcome.reason.startswith("not_finished"):
            return None
        return ()

    def _turn(self, session: SessionState) -> FinishedTurn | None:
        """The messages after the cursor as a finished turn; None when there are none."""
        messages = resume(self.layout.session(session.id)).messages
        while messages and messages[-1].tool_uses:
            messages = messages[:-1]  # a call that was never answered
        if not messages:
            return None
        new = messages[_start(messages, session.extract_cursor) :]
        tools = Toolbox(memory_tools(), ToolContext(self.plan.cwd, DiskFiles()))
        return FinishedTurn(Request(self.model_name, tools=tools.specs, messages=new[:-1]), new[-1])


def _last_message(path: str) -> Record | None:
    """The last message of a transcript, from its end."""
    try:
        for raw in lines_backwards(path):
            for record in reversed(read_line(raw).records):
                if record.type in MESSAGE_TYPES and not record.is_sidechain:
                    return record
    except OSError:
        return None
    return None


def _start(messages: Sequence[Message], cursor: str) -> int:
    """Where to begin: a whole turn before the first new message, since no cache is shared and no more is needed."""
    at = next((at + 1 for at, message in enumerate(messages) if cursor and message.id == cursor), 0)
    at = min(at, len(messages) - 1)
    while at > 0 and (messages[at].role != "user" or messages[at].is_meta or messages[at].tool_results):
        at -= 1
    return at
