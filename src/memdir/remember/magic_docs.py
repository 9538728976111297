"""Magic docs: files of the project that a fork keeps up to date from the conversation (M1–M3).

A doc that the agent reads is registered for the session. After a final reply each registered doc is brought up to date
by an agent of its own, which gets what was said, quoted, and nothing of the memory, and which may edit that one file.
What it writes is a draft until its run has ended well, and takes the file's place only where that is as it was read.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memdir.agent.file_access import SingleFile
from memdir.agent.fork import ForkProgress, ForkReport, ForkTools, Job, run_fork
from memdir.agent.gate import WRITING, SingleFileGate
from memdir.agent.loop import STOPPED, Abort
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools
from memdir.disk.lock import locked
from memdir.errors import BadMemoryFile, DiskError, EditConflict, LockBusy, MemdirError, MemoryNotFound, PathEscape
from memdir.events import doc_updated, tell
from memdir.model.job import DocJob, minute_of
from memdir.model.model import Model, Request
from memdir.prompts.compose import load_prompt
from memdir.prompts.door import quoted, shown_line
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn, last_asked, messages_after, texts_in
from memdir.store.history import Origin
from memdir.store.magic_doc import UPDATED, DocShelf, MagicDoc
from memdir.store.secrets import redact
from memdir.text.printable import printable
from memdir.text.sentences import sentences_of
from memdir.text.speakers import without_host
from memdir.text.stems import terms_in
from memdir.text.words import cut_at_word

if TYPE_CHECKING:
    from memdir.events import Sink
    from memdir.store.store import MemoryStore
    from memdir.transcript.message import Message, ToolUse

MAX_DOCS = 8  # of one session: each is a request of its own
MAX_TURNS = 4  # read, edit, done, and one to repair an edit that did not fit
MAX_PRIVATE = 500  # memories of one place that a draft is held against, newest first
MIN_TOLD, SAME_SHARE = 4, 0.65  # words of a sentence that tell, and how many of them make it the same one
MAX_WISH = 1_000  # characters of a title or an instruction line
TRIES = 2  # where a person saved the file meanwhile; after that the next reply comes soon enough
LOCK_SECONDS = 60.0  # how long an update waits for one of another process
_PAUSE_SECONDS = 0.1
_SIGNS = {"added": "+", "removed": "-"}
MAX_SAID = 60_000  # characters of a conversation, about 15,000 tokens: the newest are what a doc lacks
MAX_EARLIER = 6_000  # characters of the turn before those
MAX_MESSAGE = 6_000  # characters of one message: a longer one is a paste
_MARK = "magic doc:"
_READERS = frozenset(("read", "readfile", "view", "viewfile", "openfile", "readtextfile", "readmanyfiles"))
_MARKDOWN = re.compile(r"\.md$", re.IGNORECASE)


@dataclass(frozen=True)
class DocUpdate:
    """A magic doc that was brought up to date."""

    path: str  # the file
    before: bytes  # what stood in it
    after: bytes  # what stands in it now
    change: str  # the id of the change, for `memdir undo --scope docs`; "" without git

    @property
    def diff(self) -> str:
        """What changed, as a unified diff."""
        old, new = (text.decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm=""))


@dataclass
class _DocDraft(SingleFile):
    """A doc in the hands of an agent: read as it was then, written as a draft that header and instruction line stay
    in. What cannot be an update is refused with a reason that the model can act on."""

    complete: Callable[[bytes], bytes] = bytes  # what becomes of a text that is written

    def write(self, path: str, data: bytes) -> None:
        self._require(path)
        self.draft = self.complete(data)


@dataclass
class MagicDocs:
    """The magic docs of one session. At most one update at a time, also across processes; nothing waits for it."""

    session: SessionState
    shelf: DocShelf
    model: Model
    model_name: str
    sink: Sink
    clock: Callable[[], float]
    memories: Sequence[MemoryStore]  # whose private texts stay where they are
    on_updated: Callable[[DocUpdate], None]
    progress: ForkProgress = field(default_factory=ForkProgress)
    running: asyncio.Task[None] | None = None  # the update that is under way
    _waiting: Sequence[Message] = ()
    _abort: Abort = field(default_factory=Abort)

    def turn_ended(self, turn: FinishedTurn) -> None:
        """A final reply came: register what was read, and bring the docs up to date behind the conversation's back."""
        self._waiting = turn.messages
        if self.running is None:
            work = self._guarded()
            self.running = asyncio.get_running_loop().create_task(work, name="memdir magic docs")

    def stop(self, reason: str = STOPPED) -> None:
        """End the update that is under way; the next reply begins another."""
        self._abort.set(reason)

    async def _guarded(self) -> None:
        try:
            while self._waiting:
                messages, self._waiting = self._waiting, ()
                await self.update(messages)
        finally:
            self.running, self._abort = None, Abort()

    async def update(self, messages: Sequence[Message], *, folder: str = "") -> None:
        """Register the docs that were read in a conversation, and bring all registered ones up to date from it.
        Background work never breaks the conversation: what failed comes again with the next reply."""
        try:
            self._register(messages, folder)
            if all(self._said(messages, key) is None for key in self.session.docs):
                return
            async with self._alone() as is_alone:
                for key in list(self.session.docs) if is_alone else ():
                    said = self._said(messages, key)
                    if said is not None and not self._abort.is_set:
                        await self._bring_up(key, said)
        except MemdirError as error:
            self._skip("", f"failed: {error.message}")

    # Which docs

    def _register(self, messages: Sequence[Message], folder: str) -> None:
        docs = dict(self.session.docs)
        new = messages_after(self.session.heard(messages), self.session.docs_seen)
        for path, is_marked in files_read([one for one in new if not one.is_off]):
            try:
                key = self.shelf.key_of(path, folder)
                if key in docs:
                    continue
                with suppress(DiskError):  # what cannot be read just now is tried again with each reply
                    self.shelf.read(key)
                if len(docs) < MAX_DOCS:
                    docs[key] = ""
                else:
                    self._skip(key, "too_many")
            except MemdirError as error:
                if is_marked:  # it says that it is one
                    self._skip(shown_line(path), error.message)
        self.session.note_docs(docs, seen=messages[-1].id if messages else "")

    def _said(self, messages: Sequence[Message], key: str) -> SaidForDoc | None:
        return said_since(self.session.heard(messages), self.session.docs.get(key, ""))

    # One doc

    async def _bring_up(self, key: str, said: SaidForDoc) -> None:
        try:
            await self._brought_up(key, said)
            return
        except (MemoryNotFound, PathEscape) as error:  # the header is gone, or the file, or it is reached by a link now
            self.session.note_docs({one: cursor for one, cursor in self.session.docs.items() if one != key})
            reason = f"unregistered: {error.message}"
        except EditConflict:
            reason = "changed_meanwhile"
        except MemdirError as error:
            reason = f"failed: {error.message}"
        self._skip(key, reason)

    async def _brought_up(self, key: str, said: SaidForDoc) -> None:
        """Once more from the file as it is then, where somebody saved it meanwhile."""
        for left in reversed(range(TRIES)):
            doc = self.shelf.read(key)
            draft, report = await self._drafted(doc, said)
            if not report.is_complete:
                raise MemdirError(f"the model did not finish: {report.run.failure}")
            if self.session.is_purged((*said.earlier, *said.new)):
                raise MemdirError("what it was made of was purged meanwhile")
            try:
                await self._kept(doc, draft, said, report)
                return
            except EditConflict:
                if not left:
                    raise

    async def _drafted(self, doc: MagicDoc, said: SaidForDoc) -> tuple[bytes, ForkReport]:
        file = _DocDraft(doc.path, draft=doc.text, complete=lambda data: self._completed(doc, data, said))
        tools = tuple(tool for tool in memory_tools() if tool.spec.name in WRITING | {"Read"})
        box = Toolbox(tools, ToolContext(self.shelf.tree, file))
        hands = ForkTools(self.model, box, SingleFileGate(doc.path, self.shelf.tree))
        parent = Request(self.model_name, tools=box.specs)
        self.progress = ForkProgress()
        job = self._job(doc, said)
        report = await run_fork(parent, job, hands, abort=self._abort, on_progress=self.progress.saw)
        return file.draft or doc.text, report

    def _completed(self, doc: MagicDoc, data: bytes, said: SaidForDoc) -> bytes:
        """A draft as it may be kept: an assistant that quotes a memory about the person is no reason to publish it."""
        after = doc.completed(data)
        known = set(doc.text.decode("utf-8").splitlines())
        lines = [line for line in after.decode("utf-8").splitlines() if line not in known]
        if any(printable(line) != line for line in lines):
            raise BadMemoryFile("it holds signs that nobody sees", remedy="Write plain Markdown")
        _refuse_untouched(doc, after, (*said.earlier, *said.new))
        new = [terms_in(line) for line in lines]
        own = terms_in(" ".join(without_host(one.text) for one in said.new if one.role == "user" and not one.is_meta))
        for told in self._private() if new else ():
            if _is_in(told, *new) and not _is_in(told, own):
                raise BadMemoryFile(
                    "a line of it stands in the user's own memories, and they did not say it in this conversation",
                    remedy="Leave out what is about the user",
                )
        return after

    def _private(self) -> Iterator[frozenset[str]]:
        """What memories about the person say, and those of theirs for all projects, sentence by sentence."""
        for store in self.memories:
            headers = store.scan(limit=MAX_PRIVATE).headers
            private = [one for one in headers if store.scope == "user" or one.type in ("user", "feedback")]
            for memory in store.readable(private):
                yield from map(terms_in, sentences_of(f"{memory.topic.description}\n{memory.topic.body}"))

    async def _kept(self, doc: MagicDoc, draft: bytes, said: SaidForDoc, report: ForkReport) -> None:
        update = None
        if draft != doc.text:
            ids = [one.id for one in said.new if one.id and one.role == "user" and not one.tool_results]
            origin = Origin(UPDATED, session=self.session.id, messages=ids)
            commit = await asyncio.to_thread(self.shelf.update, doc, draft, origin)
            update = DocUpdate(doc.path, doc.text, draft, commit.id if commit else "")
            tell(self.on_updated, update)
        self.session.note_docs({**self.session.docs, doc.key: said.new[-1].id})
        lines = update.diff.split("\n")[2:] if update else []
        counts = {name: sum(line.startswith(sign) for line in lines) for name, sign in _SIGNS.items()}
        work = {**report.counts(), **counts, "refusals": report.run.refusals, "change": update.change if update else ""}
        self.sink.emit(doc_updated(file=doc.key, work=work, prompt_hash=report.job.prompt_hash))

    def _job(self, doc: MagicDoc, said: SaidForDoc) -> Job:
        prompt = load_prompt("magic_doc/update.md")
        text = prompt.render(
            path=doc.path,
            title=cut_at_word(redact(doc.title), MAX_WISH),
            instruction=quoted(cut_at_word(doc.instruction, MAX_WISH) or "(nothing in particular)"),
            conversation=said.quoted(),
        )
        body = doc.text[len(doc.head) :].decode("utf-8")
        now = minute_of(self.clock(), None)
        return Job(text, MAX_TURNS, prompt.hash, DocJob(doc.path, body, said.new, now), spare_turns=MAX_TURNS)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[bool]:
        """Whether no other update of this project's docs goes on, here or in another process, until the end of the
        block; a while is waited for that."""
        with ExitStack() as held:
            is_alone = False
            for _ in range(int(LOCK_SECONDS / _PAUSE_SECONDS)):
                try:
                    held.enter_context(locked(self.shelf.store.place.updating, wait_seconds=0.0))
                    is_alone = True
                    break
                except LockBusy:
                    if self._abort.is_set:
                        break
                    await asyncio.sleep(_PAUSE_SECONDS)
            if not is_alone:
                self._skip("", "busy")
            yield is_alone

    def _skip(self, file: str, reason: str) -> None:
        self.sink.emit(doc_updated(file=file, work={}, skipped=reason))


