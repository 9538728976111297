"""The commands `memdir guard`: a person sets guards, sees them, tries them, takes them away (Q1)."""

from __future__ import annotations

import argparse
import difflib
from contextlib import suppress
from typing import Any

from memdir.errors import BadMemoryFile, MemoryNotFound, UsageError
from memdir.guard.held import SCOPES, TOO_MANY, breached, forget_kept, held_guards
from memdir.guard.tool_call import KINDS, ToolCall
from memdir.memdir import MemDir
from memdir.prompts.door import shown_line
from memdir.store.guard import BY_HAND, GUARD_FIELD, NOT_SET, Guard, parse_guard, proposals, what_sets, why_not
from memdir.store.history import Origin
from memdir.store.memories import save_memory
from memdir.store.memory_file import Memory

_TOOLS_OF_ALL = ("shell", "write", "text", "read", "web")


class GuardAdd:
    """Set a guard on a feedback memory: a rule that is checked before a tool of your coding agents runs. The first word
    is `warn` (the agent is told, the call goes on) or `block` (the call is refused); then a tool and a pattern.

    Tools: shell (a command), write (the file that is changed), text (what is written), read, web, or the name that an
    agent gives a tool; `Bash` and `Edit` mean shell and write in all of them. In a pattern, `*` stands for anything;
    a command has its words one after another, its options anywhere, and `|` parts those of which one is enough. A
    memory carries one guard."""

    EXAMPLES = (
        'memdir guard add feedback_force_push "block shell(git push --force|-f)"',
        'memdir guard add feedback_migrations "warn write(db/migrations/*)"',
        'memdir guard add "no prints" "warn text(console.log*)" --scope user',
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="file, name, or a part that fits only one")
        parser.add_argument("words", metavar="GUARD", nargs="+", help="as in: block shell(git push --force|-f)")
        _add_scope(parser)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        text = " ".join(options.words).strip().removeprefix(f"{GUARD_FIELD}:")  # as a file has it
        guard = parse_guard(text)
        if "(" in text and not guard.pattern:
            raise UsageError("the pattern is empty", remedy=f"For every call of the tool: {guard}, without brackets")
        memory = context.start()
        scope, found = _named(memory, options.memory, options.scope)
        topic = found.topic.with_field(GUARD_FIELD, str(guard))
        reason = why_not(topic, key=found.key, scope=scope)
        if not reason and not memory.places.is_own(scope):
            reason = "its directory lies in the project, where others may put memories"
        if reason:
            raise BadMemoryFile(
                f"{found.key} can have no guard: {reason}", remedy="Set it on a feedback memory of yours"
            )
        if topic.data == found.topic.data and not memory.guards.of(topic, found.key, scope=scope):
            # Another program wrote the line: that a person sets it has to stand in the history.
            found = _save(memory, scope, found, topic.without_field(GUARD_FIELD).data)
        _save(memory, scope, found, topic.data)
        former = found.topic.fields.get(GUARD_FIELD, "")
        replaced = "" if former in ("", str(guard)) else former
        if options.json:
            told: dict[str, object] = {"file": found.key, "scope": scope, "guard": str(guard)}
            more = {"replaced": replaced, "notes": _doubts(guard)}
            told |= {name: value for name, value in more.items() if value}
            return int(context.print_json(told))
        context.terminal.line(f"{context.terminal.bold('Set')} {guard} on {shown_line(found.key)}")
        if replaced:
            context.note(f"it had {shown_line(replaced)}, which is gone: a memory carries one guard (`memdir undo`)")
        for doubt in _doubts(guard):
            context.note(doubt)
        for one in (one for one in _not_holding(memory) if one["reason"] == TOO_MANY):
            context.note(f"{shown_line(one['file'])} does not hold: {TOO_MANY}")
        context.note("`memdir attach --status` tells which agents have to be attached again to ask before their tools")
        return 0


class GuardRemove:
    """Take the guard off a memory. The memory stays, and `memdir undo` brings the guard back."""

    EXAMPLES = ("memdir guard remove feedback_force_push",)

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="file, name, or a part that fits only one")
        _add_scope(parser)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        scope, found = _named(memory, options.memory, options.scope)
        if GUARD_FIELD not in found.topic.fields:
            raise MemoryNotFound(f"{found.key} has no guard", remedy="`memdir guard list` shows what there is")
        _save(memory, scope, found, found.topic.without_field(GUARD_FIELD).data)
        if options.json:
            return int(context.print_json({"file": found.key, "scope": scope, "guard": None}))
        context.terminal.line(f"{context.terminal.bold('Removed')} the guard of {shown_line(found.key)}")
        return 0


