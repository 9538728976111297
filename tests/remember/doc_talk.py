"""Conversations in which a magic doc is read, here and in processes of their own.

python -m tests.remember.doc_talk PROJECT SESSION TEXT: its model answers about docs when a line comes to it.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field

from memdir.agent.tools.tool import memory_tools
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.job import DocJob
from memdir.model.model import Model, Reply, Request, says
from memdir.remember.magic_docs import DocUpdate
from memdir.session import Session
from memdir.transcript.message import Message, ToolResult, ToolUse, assistant, user

HEAD = "# Magic Doc: How billing works\n_Short. One line for each decision._\n"
BODY = "\n## Overview\n\nInvoices are made at night.\n"
DECIDED = "We decided to use PostgreSQL 17 for the billing service because of the audit rules."
CHANGED = "We decided to use PostgreSQL 18 for the billing service."
DOC = "docs/billing.md"


@dataclass
class ByJob:
    """A model for docs; whoever asks for anything else is told that there is nothing."""

    docs: Model

    async def complete(self, request: Request, **more: object) -> Reply:
        return await self.docs.complete(request) if isinstance(request.job, DocJob) else says("Nothing.")

    async def close(self) -> None: ...


@dataclass
class Chat:
    """A conversation of a host that keeps it itself."""

    memory: MemDir
    updates: list[DocUpdate] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    name: str = "one"

    @property
    def session(self) -> Session:
        return self.memory.session(self.name, on_updated=self.updates.append)

    async def reads(self, path: str, shown: str = "", **more: object) -> None:
        number = len(self.messages)
        use = ToolUse(f"t{number}", "Read", {"file_path": path, **more})  # type: ignore[dict-item]
        result = ToolResult(use.id, shown or f"     1\t{HEAD}")
        self.messages += [Message("assistant", (use,), f"m{number}"), Message("user", (result,), f"m{number + 1}")]

    async def says(self, text: str, reply: str = "Understood.") -> None:
        number = len(self.messages)
        self.messages.append(user(text, message_id=f"m{number}"))
        tools = tuple(tool.spec for tool in memory_tools())
        answer = assistant(reply, message_id=f"m{number + 1}")
        self.session.turn_ended(Request("m", tools=tools, messages=tuple(self.messages)), answer)
        self.messages.append(answer)
        await self.settled()

    async def settled(self) -> None:
        docs = self.session.magic_docs
        if docs.running is not None:
            await docs.running


class Waiting(BuiltinModel):
    """Answers when it is told to."""

    async def complete(self, request: Request, **more: object) -> Reply:
        print("asked", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return await super().complete(request)


async def main(project: str, name: str, text: str) -> None:
    memory = open_memory(project, flags={"magicDocs": "true"}, model=ByJob(Waiting()))
    talk = Chat(memory, name=name)
    await talk.reads(DOC)
    await talk.says(text)
    await memory.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
