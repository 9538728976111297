"""The turn engine of `memdir chat`, without a screen: messages, a model, tools behind a gate that asks, memory beside.

A terminal, a script or a test drives it and listens to its events. Each message is on disk before the next step (J1):
a session killed anywhere goes on where it stood. What fails at a provider is told, and `retry` goes on.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from memdir.agent import (
    Abort,
    Aborted,
    AgentTool,
    Ask,
    BackgroundTask,
    CommandTool,
    Definitions,
    ForkTools,
    Job,
    Lent,
    Permissions,
    Tool,
    Toolbox,
    ToolContext,
    allowed_beforehand,
    find_definitions,
    memory_tools,
    run_agent,
    run_fork,
    tell,
)
from memdir.chat.assembly import Assembly
from memdir.errors import MemdirError, ModelError, UsageError
from memdir.model import RetryingModel, Usage, load_prompt
from memdir.transcript import Message, assistant, user

if TYPE_CHECKING:
    from argparse import Namespace

    from memdir import Compacted, MemDir, Prefetch, Session, Skipped
    from memdir.model import Model, Request
    from memdir.transcript import Conversation
    from memdir.types import AgentRun, DreamReport, NotDreamt

__all__ = ["ChatEvent", "ChatHost", "EventName", "HostOptions", "TurnEnd"]

MAX_STEPS = 200  # replies of one turn: a model that goes on and on is stopped, and the person says whether it goes on
MAX_ASIDE_STEPS = 8  # of the answer to a side question
RECALL_SECONDS = 0.2  # the longest that a request waits for recall, which mostly takes less; what is later joins later
RECENT_MESSAGES = 8  # among which a tool counts as used recently (R2)
NO_ANSWER = {
    "max_tokens": "The reply was cut off: it was too long.",
    "refusal": "The reply was cut off: the provider refused to go on.",
    "empty": "The reply is empty.",
}
_MAGIC_DOC = re.compile(r" *1\t#[ \t]+magic doc:[ \t]*\S", re.IGNORECASE)  # as Read shows its first line
MAGIC_DOC_HINT = "That is a magic doc: `memdir config set magicDocs true --layer local` has it kept up to date."
UNALLOWED_DOC_HINT = "That is a magic doc: `--allow edits` has it kept up to date here."
EventName = Literal[
    "text", "tool", "result", "recalled", "saved", "updated", "dreamt", "failed", "notice", "compacted", "reply"
]


@dataclass(frozen=True)
class ChatEvent:
    """One thing that happened in a chat, for who shows it: its name and what belongs to it."""

    name: EventName  # what happened
    fields: dict[str, object] = field(default_factory=dict)  # as `memdir chat -p TEXT --json` prints them


@dataclass(frozen=True)
class TurnEnd:
    """How a turn ended, what was said last and what it cost. `failure` says why, where it failed."""

    ending: Literal[
        "done", "cut_off", "stopped", "failed", "max_steps"
    ]  # cut_off: not all is said; stopped: by the person
    text: str = ""  # what was said last
    usage: Usage = field(default_factory=Usage)  # what it cost, its sub-agents too, however it ended
    failure: MemdirError | None = None  # why, where it failed


@dataclass(frozen=True)
class HostOptions:
    """What a chat is begun with."""

    session_id: str = ""  # of the conversation to go on with; a new one without
    is_learning: bool = True  # False: memories are recalled, and nothing is kept
    allow: frozenset[str] = frozenset()  # what may be done unasked, as `allowed_beforehand` gives it
    tools: Sequence[Tool] = ()  # more than files and commands; they ask by themselves where they must
    is_introduced: bool = False  # whether the built-in model need not say what it is, though nobody was told here

    @staticmethod
    def of(options: Namespace, session_id: str, *, is_introduced: bool = False) -> HostOptions:
        """As the command line says."""
        allow = frozenset(allowed_beforehand(options.allow))
        return HostOptions(session_id, not options.no_learning, allow, is_introduced=is_introduced)


class ChatHost:
    """One person's chat in one project. `async with` begins and ends it."""

    def __init__(
        self,
        memory: MemDir,
        *,
        ask: Ask | None = None,
        listen: Callable[[ChatEvent], None] | None = None,
        options: HostOptions | None = None,
    ) -> None:
        self.memory = memory
        self.options = options or HostOptions()
        self._ask, self._listen = ask, listen
        self._abort, self._aside = Abort(), Abort()  # of the turn; of questions beside it
        self._in_turn = asyncio.Lock()  # one after the other, each to its end in its own conversation
        self._pieces: list[str] = []  # of the reply that is coming
        self._unwritten: list[Message] = []  # what was said, until it is on disk
        self._allowed = set(self.options.allow)  # and what the person allows until the chat ends
        self._model: asyncio.Task[Model] | None = None
        self._closing: dict[str, tuple[Session, asyncio.Task[None]]] = {}  # left, while they are learned from
        self._has_hinted = False
        self._may_write_docs = ask is not None or "edits" in self.options.allow  # magic docs, where they are on
        self._open(self.options.session_id or new_session_id(memory.clock()))

    def _open(self, session_id: str) -> None:
        session = self.memory.session(
            session_id,
            on_saved=self._saved,
            on_updated=lambda update: self._emit("updated", file=update.path, diff=update.diff),
            on_dreamt=self.dreamt,
            is_learning=self.options.is_learning,
        )
        if not session.transcript.is_free():  # what one of the two says the other one's next request would not hold
            remedy = f"Leave it there, or go on with a copy: memdir fork {session_id}"
            raise UsageError("this conversation goes on in another window", remedy=remedy)
        self.session: Session = session
        self.recalled: tuple[str, ...] = ()  # what came back for the last message
        self._recalls: list[Prefetch] = []  # what looks for it, and what did for the message before
        self.usage = self._spent = Usage()  # of the conversation, since it was begun or gone on with here; of the turn
        self.assembly = Assembly(self.memory, self.session, is_introduced=self.options.is_introduced)
        context = ToolContext(self.memory.folder, self.session.files)
        given = [tool.spec.name for tool in self.options.tools]
        tools = [*(one for one in memory_tools() if one.spec.name != "Bash"), CommandTool(), *self.options.tools]
        found = Definitions() if "Agent" in given else find_definitions(self.memory)  # or a host brings its own
        self.gate = Permissions(
            *(self.memory, self.session, context, self._ask, self._allowed),
            free=frozenset(("Agent", *given)),
            guest_of=found.guest_of,
        )
        lent = Lent(self.memory, self.session, tools, self.model, self.gate.of_agent, self._show, self._spend)
        self.agents = AgentTool(lent, found)
        self.tools = Toolbox((*tools, self.agents) if found.agents else tools, context)
        self._answered: Request | None = None

    async def __aenter__(self) -> ChatHost:
        self.conversation.answer_open_calls()
        self.session.prefetch("").cancel()  # recall is opened while the person types
        await self.session.meet_team()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait, no longer than a limit, for what is being learned; close the memory (X10)."""
        self.stop()
        self._keep_unwritten()
        await asyncio.gather(*(closing for _, closing in self._closing.values()), return_exceptions=True)
        await self.memory.close()

    @property
    def conversation(self) -> Conversation:
        """What was said, as it is written down."""
        return self.session.conversation

    @property
    def tasks(self) -> Sequence[BackgroundTask]:
        """What runs behind this conversation, and behind those that were left."""
        return [task for one in (self.session, *(left for left, _ in self._closing.values())) for task in one.tasks]

    async def model(self) -> Model:
        """Who answers. Loading an SDK takes seconds, and the person goes on typing; what failed is tried again."""
        if self._model is None or (self._model.done() and self._model.exception()):
            self._model = asyncio.create_task(asyncio.to_thread(self.memory.models.for_chat))
        model = await asyncio.shield(self._model)
        return replace(model, on_pause=self._waits) if isinstance(model, RetryingModel) else model

    def _waits(self, error: ModelError, seconds: float) -> None:
        self._emit("notice", text=f"{error.message.rstrip('.')}. Trying again in {max(1, round(seconds))} s.")

    @property
    def is_waiting(self) -> bool:
        """Whether what was said last is unanswered: the program was killed, the provider failed, the disk refused."""
        if self._unwritten:
            return True
        last = next((one for one in reversed(self.conversation.messages) if not one.is_meta), None)
        return last is not None and (last.role == "user" or bool(last.tool_uses))

    # Turns

    async def say(self, text: str, *, about: Sequence[Message] = ()) -> TurnEnd:
        """One turn after that which goes on, up to the reply that calls no tool. `about` is for the model only."""
        async with self._in_turn:
            with suppress(MemdirError):  # the turn tells it
                self.keep(text, about)
            return await self._turn()

    @property
    def unwritten(self) -> list[str]:
        """What the person said and a disk refused until now."""
        return [one.text for one in self._unwritten if not one.is_meta]

    def keep(self, text: str, about: Sequence[Message] = (), *, is_off: bool = False) -> None:
        """Write down what the person says, or said when nothing was to be learned: `retry` has it answered."""
        self.recalled = ()
        self._unwritten += (*([replace(user(text), is_off=is_off)] if text else []), *about)
        self._write_unwritten()

    def _write_unwritten(self) -> None:
        self.session.attend()
        self.conversation.answer_open_calls()
        for message in self.assembly.day_told(self.conversation.messages):
            self.conversation.add(message)
        while self._unwritten:
            self.conversation.add(self._unwritten[0])
            del self._unwritten[0]

    def _keep_unwritten(self) -> None:
        """Before a conversation is left: what a disk still refuses goes back to the person, and into no other (J1)."""
        try:
            if self._unwritten:
                self._write_unwritten()
        except MemdirError as error:
            said = "\n".join(one.text for one in self._unwritten if not one.is_meta) or "what was pasted"
            self._unwritten.clear()
            self._emit("notice", text=f"This is not kept ({error.message}):\n{said}")

    async def retry(self) -> TurnEnd:
        """Go on from where the conversation stands; first with what was said and could not be written down."""
        async with self._in_turn:
            return await self._turn()

    def stop(self) -> None:
        """End the turn that goes on, or what else the person waits for (Ctrl-C); what was said is kept."""
        for abort in (self._abort, self._aside):
            abort.set("stopped by the person")

    async def _turn(self) -> TurnEnd:
        """All of a turn can be stopped, and whatever fails in it is told."""
        self._abort, self._pieces, self._spent = Abort(), [], Usage()
        try:
            self._write_unwritten()
            said = [one.text for one in self.conversation.messages if one.role == "user" and not one.is_meta]
            if self.session.should_compact:
                await self._compacted()
            pending = self.session.prefetch(next(filter(None, said[::-1]), ""), recent_tools=self._recent_tools())
            self._recalls = [*self._recalls[-1:], pending]
            await pending.wait(RECALL_SECONDS)
            return await self._steps()
        except Aborted:
            return self._stopped()
        except MemdirError as error:
            return self._failed(error)
        finally:
            for late in self._recalls:
                late.end()

    async def _steps(self) -> TurnEnd:
        has_compacted = has_worked = False
        for _ in range(MAX_STEPS):
            self._join()
            try:
                run = await self._step()
            except ModelError as error:
                if error.kind != "context_too_long" or has_compacted:
                    raise
                has_compacted = True
                if not await self._compacted():
                    raise
                continue
            has_worked = has_worked or bool(run.files_touched)
            if run.ending == "aborted":
                return self._stopped(is_kept=bool(run.messages))
            if run.ending == "done":
                return self._done(run, has_worked=has_worked)
        self._emit("notice", text=f"Stopped after {MAX_STEPS} replies. Say whether it shall go on.")
        return TurnEnd("max_steps", usage=self._spent)

    async def _step(self) -> AgentRun:
        """One request and the tools that its reply calls. Every message is written down as it comes."""
        kept: list[Message] = []
        broken: list[MemdirError] = []
        self._pieces = []

        def keep(message: Message) -> None:
            try:
                kept.append(self.conversation.add(message))
            except MemdirError as error:  # a full disk: nothing goes on that is not written down
                broken.append(error)
                self._abort.set("the disk refused")
                return
            self._show("", "", kept[-1])

        model = await self._abort.guard(self.model())
        request = self.assembly.request(self.tools.specs, self.conversation.messages)
        run = await run_agent(
            *(request, model, self.tools, self.gate),
            max_turns=1,
            abort=self._abort,
            on_message=keep,
            on_text=self._heard,
        )
        self._spend(run.usage)
        if broken:
            raise broken[0]
        if kept:
            self._answered = request
            reply = next((message for message in kept if message.role == "assistant"), kept[0])
            self.session.turn_ended(request, reply, usage=run.usage, updates_docs=self._may_write_docs)
        return run

    def _heard(self, piece: str) -> None:
        self._pieces.append(piece)
        self._emit("text", text=piece)

    def _show(self, agent: str, run: str, message: Message) -> None:
        """Tell of a message; of one of a sub-agent only the tools that it uses."""
        of_agent, run = ({"agent": agent}, f"{run}/") if agent else ({}, "")
        if message.role == "assistant" and not agent:
            self._emit("reply", text=message.text, is_final=not message.tool_uses)
        for use in message.tool_uses:
            self._emit("tool", id=f"{run}{use.id}", tool=use.name, input=dict(use.input), **of_agent)
        for result in message.tool_results:
            told = {"content": result.content, "is_error": result.is_error, **of_agent}
            self._emit("result", id=f"{run}{result.tool_use_id}", **told)
            self._hint("" if agent else result.content)

    def _hint(self, content: str) -> None:
        """Whose agent reads a magic doc while they are off is told once that there is such a thing."""
        keeps_docs = self._may_write_docs and self.session.keeps_docs
        if self.session.is_learning and not self._has_hinted and not keeps_docs and _MAGIC_DOC.match(content):
            self._has_hinted = True
            self._emit("notice", text=UNALLOWED_DOC_HINT if self.memory.settings.magic_docs else MAGIC_DOC_HINT)

    def _spend(self, usage: Usage) -> None:
        """Count what a reply of the conversation or of a sub-agent cost, however its turn ends."""
        self.usage, self._spent = self.usage + usage, self._spent + usage

    def _done(self, run: AgentRun, *, has_worked: bool) -> TurnEnd:
        self.assembly.answered()
        if run.failure in NO_ANSWER and not (has_worked and run.failure == "empty"):
            self._emit("notice", text=NO_ANSWER[run.failure])
            return TurnEnd("cut_off", run.final_text, self._spent)
        return TurnEnd("done", run.final_text, self._spent)

    def _stopped(self, *, is_kept: bool = False) -> TurnEnd:
        """What was said until then stays, and the model is told that it was stopped."""
        said = "".join(self._pieces).rstrip()
        if said and not is_kept:
            self.conversation.add(assistant(said))
        self.conversation.add(user(load_prompt("chat/interrupted.md").text.strip(), is_meta=True))
        self._emit("notice", text="Stopped.")
        return TurnEnd("stopped", said, self._spent)

    def _failed(self, error: MemdirError) -> TurnEnd:
        kind = error.kind if isinstance(error, ModelError) else type(error).__name__
        self._emit("failed", kind=kind, message=error.message, remedy=error.remedy, can_retry=self.is_waiting)
        return TurnEnd("failed", "".join(self._pieces), self._spent, error)

    def _join(self) -> None:
        """Recalled memories stand where they came, for the model only (R4, R5); what came too late for one message,
        with the next."""
        for pending in self._recalls:
            found = pending.ready()
            for message in found:
                self.conversation.add(message)
            if found:
                self.recalled += pending.files
                self._emit("recalled", files=list(pending.files))

    def _recent_tools(self) -> tuple[str, ...]:
        recent = self.conversation.messages[-RECENT_MESSAGES:]
        return tuple(dict.fromkeys(use.name for message in recent for use in message.tool_uses))

    # Beside the turns

    async def aside(self, question: str) -> str | None:
        """A side question, answered by a fork that may read and leaves no trace (H1); None where it was stopped."""
        self._aside = abort = Abort() if self._aside.is_set else self._aside
        messages = self.conversation.messages
        is_calling = bool(messages and messages[-1].tool_uses)
        now = self.assembly.request(self.tools.specs, messages[:-1] if is_calling else messages)
        before = self._answered or now
        parent = before if now.messages[: len(before.messages)] == before.messages else now
        told = load_prompt("chat/aside.md").render(question=question)
        job = Job(told, MAX_ASIDE_STEPS, typed=self.assembly.job(question))
        with suppress(Aborted):
            model = await abort.guard(self.model())
            hands = ForkTools(model, self.tools.forked(self.session.files), self.gate.reading_only)
            report = await run_fork(parent, job, hands, since=now.messages[len(parent.messages) :], abort=abort)
            self.usage += report.usage
            if report.run.ending != "aborted":
                return report.run.final_text
        self._emit("notice", text="Stopped.")
        return None

    async def compact(self, keep: str = "") -> Compacted | Skipped | None:
        """Put a summary in the place of the conversation (N7) and read memory again (H2); None where it could not."""
        async with self._in_turn:
            self._abort = Abort()
            with suppress(Aborted):
                return await self._compacted(keep, is_automatic=False)
        self._emit("notice", text="The conversation was not compacted: you stopped it.")
        return None

    async def _compacted(self, keep: str = "", *, is_automatic: bool = True) -> Compacted | Skipped | None:
        outcome = await self._abort.guard(self.session.compact(keep=keep, is_automatic=is_automatic))
        reason = getattr(outcome, "reason", "").replace("_", " ")
        reason = "all of it is recent and stays word for word" if "nothing to replace" in reason else reason
        if reason:
            self._emit("notice", text=f"The conversation was not compacted: {reason}.")
            return None
        self.assembly.forget()
        if is_automatic:
            self._write_unwritten()  # the day is told again
        self._emit("compacted", **vars(outcome))
        return outcome

    async def clear(self) -> None:
        """Begin a new conversation, with memory as it is now (H2); the old one is kept and still learned from."""
        await self.resume(new_session_id(self.memory.clock()))

    async def resume(self, session_id: str) -> None:
        """Stop the turn; go on with another conversation, as it was left (J3), unless stopped while it still ends."""
        self.stop()
        async with self._in_turn:
            if session_id in self._closing:  # it was left a moment ago: first it ends
                self._emit("notice", text="Saving what is worth keeping of it first …")
                self._abort = Abort()
                try:
                    await self._abort.guard(asyncio.wait({self._closing[session_id][1]}))
                except Aborted:
                    self._emit("notice", text="Stopped.")
                    return
            if session_id != self.session.id:
                await self._change_to(session_id)
            self.conversation.answer_open_calls()

    async def _change_to(self, session_id: str) -> None:
        left = self.session
        self._keep_unwritten()
        try:
            self._open(session_id)
        except UsageError:  # it goes on elsewhere: what it was shown is read again when it does not
            await self.memory.session(session_id).close()
            raise
        if self.session.is_on and not left.is_on:
            self._emit("notice", text="Memory is on in this conversation.")
        closing = asyncio.get_running_loop().create_task(left.close(), name="memdir chat close")
        self._closing[left.id] = left, closing
        closing.add_done_callback(lambda _: self._closing.pop(left.id, None))
        await self.session.meet_team()

    def dreamt(self, outcome: DreamReport | NotDreamt) -> None:
        """Tell what a dream changed and how much it asks, or why there was none."""
        written, questions = getattr(outcome, "written", ()), getattr(outcome, "questions", ())
        files, reason = dict.fromkeys(draft.key for draft in written), getattr(outcome, "reason", "")
        self._emit("dreamt", files=list(files), questions=len(questions), reason=reason)

    def _saved(self, files: Sequence[str]) -> None:
        """Tell what was learned, apart from it what is gone: the person took it back."""
        there = {file for file in files if os.path.exists(os.path.join(self.memory.store.root, file))}
        for scope in ("user", "team"):
            with suppress(MemdirError):  # the team's, where there is none
                there |= {header.key for header in self.memory.list(scope=scope)}
        gone = [file for file in files if file not in there]
        self._emit("saved", files=[file for file in files if file not in gone], deleted=gone)

    def _emit(self, name: EventName, **fields: object) -> None:
        tell(self._listen, ChatEvent(name, fields))


def saved_and_deleted(fields: Mapping[str, Any], names: Callable[[Sequence[str]], str]) -> str:
    """What was learned behind the conversation, in a line."""
    told = (("saved", fields["files"]), ("deleted", fields["deleted"]))
    return "Memory " + ", ".join(f"{what}: {names(files)}" for what, files in told if files)


def new_session_id(now: float) -> str:
    """A name that no two chats share; its beginning tells it from others, its end tells the day."""
    return f"{secrets.token_hex(4)}-{datetime.fromtimestamp(now).astimezone():%Y%m%d}"
