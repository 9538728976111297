"""The one loop: ask the model, run the tools it calls, until it calls no more. Host and forks use it alike."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from memdir.agent.gate import FILE_TOOLS, WRITING, Allow, Deny, Gate
from memdir.agent.tools.tool import Toolbox, room_for_each
from memdir.events import tell
from memdir.model.failures import ask
from memdir.model.model import CUT_OFF, Model, Request, StopReason, Usage
from memdir.model.raw import tools_of
from memdir.prompts.door import shown
from memdir.transcript.message import Message, ToolResult, ToolUse, user

Result = TypeVar("Result")
INTERRUPTED = "Interrupted before it had finished."
NOT_RUN = "Not run: the reply broke off, and this may be half of what was meant."
STOPPED = "stopped by the user"
Ending = Literal["done", "max_turns", "aborted"]


class Aborted(Exception):
    """The work was stopped on purpose."""


class Abort:
    """Set once; whoever waits under it stops at once. It belongs to no loop: a session may live over several."""

    def __init__(self) -> None:
        self._guarded: set[asyncio.Event] = set()
        self.is_set = False
        self.reason = ""

    def set(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.is_set = True
        for signal in self._guarded:
            signal.set()

    def check(self) -> None:
        """Aborted when the signal has been given."""
        if self.is_set:
            raise Aborted(self.reason)

    async def guard(self, work: Awaitable[Result]) -> Result:
        """The result of `work`, or Aborted as soon as the signal is given; the work is cancelled and waited for."""
        task, given = asyncio.ensure_future(work), asyncio.Event()
        signal = asyncio.ensure_future(given.wait())
        self._guarded.add(given)
        try:
            self.check()
            await asyncio.wait((task, signal), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Aborted(self.reason)
        finally:
            self._guarded.discard(given)
            for pending in (task, signal):
                pending.cancel()
            await asyncio.gather(task, signal, return_exceptions=True)


@dataclass(frozen=True)
class AgentRun:
    """What came of a run: the messages it added, why it ended, what it cost, what was refused. `last_request` is what
    the provider got last: what a fork of this conversation starts from, with the messages that came after it as
    `since`."""

    messages: tuple[Message, ...]  # what was said, the request's own not among them
    ending: Ending  # why it ended
    usage: Usage  # the sum of all replies
    turns: int  # replies of the model
    refusals: int  # calls that the gate refused
    last_request: Request  # the request that got the last reply
    files_touched: tuple[str, ...] = ()  # that were written or edited with success (G3)
    stop_reason: StopReason = "end_turn"  # of the last reply

    @property
    def since(self) -> tuple[Message, ...]:
        """What was said after the last request."""
        roles = [message.role for message in self.messages]
        return self.messages[-roles[::-1].index("assistant") - 1 :] if "assistant" in roles else ()

    @property
    def final_text(self) -> str:
        """The words of the last reply."""
        return self.messages[-1].text if self.messages and self.messages[-1].role == "assistant" else ""

    @property
    def failure(self) -> str:
        """Why what it said last is no answer: it broke off, or there is nothing; empty when it is one. After work that
        was done a model may end without a word."""
        if self.ending != "done":
            return self.ending
        if self.stop_reason in CUT_OFF:
            return self.stop_reason
        return "" if self.final_text.strip() or self.files_touched else "empty"


async def run_agent(  # noqa: PLR0913 - the contract of docs/architecture.md
    request: Request,
    model: Model,
    tools: Toolbox,
    gate: Gate,
    *,
    max_turns: int,
    abort: Abort | None = None,
    on_message: Callable[[Message], None] | None = None,
    on_text: Callable[[str], None] | None = None,
    spare_turns: int = 0,
    nudge: Callable[[AgentRun], str] | None = None,
) -> AgentRun:
    """Run until the model gives a final reply, the turns are used up, or somebody says stop. Raises ModelError. A turn
    that read or wrote one file more and did nothing else is not counted, up to `spare_turns` of them: some models call
    one tool at a time. `nudge` may answer the final reply, once, with what else is to be done."""
    turn = _Run(request, model, tools, gate, abort or Abort(), on_message)
    while turn.turns - min(turn.small_turns, spare_turns) < max_turns:
        try:
            if await turn.step(on_text):
                done = turn.result("done")
                more = nudge(done) if nudge else ""
                if not more:
                    return done
                nudge = None
                turn.say(more)
        except Aborted:
            return turn.result("aborted")
    return turn.result("max_turns")


@dataclass
class _Run:
    """The state of one run."""

    request: Request
    model: Model
    tools: Toolbox
    gate: Gate
    abort: Abort
    on_message: Callable[[Message], None] | None
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    refusals: int = 0
    added: tuple[Message, ...] = ()
    answered: Request | None = None
    small_turns: int = 0
    stop_reason: StopReason = "end_turn"
    steps: dict[tuple[str, str], None] = field(default_factory=dict)  # files read and written with success

    async def step(self, on_text: Callable[[str], None] | None) -> bool:
        """One request and the tools it calls; True when the model is done."""
        self.abort.check()
        asked = replace(self.request, messages=(*self.request.messages, *self.added))
        reply = await self.abort.guard(ask(self.model, asked, on_text=on_text))
        self.answered = asked
        self.turns += 1
        self.usage += reply.usage
        self.stop_reason = reply.stop_reason
        self._add(reply.message)
        uses = reply.message.tool_uses
        if not uses:
            return True
        if reply.stop_reason in CUT_OFF:
            self._add(Message("user", tuple(ToolResult(use.id, NOT_RUN, is_error=True) for use in uses)))
            return True
        results = [ToolResult(use.id, INTERRUPTED, is_error=True) for use in uses]
        steps = len(self.steps)
        try:
            await self.abort.guard(self._run_tools(uses, results))
        finally:
            # Also when it is stopped: a call without a result makes a conversation unusable for every provider.
            self._add(Message("user", tuple(results)))
        self.small_turns += len(uses) == 1 and len(self.steps) > steps
        return False

    def say(self, text: str) -> None:
        """Something more for the model, from the host's side."""
        self._add(user(text, is_meta=True))

    async def _run_tools(self, uses: tuple[ToolUse, ...], results: list[ToolResult]) -> None:
        """All calls at once but those that write, which follow one another; results in the order of the calls. One that
        is cancelled takes the others with it."""
        room, in_turn = room_for_each(len(uses)), asyncio.Lock()

        async def run(at: int, use: ToolUse) -> None:
            is_writing = self.tools.understood(use).name in WRITING
            async with in_turn if is_writing else nullcontext():  # the second may change what the first wrote
                results[at] = await self._run_tool(use, room)

        async with asyncio.TaskGroup() as group:
            for at, use in enumerate(uses):
                group.create_task(run(at, use))

    async def _run_tool(self, use: ToolUse, room: int) -> ToolResult:
        use = self.tools.understood(use)
        # A fork keeps its parent's list of tools, and may have fewer itself (G1).
        is_offered = self.tools.knows(use.name) or any(tool.name == use.name for tool in tools_of(self.request))
        verdict = await self._judge(use) if is_offered and not use.fault else Allow()
        if isinstance(verdict, Deny):
            self.refusals += 1
            return ToolResult(use.id, shown(f"Refused: {verdict.reason}."), is_error=True)
        result = await self.tools.run(use, room=room, is_reading=verdict.is_reading)
        if use.name in FILE_TOOLS and not result.is_error:
            self.steps[use.name, str(use.input.get("file_path"))] = None
        return result

    async def _judge(self, use: ToolUse) -> Allow | Deny:
        """The gate's verdict. Only an `Allow` opens it: one that breaks, or answers something else, stays shut."""
        try:
            answer = self.gate(use)
            verdict: object = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # noqa: BLE001 - gates are a host's own code
            return Deny(f"the gate could not judge this call ({type(error).__name__})")
        if isinstance(verdict, Allow | Deny):
            return verdict
        return Deny(f"the gate gave no verdict on this call but {type(verdict).__name__}")

    def _add(self, message: Message) -> None:
        self.added = (*self.added, message)
        tell(self.on_message, message)

    def result(self, ending: Ending) -> AgentRun:
        last = self.answered or self.request
        touched = tuple(dict.fromkeys(path for tool, path in self.steps if tool in WRITING))
        return AgentRun(self.added, ending, self.usage, self.turns, self.refusals, last, touched, self.stop_reason)
