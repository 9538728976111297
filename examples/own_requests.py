"""A host that talks to its provider with the SDK alone: memories join its requests, and its turns are learned from.

ANTHROPIC_API_KEY=... python examples/own_requests.py path/to/project "what the user says"

Who learns from them is the model that the settings name, the built-in one until a person chose.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import anthropic

from memdir import open_memory


async def main(project: str, text: str) -> None:
    memory = open_memory(project)
    messages: list[dict[str, Any]] = []
    async with anthropic.AsyncAnthropic() as client, memory.session("monday", form="anthropic") as session:
        messages.append({"role": "user", "content": text})
        messages += await session.recall(text, wait=1.0)  # dicts, as this SDK takes them
        arguments = {
            "model": "claude-sonnet-5-5",
            "max_tokens": 1024,
            "system": f"Be kind.\n\n{session.prompt()}",
            "messages": messages,
        }
        reply = await client.messages.create(**arguments)  # the host's own call; nothing of memdir in it
        print("host:", "".join(block.text for block in reply.content if block.type == "text"))
        session.turn_ended(arguments, reply)  # both as they are
    await memory.close()
    print("kept:", ", ".join(header.key for header in memory.list()) or "nothing")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
