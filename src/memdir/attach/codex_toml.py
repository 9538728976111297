"""Codex' config.toml, edited as text: our server is put in and cut out, and the trust that Codex keeps in hooks follows
them. What else stands there stays as it is; after each edit it is asked whether it does.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memdir.attach.agents import NAME, Agent, is_our_server, part
from memdir.errors import BadMemoryFile

MAX_DEPTH = 100  # of tables in tables: beyond, nobody wrote it by hand, and comparing it ends in an error
_SERVER = f"mcp_servers.{NAME}"
_PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_NAMED = re.compile(rf"\s*(\[\[?\s*)?({_PART}(?:\s*\.\s*{_PART})*)\s*[=\]]")
# What may hold a bracket or the end of a line that means nothing, and what means something.
_SIGNS = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]''', re.DOTALL
)
# A hook that went: its event, the place of its group, and its own in a group that stayed, or -1 with the whole group.
Gone = tuple[str, int, int]


@dataclass
class TomlPiece:
    """A table's header, or a name with its value, with the lines that it goes over; or what stands between them."""

    text: str
    path: list[str]  # of names, from the top; empty for what is none
    is_header: bool = False


def parsed_toml(text: str, path: str) -> dict[str, Any]:
    """What a file of Codex says; BadMemoryFile for what is no TOML, or more than anybody gets through."""
    try:
        # Codex reads over the mark; a fraction as it is written equals itself, which `nan` does not
        found = tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
        level: list[object] = [found]
        for _ in range(MAX_DEPTH):
            level = [one for value in level for one in _within(value)]
        if not level:
            return found
    except ValueError as error:
        raise BadMemoryFile(f"{path} is no TOML: {error}", remedy="Repair it, then try again") from None
    except RecursionError:
        pass
    raise BadMemoryFile(f"{path} is nested too deeply", remedy="Repair it, then try again")


def _within(value: object) -> Iterator[object]:
    if isinstance(value, dict | list):
        yield from value.values() if isinstance(value, dict) else value


# Our server


def with_server(text: str, agent: Agent, program: str) -> str:
    """With our server in a table of its own; where it stands already, with the program that runs now."""
    known = parsed_toml(text, agent.servers_file).get("mcp_servers", {})
    ours = known.get(NAME) if isinstance(known, dict) else None
    if ours is not None:
        if not isinstance(ours, dict) or not is_our_server(ours):
            return text
        is_moved = ours["command"] != program
        text = _with_command(text, str(ours["command"]), program, agent.servers_file) if is_moved else text
        return _with_home(text, agent)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    table = f'{gap}[{_SERVER}]\ncommand = {_quoted(program)}\nargs = ["mcp"]\n{_home_line(agent)}'
    if not _says(text, text + table, agent.servers_file, agent.server(program)):
        told = f"{agent.servers_file}: `mcp_servers` is written in one piece, to which no server can be added"
        raise BadMemoryFile(told, remedy="Write each of them as a table, [mcp_servers.NAME], then try again")
    return text + table


def without_server(text: str, path: str) -> str:
    """Without our server and what Codex keeps of its tools below it, in whichever form its owner wrote it."""
    if not is_our_server(_server(parsed_toml(text, path))):
        return text
    return _as_meant(text, [_cut(text, lambda names: names[:2] == ["mcp_servers", NAME])], path, {})


def _with_command(text: str, old: str, new: str, path: str) -> str:
    """With another program and all else that its owner wrote there, in whichever form: it stands where putting the new
    one in its place gives what is meant."""
    ours = {**_server(parsed_toml(text, path)), "command": new}
    found = re.finditer("|".join(re.escape(form) for form in (_quoted(old), f"'{old}'")), text)
    return _as_meant(text, (text[: at.start()] + _quoted(new) + text[at.end() :] for at in found), path, ours)


