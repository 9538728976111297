"""A conversation that outlives its program: written down, learned from, compacted when it grows, gone on with.

python examples/session.py path/to/project SESSION "what the user says"
"""

from __future__ import annotations

import asyncio
import sys

from memdir import (
    Conversation,
    FinishedTurn,
    Request,
    SystemBlock,
    choose_model,
    context_tokens,
    model_name,
    open_memory,
    user,
)


async def main(project: str, session_id: str, text: str) -> None:
    memory = open_memory(project)
    memory.start()
    model = choose_model(memory.settings, memory.environment)
    name = model_name(memory.settings, memory.environment)
    conversation = Conversation.resume(memory.transcript(session_id))  # as it was left; empty when it is new
    conversation.answer_open_calls()
    background = memory.background(session_id)
    background.session_started()

    index = memory.index_context()
    if index and not conversation.messages:
        conversation.add(user(index, is_meta=True))
    conversation.add(user(text))
    system = (SystemBlock(memory.prompt(), ends_prefix=True),)
    request = Request(name, system, messages=conversation.messages, job=memory.chat_job())
    reply = await model.complete(request)
    answer = conversation.add(reply.message)
    print(f"agent: {answer.text}")

    background.turn_ended(FinishedTurn(request, answer), reply.usage)  # learns, and keeps the session memory
    if background.compaction.is_due(context_tokens(request, answer, reply.usage)):
        await background.compaction.compact(conversation, request, trigger="auto")
    await memory.close()  # waits for what is being learned
    await model.close()
    print(f"({len(conversation.messages)} messages in {conversation.transcript.path})")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
