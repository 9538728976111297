"""The worker behind the hooks: learns from the turns that wait, keeps notes, dreams when one is due, and ends.

One at a time in a project: whoever finds another at work leaves, and that one looks again before it ends. It is a
process of its own and outlives the agent that started it (`process.detach`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from memdir.disk.append import append_bytes
from memdir.disk.atomic import delete_file
from memdir.disk.lock import locked
from memdir.errors import BudgetReached, DiskError, LockBusy, MemdirError
from memdir.events import request_refused
from memdir.hooks.daemon_client import SCOPES
from memdir.hooks.hook import HOSTS
from memdir.hooks.session_start import SessionStart
from memdir.hooks.work_queue import WorkQueue
from memdir.memdir import MemDir, open_memory
from memdir.remember.turn import is_asked
from memdir.search.index_store import MemoryIndex
from memdir.session import Session
from memdir.settings import Settings
from memdir.transcript.attended import FROM_THE_BEGINNING, Attended, late_sessions, own_transcript
from memdir.transcript.message import Message, said_at
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.source import SessionRef, TranscriptSource
from memdir.transcript.tokens import estimate_message

NICE = 10  # whoever works in front goes first
MAX_SECONDS = 3600.0  # of one worker; what is left then waits for the next
FILE_CLOCK_NS = 10_000_000  # by which the time that a file is given may lag behind
NOTES_FROM_BYTES = 30_000  # of a transcript: a shorter one is no long session
_COMMANDS = {"claude-code": "claude", "codex": "codex"}  # agents whose own program can be the model


def work(folder: str) -> None:
    """`memdir hook --work FOLDER`: work until nothing waits."""
    os.nice(NICE)
    prepare(folder)
    asyncio.run(_work(folder))
    prepare(folder)


def prepare(folder: str) -> None:
    """Read what changed in the memories, so that neither a prompt nor the start of a session has to."""
    memory = open_memory(folder, source="hook")
    if not memory.settings.enabled or not os.path.isdir(memory.place.root):
        return
    hosts = {memory.places.is_told_by(host): host for host in HOSTS}
    try:
        with locked(WorkQueue(memory.layout).preparing):  # one reads them, and who waited finds little to do
            for place in map(memory.places.of, SCOPES):
                MemoryIndex(place.root, place.derived).refresh()
            for host in hosts.values():
                if not (start := SessionStart(memory, host)).is_kept:
                    start.make()
    except MemdirError:  # whoever needs it reads it then
        return


async def _work(folder: str) -> None:
    memory = open_memory(folder)
    queue = WorkQueue(memory.layout)
    for name in late_sessions(memory.layout.project_home, is_rest=True) if memory.settings.enabled else ():
        queue.add(name)
    until = time.monotonic() + MAX_SECONDS
    tried: dict[str, bool] = {}  # whether it is done: what failed waits for the next worker, and nobody waits for it
    while _left(queue, tried) and time.monotonic() < until:  # what came while the lock was let go of is ours to see
        try:
            with locked(queue.lock, wait_seconds=0.0):
                for name in _left(queue, tried):
                    async with _opened(folder, name) as (memory, attended):
                        if time.monotonic() > until:
                            return
                        tried[name] = _may_work(memory) and await _take_up(memory, attended, name, queue)
        except LockBusy:
            return
    done = [name for name, is_done in tried.items() if is_done]
    if done:
        async with _opened(folder, done[-1]) as (memory, _), asyncio.timeout(MAX_SECONDS):
            await memory.session(done[-1]).dream_if_due()
            if memory.places.syncs:
                sync_team(memory.layout.work_tree, done[-1], pushes_only=True)  # what was learned


def _left(queue: WorkQueue, tried: dict[str, bool]) -> list[str]:
    return [name for name in queue.waiting() if tried.get(name, True)]


def _may_work(memory: MemDir) -> bool:
    """Whether anything can be learned now: all waits while memory is off, at a cap, or without a disk."""
    if not memory.settings.enabled:
        return False
    try:
        memory.start()
        memory.models.budget().check(memory.layout.slug)
    except MemdirError as error:
        _refused(memory, error)
        return False
    return True


def sync_team(folder: str, session: str, *, pushes_only: bool = False) -> None:
    """`memdir hook --sync FOLDER SESSION`: take in what teammates changed, and give them what was changed here. In a
    turn of this session it is left to the hook that is told of the end."""
    memory = open_memory(folder, source="hook")
    turn = memory.layout.turn(session)

    def require_free() -> None:
        if os.path.exists(turn):
            append_bytes(turn, b"a sync waits\n")
            raise LockBusy("a turn is under way", remedy="The sync comes again when it has ended")

    memory.team.sync_behind(pushes_only, require_free)


@asynccontextmanager
async def _opened(folder: str, name: str) -> AsyncIterator[tuple[MemDir, Attended | None]]:
    """The memory, for work on a session, and what is noted of that. It is opened in the work tree of the session, which
    may be another than the worker's, as long as that is there and of the same project."""
    layout = open_memory(folder).layout
    attended = Attended.at(layout.attended(name))
    own = attended.folder if attended and os.path.isdir(attended.folder) else folder
    own = own if open_memory(own).layout.project_home == layout.project_home else folder
    memory = open_for_work(own, attended.agent if attended else "")
    try:
        yield memory, attended
    finally:
        await memory.close()


