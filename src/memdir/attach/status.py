"""`memdir attach --status`: what is attached, and whether it works."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

from memdir.attach.agents import NAME, Agent, all_agents, called_by, is_our_plugin, is_our_server, ours_at
from memdir.attach.codex_toml import is_trusted, parsed_toml
from memdir.attach.json_text import JsonText
from memdir.attach.settings_edit import (
    AttachRecord,
    elsewhere,
    is_switched_off,
    read_settings_text,
    require_hooks,
    require_served,
)
from memdir.disk.programs import find_program, output_of
from memdir.disk.safe_path import is_inside
from memdir.doctor import Finding, Severity
from memdir.errors import BadMemoryFile, DiskError, ModelError
from memdir.guard.held import any_guard
from memdir.layout import ATTENDED_NAME, Layout
from memdir.memdir import MemDir
from memdir.model.budget import Ledger
from memdir.model.command import CommandModel, Program
from memdir.settings import left_with, own_memory, provider_of, settings_files
from memdir.store.scan import iso_time
from memdir.text.words import counted
from memdir.transcript.attended import IN_THE_PAST, Attended, attended_times
from memdir.transcript.message import said_at
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.source import decoded

ANSWER_SECONDS = 5.0  # that our own server may take to its first answer
LOOKED_BACK = 86_400.0  # seconds before a hook was called last: what was learned of that session
LOOKED_AT = 5  # sessions, the newest: whether a hook told of them
_LIBRARY = ("package-lock.json", "bun.lock", os.path.join("node_modules", "@opencode-ai"))  # as opencode leaves it
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}


@dataclass
class Attachment:
    """How one agent stands."""

    agent: str
    title: str
    is_installed: bool
    is_here: bool = False  # attached in this repository alone
    events: list[str] = field(default_factory=list)  # for which hooks of ours are there
    has_server: bool = False
    server: str = ""  # the program that it is
    has_plugin: bool = False  # of ours, installed by the agent's own means
    own_memory: str = ""  # that it keeps itself: off, served in place, or beside this one
    version: str = ""  # of the agent; "" where nothing tells
    fired: str = ""  # when a hook of it was last called, in this project where it ever was
    is_name_taken: bool = False  # of our server, by one of the user's
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what may be meant so

    @property
    def is_attached(self) -> bool:
        return bool(self.events or self.has_server)

    @property
    def state(self) -> str:
        if self.problems:
            return "needs attention"
        if self.is_attached:
            return "attached"
        if self.has_plugin:
            return "plugin"
        return "not attached" if self.is_installed else "not installed"


def report(agents: Sequence[Agent], context: Any, *, as_json: bool) -> int:
    """Print how each agent stands; 1 where something needs attention."""
    settings, found = context.memory.settings, examined(agents, context.memory)
    bad = any(one.problems for one in found)
    off = "" if settings.enabled else f"memory is off here: {settings.off_because}. {settings.turn_on}"
    if as_json:
        answer = [{**vars(one), "state": one.state} for one in found]
        return int(context.print_json({"agents": answer, "off": off}, int(bad)))
    for one in found:
        colour = "yellow" if one.problems else "green" if one.state in ("attached", "plugin") else "dim"
        seen = f"  last seen {one.fired}" if one.fired else ""
        context.terminal.line(f"{one.title:<12} {context.terminal.style(one.state, colour)}{seen}")
        for told in (*one.problems, *one.notes):
            context.terminal.line(f"  {told}")
    if off:
        context.note(off)
    return int(bad)


def findings(memory: MemDir) -> Iterator[Finding]:
    """What the doctor tells of attached agents (O1)."""
    known = all_agents(memory.places.environment, is_guarded=any_guard(memory))
    for one in examined(list(known.values()), memory):
        for severity, told in (("warning", one.problems), ("note", one.notes)):
            for message in told:
                what, _, remedy = message.partition(": ")
                yield Finding("attached", cast(Severity, severity), f"{one.title}: {what}", "", remedy)


def examined(agents: Sequence[Agent], memory: MemDir) -> list[Attachment]:
    """How each agent stands, with what only a try tells: whether its server answers, whether its hooks are called."""
    answers: dict[str, bool] = {}
    record = AttachRecord(memory.layout.attach_record)
    fired, found = _fired(memory.layout), []
    for agent in agents:
        one = look_at(agent, is_installed=agent.is_installed(memory.places.environment))
        own, anywhere = fired.get(agent.name, (0.0, 0.0))
        others = [at for at in elsewhere(agent, record) if at.home != agent.home]
        places = {at.home: at for at in others if look_at(at, is_installed=False).is_attached}.values()
        for at in places:
            if not is_inside(at.home, memory.layout.work_tree):
                one.notes.append(f"it is attached in {at.home}: what is told here is of {agent.home}")
            elif one.is_attached:
                one.problems.append(f"it is attached in {at.home} too: `memdir detach {agent.name}` and attach it once")
            else:
                one = look_at(replace(at, is_here=True), is_installed=one.is_installed, has_plugin=one.has_plugin)
                one.notes.append(f"it is attached in this repository alone, in {at.home}")
        one.fired = f"{iso_time(own or anywhere)} {'here' if own else 'in another project'}" if anywhere else ""
        found.append(one)
        if one.has_plugin and not one.is_attached:
            _try_plugin(agent, one)
        if one.is_attached or one.has_plugin:
            _try_server(one, answers)
            _compare_version(agent, one)
            _look_at_own_memory(agent, one, memory)
            _look_for_silence(agent, one, memory, own)
            _look_at_learner(agent, one, memory, own)
        if one.has_server:
            files = dict.fromkeys(file for at in (agent, *places) for file in at.noted_files)
            one.problems += [_switched_off(agent, file) for file in files if _is_off(file, memory.layout)]
    return found


def _switched_off(agent: Agent, file: str) -> str:
    return f"its MCP server is switched off in {file}: switch it on again in {agent.title}"


def _is_off(file: str, layout: Layout) -> bool:
    """Whether its user switched our server off in a file beside its entry, for this project or for all."""
    try:
        text = JsonText(read_settings_text(file, is_needed=False) or "", file)
    except BadMemoryFile:
        return False  # told where it matters
    here = (layout.work_tree, layout.project)
    return any(len(path) < 4 or os.path.realpath(str(path[1])) in here for path in text.paths(is_switched_off))


def _try_plugin(agent: Agent, one: Attachment) -> None:
    """Our plugin calls what is on the PATH, and Codex runs it once it is trusted."""
    one.server = find_program(NAME)
    if not one.server:
        one.problems.append("the plugin calls `memdir`, which is not on the PATH: put its folder there")
    elif agent.name == "codex" and not one.fired:
        told = "no hook of the plugin was called yet, and Codex calls none that you did not trust"
        one.notes.append(f"{told}: start `codex` and trust them in /hooks")


def _look_at_learner(agent: Agent, one: Attachment, memory: MemDir, fired: float) -> None:
    settings, how = memory.settings, "`memdir config set attach.model builtin`"
    is_host = settings.model_provider == "auto" and settings.attach_model == "host"
    if is_host and agent.name in ("claude", "codex"):
        try:
            CommandModel(cast(Program, agent.name))
            one.notes.append(f"its own program `{agent.name}` learns, on your subscription: {how} changes that")
        except ModelError as error:
            one.problems.append(f"the built-in model learns, since {error.message}: {error.remedy}, or {how}")
        how = f"run `{agent.name}` once by hand and log in, or {how}"
    elif provider_of(settings) == "builtin":
        return
    else:
        how = "docs/how-to/models.md tells what to do"
    if fired:
        one.problems += _without_answer(memory.layout, fired, how)


def _without_answer(layout: Layout, fired: float, how: str) -> list[str]:
    """That nothing is learned, since the model gave no answer: a worker has nobody to tell it to."""
    try:
        spents = Ledger(layout.ledger).since(fired - LOOKED_BACK)
    except DiskError as error:
        return [f"nothing is learned: {error.message}"]
    last = [spent for spent in spents if (spent.job, spent.project) == ("extract", layout.slug)][-1:]
    failed = [spent for spent in last if spent.failure not in ("", "cancelled")]
    told = "the model that learns gave no answer at"
    return [f"{told} {iso_time(one.time)} ({one.failure}), and what was said waits: {how}" for one in failed]


def _fired(layout: Layout) -> dict[str, tuple[float, float]]:
    """When each agent last called a hook, in this project and in any, by what the hooks noted of its sessions."""
    times: dict[str, tuple[float, float]] = {}
    projects = os.listdir(layout.projects) if os.path.isdir(layout.projects) else []
    for slug in projects:
        for session, moment in attended_times(os.path.join(layout.projects, slug)).items():
            noted = Attended.at(os.path.join(layout.projects, slug, session, ATTENDED_NAME))
            name = noted.agent.removesuffix("-code") if noted and noted.begun != IN_THE_PAST else ""
            own, anywhere = times.get(name, (0.0, 0.0))
            is_here = slug == layout.slug
            times[name] = (max(own, moment) if is_here else own, max(anywhere, moment))
    return times


def _compare_version(agent: Agent, one: Attachment) -> None:
    """What hosts do with a hook is nowhere promised: it was tried with these versions."""
    one.version = agent.version()
    if one.version.split(".")[:2] != agent.tried.split(".")[:2] and find_program(agent.name):
        what = f"its version {one.version} is not known here" if one.version else "it does not tell its version"
        one.notes.append(f"{what}: memdir was tried with {agent.tried}, see whether all works")


def _look_at_own_memory(agent: Agent, one: Attachment, memory: MemDir) -> None:
    """Two memories that compete (Q2)."""
    environment, root = memory.places.environment, memory.place.root
    own = own_memory(environment, memory.layout, agent.name)
    if not agent.own_memory:
        return
    one.own_memory = "off" if not own else "served" if memory.places.is_told_by(agent.name) else "beside"
    folder, left = left_with(environment, agent.name, memory.layout, root)
    if memory.settings.memory_home == agent.name and root == memory.layout.default_memory:
        move = f"move the files of {root} there, then `memdir doctor --fix`" if folder else "those here are used"
        told = f"memories of this project lie in {root}, so {folder or 'what it keeps'} is not served here"
        (one.problems if left else one.notes).append(f"{told}: {move}")
        return
    how = [f"`memdir import {shlex.quote(folder)}` copies them here"] if left else []
    if one.own_memory == "beside":
        serve, off = f"attach {agent.name} --own-memory serve", "`--own-memory off`"
        if one.is_here:
            serve, off = f"config set memoryHome {agent.name} --layer local", f"{agent.own_memory[-1]} in its settings"
        how += [f"`memdir {serve}` makes it this one, {off} ends it"]
    if how:
        told = "it keeps a memory of its own beside this one" if own else "it kept a memory of its own"
        held = f", with {counted(left, 'memory', 'memories')} of this project in {folder}" if left else ""
        one.notes.append(f"{told}{held}: {', '.join(how)}")


def _look_for_silence(agent: Agent, one: Attachment, memory: MemDir, fired: float) -> None:
    """Sessions that began since the agent was attached, memdir installed and memory switched on here, and none of its
    hooks was called since."""
    sources = {name.removesuffix("-code"): source for name, source in all_sources(memory.places.environment).items()}
    source = sources.get(agent.name)
    if one.problems or source is None or not one.events or not memory.settings.enabled:
        return
    files = settings_files(memory.places.environment, memory.layout)
    told = (memory.layout.attach_record, one.server, *files.values())
    since = max((os.stat(path).st_mtime for path in told if os.path.exists(path)), default=float("inf"))
    for ref in islice(source.sessions(memory.layout.work_tree), LOOKED_AT):
        first = next(iter(source.messages(ref)), None)
        begun = said_at(first) if first else None
        if begun and begun > max(since, fired) and not os.path.exists(memory.layout.attended(ref.id)):
            one.problems.append(
                f"a session began here at {iso_time(begun)}, and no hook was called: see in {agent.title} whether it "
                "runs hooks, and start it again"
            )
            return


def look_at(agent: Agent, *, is_installed: bool, has_plugin: bool = False) -> Attachment:
    """What stands in an agent's settings, read and not believed."""
    found = Attachment(agent.name, agent.title, is_installed, agent.is_here)
    try:
        commands = _look_at_hooks(agent, found) if agent.hooks_file else _look_at_plugin(agent, found)
        _look_at_server(agent, found)
        found.has_plugin = has_plugin or _has_plugin(agent)
    except BadMemoryFile as error:
        found.problems.append(str(error))
        return found
    for program in dict.fromkeys(filter(None, (*commands, found.server))):
        if not os.access(program, os.X_OK):
            found.problems.append(f"{program} is gone: `memdir {agent.again}` writes the path of this memdir")
    if found.has_plugin and found.is_attached:
        how = f"`memdir detach {agent.name}`, or remove the plugin there"
        found.problems.append(f"it has the plugin as well, so everything comes twice: {how}")
    if found.has_server != bool(found.events) and not found.is_name_taken:
        missing = "the hooks are" if found.has_server else "the MCP server is"
        found.problems.append(f"{missing} missing: `memdir {agent.again}` adds what is")
    return found


