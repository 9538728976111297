"""A process that dies in the middle of an extraction, and one that catches up (X10).

python crashing.py talk|catch-up PROJECT
"""

from __future__ import annotations

import asyncio
import sys
import time

from memdir.memdir import open_memory
from memdir.model.model import Reply, Request, ScriptedModel, calls, says
from memdir.remember.catch_up import CatchUp
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, user
from memdir.transcript.transcript import Transcript

SAID = "Never mock the database in tests, use a real one: mocks hid a broken migration last quarter."
RULE = "---\nname: No mocks\ndescription: A real database\ntype: feedback\n---\n\nNever mock the database in tests.\n"


class Hanging:
    """A model whose answer never comes."""

    async def complete(self, request: Request, **more: object) -> Reply:
        print("asked", flush=True)
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


async def talk(project: str) -> None:
    memory = open_memory(project)
    memory.start()
    session = SessionState("crashed", memory.layout)
    session.begin()
    transcript = Transcript(memory.layout.session(session.id), session_id=session.id, cwd=project, clock=time.time)
    conversation = Conversation(transcript)
    conversation.add(user(SAID))
    request = Request("scripted", messages=conversation.messages)
    reply = conversation.add(Message("assistant", (Text("Understood."),)))
    extraction = Extraction(session, ExtractionPlan([memory.store], project), Hanging(), memory.sink, time.time)
    extraction.turn_ended(FinishedTurn(request, reply))
    await asyncio.sleep(60)


async def catch_up(project: str) -> None:
    memory = open_memory(project)
    memory.start()
    write = calls(("Write", {"file_path": f"{memory.place.root}/feedback_no_mocks.md", "content": RULE}))
    model = ScriptedModel([write, says("Kept.")])
    plan = ExtractionPlan([memory.store], project)
    files = await CatchUp(memory.layout, plan, model, "scripted", memory.sink, time.time).run("another")
    print(len(model.requests), *files, flush=True)


if __name__ == "__main__":
    asyncio.run({"talk": talk, "catch-up": catch_up}[sys.argv[1]](sys.argv[2]))
