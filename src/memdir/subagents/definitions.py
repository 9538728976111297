"""Definitions of sub-agents: Markdown files with a head, the person's own first, then those that came with the project.

A repository may be a stranger's (S2, S15): its definitions never take the place of the person's, choose no model, and
reach no memory outside the project. Claude Code's own files are understood; what it has and we have not is told.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Literal

from memdir.disk.plain_file import read_if_plain
from memdir.disk.safe_path import has_link_below
from memdir.errors import MemoryNotFound
from memdir.layout import safe_agent_name
from memdir.model.choose import family_of
from memdir.store.frontmatter import find_block, newline_of, read_fields
from memdir.text.printable import one_line, printable

if TYPE_CHECKING:
    from memdir.layout import AgentScope
    from memdir.memdir import MemDir
    from memdir.transcript import ToolUse

MAX_BYTES = 100_000  # of one file: about 25,000 tokens
MAX_PROJECT_BYTES = 16_000  # of one that came with a project: a person reads it whole before it runs
MAX_FILES = 200  # of one place, with those in the folders below
MAX_ENTRIES = 2_000  # of one place that are looked at, whatever they are
MAX_DEPTH = 3  # folders in folders
MAX_NAME = 64  # characters; a name stands in every request
MAX_DESCRIPTION = 1_000
FILE_TOOLS = ("Read", "Write", "Edit", "Grep", "Glob", "Bash")
TOOL = "Agent"  # starts one
NESTING = (TOOL, "Task")  # what would start sub-agents of a sub-agent
Whose = Literal["user", "project"]
Kind = Literal["memdir", "claude"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_TOOL = re.compile(r"[^\s,(\[\]\"']+(?:\([^)]*\))?")  # `Bash(git diff:*)` is one word
_COMMENT = re.compile(r"(?:^|\s)#.*")
_OTHER_NAMES = {"multiedit": "Edit", "ls": "Glob", "task": "Agent"}
NO_MEMORY = "there is no memory"  # of the name that the head says
_KEYS = ("name", "description", "tools", "disallowedtools", "model", "memory", "color")  # of a head; the last is a look
_SCOPES: tuple[AgentScope, ...] = ("user", "project", "local")
_ALIASES = ("inherit", "sonnet", "opus", "haiku", "")  # Claude Code's words for no model of our own


@dataclass(frozen=True)
class AgentDefinition:
    """One sub-agent: what it is for, what it may use, where it remembers, and the file that says so."""

    name: str  # what a model calls it by
    description: str  # one line: when to use it
    prompt: str  # what it is told
    path: str  # of the file
    whose: Literal["user", "project"]  # the person's own, or came with the project
    kind: Literal["memdir", "claude"]  # in whose folder it lies
    tools: tuple[str, ...] | None = None  # None: all that the conversation has
    denied: tuple[str, ...] = ()  # tools that it may not use, whatever it may
    model: str = ""  # empty: that of the conversation
    memory: Literal["user", "project", "local"] | None = None  # where it remembers; None: nowhere
    remarks: tuple[str, ...] = ()  # what of the file does not hold here, and why

    @property
    def scope(self) -> str:
        """The scope of its memory, as every command names it; empty where it has none."""
        kinds = {"user": "agent", "project": "agent-project", "local": "agent-local"}
        return f"{kinds[self.memory]}:{self.name}" if self.memory else ""

    @property
    def digest(self) -> str:
        """What a person's yes to it was about."""
        return sha256(repr((self.path, self.prompt, self.tools, self.denied, self.memory)).encode()).hexdigest()[:16]

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        where = "Claude Code" if self.kind == "claude" else ""
        return " · ".join(filter(None, ("came with the project" if self.whose == "project" else "yours", where)))

    def may_use(self, tool: str) -> bool:
        """Whether it says so of a tool; the gate of the conversation has its say besides."""
        return tool not in NESTING and tool not in self.denied and (self.tools is None or tool in self.tools)


