"""A conversation that outlives its program: written down, helped by memories, learned from, compacted, gone on with.

python examples/session.py path/to/project SESSION "what the user says"
"""

from __future__ import annotations

import asyncio
import sys

from memdir import open_memory
from memdir.model import Request, SystemBlock, choose_model
from memdir.transcript import user


async def main(project: str, session_id: str, text: str) -> None:
    memory = open_memory(project)
    model = choose_model(memory.settings, memory.environment)
    async with memory.session(session_id) as session:
        conversation = session.conversation  # as it was left; empty when it is new
        conversation.answer_open_calls()
        if not conversation.messages and session.context():
            conversation.add(user(session.context(), is_meta=True))
        conversation.add(user(text))
        for recalled in await session.recall(text, wait=1.0):  # how long a message may wait is the host's choice
            conversation.add(recalled)

        system = (SystemBlock(session.prompt(), ends_prefix=True),)
        request = Request(memory.model_name, system, messages=conversation.messages, job=memory.chat_job())
        reply = await model.complete(request)
        answer = conversation.add(reply.message)
        print(f"agent: {answer.text}")

        session.turn_ended(request, answer, usage=reply.usage)  # learns, and keeps the session memory
        if session.should_compact:
            await session.compact(is_automatic=True)
        print(f"({len(conversation.messages)} messages in {session.transcript.path})")
    await memory.close()  # the session has waited for what is being learned
    await model.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
