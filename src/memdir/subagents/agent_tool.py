"""The tool `Agent`: hands a task to a sub-agent, which runs in the same loop with messages of its own.

A definition only takes away: each call of a tool is judged by the gate of the conversation besides, and no sub-agent
starts another. What it says is a side chain beside the transcript (J2): no turn, and nothing is learned from it (X1).
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from memdir.agent import Abort, Allow, Deny, Outcome, Tool, Toolbox, ToolContext, run_agent
from memdir.agent.gate import FILE_TOOLS, WRITING
from memdir.agent.tools.tool import shortened, tool_spec
from memdir.disk.safe_path import is_inside
from memdir.errors import MemdirError
from memdir.model import CachePolicy, Reply, Request, SystemBlock, Usage
from memdir.model.failures import ask
from memdir.model.job import ChatJob
from memdir.prompts.compose import load_prompt
from memdir.prompts.door import quoted, shown_line
from memdir.settings import provider_of
from memdir.subagents.agent_memory import AgentMemory
from memdir.subagents.definitions import TOOL, AgentDefinition, Definitions, model_of
from memdir.transcript import Conversation, Message, ToolUse, user
from memdir.types import AgentRun, Gate, Json

if TYPE_CHECKING:
    from memdir.memdir import MemDir
    from memdir.model import Model, ToolSpec
    from memdir.session import Session

MAX_STEPS = 100  # replies of one run
MAX_ANSWER = 20_000  # characters of a result: about 5,000 tokens
MAX_LISTED = 20_000  # characters of all descriptions, which stand in every request
MAX_QUOTED = 200  # characters of what a project's definition says of itself, before anybody agreed to it


@dataclass(frozen=True)
class Lent:
    """What a conversation lends its sub-agents."""

    memory: MemDir  # of the project
    session: Session  # the conversation that they work for
    tools: Sequence[Tool]  # that it has; each may use what its definition says
    model: Callable[[], Awaitable[Model]]  # who answers
    gate: Callable[[str, Sequence[str], ToolContext], Gate]  # for one by this name, whose memory lies in these folders
    tell: Callable[[str, str, Message], None] = lambda *_: None  # name, id of the run and each message that it adds
    spend: Callable[[Usage], None] = lambda _: None  # told what each reply cost


class AgentTool:
    """The tool `Agent` of one conversation, which runs sub-agents. Which there are is read once: tools are the same in
    every request (P6)."""

    def __init__(self, lent: Lent, definitions: Definitions) -> None:
        self._lent = lent
        self.definitions = definitions

    @cached_property
    def spec(self) -> ToolSpec:
        lines, room = [], MAX_LISTED
        for one in self.definitions.agents.values():
            lines.append(_line(one)[: max(room, len(one.name) + 2)])
            room -= len(lines[-1])
        told = load_prompt("subagent/tool.md").render(agents="\n".join(lines)).strip()
        return replace(tool_spec(TOOL), description=told)

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        """The sub-agent's last words. What fails is a failed result: the conversation goes on."""
        del context  # that of the conversation: a sub-agent has read nothing yet
        one = self.definitions.find(str(arguments["agent"]))
        try:
            run = await _SubRun(self._lent, one).run(str(arguments["task"]))
        except MemdirError as error:
            return Outcome(f"The sub-agent {one.name} failed: {error.message}", is_error=True)
        said = shortened(run.final_text.strip(), MAX_ANSWER)
        if run.failure:
            words = f". Its last words: {said}" if said else ""
            return Outcome(f"The sub-agent {one.name} came to no end ({run.failure}){words}", is_error=True)
        return Outcome(said or f"The sub-agent {one.name} is done. It changed {', '.join(run.files_touched)}.")


def _line(one: AgentDefinition) -> str:
    """A sub-agent as the tool lists it; what a stranger says of it is a quotation (L3)."""
    if one.whose == "user":
        return f"- {one.name}: {shown_line(one.description)}"
    said = shown_line(one.description, room=MAX_QUOTED).replace('"', "'")
    return f'- {one.name}: came with the project, which says of it: "{said}"'


@dataclass(frozen=True)
class _Counted:
    """A model each of whose replies is counted as it comes: a run that is stopped, or fails, has cost what it did."""

    model: Model
    spend: Callable[[Usage], None]

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        reply = await ask(self.model, request, on_text=on_text)
        self.spend(reply.usage)
        return reply

    async def close(self) -> None:
        """The model is the conversation's, and stays open."""


