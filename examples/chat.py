"""A chat of one's own with what `memdir chat` has: permissions and guards, sub-agents, commands that are files, a model
that the person chooses once, conversations that are gone on with. Nothing that it prints can hide in the terminal.

python examples/chat.py path/to/project [the beginning of a session's id, or latest]
"""

from __future__ import annotations

import asyncio
import sys

from memdir import MemDir, MemdirError, Session, open_memory
from memdir.agent import (
    AgentTool,
    Ask,
    CommandTool,
    Consent,
    Lent,
    Permission,
    Permissions,
    Toolbox,
    ToolContext,
    find_definitions,
    memory_tools,
    own_commands,
    run_agent,
)
from memdir.model import DEFAULT_MODELS, Model, Request, SystemBlock, offered_providers
from memdir.transcript import Message, find_session, printable, user
from memdir.types import AgentRun

ABOUT_ME = "You help with a software project. You answer in a few sentences."
MAX_STEPS = 50  # replies of one turn


async def ask(question: Permission) -> Consent:
    """Whether the agent may do something that is not free: shown whole before it is asked."""
    print(printable(f"{question.rule}\n{question.detail}\n{question.title}?").strip())
    answer = input(f"{' / '.join(question.choices)}: ")
    return next((one for one in question.choices if one == answer), "no")


def with_model(memory: MemDir) -> MemDir:
    """Which model may answer: asked once, and kept in the person's own settings. A key that is there is an offer."""
    offered = offered_providers(memory.settings, memory.environment)
    if memory.settings.model_provider != "auto" or not offered:
        return memory
    for provider, how in offered.items():
        print(f"{provider}: {DEFAULT_MODELS[provider]}{how}")
    answer = input("Which may answer? Enter for the built-in model: ")
    memory.keep_settings({"model.provider": answer if answer in offered else "builtin"})
    return open_memory(memory.folder)


class Chat:
    """One conversation of one person."""

    def __init__(self, memory: MemDir, session: Session, ask: Ask = ask) -> None:
        self.memory, self.session = memory, session
        self.commands = own_commands(memory, taken=())
        context = ToolContext(memory.folder, session.files)
        agents = find_definitions(memory)
        gate = Permissions(memory, session, context, ask, free=frozenset(("Agent",)), guest_of=agents.guest_of)
        tools = [*(tool for tool in memory_tools() if tool.spec.name != "Bash"), CommandTool()]
        lent = Lent(memory, session, tools, self.model, gate.of_agent)
        self.gate, self.tools = gate, Toolbox([*tools, AgentTool(lent, agents)], context)

    async def model(self) -> Model:
        return await asyncio.to_thread(self.memory.models.for_chat)  # loading an SDK takes its time

    def request(self) -> Request:
        """The same bytes from turn to turn, up to the end of what was said before."""
        known = "\n\n".join(filter(None, (self.session.context(), self.session.instructions())))
        system = [SystemBlock(text, ends_prefix=True) for text in (ABOUT_ME, self.session.prompt()) if text]
        messages = (user(known, message_id="context", is_meta=True), *self.session.conversation.messages)
        job = self.memory.chat_job()  # what the built-in model reads in place of the prose
        return Request(self.memory.model_name, tuple(system), self.tools.specs, messages, job=job)

    async def say(self, text: str) -> str:
        """One turn. Every message is on disk before the next step, and what was said is learned behind it."""
        conversation = self.session.conversation
        conversation.answer_open_calls()
        conversation.add(user(text))
        name, _, words = text.removeprefix("/").partition(" ")
        command = self.commands.get(name) if text.startswith("/") else None
        if command is not None and not command.is_project:  # show what came with the project before you send it
            conversation.add(command.message(command.text(words)))
        for recalled in await self.session.recall(text, wait=0.2):
            conversation.add(recalled)
        for _ in range(MAX_STEPS):
            run = await self.step()
            if run.ending == "done":
                break
        return run.final_text

    async def step(self) -> AgentRun:
        """One request, and the tools that its reply calls."""
        request, kept, conversation = self.request(), list[Message](), self.session.conversation

        def keep(message: Message) -> None:
            kept.append(conversation.add(message))

        run = await run_agent(request, await self.model(), self.tools, self.gate, max_turns=1, on_message=keep)
        self.session.turn_ended(request, kept[0], usage=run.usage)
        return run


async def main(project: str, resumed: str = "") -> None:
    memory = with_model(open_memory(project))
    before = [one.ref for one in memory.sessions()] if resumed else []
    name = find_session(before, resumed).id if resumed else f"chat-{memory.clock():.0f}"
    async with memory.session(name) as session:
        chat = Chat(memory, session)
        for line in sys.stdin:
            try:
                print(printable(await chat.say(line.strip())))
            except MemdirError as error:  # no network, no key, a full disk: nothing that was said is lost
                print(error)
    await memory.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