def _refuse_untouched(doc: MagicDoc, after: bytes, said: Sequence[Message]) -> None:
    """A line goes when the new text has its words too, or when the conversation speaks of what it says."""
    text = after.decode("utf-8")
    kept, here, heard = frozenset(text.splitlines()), terms_in(text), terms_in(" ".join(one.text for one in said))
    for line in doc.text.decode("utf-8").splitlines():
        terms = terms_in(line)
        if line not in kept and not terms <= here and not terms & heard:
            told = f"“{line.strip()}” is gone, and nobody spoke of it"
            raise BadMemoryFile(told, remedy="Change what the conversation touches, no more")


def _is_in(told: frozenset[str], *lines: frozenset[str]) -> bool:
    return len(told) >= MIN_TOLD and any(len(told & line) >= SAME_SHARE * len(told) for line in lines)


def files_read(messages: Sequence[Message]) -> Iterator[tuple[str, bool]]:
    """The Markdown files that an agent read, by whatever tool, and whether what it saw says that it is a magic doc. A
    tool that reads by its name has read what it names; of a command only what it showed tells."""
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    for use in (use for message in messages for use in message.tool_uses if use.name not in WRITING):
        result = results.get(use.id)
        if result is None or result.is_error:
            continue
        is_marked = _MARK in result.content.casefold()
        is_reader = "".join(filter(str.isalpha, use.name.lower())) in _READERS
        if is_marked or is_reader:
            texts = (text for text in texts_in(use.input) if "\0" not in text)
            words = texts if is_reader else (word for text in texts for word in _words(text))
            yield from ((path, is_marked) for path in words if _MARKDOWN.search(path))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that nobody closes
        return command.split()


