"""Puts memdir into the settings of coding agents, and takes it out again.

What else stands in those files stays byte for byte. Where nobody touched a file since, detaching puts back what was
there before; where a client rewrote it, ours is cut out of what stands there now.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memdir.attach.agents import NAME, Agent, is_our_hook, is_our_plugin, is_ours, our_places
from memdir.attach.json_text import JsonText
from memdir.disk.atomic import delete_file, make_folder, write_project_file
from memdir.disk.plain_file import read_if_plain
from memdir.errors import BadMemoryFile, EditConflict

OwnMemory = Literal["keep", "serve", "off"]  # what becomes of the memory that an agent keeps itself
MAX_SETTINGS = 8 << 20
MAX_RECORD = 64 << 20
_OF_CODEX_HOOKS = ("hooks", "description")  # with another name at the top, Codex ignores the whole file
_SERVER = f"mcp_servers.{NAME}"
_OUR_LINE = re.compile(rf"""\s*(?:["']?mcp_servers["']?\s*\.\s*)?["']?{NAME}["']?\s*[.=]""")
_TABLE = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(?:#.*)?$")
# A hook that went: its event, the place of its group, and its own in a group that stayed, or -1 with the whole group.
Gone = tuple[str, int, int]


@dataclass
class FileEdit:
    """What becomes of one file."""

    path: str
    before: str | None  # None where there is none
    after: str | None  # None where it goes
    had_ours: bool = False  # before already: then that is nothing to go back to
    own_memory: tuple[str, ...] = ()  # the setting in it that switches the agent's own memory off

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass
class EditPlan:
    """The edits for some agents, and what is in the way of others."""

    edits: list[FileEdit] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # by the agent's name

    @property
    def changes(self) -> list[FileEdit]:
        return [edit for edit in self.edits if edit.is_change]


def plan_attach(agents: Sequence[Agent], program: str, own_memory: Mapping[str, OwnMemory]) -> EditPlan:
    """What attaching would write, with what becomes of the memory that an agent keeps itself. One agent whose settings
    cannot be used costs no other."""

    def change(agent: Agent, files: dict[str, str | None]) -> None:
        _attach(agent, files, program)
        choice = own_memory.get(agent.name, "keep")
        text = JsonText(files[agent.hooks_file] or "", agent.hooks_file) if agent.own_memory else None
        if text and (choice == "off" or (choice == "serve" and text.get(*agent.own_memory) is False)):
            *path, name = agent.own_memory
            files[agent.hooks_file] = text.with_member(path, name, choice == "serve").text

    return _planned(agents, change)


def plan_detach(agents: Sequence[Agent], record: AttachRecord) -> EditPlan:
    """What detaching would write: what was there before, or what is there now without ours."""

    def change(agent: Agent, files: dict[str, str | None]) -> None:
        _detach(agent, files)
        text = JsonText(files.get(agent.hooks_file) or "", agent.hooks_file)
        if agent.hooks_file in record.own_memories and text.get(*agent.own_memory) is False:
            files[agent.hooks_file] = _switched_back(text, agent.own_memory, record.own_memories[agent.hooks_file])

    plan = _planned(agents, change)
    for edit in plan.edits:
        known = record.before(edit.path, edit.before)
        if known is not None:
            edit.after = known.text
    return plan


def _switched_back(text: JsonText, setting: Sequence[str], former: object) -> str:
    if former is not None:
        return text.with_value(setting, former).text
    text = text.without(setting)
    above = setting[:-1]
    return (text.without(above) if above and text.get(*above) == {} else text).text


def _planned(agents: Sequence[Agent], change: Callable[[Agent, dict[str, str | None]], None]) -> EditPlan:
    plan = EditPlan()
    for agent in agents:
        files: dict[str, str | None] = {}
        paths = [path for path in (agent.hooks_file, agent.servers_file, agent.plugin_file) if path]
        try:
            before = {path: read_settings_text(path) for path in paths}
            files.update(before)
            change(agent, files)
            bare = dict(before)
            _detach(agent, bare)
        except BadMemoryFile as error:
            plan.refused[agent.name] = str(error)
            continue
        for path, text in before.items():
            own = agent.own_memory if path == agent.hooks_file else ()
            plan.edits.append(FileEdit(path, text, files[path], bare[path] != text, own))
    return plan


def read_settings_text(path: str) -> str | None:
    """A file of settings; None where there is none, BadMemoryFile where it cannot be read."""
    if not os.path.lexists(path):
        return None
    data = read_if_plain(os.path.realpath(path), MAX_SETTINGS)  # people keep their settings behind links
    if data is None:
        raise BadMemoryFile(f"{path} cannot be read", remedy="It has to be a plain file that you may read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadMemoryFile(f"{path} is no text in UTF-8", remedy="Save it as UTF-8, then try again") from None


def _attach(agent: Agent, files: dict[str, str | None], program: str) -> None:
    gone: list[Gone] = []
    if agent.hooks_file:
        text = JsonText(files[agent.hooks_file] or "", agent.hooks_file)
        _require_served(agent, text)
        text, gone = _without_hooks(text, but=agent.events)  # before tools, when the last guard is gone
        changed: list[tuple[str, int]] = []
        for event in agent.events:
            places, group = our_places(text, event), agent.group(event, program)
            gone += [(event, at, -1) for at in places[1:]]
            changed += [(event, at) for at in places[:1] if text.get("hooks", event, at) != group]
            text = _with_hook(text, event, group)
        files[agent.hooks_file] = text.text
    if agent.plugin_file:
        known_plugin = files[agent.plugin_file]
        if known_plugin is not None and not is_our_plugin(known_plugin):
            told = f"{agent.plugin_file} is not memdir's: it does not begin as the plugin that `memdir attach` writes"
            raise BadMemoryFile(told, remedy="Give it another name, then try again")
        files[agent.plugin_file] = agent.plugin(program)
    servers = files[agent.servers_file]
    if agent.servers_file.endswith(".toml"):
        servers = _without_trust_in(servers or "", agent, gone, changed)
        files[agent.servers_file] = _with_server_table(servers, agent, program)
        return
    text = JsonText(servers or "", agent.servers_file)
    if agent.servers_file != agent.hooks_file:
        _require_served(agent, text)
    known, ours = text.get(agent.servers_key, NAME), agent.server(program)
    if known is None:
        text = text.with_member([agent.servers_key], NAME, ours)
    elif isinstance(known, dict) and is_our_server(known) and known["command"] != ours["command"]:
        text = text.with_value([agent.servers_key, NAME, "command"], ours["command"])  # the rest may be its owner's
    files[agent.servers_file] = text.text


def _require_served(agent: Agent, text: JsonText) -> None:
    """Not to be written into: what the client itself would not read, with the user's own hooks in it."""
    if text.value is not None and not isinstance(text.value, dict):
        raise BadMemoryFile(f"{text.name} holds no object", remedy="Repair it, then try again")
    if agent.is_strict and (text.has_comments or text.has_trailing_comma):
        what = "a comment" if text.has_comments else "a comma before a closing bracket"
        told = f"{text.name} has {what}, so {agent.title} ignores the whole file"
        raise BadMemoryFile(told, remedy="Take that out, then try again")
    if agent.name == "codex" and text.name == agent.hooks_file:
        strange = [key for key in text.value or () if key not in _OF_CODEX_HOOKS]
        if strange:
            told = f"{text.name} has {strange[0]!r} at its top, so {agent.title} ignores the whole file"
            raise BadMemoryFile(told, remedy="Only `hooks` and `description` may stand there")


def _with_hook(text: JsonText, event: str, group: dict[str, object]) -> JsonText:
    """Ours behind the others; in its old place where it is there already, and once."""
    ours = our_places(text, event)
    if not ours:
        return text.with_item(["hooks", event], group)
    for at in reversed(ours[1:]):
        text = text.without(["hooks", event, at])
    return text if text.get("hooks", event, ours[0]) == group else text.with_value(["hooks", event, ours[0]], group)


def _without_hooks(text: JsonText, *, but: Sequence[str] = ()) -> tuple[JsonText, list[Gone]]:
    """Without ours at any event but these, nor in a group of the user's, and what went."""
    gone: list[Gone] = []
    for path in text.paths(
        lambda path, value: path[:1] == ("hooks",) and path[3:4] == ("hooks",) and is_our_hook(value)
    ):
        if len(path) == 5 and not is_ours(text.get(*path[:3])):
            gone.append((str(path[1]), int(path[2]), int(path[4])))
            text = text.without(path)
    for path in text.paths(lambda path, value: len(path) == 3 and path[0] == "hooks" and is_ours(value)):
        if path[1] not in but:
            gone.append((str(path[1]), int(path[2]), -1))
            text = text.without(path)
    for event in dict.fromkeys(event for event, _, _ in gone):
        text = text.without(["hooks", event]) if text.get("hooks", event) == [] else text
    return text.without(["hooks"]) if gone and text.get("hooks") == {} else text, gone


def _detach(agent: Agent, files: dict[str, str | None]) -> None:
    hooks = files.get(agent.hooks_file) if agent.hooks_file else None
    gone: list[Gone] = []
    if hooks:
        text, gone = _without_hooks(JsonText(hooks, agent.hooks_file))
        files[agent.hooks_file] = text.text
    if agent.plugin_file and is_our_plugin(files[agent.plugin_file]):
        files[agent.plugin_file] = None
    servers = files[agent.servers_file]
    if servers is None:
        return
    if agent.servers_file.endswith(".toml"):
        files[agent.servers_file] = _without_tables(servers, agent, gone)
        return
    text = JsonText(servers, agent.servers_file)
    known = text.get(agent.servers_key, NAME)
    if isinstance(known, dict) and is_our_server(known):
        text = text.without([agent.servers_key, NAME])
        text = text.without([agent.servers_key]) if text.get(agent.servers_key) == {} else text
    files[agent.servers_file] = text.text


def is_our_server(server: dict[str, object]) -> bool:
    """Whether an entry by our name starts memdir: a user may have given that name to something else."""
    command = server.get("command")
    words = [*command] if isinstance(command, list) else [command, *_list(server.get("args"))]
    return len(words) == 2 and os.path.basename(str(words[0])).startswith("memdir") and words[1] == "mcp"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# Codex' TOML: a table is a run of lines, so it can be added and cut out without touching another


def _with_server_table(text: str, agent: Agent, program: str) -> str:
    known = _toml(text, agent.servers_file).get("mcp_servers", {})
    ours = known.get(NAME) if isinstance(known, dict) else None
    if ours is not None:
        is_moved = isinstance(ours, dict) and is_our_server(ours) and ours["command"] != program
        return _with_command(text, str(ours["command"]), program, agent.servers_file) if is_moved else text
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    table = f'{gap}[{_SERVER}]\ncommand = {_quoted(program)}\nargs = ["mcp"]\n'
    return _as_meant(text, text + table, agent.servers_file, {"command": program, "args": ["mcp"]})


def _with_command(text: str, old: str, new: str, path: str) -> str:
    """With another program and all else that its owner wrote there, in whichever form: it stands where putting the new
    one in its place gives what is meant."""
    ours = {**_server(_toml(text, path)), "command": new}
    for found in re.finditer("|".join(re.escape(form) for form in (_quoted(old), f"'{old}'")), text):
        changed = text[: found.start()] + _quoted(new) + text[found.end() :]
        if _says(text, changed, ours):
            return changed
    raise _unfit(path)


def _without_tables(text: str, agent: Agent, gone: Sequence[Gone]) -> str:
    """Without our server and the trust in our hooks. The trust in hooks that stood behind ours moves with them."""
    if is_our_server(_server(_toml(text, agent.servers_file))):  # with what Codex keeps of its tools below it
        cut = _cut_tables(text, lambda name: _keys(name)[:2] == ["mcp_servers", NAME])
        if not _says(text, cut, {}):  # it is no table, but lines in one
            cut = "".join(line for line in cut.splitlines(keepends=True) if not _OUR_LINE.match(line))
        text = _as_meant(text, cut, agent.servers_file, {})
    return _without_trust_in(text, agent, gone, ())


def _server(parsed: Mapping[str, object]) -> dict[str, object]:
    servers = parsed.get("mcp_servers")
    found = servers.get(NAME) if isinstance(servers, dict) else None
    return found if isinstance(found, dict) else {}


def _as_meant(before: str, after: str, path: str, ours: dict[str, object]) -> str:
    if not _says(before, after, ours):
        raise _unfit(path)
    return after


def _says(before: str, after: str, ours: dict[str, object]) -> bool:
    """Whether a text says of our server what it should, and of all else what it said before."""
    try:
        old, new = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
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


def _unfit(path: str) -> BadMemoryFile:
    told = f"{path}: {_SERVER} cannot be changed without harm to the rest"
    return BadMemoryFile(told, remedy=f"Change or take out {_SERVER} by hand, then try again")


def _keys(name: str) -> list[str]:
    """The parts of a table's name, however they are quoted."""
    try:
        found, keys = tomllib.loads(f"[{name}]"), list[str]()
    except tomllib.TOMLDecodeError:
        return []
    while found:
        keys += found
        found = found[keys[-1]]
    return keys


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _without_trust_in(text: str, agent: Agent, gone: Sequence[Gone], changed: Sequence[tuple[str, int]]) -> str:
    """Without the trust in hooks that went or were changed: it was given to another command, and Codex knows that."""
    before = _beside_trust(text, agent.servers_file)
    for event, at in changed:
        text = _without_tables_of(text, f"{trust_prefix(agent, event)}{at}:")
    for event, at, hook in sorted(gone, key=lambda one: (one[2] < 0, -one[1], -one[2])):  # groups move last
        prefix = trust_prefix(agent, event)
        text = _without_trust(text, prefix, at, ":") if hook < 0 else _without_trust(text, f"{prefix}{at}:", hook, '"')
    if _beside_trust(text, agent.servers_file) != before:
        told = f"{agent.servers_file}: hooks.state cannot be changed without harm to the rest"
        raise BadMemoryFile(told, remedy="Take the trust in memdir's hooks out by hand, then try again")
    return text


def _beside_trust(text: str, path: str) -> dict[str, object]:
    parsed = _toml(text, path)
    hooks = parsed.get("hooks")
    others = {name: value for name, value in hooks.items() if name != "state"} if isinstance(hooks, dict) else hooks
    return {**parsed, "hooks": others or None}


def _without_trust(text: str, prefix: str, at: int, end: str) -> str:
    text = _without_tables_of(text, f"{prefix}{at}{end}")

    def moved(found: re.Match[str]) -> str:
        place = int(found[2])
        return f"{found[1]}{place - (place > at)}{end}"

    return re.sub(rf"({re.escape(prefix)})(\d+){end}", moved, text)


def trust_prefix(agent: Agent, event: str) -> str:
    """How the names of the tables begin in which Codex keeps which hooks of an event its user trusts."""
    return f'hooks.state."{agent.hooks_file}:{re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()}:'


def _without_tables_of(text: str, prefix: str) -> str:
    return _cut_tables(text, lambda name: name.startswith(prefix))


def _cut_tables(text: str, is_wanted: Callable[[str], bool]) -> str:
    """Without these tables. What stands behind the last line of one, such as a comment on the next, is not its own."""
    kept: list[str] = []
    behind: list[str] = []
    is_cutting = False
    for line in text.splitlines(keepends=True):
        header = _TABLE.match(line)
        if header:
            kept += behind
            behind, is_cutting = [], is_wanted(header[1])
            if is_cutting and kept and not kept[-1].strip():
                kept.pop()  # the empty line that came with it
        if not is_cutting:
            kept.append(line)
        elif header or (line.strip() and not line.lstrip().startswith("#")):
            behind = []
        else:
            behind.append(line)
    return "".join(kept + behind)


def _toml(text: str, path: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadMemoryFile(f"{path} is no TOML: {error}", remedy="Repair it, then try again") from None


# What was there before


@dataclass(frozen=True)
class Earlier:
    """A file as it was before we wrote there; None for no file."""

    text: str | None


class AttachRecord:
    """The files that were written, as they were before, and by which sum they are known to be untouched since."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            found = json.loads(read_if_plain(path, MAX_RECORD) or b"{}")
            self._files: dict[str, dict[str, str | None]] = dict(found.get("files", {}))
            # What the settings were by which we switched off the memory that an agent keeps itself, by their file.
            self.own_memories: dict[str, object] = dict(found.get("own_memories", {}))
        except (ValueError, AttributeError, TypeError):
            self._files, self.own_memories = {}, {}

    def before(self, path: str, now: str | None) -> Earlier | None:
        """What stood there, where nobody changed the file since; None where nothing is known of that."""
        known = self._files.get(path)
        if not known or known.get("sum") != _sum(now):
            return None
        before = known.get("before")
        return Earlier(None if before is None else base64.b64decode(before).decode("utf-8", "replace"))

    def write(self, edits: Sequence[FileEdit], *, is_detaching: bool = False) -> None:
        """Write the files. The note of what was there comes first, so that a crash leaves both ways open. A running
        client writes in them too: where one is not as it was planned for, EditConflict, and it is left alone."""
        for edit in edits:
            _require_as_planned(edit)
        for edit in edits:
            earlier = self.before(edit.path, edit.before)
            before = earlier.text if earlier else edit.before
            kept = None if before is None else base64.b64encode(before.encode()).decode()
            self._files[edit.path] = {"before": kept, "sum": _sum(edit.after)}
            if earlier is None and edit.had_ours:
                del self._files[edit.path]  # somebody wrote it since: ours is cut out of it then
            self._note_own_memory(edit)
        if not is_detaching:
            self._save()
        for edit in edits:
            target = os.path.realpath(edit.path)
            _require_as_planned(edit)
            if edit.after is None:
                delete_file(target)
            else:
                make_folder(os.path.dirname(target))
                write_project_file(target, edit.after.encode())
        if is_detaching:
            for edit in edits:
                self._files.pop(edit.path, None)
                self.own_memories.pop(edit.path, None)
            self._save()

    def _note_own_memory(self, edit: FileEdit) -> None:
        if not edit.own_memory:
            return
        was, now = (JsonText(text or "", edit.path).get(*edit.own_memory) for text in (edit.before, edit.after))
        if now is not False:
            self.own_memories.pop(edit.path, None)
        elif was is not False:
            self.own_memories[edit.path] = was

    def _save(self) -> None:
        record = {"files": self._files, "own_memories": self.own_memories}
        make_folder(os.path.dirname(self._path))
        write_project_file(self._path, json.dumps(record, indent=1).encode() + b"\n")


def _require_as_planned(edit: FileEdit) -> None:
    if read_settings_text(edit.path) != edit.before:
        raise EditConflict(f"{edit.path} was changed meanwhile", remedy="Try again once its program has ended")


def _sum(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
