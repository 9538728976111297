"""The smallest complete host: a question answered by an agent with tools and memory, then a side question by a fork.

python examples/agent.py path/to/project "May I deploy today?"

Takes the model that the settings name; until one is chosen it is the built-in one, which can only look things up.
"""

from __future__ import annotations

import asyncio
import sys

from memdir import open_memory
from memdir.agent import (
    DiskFiles,
    ForkTools,
    Job,
    Toolbox,
    ToolContext,
    Workspace,
    memory_gate,
    memory_tools,
    run_agent,
    run_fork,
)
from memdir.model import Request, SystemBlock, choose_model
from memdir.transcript import user

ABOUT_ME = "You help with a software project. You answer in a few sentences."


async def main(project: str, question: str) -> None:
    memory = open_memory(project)
    session = memory.session("question")
    model = choose_model(memory.settings, memory.environment)
    tools = Toolbox(memory_tools(), ToolContext(project, DiskFiles()))
    gate = memory_gate([memory.store.root], cwd=project)  # reads anything, writes memories only
    request = Request(
        memory.model_name,
        # What is the same for everyone comes first; the memory section stands behind that boundary.
        system=(SystemBlock(ABOUT_ME, ends_prefix=True), SystemBlock(session.prompt(), ends_prefix=True)),
        tools=tools.specs,
        messages=(user(session.context() or "No memories yet.", is_meta=True), user(question)),
        job=memory.chat_job(),  # what the built-in model reads in place of the prose
    )

    run = await run_agent(request, model, tools, gate, max_turns=20)
    print(f"agent: {run.final_text}")

    # A fork sees all of it, from the provider's cache, and leaves no trace: what it writes are drafts.
    drafts = Workspace([memory.store])
    job = Job("In one sentence: what did the user want to know?", max_turns=3)
    report = await run_fork(run.last_request, job, ForkTools(model, tools.forked(drafts), gate), since=run.since)
    print(f"fork: {report.run.final_text}")
    print(f"it cost {report.counts()}")
    await memory.close()
    await model.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