@dataclass
class Definitions:
    """All that were found: those that can be used by name, and the files that cannot, with the reason."""

    agents: dict[str, AgentDefinition] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    root: str = ""  # the project's folder

    def find(self, name: str) -> AgentDefinition:
        """One by its name, however it is capitalised; MemoryNotFound where there is none."""
        wanted = name.strip().casefold()
        found = next((one for one in self.agents.values() if one.name.casefold() == wanted), None)
        if found is None:
            there = ", ".join(self.agents) or "none: docs/how-to/subagents.md shows how to define one"
            raise MemoryNotFound(f"there is no sub-agent {one_line(name)[:MAX_NAME]!r}", remedy=f"There is {there}")
        return found

    def guest_of(self, call: ToolUse) -> tuple[str, str, str] | None:
        """What a call of the tool `Agent` would start, where that came with the project: what a yes is about, the
        question to the person, all of it shown. None where a person wrote it."""
        try:
            one = self.find(str(call.input.get("agent", ""))) if call.name == TOOL else None
        except MemoryNotFound:
            return None
        if one is None or one.whose != "project":
            return None
        path = os.path.relpath(one.path, self.root)
        tools = "all that this conversation has" if one.tools is None else ", ".join(one.tools) or "none"
        detail = f"{path}\nYou did not write it. It may use: {tools}. It is told:\n\n{one.prompt}"
        return f"agent {one.digest}", f"Start the sub-agent {one.name}, which came with the project", detail

    def take(self, found: AgentDefinition) -> None:
        """Let it be used, unless one before it has the name, or the folder of memories that belongs to the name."""
        folder = safe_agent_name(found.name).casefold()
        before = next((one for one in self.agents.values() if safe_agent_name(one.name).casefold() == folder), None)
        if before is None:
            self.agents[found.name] = found
        else:
            is_other = before.name != found.name
            why = f"{before.name} would share its memory" if is_other else f"another {found.name} goes before it"
            self.left_out.append((found.path, f"{why} ({before.path})"))


def doubt_about(scope: str, memory: MemDir) -> str:
    """A word on the scope of a sub-agent that there is not, or that remembers elsewhere: nobody would read what is kept
    there. Empty for one that is there."""
    agents = find_definitions(memory).agents
    name = scope.partition(":")[2]
    if any(one.scope == scope for one in agents.values()):
        return ""
    if name in agents:
        return f"the sub-agent {name} reads {agents[name].scope or 'no memory of its own'}, and not {one_line(scope)}"
    close = difflib.get_close_matches(name, agents, n=1)
    hint = f": did you mean {close[0]}?" if close else ". `memdir agents` lists those that there are"
    return f"there is no sub-agent {one_line(name)[:MAX_NAME]!r} here{hint}"


def find_definitions(memory: MemDir) -> Definitions:
    """Every definition that holds here; the person's own go before the project's, ours before Claude Code's."""
    layout, environment = memory.layout, memory.environment
    found = Definitions(root=layout.work_tree)
    places: tuple[tuple[str, Whose, Kind], ...] = (
        (os.path.join(environment.home, "agents"), "user", "memdir"),  # with memory off the layout's home is another
        (os.path.join(environment.claude_home, "agents"), "user", "claude"),
        (layout.project_agents, "project", "memdir"),
        (layout.project_claude_agents, "project", "claude"),
    )
    seen: set[str] = set()
    for folder, whose, kind in places:
        real = os.path.realpath(folder)
        if real in seen or (whose == "project" and has_link_below(layout.work_tree, folder)):
            continue
        seen.add(real)
        paths = list(islice(_files(folder, MAX_DEPTH, iter(range(MAX_ENTRIES))), MAX_FILES + 1))
        if len(paths) > MAX_FILES:
            found.left_out.append((folder, f"only the first {MAX_FILES} files are looked at"))
        for path in paths[:MAX_FILES]:
            most = MAX_PROJECT_BYTES if whose == "project" else MAX_BYTES
            data = read_if_plain(path if whose == "project" else os.path.realpath(path), most)  # theirs may be dotfiles
            if data is None or b"\0" in data:
                told = "it is no text" if data else f"it is a link, no plain file, or has more than {most:,} bytes"
                found.left_out.append((path, told))
                continue
            one = read_definition(path, data, whose=whose, kind=kind)
            if isinstance(one, str):
                found.left_out.append((path, one))
            else:
                found.take(one)
    return found


