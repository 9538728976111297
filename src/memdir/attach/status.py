"""`memdir attach --status`: what is attached, and whether it works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memdir.attach.agents import NAME, Agent, is_ours
from memdir.attach.json_text import JsonText
from memdir.attach.settings_edit import is_our_server, read_settings_text, trust_prefix
from memdir.errors import BadMemoryFile
from memdir.layout import Layout
from memdir.store.scan import iso_time
from memdir.transcript.attended import Attended, attended_times

ANSWER_SECONDS = 5.0  # that our own server may take to its first answer
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}


@dataclass
class Attachment:
    """How one agent stands."""

    agent: str
    title: str
    is_installed: bool
    events: list[str] = field(default_factory=list)  # for which hooks of ours are there
    has_server: bool = False
    fired: str = ""  # when a hook of it was last called in this project
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what may be meant so

    @property
    def state(self) -> str:
        if self.problems:
            return "needs attention"
        if self.events or self.has_server:
            return "attached"
        return "not attached" if self.is_installed else "not installed"


def report(agents: Sequence[Agent], context: Any, *, as_json: bool) -> int:
    """Print how each agent stands; 1 where something needs attention."""
    fired = _fired(context.memory.layout)
    found = [look_at(agent, is_installed=agent.is_installed(context.environment)) for agent in agents]
    for one in found:
        one.fired = fired.get(one.agent, "")
    if any(one.has_server for one in found):
        found = _with_servers_tried(agents, found)
    bad = any(one.problems for one in found)
    if as_json:
        answer = [{**vars(one), "state": one.state} for one in found]
        return int(context.print_json({"agents": answer})) or int(bad)
    for one in found:
        colour = "yellow" if one.problems else "green" if one.state == "attached" else "dim"
        seen = f"  last seen here {one.fired}" if one.fired else ""
        context.terminal.line(f"{one.title:<12} {context.terminal.style(one.state, colour)}{seen}")
        for told in (*one.problems, *one.notes):
            context.terminal.line(f"  {told}")
    return int(bad)


def _fired(layout: Layout) -> dict[str, str]:
    """When each agent last called a hook in this project, by what the hooks noted of its sessions."""
    times: dict[str, float] = {}
    for session, moment in attended_times(layout.project_home).items():
        noted = Attended.load(layout, session)
        name = noted.agent.removesuffix("-code") if noted else ""
        times[name] = max(times.get(name, 0.0), moment)
    return {name: iso_time(moment) for name, moment in times.items()}


def look_at(agent: Agent, *, is_installed: bool) -> Attachment:
    """What stands in an agent's settings, read and not believed."""
    found = Attachment(agent.name, agent.title, is_installed)
    try:
        commands = _look_at_hooks(agent, found) if agent.hooks_file else _look_at_plugin(agent, found)
        _look_at_server(agent, found, commands)
    except BadMemoryFile as error:
        found.problems.append(str(error))
        return found
    for program in dict.fromkeys(commands):
        if not os.access(program, os.X_OK):
            found.problems.append(f"{program} is gone: `memdir attach {agent.name}` writes the path of this memdir")
    if found.events and agent.own_memory and not _is_own_memory_off(agent):
        how = f"`memdir attach {agent.name} --own-memory off` switches it off"
        found.notes.append(f"{agent.title} keeps a memory of its own beside this one: {how}")
    if found.has_server != bool(found.events):
        missing = "the hooks are" if found.has_server else "the MCP server is"
        found.problems.append(f"{missing} missing: `memdir attach {agent.name}` adds what is")
    return found


def _look_at_hooks(agent: Agent, found: Attachment) -> list[str]:
    text = JsonText(read_settings_text(agent.hooks_file) or "{}", agent.hooks_file)
    ours = {
        event: [at for at, group in enumerate(text.get("hooks", event) or ()) if is_ours(group)]
        for event in (text.get("hooks") or {})
    }
    found.events = [event for event, places in ours.items() if places]
    if not found.events:
        return []
    if agent.is_strict and (text.has_comments or text.has_trailing_comma):
        found.problems.append(f"{agent.title} ignores {agent.hooks_file}: it has a comment or a comma too many")
    missing = [event for event in agent.events if event not in found.events]
    if missing:
        found.problems.append(f"no hook for {', '.join(missing)}: `memdir attach {agent.name}` adds it")
    if any(len(places) > 1 for places in ours.values()):
        found.problems.append(f"a hook stands there twice: `memdir attach {agent.name}` repairs that")
    if agent.name == "codex":
        _look_at_trust(agent, found, {event: places[0] for event, places in ours.items() if places})
    if (text.get("disableAllHooks") is True) or (text.get("hooksConfig", "enabled") is False):
        found.problems.append(f"hooks are switched off in {agent.hooks_file}")
    commands = [text.get("hooks", event, ours[event][0])["hooks"][0]["command"] for event in found.events]
    return [shlex.split(command)[0] for command in commands]


def _is_own_memory_off(agent: Agent) -> bool:
    text = JsonText(read_settings_text(agent.hooks_file) or "{}", agent.hooks_file)
    return text.get(*agent.own_memory) is False


def _look_at_trust(agent: Agent, found: Attachment, places: dict[str, int]) -> None:
    text = read_settings_text(agent.servers_file) or ""
    untrusted = [event for event, at in places.items() if f'{trust_prefix(agent, event)}{at}:0"' not in text]
    if untrusted:
        found.problems.append(
            "Codex does not trust the hooks yet, so it skips them: start `codex` and trust them in /hooks"
        )


def _look_at_plugin(agent: Agent, found: Attachment) -> list[str]:
    text = read_settings_text(agent.plugin_file)
    program = re.search(r'^const MEMDIR = ("(?:[^"\\]|\\.)*")$', text or "", re.MULTILINE)
    if not program:
        return []
    found.events = ["plugin"]
    return [str(json.loads(program[1]))]


def _look_at_server(agent: Agent, found: Attachment, commands: list[str]) -> None:
    text = read_settings_text(agent.servers_file)
    if text is None:
        return
    if agent.servers_file.endswith(".toml"):
        try:
            servers = tomllib.loads(text).get(agent.servers_key, {})
        except tomllib.TOMLDecodeError as error:
            raise BadMemoryFile(f"{agent.servers_file} is no TOML: {error}") from None
    else:
        servers = JsonText(text, agent.servers_file).get(agent.servers_key) or {}
    server = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(server, dict) or not is_our_server(server):
        return
    found.has_server = True
    command = server.get("command")
    commands.append(str(command[0] if isinstance(command, list) and command else command))


def _with_servers_tried(agents: Sequence[Agent], found: list[Attachment]) -> list[Attachment]:
    """Whether the server answers, once for each program that the settings name."""
    answers: dict[str, bool] = {}
    for agent, one in zip(agents, found, strict=True):
        programs: list[str] = []
        if one.has_server and not one.problems:
            _look_at_server(agent, one, programs)
        for program in programs:
            if program not in answers:
                answers[program] = _answers(program)
            if not answers[program]:
                one.problems.append(f"`{program} mcp` does not answer: run it to see why")
    return found


def _answers(program: str) -> bool:
    try:
        done = subprocess.run(
            [program, "mcp"],
            input=json.dumps(_INITIALIZE).encode() + b"\n",
            capture_output=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
        return bool(json.loads(done.stdout)["result"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return False
