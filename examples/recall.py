"""Recall in a loop of your own: started with the message, joined when it is there, never waited for by the reply.

python examples/recall.py path/to/project SESSION "what the user says" ["what the user says next" ...]
"""

from __future__ import annotations

import asyncio
import sys

from memdir import Message, open_memory
from memdir.transcript import user


async def answer(messages: list[Message]) -> str:
    """Where your own request to a model goes; this one only tells what it was given."""
    await asyncio.sleep(1)  # a model takes longer than recall
    recalled = [message for message in messages if message.is_meta]
    return f"(answered with {len(messages)} messages, {len(recalled)} of them memories)"


async def main(project: str, session_id: str, *texts: str) -> None:
    memory = open_memory(project)
    messages: list[Message] = []
    async with memory.session(session_id) as session:  # a memory is shown once in each session
        for text in texts:
            print(f"user: {text}")
            messages.append(user(text))
            pending = session.prefetch(text)
            print(f"agent: {await answer(messages)}")  # recall runs beside this request
            for recalled in pending.ready():  # joins at the next request, as a message that only the model sees
                messages.append(recalled)
                print(recalled.text)
            pending.cancel()  # the turn is over: what is late is not needed
    await memory.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