class GuardList:
    """Show the guards that hold, those that do not and why, and what could be one: a rule that you said more than once
    was broken. A guard is only ever set by you."""

    EXAMPLES = ("memdir guard", "memdir guard list --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        del parser

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.require_enabled()
        forget_kept(memory)
        held = [{"file": one.key, "scope": one.scope, "guard": one.line} for one in held_guards(memory)]
        idle = list(_not_holding(memory))
        own = [scope for scope in SCOPES if memory.places.is_own(scope)]
        proposed: list[dict[str, Any]] = [
            {"file": key, "scope": scope, "guard": str(guard), "said": times}
            for scope in own
            for key, guard, times in proposals(memory.stores.of(scope))
        ]
        if options.json:
            return int(context.print_json({"guards": held, "notHolding": idle, "proposed": proposed}))
        terminal = context.terminal
        rows = [[str(one["guard"]), str(one["file"]), str(one["scope"])] for one in held]
        if rows:
            terminal.table(rows, headers=("guard", "memory", "scope"), styles=("bold", "", "dim"))
        else:
            terminal.line("There is no guard: `memdir guard add MEMORY GUARD` sets one.")
        for one in idle:
            terminal.line(terminal.style(f"{shown_line(one['file'])} does not hold: {one['reason']}", "yellow"))
            if "command" in one:
                terminal.line("If it says what you want:")
                terminal.verbatim(terminal.dim(f"  {one['command']}"))
        for rule in proposed:
            terminal.line(f"You said {shown_line(rule['file'])} {rule['said']} times. To have it checked:")
            terminal.verbatim(terminal.dim(f"  {what_sets(rule['file'], rule['guard'], rule['scope'])}"))
        return 0


class GuardTest:
    """Tell what the guards would say to a call of a tool, and run nothing: a command line, a path for write and read,
    a line for text. Exit status 1 when it would be refused."""

    EXAMPLES = (
        'memdir guard test "git push --force"',
        "memdir guard test --tool write db/migrations/0001_first.sql",
        "memdir guard test --tool mcp__github__merge main",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", metavar="WORDS", nargs="+", help="what the tool would be given, in quotes")
        parser.add_argument("--tool", metavar="NAME", default="shell", help="shell (default), write, text, read, web …")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.require_enabled()
        forget_kept(memory)
        call = _call(options.tool, " ".join(options.words), root=memory.layout.work_tree)
        found = breached(held_guards(memory), call)
        is_refused = any(one.action == "block" for one in found)
        if options.json:
            told = [{"file": one.key, "scope": one.scope, "guard": one.line, "answer": one.answer} for one in found]
            return int(context.print_json({"refused": is_refused, "breached": told}, int(is_refused)))
        for one in found:
            context.terminal.line(f"{context.terminal.bold(one.line)} ({shown_line(one.key)})\n{one.answer}\n")
        if not found:
            context.terminal.line("No guard minds that.")
        return 1 if is_refused else 0


def _doubts(guard: Guard) -> list[str]:
    """What a guard may have been meant to say, and does not: it is trusted once it is set."""
    found = []
    if guard.tool.lower() not in KINDS and "*" not in guard.tool:
        close = difflib.get_close_matches(guard.tool.lower(), [*_TOOLS_OF_ALL, *KINDS], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        found.append(
            f"it holds for a tool by the name {guard.tool} alone: the kinds are {', '.join(_TOOLS_OF_ALL)}{hint}"
        )
    signs = [sign for sign in "()[]?^$" if sign in guard.pattern]
    if signs and KINDS.get(guard.tool.lower()) == "shell":
        more = "`*` stands for anything, `|` parts words of which one is enough"
        found.append(f"`{signs[0]}` is a plain letter in a pattern: {more}")
    return found


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scope", choices=SCOPES, default="all", help="project or user (default: the project's, else yours)"
    )


def _named(memory: MemDir, name: str, scope: str) -> tuple[str, Memory]:
    """The memory that a name means: the project's, else the person's own."""
    first, *others = SCOPES if scope == "all" else (scope,)
    try:
        return first, memory.get(name, scope=first)
    except MemoryNotFound:
        for other in others:
            with suppress(MemoryNotFound):
                return other, memory.get(name, scope=other)
        raise


def _save(memory: MemDir, scope: str, found: Memory, data: bytes) -> Memory:
    origin = Origin(BY_HAND, trust="user")
    saved = save_memory(memory.stores.of(scope), found.key, data, origin=origin, base=found.topic.data)
    forget_kept(memory)
    return saved


def _not_holding(memory: MemDir) -> list[dict[str, str]]:
    """What a file says of a guard and why that does not hold."""
    found, held = [], {(one.scope, one.key) for one in held_guards(memory)}
    for scope in SCOPES:
        foreign = "" if memory.places.is_own(scope) else "its directory lies in the project"
        known = dict.fromkeys(memory.guards.all(scope), TOO_MANY)
        for header in memory.list(scope=scope):
            if GUARD_FIELD not in header.fields or (scope, header.key) in held:
                continue
            reason = foreign or why_not(header, key=header.key, scope=scope) or known.get(header.key, "")
            told = {} if reason else {"command": what_sets(header.key, header.fields[GUARD_FIELD], scope)}
            found.append({"file": header.key, "scope": scope, "reason": reason or NOT_SET, **told})
    return found


def _call(tool: str, text: str, *, root: str) -> ToolCall:
    """A call as an agent would make it."""
    if tool.lower() == "text":
        return ToolCall("write", {"content": text}, root=root)
    return ToolCall(tool, {"command": text, "path": text, "content": text}, root=root)
