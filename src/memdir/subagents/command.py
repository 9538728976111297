"""The commands `memdir agents`: what sub-agents there are, what one may use and where it remembers (A1)."""

from __future__ import annotations

import argparse
from typing import Any

from memdir.errors import PathEscape
from memdir.memdir import MemDir
from memdir.prompts.door import shown, shown_line
from memdir.subagents.definitions import AgentDefinition, Definitions, find_definitions, model_of


class ListAgents:
    """Show the sub-agents that `memdir chat` can start here: those that you defined, in `agents/` of memdir's home or
    for Claude Code, and those that came with the project. Yours go before the project's. Files that define none are
    told with the reason."""

    EXAMPLES = ("memdir agents", "memdir agents list --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        del parser

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory: MemDir = context.at_hand()
        found = find_definitions(memory.layout, memory.environment)
        if options.json:
            agents = [_plain(one, memory) for one in found.agents.values()]
            told = [{"path": path, "reason": reason} for path, reason in found.left_out]
            return int(context.print_json({"agents": agents, "leftOut": told}))
        _table(found, context)
        return 0


def _table(found: Definitions, context: Any) -> None:
    terminal = context.terminal
    rows = [
        [one.name, one.origin, one.memory or "none", shown_line(one.description, room=200)]
        for one in found.agents.values()
    ]
    if rows:
        terminal.table(rows, headers=("agent", "from", "memory", "what for"), styles=("bold", "", "dim", ""))
    else:
        terminal.line("There is no sub-agent here: a Markdown file in `agents/` of memdir's home defines one.")
    for path, reason in found.left_out:
        terminal.line(terminal.style(f"{shown_line(path)} is left out: {shown_line(reason)}", "yellow"))


class ShowAgent:
    """Print one sub-agent: the file that defines it, the tools that it may use, the model that it asks, where it
    remembers, and what it is told. Whatever a definition says, it may do no more than the conversation that starts it,
    and you are asked the same questions."""

    EXAMPLES = ("memdir agents show reviewer", "memdir agents show reviewer --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("agent", metavar="NAME", help="as `memdir agents` lists it")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory: MemDir = context.at_hand()
        one = find_definitions(memory.layout, memory.environment).find(options.agent)
        told = _plain(one, memory)
        if options.json:
            return int(context.print_json({"agent": {**told, "prompt": one.prompt}}))
        terminal = context.terminal
        rows = {
            "file": one.path,
            "from": one.origin,
            "for": one.description,
            "tools": "all that the conversation has" if one.tools is None else ", ".join(one.tools) or "none",
            "never": ", ".join(one.denied),
            "model": str(told["model"]),
            "memory": f"{one.memory}: {told['directory']}, {told['memories']}" if one.memory else "none",
        }
        terminal.line(terminal.bold(one.name))
        for name, value in rows.items():
            if value:
                terminal.line(f"{terminal.dim(f'{name:8}')}{shown_line(value)}")
        for remark in one.remarks:
            terminal.line(terminal.style(f"{'':8}{shown_line(remark)}", "yellow"))
        terminal.line(f"\n{shown(one.prompt)}")
        return 0


def _plain(one: AgentDefinition, memory: MemDir) -> dict[str, object]:
    model = model_of(one, provider=memory.settings.model_provider, inherited="")
    return {
        "name": one.name,
        "description": one.description,
        "path": one.path,
        "whose": one.whose,
        "kind": one.kind,
        "tools": None if one.tools is None else list(one.tools),
        "denied": list(one.denied),
        "model": model or "that of the conversation",
        "memory": one.memory,
        "scope": one.scope or None,
        **_place(one, memory),
        "remarks": list(one.remarks),
    }


def _place(one: AgentDefinition, memory: MemDir) -> dict[str, object]:
    """Where it remembers and how much; a link in the repository is followed nowhere."""
    if not one.memory or not memory.settings.enabled:
        return {"directory": None, "memories": 0}
    try:
        store = memory.store_for(one.scope)
    except PathEscape as error:
        return {"directory": None, "memories": 0, "problem": error.message}
    return {"directory": store.root, "memories": len(store.scan(limit=None).headers)}