def _with_home(text: str, agent: Agent) -> str:
    """With the home that the server is to have, in a line behind that of its program, or without one."""
    ours = _server(parsed_toml(text, agent.servers_file))
    variables = ours.pop("env", {})
    variables = {**variables} if isinstance(variables, dict) else {}
    if variables.pop("MEMDIR_HOME", "") == agent.memory:
        return text
    variables |= {"MEMDIR_HOME": agent.memory} if agent.memory else {}
    place = ["mcp_servers", NAME, "env"]
    pieces = [one for one in _pieces(text) if one.path != [*place, "MEMDIR_HOME"]]
    table = next((one for one in pieces if one.is_header and one.path == place), None)
    above = table or next((one for one in pieces if one.path == [*place[:2], "command"]), None)
    line = _home_line(agent).removeprefix("env." if table else "")
    changed = "".join(one.text + (line if one is above else "") for one in pieces)
    return _as_meant(text, [changed], agent.servers_file, {**ours, **({"env": variables} if variables else {})})


def _home_line(agent: Agent) -> str:
    return f"env.MEMDIR_HOME = {_quoted(agent.memory)}\n" if agent.memory else ""


def _server(parsed: dict[str, Any]) -> dict[str, Any]:
    return part(part(parsed, "mcp_servers"), NAME)


def _as_meant(before: str, texts: Iterable[str], path: str, ours: dict[str, object]) -> str:
    """The first of them that says what it should."""
    for after in texts:
        if _says(before, after, path, ours):
            return after
    told = f"{path}: {_SERVER} cannot be changed without harm to the rest"
    raise BadMemoryFile(told, remedy=f"Change or take out {_SERVER} by hand, then try again")


def _says(before: str, after: str, path: str, ours: dict[str, object]) -> bool:
    """Whether a text says of our server what it should, and of all else what it said before."""
    try:
        old, new = parsed_toml(before, path), parsed_toml(after, path)
    except BadMemoryFile:
        return False
    is_ours = _server(new) == ours
    for parsed in (old, new):
        servers = parsed.get("mcp_servers", {})
        if not isinstance(servers, dict):
            return False
        servers.pop(NAME, None)
        if not servers:
            parsed.pop("mcp_servers", None)
    return is_ours and old == new


# The trust in hooks, which Codex keeps by their places: `hooks.state."/home/a/.codex/hooks.json:stop:0:0"`


def is_trusted(agent: Agent, text: str, event: str, at: int) -> bool:
    """Whether Codex keeps a trust in the first hook of a group."""
    state = _state(parsed_toml(text, agent.servers_file))
    return any(f"{prefix}{at}:0" in state for prefix in _prefixes(agent, event))


def without_trust(text: str, agent: Agent, gone: Sequence[Gone], changed: Sequence[tuple[str, int]] = ()) -> str:
    """Without the trust in hooks that went or were changed: it was given to another command, and Codex knows that. The
    trust in those that stood behind one moves with them."""
    parsed = parsed_toml(text, agent.servers_file)
    moves = _moves(_state(parsed), agent, gone, changed)
    if all(old == new for old, new in moves.items()):
        return text
    text = _cut(text, lambda names: names[:2] == ["hooks", "state"] and moves.get("".join(names[2:3]), names) is None)
    text = "".join(_renamed(one, moves) for one in _pieces(text))
    after = parsed_toml(text, agent.servers_file)
    meant = {new: value for old, value in _state(parsed).items() if (new := moves[old]) is not None}
    if _state(after) != meant or _beside_trust(after) != _beside_trust(parsed):
        told = f"{agent.servers_file}: hooks.state cannot be changed without harm to the rest"
        raise BadMemoryFile(told, remedy="Take the trust in memdir's hooks out by hand, then try again")
    return text


def _state(parsed: dict[str, Any]) -> dict[str, object]:
    return part(part(parsed, "hooks"), "state")


def _beside_trust(parsed: Mapping[str, Any]) -> dict[str, object]:
    hooks = parsed.get("hooks")
    others = {name: value for name, value in hooks.items() if name != "state"} if isinstance(hooks, dict) else hooks
    return {**parsed, "hooks": others or None}


