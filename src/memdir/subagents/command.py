"""The commands `memdir agents`: what sub-agents there are, what one may use and where it remembers (A1), and the
snapshots that share it (A3)."""

from __future__ import annotations

import argparse
from typing import Any

from memdir.errors import PathEscape, UsageError
from memdir.memdir import MemDir
from memdir.prompts.door import shown, shown_line
from memdir.store.scan import iso_time
from memdir.store.store import MemoryStore
from memdir.subagents.definitions import NO_MEMORY, AgentDefinition, Definitions, find_definitions, model_of
from memdir.subagents.snapshots import Taken, standing, take_snapshot, take_up
from memdir.text.words import counted


class ListAgents:
    """Show the sub-agents that `memdir chat` can start here: those that you defined, in `agents/` of memdir's home or
    for Claude Code, and those that came with the project. Yours go before the project's. Files that define none are
    told with the reason. `memdir agents show NAME` prints one, `agents snapshot NAME` and `agents take NAME` share
    what it learned."""

    EXAMPLES = ("memdir agents", "memdir agents show reviewer", "memdir agents list --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        del parser

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory: MemDir = context.at_hand()
        found = find_definitions(memory)
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
    told = [f"{one.name}: {remark}" for one in found.agents.values() for remark in one.remarks if NO_MEMORY in remark]
    for line in [*told, *(f"{path} is left out: {reason}" for path, reason in found.left_out)]:
        terminal.line(terminal.style(shown_line(line), "yellow"))


class ShowAgent:
    """Print one sub-agent: the file that defines it, the tools that it may use, the model that it asks, where it
    remembers, and what it is told. Whatever a definition says, it may do no more than the conversation that starts it,
    and you are asked the same questions."""

    EXAMPLES = ("memdir agents show reviewer", "memdir agents show reviewer --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("agent", metavar="NAME", help="as `memdir agents` lists it")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory: MemDir = context.at_hand()
        one = find_definitions(memory).find(options.agent)
        told = _plain(one, memory)
        if options.json:
            return int(context.print_json({"agent": {**told, "prompt": one.prompt}}))
        terminal, count = context.terminal, counted(int(str(told["memories"])), "memory", "memories")
        rows = {
            "file": one.path,
            "from": one.origin,
            "for": one.description,
            "tools": "all that the conversation has" if one.tools is None else ", ".join(one.tools) or "none",
            "never": ", ".join(one.denied),
            "model": str(told["model"]),
            "memory": f"{one.memory}: {count} in {told['directory']}" if one.memory else "none",
            "snapshot": _snapshot_told(told["snapshot"], one.name),
        }
        terminal.line(terminal.bold(one.name))
        for name, value in rows.items():
            if value:
                terminal.line(f"{terminal.dim(f'{name:10}')}{shown_line(value)}")
        for remark in one.remarks:
            terminal.line(terminal.style(f"{'':10}{shown_line(remark)}", "yellow"))
        terminal.verbatim(f"\n{shown(one.prompt)}")
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


def _snapshot_told(found: Any, name: str) -> str:
    if not found or not (found["updatedAt"] or found["problem"]):
        return ""
    is_known, more = found["state"] == "none", f"; `memdir agents take {name}` takes it up"
    told = f"of {found['updatedAt']}, {'known here' if is_known else found['state'] + more}"
    return str(found["problem"] or told)


def _place(one: AgentDefinition, memory: MemDir) -> dict[str, object]:
    """Where it remembers and how much; a link in the repository is followed nowhere."""
    if not one.memory or not memory.settings.enabled:
        return {"directory": None, "memories": 0, "snapshot": None}
    try:
        store = memory.stores.of(one.scope)
    except PathEscape as error:
        return {"directory": None, "memories": 0, "snapshot": None, "problem": error.message}
    stands = standing(memory.layout, store, now=memory.clock())
    updated = iso_time(stands.snapshot.updated) if stands.snapshot else None
    snapshot = {"state": stands.state, "updatedAt": updated, "problem": stands.problem or None}
    return {"directory": store.root, "memories": len(store.scan(limit=None).headers), "snapshot": snapshot}


class TakeSnapshot:
    """Put what a sub-agent learned here into the project, in `.memdir/agent-memory-snapshots/`, for version control to
    carry to everyone who works on it. What is about a person or holds a secret stays here, and is told. A snapshot of
    somebody else's that you did not take up is not overwritten."""

    EXAMPLES = ("memdir agents snapshot reviewer --dry-run", "memdir agents snapshot reviewer")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("agent", metavar="NAME", help="as `memdir agents` lists it")
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory, store = _remembering(options, context)
        taken = take_snapshot(memory.layout, store, now=memory.clock(), is_dry=options.dry_run)
        path = memory.layout.agent_snapshot(store.place.agent)
        if options.json:
            return int(context.print_json({"path": path, **_told(taken)}))
        _report(taken, context, f"{'Would be' if options.dry_run else 'Now'} in {path}")
        if not options.dry_run:
            context.note("commit it, and others take it up with `memdir agents take`")
        return 0


class TakeUpSnapshot(TakeSnapshot):
    """Take up the project's snapshot of a sub-agent into its memory here. Nothing is overwritten: where another text of
    the same name is here, it stays, and what you deleted does not come back. All of it counts as the team's words,
    never as yours, and `memdir undo` takes it back. Memory of this project alone begins with it by itself."""

    EXAMPLES = ("memdir agents take reviewer --dry-run", "memdir agents take reviewer")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory, store = _remembering(options, context)
        stands = standing(memory.layout, store, now=memory.clock())
        taken = take_up(store, stands, is_dry=options.dry_run)
        if options.json:
            return int(context.print_json({"state": stands.state, **_told(taken)}))
        _report(taken, context, f"{'Would be' if options.dry_run else 'Now'} in {store.root}")
        if taken.added and not options.dry_run:
            context.note(f"`memdir undo --scope {store.scope}` takes it back")
        return 0


def _remembering(options: argparse.Namespace, context: Any) -> tuple[MemDir, MemoryStore]:
    """The memory of a sub-agent that has one."""
    memory: MemDir = context.start()
    one = find_definitions(memory).find(options.agent)
    if not one.memory:
        raise UsageError(f"{one.name} has no memory", remedy=f"Write `memory: local` into the head of {one.path}")
    return memory, memory.stores.of(one.scope)


def _told(taken: Taken) -> dict[str, object]:
    lists = {
        "added": taken.added,
        "same": taken.same,
        "kept": taken.kept,
        "forgotten": taken.forgotten,
        "gone": taken.gone,
    }
    return {**lists, "leftOut": [{"file": key, "reason": why} for key, why in taken.left_out.items()]}


def _report(taken: Taken, context: Any, where: str) -> None:
    terminal = context.terminal
    words = {
        where: taken.added,
        "As it was": taken.same,
        "Another text is here and stays": taken.kept,
        "Deleted here, and not brought back": taken.forgotten,
        "Not shared from here any more, and gone from the project": taken.gone,
    }
    for told, keys in words.items():
        if keys:
            terminal.line(f"{terminal.bold(told)}: {shown_line(', '.join(keys))}")
    for key, why in taken.left_out.items():
        terminal.line(terminal.style(f"{shown_line(key)} is left out: {shown_line(why)}", "yellow"))
    if not any((*words.values(), taken.left_out)):
        terminal.line("There is nothing in it.")
