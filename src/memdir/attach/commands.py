"""The commands `memdir attach` and `memdir detach`."""

from __future__ import annotations

import argparse
import difflib
import glob
import os
import shlex
import sys
from collections.abc import Callable, Container, Sequence
from importlib import import_module
from typing import Any, Literal

from memdir.attach.agents import Agent, all_agents, program_path
from memdir.attach.json_text import JsonText
from memdir.attach.settings_edit import (
    AttachRecord,
    EditPlan,
    FileEdit,
    OwnMemory,
    elsewhere,
    plan_attach,
    plan_detach,
    read_settings_text,
)
from memdir.attach.status import examined, look_at, report
from memdir.disk.atomic import write_project_file
from memdir.disk.safe_path import is_inside
from memdir.errors import EditConflict, MemdirError, UsageError
from memdir.guard.held import any_guard
from memdir.layout import memory_files
from memdir.memdir import open_memory
from memdir.settings import own_memory, settings_files
from memdir.text.words import counted

_TRIES = 5  # at settings that their client writes in all the time


class Attach:
    """Give your coding agents one memory: hooks and an MCP server go into your own settings of Claude Code, Codex,
    Gemini CLI, Qwen Code and opencode, of those named or of all that are installed, not into the repository's.

    You see every change first. What else stands in those files stays as it is; `memdir detach` takes ours out again."""

    EXAMPLES = (
        "memdir attach                   # all that are installed; shows what would change and asks",
        "memdir attach claude codex --yes",
        "memdir attach --dry-run         # only show it",
        "memdir attach --status          # what is attached, and whether it works",
        "memdir attach --not-here        # off for this project alone",
        "memdir attach claude --here     # in the repository's settings instead, for this project alone",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        _add_agents(parser)
        modes = parser.add_mutually_exclusive_group()  # each would have done something else
        modes.add_argument("--status", action="store_true", help="what is attached, and whether it works")
        parser.add_argument(
            "--own-memory",
            choices=("keep", "serve", "off"),
            help="the memory that Claude Code or Qwen Code keeps itself: beside this one (default), served where it "
            "lies as the one for all, or off",
        )
        parser.add_argument(
            "--learn-with",
            choices=("builtin", "host"),
            help="where no model is configured: the built-in model learns (default), or the program of Claude Code or "
            "Codex itself, on your subscription",
        )
        parser.add_argument(
            "--past",
            action="store_true",
            help="learn from past sessions of this project too, also from what was said before in one that goes on; "
            "without the name of an agent, from those that are attached",
        )
        modes.add_argument("--not-here", action="store_true", help="switch memory off for this project")
        modes.add_argument("--here", action="store_true", help="in the settings of this repository, not in your own")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        if options.not_here:
            return _switch_off_here(options, context)
        known = all_agents(context.environment, is_guarded=any_guard(context.memory))
        if options.status:
            return report(_chosen(options.agents, known), context, as_json=options.json)
        if options.past and not (options.agents or options.here or options.own_memory or options.learn_with):
            return _learn_past(known, options, context)
        agents = _wanted(options.agents, known, context)
        agents = _in_repository(agents, context) if options.here else agents
        chosen = _own_memories(agents, options, context)
        learner = options.learn_with or _asked_who_learns(agents, options, context)

        past = _past([agent.name for agent in agents], options, context)

        def planned() -> EditPlan:
            plan = plan_attach(agents, program_path(), chosen, _record(context))
            served = [name for name, choice in chosen.items() if choice == "serve" and name not in plan.refused]
            home = "".join(served) or _home_again(chosen, options, context)
            plan.past = past.estimate if past else ""
            plan.edits += _own_settings({"memoryHome": home, "attach.model": learner}, context)
            return plan

        plan, code = _carry_out(planned, options, context)
        if code == 0 and not options.dry_run and not options.json:
            for line in _next_steps(agents, plan, context):
                context.note(line)
        if code == 0 and past and not options.dry_run:  # what a model reads takes time and, if it is paid for, money
            past.offer(context, is_wanted=options.past)
        return code


class Detach:
    """Take memdir out of the settings of your coding agents again, of those named or of all. A file that nobody touched
    since becomes what it was, byte for byte; one that its agent rewrote loses our parts only. Memories stay."""

    EXAMPLES = ("memdir detach", "memdir detach codex --yes", "memdir detach --dry-run")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        _add_agents(parser)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        known = all_agents(context.environment)
        agents = _chosen(options.agents, known)
        _, code = _carry_out(lambda: plan_detach(agents, _record(context)), options, context)
        for agent in (one for one in agents if look_at(one, is_installed=False).has_plugin and not options.json):
            context.note(f"{agent.title} has the plugin: memory goes on through it until you remove it there")
        if not options.dry_run and not any(look_at(one, is_installed=False).is_attached for one in known.values()):
            daemon: Any = import_module("memdir.hooks.daemon_command")  # surfaces do not import each other
            daemon.stop(daemon.DaemonPlace.of(context.memory))  # nobody is left to ask it
        return code


def _own_memories(agents: Sequence[Agent], options: argparse.Namespace, context: Any) -> dict[str, OwnMemory]:
    """What the user chooses for each agent that keeps a memory of its own. One directory serves all: of two agents the
    second has its own switched off (Q2)."""
    memory, found = context.memory, dict[str, OwnMemory]()
    if options.own_memory and not any(agent.own_memory for agent in agents):
        raise UsageError("--own-memory is for claude and qwen, without --here", remedy="Others keep none in this form")
    served = memory.settings.memory_home
    for agent in agents:
        own = own_memory(memory.places.environment, memory.layout, agent.name)
        is_beside = own and not memory.places.is_told_by(agent.name)
        if not agent.own_memory or not (options.own_memory or is_beside):
            continue
        choice = options.own_memory or _asked_for(agent, options, context)
        if choice == "serve" and served not in ("memdir", agent.name):
            context.note(f"memories lie with {served} already, so {agent.title}'s own memory is switched off")
            choice = "off"
        served = agent.name if choice == "serve" else served
        found[agent.name] = choice
    return found


def _home_again(chosen: dict[str, OwnMemory], options: argparse.Namespace, context: Any) -> str:
    """memdir's own home, where the memory of an agent was served that is not to be any more."""
    if not options.own_memory or chosen.get(context.memory.settings.memory_home, "serve") == "serve":
        return ""
    context.note("memories of projects are kept in memdir's home again")
    home = context.environment.memory_homes[context.memory.settings.memory_home]
    for folder in sorted(glob.glob(os.path.join(glob.escape(home), "projects", "*", "memory"))):
        if left := len(list(memory_files(folder))):
            told = counted(left, "memory stays", "memories stay")
            context.note(f"{told} in {folder}: in its project, `memdir import {shlex.quote(folder)}` copies them")
    return "memdir"


def _is_asking(options: argparse.Namespace) -> bool:
    return sys.stdin.isatty() and not (options.yes or options.json or options.dry_run)


def _asked_for(agent: Agent, options: argparse.Namespace, context: Any) -> OwnMemory:
    if not _is_asking(options):
        return "keep"
    question = f"{agent.title} keeps a memory of its own: [K]eep it as well, [s]erve it for all, switch it [o]ff? "
    answers: dict[str, OwnMemory] = {"": "keep", "k": "keep", "s": "serve", "o": "off"}
    return answers[_letter(question, answers, context)]


def _letter(question: str, answers: Container[str], context: Any) -> str:
    """The first letter of an answer that is one, asked for until there is; nothing typed is the one in capitals."""
    while (given := context.answer(question)[:1]) not in answers:
        context.terminal.line("Type one of the letters in brackets, or nothing for the one in capitals.")
    return str(given)


def _asked_who_learns(agents: Sequence[Agent], options: argparse.Namespace, context: Any) -> str:
    """Once, and only where nobody chose: a model that somebody pays for works when they said so."""
    settings, names = context.memory.settings, {agent.name for agent in agents}
    is_chosen = settings.model_provider != "auto" or "attach.model" in settings.origins
    if is_chosen or not names & {"claude", "codex"} or not _is_asking(options):
        return ""
    question = "Which model learns from what you say: [B]uilt-in, or the agent's own ([h]ost), on your subscription? "
    return "host" if _letter(question, ("", "b", "h"), context) == "h" else "builtin"


def _own_settings(values: dict[str, object], context: Any, layer: Literal["user", "local"] = "user") -> list[FileEdit]:
    """The edit of memdir's own settings: those of the values that are not empty."""
    path = settings_files(context.environment, context.memory.layout)[layer]
    before = read_settings_text(path)
    text = JsonText(before or "", path)
    for name, value in values.items():
        first, _, rest = name.partition(".")
        is_nested = bool(rest) and isinstance(text.get(first), dict)
        if value != "":
            text = text.with_member([first] if is_nested else [], rest if is_nested else name, value)
    return [FileEdit(path, before, text.text)] if any(value != "" for value in values.values()) else []


def _add_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "agents", nargs="*", metavar="AGENT", help="claude, codex, gemini, qwen, opencode (default: all)"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, write nothing")


def _chosen(names: Sequence[str], known: dict[str, Agent]) -> list[Agent]:
    strange = [name for name in names if name not in known]
    if strange:
        close = difflib.get_close_matches(strange[0], known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}; others take `memdir mcp`"
        raise UsageError(f"there is no agent {strange[0]!r}", remedy=hint)
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _past(names: Sequence[str], options: argparse.Namespace, context: Any) -> Any:
    """What there is to learn from past sessions of these agents; None where nobody asks, or memory is off."""
    if not context.memory.settings.enabled or not (options.past or _is_asking(options)):
        return None
    module: Any = import_module("memdir.hooks.past_sessions")  # surfaces do not import each other
    past = module.PastSessions.of(context.memory, names)
    if options.past and not options.json:
        context.note(f"to learn from: {past.estimate or 'nothing that is not known yet'}")
    return past


def _learn_past(known: dict[str, Agent], options: argparse.Namespace, context: Any) -> int:
    """`--past` without the name of an agent attaches none: it learns from those that are."""
    record = _record(context)
    looked = [
        (name, look_at(at, is_installed=False))
        for name in known
        for at in (known[name], *elsewhere(known[name], record))
    ]
    names = list(dict.fromkeys(name for name, one in looked if one.is_attached or one.has_plugin))
    if not names:
        raise MemdirError("no agent is attached", remedy="Name one to attach it: memdir attach claude --past")
    past, settings = _past(names, options, context), context.memory.settings
    if past is None:
        raise MemdirError(f"memory is off here: {settings.off_because}", remedy=settings.turn_on)
    if not options.dry_run:
        past.offer(context, is_wanted=True)
    return (
        int(context.print_json({"changes": [], "refused": {}, "written": False, "past": past.estimate}))
        if options.json
        else 0
    )


def _wanted(names: Sequence[str], known: dict[str, Agent], context: Any) -> list[Agent]:
    """Those that are named, or all that are installed; of the others it is told how they stand."""
    installed = [agent for agent in known.values() if agent.is_installed(context.environment)]
    found = _chosen(names, known) if names else installed
    if not found:
        titles = ", ".join(agent.title for agent in known.values())
        raise MemdirError(f"none of {titles} is installed", remedy="Name what you will install: memdir attach claude")
    record = _record(context)  # of what is attached in a repository, too
    left = [agent for agent in known.values() if agent not in found and not record.paths_of(agent.name)]
    others = [look_at(agent, is_installed=agent in installed) for agent in left]
    for state in ("not attached", "not installed"):
        if titles := ", ".join(one.title for one in others if one.state == state):
            context.note(f"{state}: {titles}")
    return found


def _in_repository(agents: Sequence[Agent], context: Any) -> list[Agent]:
    """The same by the settings of this repository, of those who are not attached for all projects."""
    found, tree = [], context.memory.layout.work_tree
    for agent in agents:
        if agent.name == "codex":
            context.note("Codex keeps what it trusts of a repository in your own settings: `memdir attach codex`")
        elif (one := look_at(agent, is_installed=True)).is_attached or one.has_plugin:
            how = "is attached in your own settings" if one.is_attached else "has the plugin"
            context.note(f"{agent.title} {how}, for all projects")
        else:
            found.append(_within(agent.in_project(tree), tree))
    if not found:
        raise MemdirError("nothing is left to attach here", remedy="`memdir attach --status` tells how each stands")
    return found


def _within(agent: Agent, tree: str) -> Agent:
    """An agent whose settings in a repository lie there: a clone may bring links that lead anywhere."""
    for path in filter(None, (agent.hooks_file, agent.servers_file, agent.plugin_file)):
        if not is_inside(path, tree):
            remedy = "Put a folder and files of its own there, or attach it for all projects, without --here"
            raise MemdirError(f"{path} leads out of the repository, to {os.path.realpath(path)}", remedy=remedy)
    return agent


def _record(context: Any) -> AttachRecord:
    return AttachRecord(context.memory.layout.attach_record)


def _carry_out(planned: Callable[[], EditPlan], options: argparse.Namespace, context: Any) -> tuple[EditPlan, int]:
    """Show, ask and write. What a client wrote in its settings meanwhile is planned for, and shown, again."""
    for _ in range(_TRIES - 1):
        plan = planned()
        try:
            return plan, _try_out(plan, options, context)
        except EditConflict as error:
            context.note(f"{error}: what would change now")
    plan = planned()
    return plan, _try_out(plan, options, context)


def _try_out(plan: EditPlan, options: argparse.Namespace, context: Any) -> int:
    changes, refused = plan.changes, int(bool(plan.refused))
    if not options.json:
        for edit in changes + [edit for edit in plan.only_shown if options.dry_run and edit.is_change]:
            _show(edit, context)
        for told in plan.refused.values():
            context.note(told)
    is_written = bool(changes) and not options.dry_run and (options.yes or _asked(changes, options, context))
    if is_written:
        _record(context).write(changes, is_detaching=plan.is_detaching)
    if options.json:
        files = [{"path": edit.path, "diff": _diff(edit)} for edit in changes]
        answer = {"changes": files, "refused": plan.refused, "written": is_written, "past": plan.past}
        return int(context.print_json(answer, refused))
    if not changes and not plan.refused:
        context.terminal.line("Nothing is attached." if plan.is_detaching else "Everything is attached already.")
    elif is_written:
        names = ", ".join(dict.fromkeys(edit.agent for edit in changes if edit.agent)) or "as before"
        verb = "Detached" if plan.is_detaching else "Attached"
        context.terminal.line(f"{verb} {names}: {counted(len(changes), 'file')} changed.")
    elif changes and not options.dry_run:
        context.terminal.line("Nothing was changed.")
        return 1  # who said no has nothing attached, and nothing learned
    return refused


def _asked(changes: Sequence[FileEdit], options: argparse.Namespace, context: Any) -> bool:
    if options.json or not sys.stdin.isatty():
        raise UsageError("nobody is there to say yes", remedy="Add --yes, or --dry-run to see what would change")
    for edit in changes:
        verb = "made" if edit.before is None else "taken away" if edit.after is None else "changed"
        context.terminal.line(f"  {edit.path}: {verb}")
    return bool(context.ask(f"Change {counted(len(changes), 'file')}? [y/N] "))


def _show(edit: FileEdit, context: Any) -> None:
    context.terminal.line(context.terminal.bold(edit.agent or "memdir"))
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in _diff(edit):
        colour = colours.get(line[:1])
        context.terminal.line(context.terminal.style(line, colour) if colour else line)


def _diff(edit: FileEdit) -> list[str]:
    """What changes, as `git diff` shows it."""
    before, after = ((text or "").splitlines() for text in (edit.before, edit.after))
    return list(difflib.unified_diff(before, after, edit.path, edit.path, n=1, lineterm=""))


def _next_steps(agents: Sequence[Agent], plan: EditPlan, context: Any) -> list[str]:
    """What is left to do, and what stands in the way of what was written."""
    lines = ["What you tell one of them is known to all from their next session on (`memdir attach --status`)"]
    lines = lines if plan.changes else []
    memory = open_memory(context.memory.layout.work_tree, environment=context.environment)  # by what is set now
    for found in examined([agent for agent in agents if agent.name not in plan.refused], memory):
        lines += [f"{found.title}: {told}" for told in found.problems]
        if plan.changes and found.notes and found.agent == "opencode":
            lines.append("opencode installs its plugin library at its next start: be online then")
    settings = memory.settings
    return lines if settings.enabled else [*lines, f"memory is off here: {settings.off_because}. {settings.turn_on}"]


def _switch_off_here(options: argparse.Namespace, context: Any) -> int:
    if options.agents:
        raise UsageError("--not-here switches memory off for all agents", remedy="Say so without the name of one")
    [edit] = _own_settings({"memoryEnabled": False}, context, "local")
    if not options.dry_run:
        write_project_file(edit.path, (edit.after or "").encode())
    if options.json:
        told = {"memoryEnabled": False, "file": edit.path, "diff": _diff(edit), "written": not options.dry_run}
        return int(context.print_json(told))
    if options.dry_run:
        _show(edit, context)
        return 0
    context.terminal.line(f"Memory is off in {os.path.basename(context.memory.layout.work_tree)}.")
    context.note("`memdir config set memoryEnabled --unset --layer local` switches it on again")
    return 0