class _SubRun:
    """One run of one sub-agent."""

    def __init__(self, lent: Lent, one: AgentDefinition) -> None:
        self._lent = lent
        self._one = one
        self._id = f"{one.name}-{secrets.token_hex(4)}"
        self._memory: AgentMemory | None = None

    async def run(self, task: str) -> AgentRun:
        lent, abort = self._lent, Abort()
        self._memory = await asyncio.to_thread(AgentMemory.of, self._one, lent.memory, lent.session)
        chain = Conversation(lent.session.side_chain(self._id))
        broken: list[MemdirError] = []

        def keep(message: Message) -> None:
            try:
                lent.tell(self._one.name, self._id, chain.add(message))
            except MemdirError as error:  # a full disk: nothing goes on that is not written down
                broken.append(error)
                abort.set("the disk refused")

        box = self._tools()
        try:
            for message in await self._beginning(task):
                chain.add(message)
            request = self._request(box, chain.messages, task)
            model = _Counted(await lent.model(), lent.spend)
            run = await run_agent(
                *(request, model, box, self._gate(box.context)), max_turns=MAX_STEPS, abort=abort, on_message=keep
            )
        finally:
            chain.transcript.close()
        if broken:
            raise broken[0]
        return run

    def _tools(self) -> Toolbox:
        session = self._lent.session  # without a memory none of its stores is one here, and the gate refuses them
        files = self._memory.files(session) if self._memory else replace(session.files, stores=list)
        needed = FILE_TOOLS if self._memory else ()  # to keep a memory
        tools = [one for one in self._lent.tools if self._one.may_use(one.spec.name) or one.spec.name in needed]
        return Toolbox(tools, ToolContext(self._lent.memory.layout.work_tree, files))

    def _request(self, box: Toolbox, messages: tuple[Message, ...], task: str) -> Request:
        one, memory = self._one, self._lent.memory
        system = [load_prompt("subagent/system.md").text]
        if one.whose == "user":
            system.append(load_prompt("subagent/definition.md").render(name=one.name, text=one.prompt))
        if self._memory:
            system.append(self._memory.prompt())
        return Request(
            model_of(one, provider=provider_of(memory.settings), inherited=memory.model_name),
            tuple(SystemBlock(text, ends_prefix=True) for text in system),
            box.specs,
            messages,
            cache=CachePolicy(key=self._id),
            job=self._memory.job(task) if self._memory else ChatJob("", (), task),
        )

    async def _beginning(self, task: str) -> list[Message]:
        """What it knows when it begins: the project's folder and instructions, its memory, the day, its task."""
        one, memory = self._one, self._lent.memory
        parts = [load_prompt("chat/folder.md").render(folder=memory.layout.work_tree).strip()]
        if one.whose == "project":
            parts.append(load_prompt("subagent/came_with.md").render(name=one.name, text=quoted(one.prompt)).strip())
        parts += [self._memory.context() if self._memory else "", self._lent.session.instructions()]
        day = f"{datetime.fromtimestamp(memory.clock()).astimezone():%A, %Y-%m-%d}"
        told = user(load_prompt("subagent/task.md").render(task=task).strip())
        return [
            user("\n\n".join(filter(None, parts)), is_meta=True),
            user(load_prompt("chat/day.md").render(day=day).strip(), is_meta=True),
            *(await self._memory.recall(task) if self._memory else ()),
            *([user(self._memory.news(), is_meta=True)] if self._memory and self._memory.news() else ()),
            told,
        ]

    def _gate(self, context: ToolContext) -> Gate:
        """The conversation's gate behind our own: no tool but what the definition gives, no memory but its own."""
        own = [self._memory.store.root] if self._memory else []
        asked = self._lent.gate(self._one.name, own, context)
        memory = self._lent.memory
        stores = [store.root for store in memory.stores.learning()] if memory.settings.enabled else []
        closed = [memory.layout.home, memory.layout.project_folder, memory.place.root, *stores]

        async def judge(call: ToolUse) -> Allow | Deny:
            path = os.path.join(context.cwd, str(call.input.get("file_path", "")).replace("\0", ""))
            is_own = call.name in FILE_TOOLS and any(is_inside(path, root) for root in own)
            if not is_own and not self._one.may_use(call.name):
                return Deny(f"{call.name} is not for this sub-agent" + (f", but below {own[0]}" if own else ""))
            if not is_own and call.name in WRITING and any(is_inside(path, root) for root in closed):
                return Deny(f"{path} is memdir's: a sub-agent changes no memory but its own")
            verdict = asked(call)
            return verdict if isinstance(verdict, Allow | Deny) else await verdict

        return judge