def _prefixes(agent: Agent, event: str) -> list[str]:
    """How the names begin under which trust in the hooks of an event is kept: Codex takes its home without links."""
    own = agent.hooks_file
    beside = os.path.join(os.path.realpath(agent.home), os.path.basename(own))
    files = dict.fromkeys((own, beside, os.path.realpath(own)))
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
    return [f"{file}:{snake}:" for file in files]


def _moves(
    state: Mapping[str, object], agent: Agent, gone: Sequence[Gone], changed: Sequence[tuple[str, int]]
) -> dict[str, str | None]:
    """What each name becomes; None for trust in a hook that is there no more."""
    moves: dict[str, str | None] = {name: name for name in state}
    for event in dict.fromkeys((*(one[0] for one in gone), *(one[0] for one in changed))):
        lost = [(group, hook) for name, group, hook in gone if name == event]
        for name, prefix in ((name, prefix) for name in state for prefix in _prefixes(agent, event)):
            place = re.fullmatch(r"(\d+):(\d+)", name.removeprefix(prefix)) if name.startswith(prefix) else None
            if not place:
                continue
            group, hook = int(place[1]), int(place[2])
            is_lost = (group, -1) in lost or (group, hook) in lost or (event, group) in changed
            hook -= sum(1 for one in lost if one[0] == group and 0 <= one[1] < hook)
            group -= sum(1 for one in lost if one[1] < 0 and one[0] < group)
            moves[name] = None if is_lost else f"{prefix}{group}:{hook}"
    return moves


def _renamed(one: TomlPiece, moves: Mapping[str, str | None]) -> str:
    """With the name that a hook's trust has now, written as its owner wrote the old one."""
    name = one.path[2] if len(one.path) > 2 and one.path[:2] == ["hooks", "state"] else ""
    new = moves.get(name) or name
    if new == name:
        return one.text
    for found in re.finditer(_PART, one.text):
        if _name(found[0]) == name:
            old_place, new_place = (":".join(word.split(":")[-2:]) for word in (name, new))
            same = found[0][:-1].removesuffix(old_place) + new_place + found[0][-1]
            drawn = same if _name(same) == new else _quoted(new)
            return one.text[: found.start()] + drawn + one.text[found.end() :]
    return one.text  # in a table whose header names it


# Reading


def _pieces(text: str) -> Iterator[TomlPiece]:
    """A TOML text, piece by piece."""
    table: list[str] = []
    start = depth = 0
    for sign in _SIGNS.finditer(text + "\n"):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign[0], 0)
        if sign[0] != "\n" or depth > 0:
            continue
        piece, start = text[start : sign.end()], sign.end()
        named = _NAMED.match(piece)
        names = [_name(part) for part in re.findall(_PART, named[2])] if named else []
        if named and named[1]:
            table = names
            yield TomlPiece(piece, names, is_header=True)
        else:
            yield TomlPiece(piece, [*table, *names] if names else [])


def _cut(text: str, is_wanted: Callable[[list[str]], bool]) -> str:
    """Without what has these names. What stands behind the last line of a table, such as a comment on the next, is not
    its own."""
    kept: list[str] = []
    behind: list[str] = []
    is_cutting = False
    for one in _pieces(text):
        if one.is_header:
            kept += behind
            behind, is_cutting = [], is_wanted(one.path)
            if is_cutting and kept and not kept[-1].strip():
                kept.pop()  # the empty line that came with it
        if one.path and (is_cutting or is_wanted(one.path)):
            behind = [] if is_cutting else behind
        else:
            (behind if is_cutting else kept).append(one.text)
    return "".join(kept + behind)


def _name(part: str) -> str:
    """A part of a name, however it is quoted."""
    if part[0] not in "\"'":
        return part
    try:
        return str(tomllib.loads(f"name = {part}")["name"])
    except ValueError:
        return part


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
