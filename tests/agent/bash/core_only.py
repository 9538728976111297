"""What the core does where nothing else is installed. Run by test_without_extra.py as a program of its own, without
site-packages; prints what it saw as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from importlib.util import find_spec


def main(source: str, project: str) -> None:
    sys.path.insert(0, source)
    seen = {
        "parser": [name for name in ("tree_sitter", "tree_sitter_bash") if find_spec(name)],
        "remembered": memdir("remember", "Deploys are frozen until 2026-12-01: the auditors are in the house"),
        "recalled": memdir("recall", "can I deploy on Friday?"),
        **asyncio.run(forked(project)),
        "doctor": json.loads(memdir("doctor", "--json")),
    }
    print(json.dumps(seen))


def memdir(*words: str) -> str:
    from memdir.cli.entry import main as run

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run(words)
    assert code == 0, (words, code, printed.getvalue())
    return printed.getvalue()


async def forked(project: str) -> dict[str, object]:
    """A fork of a host that has a Bash of its own and two more tools; what its model was told and what came of it."""
    from memdir.agent.fork import ForkTools, Job, run_fork
    from memdir.agent.gate import memory_gate
    from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools
    from memdir.agent.workspace import Workspace
    from memdir.memdir import open_memory
    from memdir.model.model import Request, ScriptedModel, ToolSpec, calls, says
    from memdir.store.history import Origin

    store = open_memory(project).store
    listed = tuple(ToolSpec(name, "The host's own.", {"type": "object"}) for name in ("Bash", "Read", "SendMail"))
    memory = "---\nname: Lemons\ndescription: how they taste\ntype: reference\n---\n\nThey are sour.\n"
    first = calls(
        ("Read", {"file_path": f"{project}/notes.txt"}),
        ("Grep", {"pattern": "auditors", "path": store.root}),
        ("Bash", {"command": "ls"}),
        ("SendMail", {"to": "x"}),
        ("Write", {"file_path": f"{store.root}/lemons.md", "content": memory}),
    )
    model = ScriptedModel([first, says("Done.")])
    workspace = Workspace([store])
    box = Toolbox(memory_tools(), ToolContext(project, workspace))
    hands = ForkTools(model, box, memory_gate([store.root], cwd=project))
    report = await run_fork(Request("m", tools=listed), Job("Keep it.", 3), hands)
    workspace.commit(Origin("extract"), "lemons")
    return {
        "box": [spec.name for spec in box.specs],
        "sent_as_listed": all(request.tools == listed for request in model.requests),
        "results": [(result.is_error, result.content) for result in report.run.messages[1].tool_results],
        "refusals": report.run.refusals,
        "memories": [header.key for header in store.scan().headers],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
