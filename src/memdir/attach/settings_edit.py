"""Puts memdir into the settings of coding agents, and takes it out again.

What else stands in those files stays byte for byte. Where nobody touched a file since, detaching puts back what was
there before; where a client rewrote it, ours is cut out of what stands there now.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from memdir.attach.agents import NAME, Agent, is_our_hook, is_our_plugin, is_our_server, is_ours, ours_at, part
from memdir.attach.codex_toml import Gone, with_server, without_server, without_trust
from memdir.attach.json_text import JsonText, plain_name
from memdir.disk.atomic import abandoned_temporaries, delete_file, keep_bytes, write_project_file
from memdir.disk.plain_file import read_if_plain
from memdir.disk.replace_file import replace_file
from memdir.errors import BadMemoryFile, EditConflict
from memdir.transcript.sources.source import decoded

OwnMemory = Literal["keep", "serve", "off"]  # what becomes of the memory that an agent keeps itself
MAX_SETTINGS = 8 << 20
MAX_RECORD = 64 << 20
_OF_CODEX_HOOKS = ("hooks", "description")  # with another name at the top, Codex ignores the whole file
FilesEdit = Callable[[Agent, dict[str, str | None]], None]  # of the texts of an agent's files, by their paths


@dataclass
class FileEdit:
    """What becomes of one file."""

    path: str
    before: str | None  # None where there is none
    after: str | None  # None where it goes
    had_ours: bool = False  # before already: then that is nothing to go back to
    own_memory: tuple[str, ...] = ()  # the setting in it that switches the agent's own memory off
    agent: str = ""  # whose file it is; "" for memdir's own

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass
class EditPlan:
    """The edits for some agents, and what is in the way of others."""

    edits: list[FileEdit] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # by the agent's name
    is_detaching: bool = False
    past: str = ""  # what there is to learn from past sessions
    only_shown: list[FileEdit] = field(default_factory=list)  # to who writes them into read-only files otherwise

    @property
    def changes(self) -> list[FileEdit]:
        return [edit for edit in self.edits if edit.is_change]


def plan_attach(agents: Sequence[Agent], program: str, own: Mapping[str, OwnMemory], record: AttachRecord) -> EditPlan:
    """What attaching would write, with what becomes of the memory that an agent keeps itself. One agent whose settings
    cannot be used costs no other."""

    def change(agent: Agent, files: dict[str, str | None]) -> None:
        _attach(agent, files, program)
        choice = own.get(agent.name)
        if choice == "keep":
            _switch_back(agent, files, record)
        text = JsonText(files[agent.hooks_file] or "", agent.hooks_file) if agent.own_memory else None
        if text and (choice == "off" or (choice == "serve" and text.get(*agent.own_memory) is False)):
            *path, name = agent.own_memory
            files[agent.hooks_file] = text.with_member(path, name, choice == "serve").text

    return _planned(agents, change, bare=_detach)


def plan_detach(agents: Sequence[Agent], record: AttachRecord) -> EditPlan:
    """What detaching would write: what was there before, or what is there now without ours. Files that were written
    while an agent kept its settings elsewhere are looked at too."""
    agents = [at for agent in agents for at in (agent, *elsewhere(agent, record))]

    def change(agent: Agent, files: dict[str, str | None]) -> None:
        _detach(agent, files, record)
        _switch_back(agent, files, record)

    plan = _planned(agents, change)
    plan.edits = list({edit.path: edit for edit in plan.edits}.values())  # opencode.json and .jsonc have one plugin
    for edit in plan.edits:
        known, former = record.before(edit.path, edit.before), record.text_before(edit.path)
        if known is not None:
            [edit.after] = known
        elif edit.is_change and (edit.after or "").strip() in ("", "{}") and former and not former.text.strip():
            edit.after = None  # nothing but ours stood there, attached for another memory or rewritten since
    return plan


def _switch_back(agent: Agent, files: dict[str, str | None], record: AttachRecord) -> None:
    """The agent's own memory as it was before we switched it off, where it is still off."""
    file, setting = agent.hooks_file, agent.own_memory
    text = JsonText(files.get(file) or "", file)
    if file not in record.own_memories or text.get(*setting) is not False:
        return
    former, above = record.own_memories[file], setting[:-1]
    text = text.without(setting) if former is None else text.with_value(setting, former)
    files[file] = (text.without(above) if above and text.get(*above) == {} else text).text