def _has_plugin(agent: Agent) -> bool:
    """Whether the folder `plugin/` was installed by the agent's own means."""
    if agent.name in ("gemini", "qwen"):
        return os.path.isfile(os.path.join(agent.home, "extensions", NAME, "gemini-extension.json"))
    enabled: object = None
    if agent.name == "claude":
        enabled = JsonText(read_settings_text(agent.hooks_file) or "{}", agent.hooks_file).get("enabledPlugins")
    elif agent.name == "codex":
        enabled = parsed_toml(read_settings_text(agent.servers_file) or "", agent.servers_file).get("plugins")
    plugins = enabled.items() if isinstance(enabled, dict) else ()
    states = [state for key, state in plugins if key.partition("@")[0] == NAME]
    return any(state.get("enabled", True) if isinstance(state, dict) else state is True for state in states)


def _look_at_hooks(agent: Agent, found: Attachment) -> list[str]:
    text = JsonText(read_settings_text(agent.hooks_file) or "{}", agent.hooks_file)
    hooks = text.get("hooks")
    ours = {event: ours_at(text, event) for event in hooks} if isinstance(hooks, dict) else {}
    found.events = [event for event, places in ours.items() if places]
    try:
        require_served(agent, text)
        require_hooks(text)
    except BadMemoryFile as error:
        (found.problems if found.events else found.notes).append(str(error))
    if not found.events:
        return []
    missing = [event for event in agent.events if event not in found.events]
    if missing:
        found.problems.append(f"no hook for {', '.join(missing)}: `memdir {agent.again}` adds it")
    if any(len(places) > 1 for places in ours.values()):
        found.problems.append(f"a hook stands there twice: `memdir {agent.again}` repairs that")
    if (text.get("disableAllHooks") is True) or (text.get("hooksConfig", "enabled") is False):
        found.problems.append(f"hooks are switched off in {agent.hooks_file}")
    if agent.name == "codex" and not found.problems:
        _look_at_trust(agent, found, {event: places[0] for event, places in ours.items() if places})
    called = [called_by(text.get("hooks", event, ours[event][0])) for event in found.events]
    _compare_homes(agent, found, [home for _, home in called])
    return [program for program, _ in called]


