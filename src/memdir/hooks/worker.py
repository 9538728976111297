"""The worker behind the hooks: learns from the turns that wait, keeps notes, dreams when one is due, and ends.

One at a time in a project: whoever finds another at work leaves, and that one looks again before it ends. It is a
process of its own and outlives the agent that started it (`work_queue.detach`).
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass

from memdir.disk.lock import locked
from memdir.errors import BudgetReached, DiskError, LockBusy, MemdirError
from memdir.events import request_refused
from memdir.hooks.work_queue import WorkQueue
from memdir.memdir import MemDir, open_memory
from memdir.session import Session
from memdir.transcript.attended import Attended
from memdir.transcript.message import Message, said_at
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.source import SessionRef, TranscriptSource
from memdir.transcript.tokens import estimate_message

NICE = 10  # whoever works in front goes first
MAX_SECONDS = 3600.0  # of one worker; what is left then waits for the next
BEFORE_SECONDS = 60.0  # by which a prompt may be written down before its hook is called
NOTES_FROM_BYTES = 30_000  # of a transcript: a shorter one is no long session
_COMMANDS = {"claude-code": "claude", "codex": "codex"}  # agents whose own program can be the model


def work(folder: str) -> None:
    """`memdir hook --work FOLDER`: work until nothing waits."""
    os.nice(NICE)
    asyncio.run(_work(folder))


async def _work(folder: str) -> None:
    queue = WorkQueue(open_memory(folder).layout)
    until = time.monotonic() + MAX_SECONDS
    last: tuple[MemDir, Session] | None = None
    while not queue.is_empty() and time.monotonic() < until:  # what came while the lock was let go of is ours to see
        try:
            with locked(queue.lock, wait_seconds=0.0):
                for name in queue.waiting():
                    work = await _take_up(folder, name, queue)
                    if work is None:
                        return
                    last = work
        except LockBusy:
            return
    if last is not None:
        memory, session = last
        async with asyncio.timeout(MAX_SECONDS):
            await session.dream_if_due()
        await memory.close()


async def _take_up(folder: str, name: str, queue: WorkQueue) -> tuple[MemDir, Session] | None:
    """Learn from one session. None when it has to wait: at a cap, without a model or a disk."""
    attended = Attended.load(open_memory(folder).layout, name)
    memory = open_for_work(folder, attended.agent if attended else "")
    session = memory.session(name)
    try:
        is_ours = queue.take(name)
    except DiskError:
        return None
    if not is_ours:
        memory.emit(request_refused(what="learning from a session", reason="it ended the worker too often"))
    if not is_ours or not memory.settings.enabled or attended is None:
        queue.done(name)
        return memory, session
    try:
        memory.start()
        memory.budget().check(memory.layout.slug)
        is_done = await _Learning(memory, session, attended).learn(queue)
    except MemdirError as error:
        is_done = False
        if not isinstance(error, BudgetReached):
            memory.emit(request_refused(what="learning from a session", reason=error.message))
    if is_done:
        queue.done(name)
        return memory, session
    queue.give_back(name)
    await memory.close()
    return None


@dataclass
class _Learning:
    """What one session of another agent taught."""

    memory: MemDir
    session: Session
    attended: Attended

    async def learn(self, queue: WorkQueue) -> bool:
        """Learn what was said since the last time. False when it failed and comes again."""
        source = all_sources(self.memory.environment).get(self.attended.agent)
        ref = source.session(self.attended.session, self.attended.transcript) if source else None
        if source is None or ref is None:
            return True
        placed = self._new(source, ref)
        messages = [message for _, message in placed]
        while messages:
            before = self.session.state.extract_cursor
            files = await self.session.learn(messages)
            if files is None:
                return False
            if files:
                queue.tell(files)
            if self.session.state.extract_cursor == before:
                break
        asked = [place for place, message in placed if _is_asked(message)]
        self.attended.place = asked[-1] if asked else self.attended.place
        self.attended.save(self.memory.layout)
        await self._take_notes(source, ref)
        return True

    def _new(self, source: TranscriptSource, ref: SessionRef) -> list[tuple[int, Message]]:
        """The last turn that was learned from and what came after it, read from its place on; all of a transcript that
        was replaced. Nothing from before memdir attended to the session."""
        cursor, begun = self.session.state.extract_cursor, self.attended.begun
        placed = list(source.placed(ref, self.attended.place))
        if cursor and self.attended.place and cursor not in {message.id for _, message in placed}:
            placed = list(source.placed(ref))
        if cursor:
            return placed
        if not begun:
            asked = [at for at, (_, message) in enumerate(placed) if _is_asked(message)]
            return placed[asked[-1] :] if asked else []
        return [one for one in placed if (moment := said_at(one[1])) is None or moment >= begun - BEFORE_SECONDS]

    async def _take_notes(self, source: TranscriptSource, ref: SessionRef) -> None:
        """Keep the notes of a long session, for when its host compacts it (N3)."""
        if ref.size < NOTES_FROM_BYTES or not self.memory.settings.auto_compact:
            return
        state = self.session.state
        messages = list(source.messages(ref, since=state.summarized_up_to or None))
        tokens = state.tokens_at_summary + sum(map(estimate_message, messages))
        if messages:
            await self.session.take_notes(messages, tokens)


def open_for_work(folder: str, agent: str) -> MemDir:
    """The memory with the model that works here: the configured one, else the host's own program where the user said
    so, else the built-in one. A key that happens to lie in the host's environment is nobody's choice."""
    settings = open_memory(folder).settings
    flags = {"recall.encoder": "words"}
    if settings.model_provider == "auto" and settings.attach_model == "host" and agent in _COMMANDS:
        flags |= {"model.provider": "command", "model.command": _COMMANDS[agent]}
    return open_memory(folder, flags=flags, source="hook")


def _is_asked(message: Message) -> bool:
    return message.role == "user" and not message.tool_results