def elsewhere(agent: Agent, record: AttachRecord) -> list[Agent]:
    """The same agent by other places of its settings, in which something was written."""
    found: dict[str, Agent] = {}
    for path in record.paths_of(agent.name):
        if path not in _files_of(agent):
            found.setdefault(_files_of(at := agent.at(path))[0], at)
    return list(found.values())


def _files_of(agent: Agent) -> list[str]:
    return [path for path in (agent.hooks_file, agent.servers_file, agent.plugin_file, *agent.noted_files) if path]


def _planned(agents: Sequence[Agent], change: FilesEdit, bare: FilesEdit | None = None) -> EditPlan:
    """What a change makes of the files of each agent, and which of them had something of ours, where `bare` cuts it."""
    plan, owners = EditPlan(is_detaching=bare is None), dict[str, str]()
    for agent in agents:
        try:
            for path in _files_of(agent):
                owner = owners.setdefault(os.path.realpath(path), agent.title)
                if bare and owner != agent.title:
                    told = f"{path} is a link to the settings of {owner}, which are written differently"
                    raise BadMemoryFile(told, remedy=f"Give {agent.title} a file of its own, then try again")
            before = {path: read_settings_text(path, is_needed=bool(bare)) for path in _files_of(agent)}
            files, without = dict(before), dict(before)
            change(agent, files)
            if bare:
                bare(agent, without)
        except BadMemoryFile as error:
            plan.refused[agent.name] = str(error)
            continue
        closed = next((path for path, text in before.items() if files[path] != text and _is_read_only(path)), "")
        if closed:
            plan.refused[agent.name] = f"{closed} is read-only. Make it writable, or write there what --dry-run shows"
        for path, text in before.items():
            own = agent.own_memory if path == agent.hooks_file else ()
            edit = FileEdit(path, text, files[path], without[path] != text, own, agent.name)
            (plan.only_shown if closed else plan.edits).append(edit)
    return plan


def _is_read_only(path: str) -> bool:
    """Not to be replaced: what its owner made read-only, and what is another's."""
    try:
        return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)
    except OSError:  # there is none yet
        return False