def _compare_homes(agent: Agent, found: Attachment, homes: list[str]) -> None:
    """Whether its hooks use the memory that is asked about."""
    other = next((home for home in homes if home != agent.memory), None)
    if other is not None:
        ours = f"--home {shlex.quote(agent.memory)} " if agent.memory else ""
        told = f"its hooks use the memory in {other or 'the usual home'}, not this one"
        found.problems.append(f"{told}: `memdir {ours}{agent.again}` changes that")


def _look_at_trust(agent: Agent, found: Attachment, places: dict[str, int]) -> None:
    text = read_settings_text(agent.servers_file) or ""
    features = parsed_toml(text, agent.servers_file).get("features")
    if isinstance(features, dict) and features.get("hooks") is False:
        found.problems.append(f"hooks are switched off in {agent.servers_file}: take `hooks = false` out of [features]")
        return
    new = [event for event, at in places.items() if not is_trusted(agent, text, event, at)]
    if new:
        which = "the hooks" if len(new) == len(places) else f"the hooks for {', '.join(new)}"
        guards = ", and guards do not hold there" if "PreToolUse" in new else ""
        told = f"it does not trust {which} yet, so it skips them{guards}"
        found.problems.append(f"{told}: start `codex` and trust them in /hooks")


def _look_at_plugin(agent: Agent, found: Attachment) -> list[str]:
    text = read_settings_text(agent.plugin_file)
    named = dict(re.findall(r'^const (MEMDIR|HOME) = ("(?:[^"\\]|\\.)*")', text or "", re.MULTILINE))
    if "MEMDIR" not in named or not is_our_plugin(text):
        return []
    found.events = ["plugin"]
    _compare_homes(agent, found, [str(json.loads(named.get("HOME", '""')))])
    if not any(os.path.exists(os.path.join(agent.home, name)) for name in _LIBRARY):
        told = "it has not installed its plugin library yet, and waits for the network at every start until it has"
        found.notes.append(f"{told}: start it once while you are online")
    return [str(json.loads(named["MEMDIR"]))]