def _files(folder: str, depth: int, left: Iterator[int]) -> Iterator[str]:
    """The Markdown files below a folder, no link to a folder followed, no more looked at than anybody keeps."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted((entry for entry, _ in zip(entries, left, strict=False)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False) and depth > 1 and not entry.name.startswith("."):
            yield from _files(entry.path, depth - 1, left)
        elif entry.name.endswith(".md") and not entry.is_dir():
            yield entry.path


def read_definition(path: str, data: bytes, *, whose: Whose, kind: Kind) -> AgentDefinition | str:
    """What a file defines, or why it defines nothing."""
    block = find_block(data)
    if block is None:
        return "it has no head between two lines of ---"
    head = data[block.start : block.end]
    said = read_fields(head, newline_of(data))
    fields = {name.lower(): value for name, value in said.items()}
    name = fields.get("name", "").strip() or os.path.basename(path).removesuffix(".md")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        return f"{one_line(name)[:MAX_NAME]!r} is no name: letters (a-z), digits and . _ - : (at most {MAX_NAME})"
    prompt = printable(data[block.body_start :].decode("utf-8", "replace")).strip()
    if not prompt:
        return "it says nothing below its head"
    strange = ", ".join(key for key in said if key.lower() not in _KEYS)  # or `tool:` would be all tools, unseen
    remarks = [f"means nothing here: {one_line(strange)[:200]}"] if strange else []
    lists = _lists(head, newline_of(data))
    tools = _tools(lists["tools"], remarks) if "tools" in lists else None
    denied = lists.get("disallowedtools", ())  # within a limit that we do not know: altogether
    remarks += (f"denied altogether: {one_line(word)[:200]}" for word in denied if "(" in word)
    return AgentDefinition(
        name,
        one_line(fields.get("description") or prompt.split("\n", 1)[0])[:MAX_DESCRIPTION],
        prompt,
        path,
        whose,
        kind,
        None if tools == ("*",) else tools,
        tuple(_plain_tool(word.partition("(")[0]) for word in denied),
        _model(fields.get("model", ""), whose, remarks),
        _memory(fields.get("memory", ""), whose, remarks),
        tuple(remarks),
    )


def _lists(head: bytes, newline: bytes) -> dict[str, list[str]]:
    """The words of the keys that hold lists, in any of their forms: with commas, in brackets, a line each."""
    found: dict[str, list[str]] = {}
    lines = head.decode("utf-8", "replace").split(newline.decode())
    keys = [next(iter(read_fields(line.encode())), "").lower() for line in lines]  # by the rules of every head
    for key in {"tools", "disallowedtools"}.intersection(keys):
        at = keys.index(key)
        said = [lines[at].partition(":")[2]]
        for line in lines[at + 1 :]:
            if line.strip() and line[0] not in " \t-#":
                break
            said.append(line.strip().removeprefix("-"))
        found[key] = [word for one in said for word in _TOOL.findall(_COMMENT.sub("", one))]
    return found


def _tools(words: Sequence[str], remarks: list[str]) -> tuple[str, ...]:
    """The tools that it may use. What has a limit that we do not know is not given at all: never more than was said."""
    if "*" in words:
        return ("*",)
    found = [_plain_tool(word) for word in words]
    strange = [word for word in found if word not in FILE_TOOLS]
    if strange:
        remarks.append(f"not here: {one_line(', '.join(strange))[:200]}")
    return tuple(dict.fromkeys(word for word in found if "(" not in word and word not in NESTING))


def _plain_tool(word: str) -> str:
    known = {name.lower(): name for name in FILE_TOOLS}
    return known.get(word.lower()) or _OTHER_NAMES.get(word.lower(), word)


def _model(name: str, whose: Whose, remarks: list[str]) -> str:
    """The model that it names. What came with a project spends nobody's money on another one."""
    name = one_line(name.strip())
    if name.lower() in _ALIASES or len(name) > MAX_NAME:
        return ""
    if whose == "project":
        remarks.append(f"the model {name} is not taken: a project chooses none")
        return ""
    return name


def _memory(scope: str, whose: Whose, remarks: list[str]) -> AgentScope | None:
    """Where it remembers. What came with a project reaches no memory of other projects."""
    found = next((one for one in _SCOPES if one == scope.strip().lower()), None)
    if found is None and scope.strip():
        remarks.append(f"{NO_MEMORY} {one_line(scope)[:40]!r}: user, project or local")
    if found == "user" and whose == "project":
        remarks.append("memory: local instead of user, because it came with the project")
        return "local"
    return found


def model_of(definition: AgentDefinition, *, provider: str, inherited: str) -> str:
    """The model that it asks: its own where that is one of the provider in force, else that of the conversation. No
    definition changes the provider."""
    named = definition.model
    is_ours = provider in ("anthropic", "openai") and (family_of(named) or provider) == provider
    return named if named and is_ours else inherited