async def _take_up(memory: MemDir, attended: Attended | None, name: str, queue: WorkQueue) -> bool:
    """Learn from one session; False when it has to wait. What cannot be read stays taken up, and so counts as tried: it
    may never be readable. A model that fails, a cap or a full disk says nothing about the session."""
    is_begun = queue.is_begun(name)
    try:
        is_ours = queue.take(name)
    except DiskError:
        return False
    if not is_ours:
        memory.sink.emit(request_refused(what="learning from a session", reason="it was tried too often"))
        if attended:
            attended.save(memory.layout)  # so that no start of a session queues it again
        return True
    try:
        session = memory.session(name, on_updated=queue.tell_of_doc)
        is_done = attended is None or await _Learning(memory, session, attended, is_begun).learn(queue)
    except MemdirError as error:
        _refused(memory, error)
        if isinstance(error, DiskError) and not error.code:
            return False
        is_done = False
    (queue.done if is_done else queue.give_back)(name)
    return is_done


def _refused(memory: MemDir, error: MemdirError) -> None:
    if not isinstance(error, BudgetReached):
        memory.sink.emit(request_refused(what="learning from a session", reason=error.message))


@dataclass
class _Learning:
    """What one session of another agent taught."""

    memory: MemDir
    session: Session
    attended: Attended
    is_begun: bool  # nobody told of more than that a turn began

    async def learn(self, queue: WorkQueue) -> bool:
        """Learn what was said since the last time. False when it failed, or came before its prompt was written down,
        and comes again."""
        if self.session.state.is_lost:  # what was purged of it, nobody knows
            path = self.memory.layout.session_state(self.attended.session)
            self.memory.sink.emit(request_refused(what="learning from a session", reason=f"{path} cannot be read"))
            return True
        source = all_sources(self.memory.places.environment).get(self.attended.agent)
        ref = source.session(self.attended.session, self._transcript()) if source else None
        if source is None or ref is None:
            return True
        if not await self._learn_earlier(source, ref, queue):
            return False
        looked = time.time_ns() - FILE_CLOCK_NS
        placed = self._new(source, ref)
        messages = [message for _, message in placed]
        if not await self._learn_all(messages, queue):
            return False
        await self.session.update_docs(messages, folder=self.attended.folder)
        asked, earlier = [place for place, message in placed if is_asked(message)], self.attended.place
        self.attended.place = asked[-1] if asked else earlier
        self.attended.save(self.memory.layout, looked_ns=looked)  # what is said meanwhile may have no end to be told of
        await self._take_notes(source, ref)
        return not self.is_begun or self.attended.place > earlier

    async def _learn_all(self, messages: Sequence[Message], queue: WorkQueue) -> bool:
        """Learn from all that comes after the cursor, one piece after the other; False when one failed."""
        while messages:
            before = self.session.state.extract_cursor
            files = await self.session.learn(messages)
            if files:
                queue.tell(self.attended.session, files)
            is_stuck = self.session.state.extract_cursor == before
            if files is None or (files and is_stuck):  # beside what was written something was lost
                return False
            if is_stuck:
                break
        return True

    async def _learn_earlier(self, source: TranscriptSource, ref: SessionRef, queue: WorkQueue) -> bool:
        """The same of what was said before memdir attended to it, where the user wants that. From then on all of it was
        heard; whatever kills this, the next goes on from there."""
        layout, state = self.memory.layout, self.session.state
        wanted = layout.earlier(self.attended.session)
        if not os.path.exists(wanted):
            return True
        state.go_back()
        said = (message for _, message in source.placed(ref))
        if not await self._learn_all(self.attended.before(layout, said), queue):
            return False
        self.attended.begun = FROM_THE_BEGINNING
        self.attended.save(layout, looked_ns=os.stat(layout.attended(self.attended.session)).st_mtime_ns)
        state.go_on()
        delete_file(wanted)
        return True

    def _transcript(self) -> str:
        """Where the transcript lies. That a link has come into the way since it was noted is looked at again."""
        path, agent = self.attended.transcript, self.attended.agent
        host = next((host for host, name in HOSTS.items() if name == agent), "")
        return path if os.path.realpath(path) == path else own_transcript(self.memory.places.environment, host, path)

    def _new(self, source: TranscriptSource, ref: SessionRef) -> list[tuple[int, Message]]:
        """The last turn that was learned from and what came after it, read from its place on; all of a transcript that
        was replaced. What memdir did not attend to bears the mark that it was not heard."""
        cursor, attended = self.session.state.extract_cursor, self.attended
        placed = list(source.placed(ref, attended.place))
        if cursor and attended.place and cursor not in {message.id for _, message in placed}:
            placed = list(source.placed(ref))
        if not cursor and not attended.begun:
            asked = [at for at, (_, message) in enumerate(placed) if is_asked(message)]
            placed = placed[asked[-1] :] if asked else []
            attended.begun = said_at(placed[0][1]) or 0.0 if placed else 0.0
        heard = attended.heard(self.memory.layout, (message for _, message in placed))
        return [(place, message) for (place, _), message in zip(placed, heard, strict=True)]

    async def _take_notes(self, source: TranscriptSource, ref: SessionRef) -> None:
        """Keep the notes of a long session, for when its host compacts it (N3)."""
        if ref.size < NOTES_FROM_BYTES or not self.memory.settings.auto_compact:
            return
        state = self.session.state
        said = source.messages(ref, since=state.summarized_up_to or None)
        messages = [one for one in self.attended.heard(self.memory.layout, said) if not one.is_off]
        tokens = state.tokens_at_summary + sum(map(estimate_message, messages))
        if messages:
            await self.session.take_notes(messages, tokens)


def open_for_work(folder: str, agent: str) -> MemDir:
    """The memory with the model that works here: the configured one, else the host's own program where the user said
    so, else the built-in one. A key that happens to lie in the host's environment is nobody's choice."""
    program = host_program(open_memory(folder).settings, agent)
    chosen = {"model.provider": "command", "model.command": program} if program else {}
    return open_memory(folder, flags={"recall.encoder": "words", **chosen}, source="hook")


def host_program(settings: Settings, agent: str) -> str:
    """The agent's own program where the user said that it learns, and no model is configured; else ""."""
    is_chosen = settings.model_provider == "auto" and settings.attach_model == "host"
    return _COMMANDS.get(agent, "") if is_chosen else ""