def _look_at_server(agent: Agent, found: Attachment) -> None:
    text = read_settings_text(agent.servers_file)
    if text is None:
        return
    if agent.servers_file.endswith(".toml"):
        servers = parsed_toml(text, agent.servers_file).get(agent.servers_key, {})
    else:
        servers = JsonText(text, agent.servers_file).get(agent.servers_key) or {}
    server = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(server, dict) or not is_our_server(server):
        found.is_name_taken = server is not None
        if found.is_name_taken and found.events:
            how = f"give it another name in {agent.servers_file}, then `memdir {agent.again}`"
            found.problems.append(f"an MCP server of yours has the name {NAME}, so ours is left out: {how}")
        return
    found.has_server = True
    command = server.get("command")
    found.server = str(command[0] if isinstance(command, list) and command else command)
    if server.get("enabled") is False:
        found.problems.append(_switched_off(agent, agent.servers_file))


def _try_server(one: Attachment, answers: dict[str, bool]) -> None:
    """Whether the server answers, once for each program that the settings name."""
    if not one.server or one.problems:
        return
    if one.server not in answers:
        told = output_of([one.server, "mcp"], json.dumps(_INITIALIZE).encode() + b"\n", seconds=ANSWER_SECONDS)
        answers[one.server] = bool(decoded(told).get("result"))
    if not answers[one.server]:
        one.problems.append(f"`{one.server} mcp` does not answer: run it to see why")