@dataclass(frozen=True)
class SaidForDoc:
    """What a doc lacks of a conversation, and the turn before it, without which "yes, the second one" says nothing."""

    new: tuple[Message, ...]
    earlier: tuple[Message, ...] = ()

    def quoted(self) -> str:
        """The conversation as a model gets it, quoted whole."""
        before, now = _told(self.earlier, MAX_EARLIER), _told(self.new, MAX_SAID)
        if before:
            now = ["Said before, and known to the document:", *before, "Said since then:", *now]
        return "\n\n".join(now)


def said_since(messages: Sequence[Message], cursor: str) -> SaidForDoc | None:
    """What a doc has not seen of a conversation; None where the user said nothing."""
    heard = [one for one in messages if not one.is_off]
    new = messages_after(heard, cursor)
    before = heard[: len(heard) - len(new)]
    earlier, said = (tuple(one for one in part if not one.is_meta) for part in (before[last_asked(before) :], new))
    has_words = any(one.role == "user" and not one.is_meta and without_host(one.text).strip() for one in said)
    return SaidForDoc(said, earlier) if has_words else None


def _told(said: Sequence[Message], room: int) -> list[str]:
    """What was said and done, newest last, each piece quoted: words, and calls of tools by what they name. What tools
    gave back is a stranger's, and memories that were recalled are nobody's words: both stay out."""
    told: list[str] = []
    for message in reversed(said):
        words = redact(without_host(message.text)).strip()
        parts = [f"The {message.role} said:\n{quoted(cut_at_word(words, MAX_MESSAGE))}"] if words else []
        parts += [f"The assistant called {shown_line(_call(use), room=300)}" for use in message.tool_uses]
        room -= sum(map(len, parts))
        if room < 0:
            break
        told[:0] = parts
    return told


def _call(use: ToolUse) -> str:
    named = (use.input.get(name) for name in ("file_path", "path", "command", "cmd", "pattern"))
    return redact(f"{use.name} {next((one for one in named if isinstance(one, str)), '')}")
