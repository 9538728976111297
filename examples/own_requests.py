"""A host that talks to its provider with the SDK alone, and a fork that sends the very same bytes and one message more.

ANTHROPIC_API_KEY=... python examples/own_requests.py
"""

from __future__ import annotations

import asyncio
import os
import tempfile

import anthropic

from memdir import (
    AnthropicModel,
    DiskFiles,
    ForkTools,
    Job,
    RawCall,
    Request,
    Toolbox,
    ToolContext,
    fork,
    memory_gate,
    reply_of,
)

KEY, URL = os.environ["ANTHROPIC_API_KEY"], os.environ.get("ANTHROPIC_BASE_URL", "")
MODEL = "claude-sonnet-5-5"


async def main(folder: str) -> None:
    arguments = {
        "model": MODEL,
        "max_tokens": 1024,
        "system": [{"type": "text", "text": "Be kind. " * 600, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Deploys are frozen until December. Why might that be?"}],
    }
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=URL or None) as client:
        reply = await client.messages.create(**arguments)  # the host's own call; nothing of memdir in it
    print("host:", "".join(block.text for block in reply.content if block.type == "text"))

    raw = RawCall("anthropic", arguments)
    answer = reply_of(raw, {"role": "assistant", "content": reply.content})
    model = AnthropicModel(api_key=KEY, base_url=URL)
    tools = Toolbox([], ToolContext(folder, DiskFiles()))
    hands = ForkTools(model, tools, memory_gate([folder], cwd=folder))
    job = Job("In one sentence: what is worth remembering of this?", "note", max_turns=2)
    report = await fork(Request(MODEL, raw=raw), job, hands, since=(answer,))
    print("fork:", report.run.final_text)
    print(f"{report.usage.cache_read} of {report.usage.prompt} tokens came from the host's cache")
    await model.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(main(place))