def read_settings_text(path: str, *, is_needed: bool = True) -> str | None:
    """A file of settings; None where there is none, BadMemoryFile where it cannot be read. A link to nothing holds
    nothing, and is left alone by who would write there."""
    if not (os.path.lexists if is_needed else os.path.exists)(path):
        return None
    data = read_if_plain(os.path.realpath(path), MAX_SETTINGS)  # people keep their settings behind links
    if data is None:
        is_large = os.path.isfile(path) and os.path.getsize(path) > MAX_SETTINGS
        why = f"has more than {MAX_SETTINGS >> 20} MiB" if is_large else "cannot be read"
        raise BadMemoryFile(f"{path} {why}", remedy="It has to be a plain file of settings that you may read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadMemoryFile(f"{path} is no text in UTF-8", remedy="Save it as UTF-8, then try again") from None


def _attach(agent: Agent, files: dict[str, str | None], program: str) -> None:
    gone: list[Gone] = []
    if agent.hooks_file:
        text = JsonText(files[agent.hooks_file] or "", agent.hooks_file)
        require_served(agent, text)
        text, gone = _without_hooks(text, but=agent.events)  # before tools, when the last guard is gone
        changed: list[tuple[str, int]] = []
        for event in agent.events:
            places, group = ours_at(text, event), agent.group(event, program)
            for at in reversed(places[1:]):  # in its old place where it is there already, and once
                gone.append((event, at, -1))
                text = text.without(["hooks", event, at])
            if not places:
                text = text.with_item(["hooks", event], group)  # behind the others
            elif text.get("hooks", event, places[0]) != group:
                changed.append((event, places[0]))
                text = text.with_value(["hooks", event, places[0]], group)
        files[agent.hooks_file] = text.text
    if agent.plugin_file:
        known_plugin = files[agent.plugin_file]
        if known_plugin is not None and not is_our_plugin(known_plugin):
            told = f"{agent.plugin_file} is not memdir's: it does not begin as the plugin that `memdir attach` writes"
            raise BadMemoryFile(told, remedy="Give it another name, then try again")
        files[agent.plugin_file] = agent.plugin(program)
    servers = files[agent.servers_file]
    if agent.servers_file.endswith(".toml"):
        servers = without_trust(servers or "", agent, gone, changed)
        files[agent.servers_file] = with_server(servers, agent, program)
        return
    text = JsonText(servers or "", agent.servers_file)
    if agent.servers_file != agent.hooks_file:
        require_served(agent, text)
    files[agent.servers_file] = _with_server(text, agent, program).text


def _with_server(text: JsonText, agent: Agent, program: str) -> JsonText:
    """With our server: of one that is there already, all but the program and memdir's home may be its owner's."""
    place = (agent.servers_key, NAME)
    known = text.get(*place)
    if known is None:
        return text.with_member([agent.servers_key], NAME, agent.server(program))
    if not isinstance(known, dict) or not is_our_server(known):
        return text
    word = (*place, "command", 0) if isinstance(known["command"], list) else (*place, "command")
    text = text if text.get(*word) == program else text.with_value(word, program)
    home = (*place, agent.variables_key, "MEMDIR_HOME")
    if not agent.memory or text.get(*home) == agent.memory:
        return text if agent.memory else text.without(home)
    return text.with_member(home[:-1], home[-1], agent.memory)


def require_served(agent: Agent, text: JsonText) -> None:
    """Not to be written into: what the client itself would not read, with the user's own hooks in it."""
    if text.value is not None and not isinstance(text.value, dict):
        raise BadMemoryFile(f"{text.name} holds no object", remedy="Repair it, then try again")
    text.require_once()
    if agent.name == "gemini" and text.text.startswith("\ufeff"):
        told = f"{text.name} begins with a byte order mark, at which {agent.title} stops"
        raise BadMemoryFile(told, remedy="Save it as UTF-8 without one, then try again")
    if agent.is_strict and (text.has_comments or text.has_trailing_comma):
        what = "a comment" if text.has_comments else "a comma before a closing bracket"
        told = f"{text.name} has {what}, so {agent.title} ignores the whole file"
        raise BadMemoryFile(told, remedy="Take that out, then try again")
    if agent.name == "codex" and text.name == agent.hooks_file:
        strange = [key for key in text.value or () if key not in _OF_CODEX_HOOKS]
        if strange:
            told = f"{text.name} has {strange[0]!r} at its top, so {agent.title} ignores the whole file"
            raise BadMemoryFile(told, remedy="Only `hooks` and `description` may stand there")


def require_hooks(text: JsonText) -> None:
    if not isinstance(text.get("hooks") or {}, dict):
        raise BadMemoryFile(f"{text.name}: hooks is not an object", remedy="Repair it, then try again")


def _without_hooks(
    text: JsonText, *, but: Sequence[str] = (), was: JsonText | None = None
) -> tuple[JsonText, list[Gone]]:
    """Without ours at any event but these, nor in a group of the user's, and what went."""
    require_hooks(text)
    gone: list[Gone] = []

    def is_in_group(path: tuple[str | int, ...], value: object) -> bool:
        return len(path) == 5 and path[3] == "hooks" and is_our_hook(value)

    for path in text.paths(is_in_group, "hooks"):
        if not is_ours(text.get(*path[:3])):
            gone.append((str(path[1]), int(path[2]), int(path[4])))
            text = text.without(path)
    for path in text.paths(lambda path, value: len(path) == 3 and is_ours(value), "hooks"):
        if path[1] not in but:
            gone.append((str(path[1]), int(path[2]), -1))
            text = text.without(path)
    for event in dict.fromkeys(event for event, _, _ in gone):
        text = _without_empty(text, ("hooks", event), was)
    return _without_empty(text, ("hooks",), was) if gone else text, gone


def _without_empty(text: JsonText, path: Sequence[str | int], was: JsonText | None) -> JsonText:
    """Without a list or object that holds nothing any more, unless it was there before ours came."""
    is_theirs = text.twice or (was is not None and was.get(*path) is not None)
    return text if is_theirs or text.get(*path) not in ([], {}) else text.without(path)


def _detach(agent: Agent, files: dict[str, str | None], record: AttachRecord | None = None) -> None:
    was = {path: record.text_before(path) if record else None for path in files if path.endswith((".json", ".jsonc"))}
    hooks = files.get(agent.hooks_file) if agent.hooks_file else None
    gone: list[Gone] = []
    if hooks:
        text, gone = _without_hooks(JsonText(hooks, agent.hooks_file), was=was[agent.hooks_file])
        files[agent.hooks_file] = text.text
    for file in agent.noted_files:
        with suppress(BadMemoryFile):  # a damaged one says nothing to its agent either
            text = JsonText(files[file] or "", file)
            is_taken = _is_taken(agent, files[agent.servers_file])
            for path in text.paths(partial(_is_noted, is_taken=is_taken)):
                text = text.without(path)
                for depth in range(len(path) - 1, 0, -1):
                    text = _without_empty(text, path[:depth], was[file])
            files[file] = text.text if files[file] else files[file]
    if agent.plugin_file and is_our_plugin(files[agent.plugin_file]):
        files[agent.plugin_file] = None
    servers = files[agent.servers_file]
    if servers is None:
        return
    if agent.servers_file.endswith(".toml"):
        files[agent.servers_file] = without_trust(without_server(servers, agent.servers_file), agent, gone)
        return
    text = JsonText(servers, agent.servers_file)
    for path in text.paths(_is_server_at, agent.servers_key):
        text = _without_empty(text.without(path), (agent.servers_key,), was[agent.servers_file])
    files[agent.servers_file] = text.text


def _is_server_at(path: Sequence[str | int], value: object) -> bool:
    return len(path) == 2 and plain_name(path[1]) == NAME and isinstance(value, dict) and is_our_server(value)


def _is_noted(path: Sequence[str | int], value: object, *, is_taken: bool) -> bool:
    """Our server's name among those that were allowed or refused, or a hook of ours behind its name."""
    if is_switched_off(path, value):
        return not is_taken
    is_server = str(path[0]).endswith("McpjsonServers") and value == NAME if path else False
    return len(path) == 2 and (is_server or is_our_hook({"command": str(value).partition(":")[2]}))


def _is_taken(agent: Agent, servers: str | None) -> bool:
    """Whether a server of the user's has our name: whether that one is off is theirs to say."""
    server = JsonText(servers or "", agent.servers_file).get(agent.servers_key, NAME)
    return server is not None and not (isinstance(server, dict) and is_our_server(server))


def is_switched_off(path: Sequence[str | int], value: object) -> bool:
    """Whether a place of an agent's says that its user switched our server off, for one project or for all."""
    if len(path) == 1:
        return path[0] == NAME and isinstance(value, dict) and value.get("enabled") is False
    is_of_project = len(path) == 4 and (path[0], path[2]) == ("projects", "disabledMcpServers")
    return value == NAME and (is_of_project or tuple(path[:-1]) in (("mcp", "excluded"), ("disabledMcpjsonServers",)))


# What was there before


class AttachRecord:
    """The files that were written, as they were before, and by which sum they are known to be untouched since."""

    def __init__(self, path: str) -> None:
        self._path = path
        found = decoded(read_if_plain(path, MAX_RECORD) or b"{}")
        self._files = {name: one for name, one in part(found, "files").items() if isinstance(one, dict)}
        # What the settings were by which we switched off the memory that an agent keeps itself, by their file.
        self.own_memories = part(found, "own_memories")
        self._made = [str(one) for one in found.get("made") or () if isinstance(found.get("made"), list)]  # folders

    def before(self, path: str, now: str | None) -> tuple[str | None] | None:
        """What stood there, if anything, where nobody changed the file since; None where nothing is known of that."""
        known = self._files.get(path)
        if not known or known.get("sum") != _sum(now):
            return None
        text = _text_of(known)
        return None if text is None and known.get("before") is not None else (text,)

    def text_before(self, path: str) -> JsonText | None:
        """What stood there, whatever became of it since; None where that is not known."""
        try:
            return JsonText(_text_of(self._files.get(path, {})) or "", path)
        except BadMemoryFile:
            return None

    def paths_of(self, agent: str) -> list[str]:
        """The files of an agent that were written."""
        return [path for path, known in self._files.items() if known.get("agent") == agent]

    def write(self, edits: Sequence[FileEdit], *, is_detaching: bool = False) -> None:
        """Write the files. The note of what was there comes first, so that a crash leaves both ways open. A running
        client writes in them too: where one is not as it was planned for, EditConflict, and it is left alone."""
        for edit in edits:
            _require_as_planned(edit)
        for folder in {
            os.path.dirname(os.path.realpath(path)) for path in (*self._files, *(one.path for one in edits))
        }:
            for path in abandoned_temporaries(folder, is_deep=False):  # of one that was killed
                delete_file(path)
        if not is_detaching:
            for edit in edits:
                self._note(edit)
            self._save()
        for edit in edits:
            _require_as_planned(edit)
            _put(edit)
            if is_detaching:  # at once: the next one may not be as it was planned for
                self._files.pop(edit.path, None)
                self.own_memories.pop(edit.path, None)
                self._save()
        if is_detaching:
            for folder in sorted(self._made, key=len, reverse=True):
                with suppress(OSError):  # something else may lie there by now
                    os.rmdir(folder)
            self._made = [folder for folder in self._made if os.path.isdir(folder)]
            self._save()

    def _note(self, edit: FileEdit) -> None:
        """What stood in a file, and the folders that are made for it: where they are empty again, they go with it."""
        earlier = self.before(edit.path, edit.before)
        before = earlier[0] if earlier else edit.before
        kept = None if before is None else base64.b64encode(before.encode()).decode()
        known = {"agent": edit.agent, "before": kept, "sum": _sum(edit.after)}
        if earlier is None and edit.had_ours:  # somebody wrote it since: ours is cut out of it then
            known = {**self._files.get(edit.path, {}), "agent": edit.agent, "sum": None}
        if edit.agent:
            self._files[edit.path] = known
            folder = os.path.dirname(os.path.realpath(edit.path))
            while folder not in self._made and not os.path.isdir(folder):
                self._made.append(folder)
                folder = os.path.dirname(folder)
        if edit.own_memory:
            was, now = (JsonText(text or "", edit.path).get(*edit.own_memory) for text in (edit.before, edit.after))
            if now is not False:
                self.own_memories.pop(edit.path, None)
            elif was is not False:
                self.own_memories[edit.path] = was

    def _save(self) -> None:
        record = {"files": self._files, "own_memories": self.own_memories, "made": self._made}
        if any(record.values()):
            keep_bytes(self._path, json.dumps(record, indent=1).encode() + b"\n")  # for no other eyes
        else:
            delete_file(self._path)


def _put(edit: FileEdit) -> None:
    """Write a file in the place of what was planned for; what its client writes at that very moment stays."""
    target, before = os.path.realpath(edit.path), None if edit.before is None else edit.before.encode()
    if edit.after is None:
        replace_file(target, before, None)
    else:
        write_project_file(target, edit.after.encode(), put=lambda path, data: replace_file(path, before, data))


def _require_as_planned(edit: FileEdit) -> None:
    if read_settings_text(edit.path) != edit.before:
        raise EditConflict(f"{edit.path} was changed meanwhile", remedy="Try again once its program has ended")


def _text_of(known: Mapping[str, object]) -> str | None:
    """The text that a note keeps; None where there is none, or it is damaged: half of it is nothing to go back to."""
    try:
        kept = known.get("before")
        return base64.b64decode("-" if kept is None else str(kept), validate=True).decode()
    except ValueError:
        return None


def _sum(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
