"""The coding agents that memdir attaches to: where each keeps its settings, and what ours look like there.

Measured with the real programs. A hook is an executable and ends in `|| true`: an exit code of 2 drops the user's
prompt in four of them, and 127 in Gemini. Ours stand behind the user's own, since Codex trusts by position.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from typing import Any

from memdir.disk.plain_file import read_if_plain
from memdir.disk.programs import find_program, output_of
from memdir.disk.shipped import shipped_text
from memdir.errors import UsageError
from memdir.settings import Environment
from memdir.transcript.sources.source import decoded

NAME = "memdir"  # of our server and plugin in other people's settings
_SECONDS = 10
# Gemini and Qwen drop what a hook says before a tool, short of a refusal, and take it after (ADR 0062).
_OF_TOOLS = {
    "claude": ("PreToolUse",),
    "codex": ("PreToolUse",),
    "gemini": ("BeforeTool", "AfterTool"),
    "qwen": ("PreToolUse", "PostToolUse"),
}
_OUTSPOKEN = ("gemini", "qwen")  # they show their user what a shell says when memdir is gone
# The packages that `make test-clients` installs, in the versions with which all of this was tried.
_TRIED = {
    "claude": ("@anthropic-ai/claude-code", "2.1.325"),
    "codex": ("@openai/codex", "0.166.0"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
    "qwen": ("@qwen-code/qwen-code", "0.24.4"),
    "opencode": ("opencode-ai", "1.18.33"),
}
_VERSION_SECONDS = 10.0  # until an agent has told its version, on a busy machine
_MAX_MANIFEST = 1 << 20
_LOCAL, _SHARED_SERVERS = "settings.local.json", ".mcp.json"  # of Claude Code, in a repository
_PLUGIN_MARK = "// Made by `memdir attach`"  # how our plugin begins
# One word in which a shell does nothing but take the quotes off, and does not set a variable.
_WORD = r"""(?!\w+\+?=)(?:'[^']*'|"[^"$`\\!]*"|\\[^\n]|[\w@%+=:,./~-])+"""
_OURS = re.compile(
    rf"(?:2>/dev/null )?(?:MEMDIR_HOME=({_WORD}) )?({_WORD}) hook (?:claude|codex|gemini|qwen|opencode) \w+ \|\| true"
)


@dataclass(frozen=True)
class Agent:
    """A coding agent, as far as its settings go."""

    name: str
    title: str
    home: str  # its folder of settings
    hooks_file: str  # JSON in which hooks stand under `hooks`; "" for none
    servers_file: str  # where MCP servers stand
    servers_key: str  # under which name
    events: tuple[str, ...] = ()
    is_guarded: bool = False  # whether it asks before its tools run
    own_memory: tuple[str, ...] = ()  # the setting that switches its own memory off
    is_strict: bool = False  # a comment or a comma too many, and it ignores the whole file
    timeout: int = _SECONDS
    memory: str = ""  # memdir's home, where it is not the usual one: nobody tells an agent that a desktop starts
    is_here: bool = False  # whether these are its settings in a repository

    def is_installed(self, environment: Environment) -> bool:
        """Whether its program is there, or its settings."""
        return os.path.isdir(self.home) or bool(shutil.which(self.name, path=environment.search_path))

    @property
    def again(self) -> str:
        """What `memdir` is told to attach it again, where it is attached."""
        return f"attach {self.name} --here" if self.is_here else f"attach {self.name}"

    @property
    def tried(self) -> str:
        """The version that memdir was tried with."""
        return _TRIED[self.name][1]

    def version(self) -> str:
        """The version that is installed, by its package where it has one, else by its own word; "" if unknown."""
        program = find_program(self.name)
        if not program:
            return ""
        folder = os.path.dirname(os.path.realpath(program))
        for _ in range(4):
            manifest = os.path.realpath(os.path.join(folder, "package.json"))
            package = decoded(read_if_plain(manifest, _MAX_MANIFEST) or b"{}")
            if package.get("name") == _TRIED[self.name][0]:
                return str(package.get("version", ""))
            folder = os.path.dirname(folder)
        found = re.search(rb"\d+\.\d+\.\d+", output_of([program, "--version"], seconds=_VERSION_SECONDS))
        return found[0].decode() if found else ""

    def group(self, event: str, program: str) -> dict[str, object]:
        """What stands in its list of an event."""
        home = f"MEMDIR_HOME={shlex.quote(self.memory)} " if self.memory else ""
        quiet = "2>/dev/null " if self.name in _OUTSPOKEN else ""
        command = f"{quiet}{home}{shlex.quote(program)} hook {self.name} {event} || true"
        hook: dict[str, object] = {"type": "command", "command": command, "timeout": self.timeout}
        if self.name == "gemini":
            matcher = "manual" if event == "PreCompress" else "*"  # it tells of an automatic one with every turn
            return {"matcher": matcher, "hooks": [{"name": NAME, **hook}]}
        return {"hooks": [hook]}

    def server(self, program: str) -> dict[str, object]:
        """Our MCP server as its settings name it."""
        home = {"MEMDIR_HOME": self.memory} if self.memory else {}
        if self.name == "opencode":
            more = {self.variables_key: home} if home else {}
            return {"type": "local", "command": [program, "mcp"], "enabled": True, **more}
        server: dict[str, object] = {"command": program, "args": ["mcp"]}
        if home or self.name == "claude":
            server[self.variables_key] = home
        if self.name == "claude":
            return {"type": "stdio", **server}
        return {**server, "trust": True} if self.name in ("gemini", "qwen") else server

    @property
    def variables_key(self) -> str:
        """Under which an entry of a server has its environment."""
        return "environment" if self.name == "opencode" else "env"

    @property
    def plugin_file(self) -> str:
        """Where a plugin of ours takes the place of hooks; "" where there are hooks."""
        return os.path.join(self.home, "plugins", f"{NAME}.js") if self.name == "opencode" else ""

    @property
    def noted_files(self) -> tuple[str, ...]:
        """Where it notes of servers and hooks that its user allowed them, switched them off, or was told of them."""
        if self.name in ("codex", "opencode"):  # what is switched off says so itself
            return ()
        beside = ("trusted_hooks.json", "mcp-server-enablement.json") if self.name == "gemini" else ()
        return (self.hooks_file, self.servers_file, *(os.path.join(self.home, name) for name in beside))

    def in_project(self, tree: str) -> Agent:
        """The same agent by what it reads in a repository; Claude Code has a file there for one person alone."""
        home = os.path.join(tree, f".{self.name}")
        if self.name != "claude":
            at = self.at(os.path.join(home, os.path.basename(self.servers_file)))
            return replace(at, own_memory=(), is_here=True)
        hooks, servers = os.path.join(home, _LOCAL), os.path.join(tree, _SHARED_SERVERS)
        return replace(self, home=home, hooks_file=hooks, servers_file=servers, own_memory=(), is_here=True)

    def at(self, path: str) -> Agent:
        """The same agent, with its settings where one of its files lies."""
        home = os.path.dirname(os.path.dirname(path) if path.endswith(".js") else path)
        if os.path.basename(path) in (_LOCAL, _SHARED_SERVERS):
            return self.in_project(home.removesuffix(f"{os.sep}.claude"))
        hooks, servers = (
            os.path.join(home, os.path.basename(file)) if file else "" for file in (self.hooks_file, self.servers_file)
        )
        is_same = os.path.splitext(path)[0] == os.path.splitext(servers)[0]  # opencode.json, opencode.jsonc
        return replace(self, home=home, hooks_file=hooks, servers_file=path if is_same else servers)

    def plugin(self, program: str) -> str:
        text = shipped_text("attach/opencode_plugin.js").replace('"MEMDIR"', json.dumps(program))
        text = text.replace('HOME = ""', f"HOME = {json.dumps(self.memory)}")
        return text.replace("GUARDED = false", "GUARDED = true") if self.is_guarded else text


def all_agents(environment: Environment, *, is_guarded: bool = False) -> dict[str, Agent]:
    """Every agent that can be attached, by its name. It asks before its tools run where something `is_guarded`."""
    where = environment
    claude, codex, opencode = where.claude_home, where.codex_home, where.opencode_home
    of_claude, of_gemini, of_qwen = (
        os.path.join(home, "settings.json") for home in (claude, where.gemini_home, where.qwen_home)
    )
    of_codex = (os.path.join(codex, "hooks.json"), os.path.join(codex, "config.toml"))
    commented = os.path.join(opencode, "opencode.jsonc")
    of_opencode = commented if os.path.exists(commented) else os.path.join(opencode, "opencode.json")
    named, ms = ("SessionStart", "UserPromptSubmit", "Stop"), _SECONDS * 1000
    with_end, at_ends, key = (*named, "SessionEnd"), (*named, "PreCompact", "SessionEnd"), "mcpServers"
    of_agent = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")
    own, own_qwen = ("autoMemoryEnabled",), ("memory", "enableManagedAutoMemory")
    found = (
        Agent(
            "claude", "Claude Code", claude, of_claude, where.claude_state, key, at_ends, own_memory=own, is_strict=True
        ),
        Agent("codex", "Codex", codex, *of_codex, "mcp_servers", with_end, is_strict=True),
        Agent("gemini", "Gemini CLI", where.gemini_home, of_gemini, of_gemini, key, of_agent, timeout=ms),
        Agent("qwen", "Qwen Code", where.qwen_home, of_qwen, of_qwen, key, with_end, own_memory=own_qwen),
        Agent("opencode", "opencode", opencode, "", of_opencode, "mcp"),
    )
    home = "" if environment.home == Environment({}).home else environment.home
    tools = _OF_TOOLS if is_guarded else {}
    return {
        agent.name: replace(
            agent, events=(*agent.events, *tools.get(agent.name, ())), is_guarded=is_guarded, memory=home
        )
        for agent in found
    }


def is_our_server(server: dict[str, object]) -> bool:
    """Whether an entry by our name starts memdir, with whatever options: a user may have given that name to something
    else."""
    command, args = server.get("command"), server.get("args")
    program, *words = command if isinstance(command, list) and command else [command]
    words += args if isinstance(args, list) else []
    return os.path.basename(str(program)).startswith(NAME) and "mcp" in words


def is_our_plugin(text: str | None) -> bool:
    """Whether a file by our plugin's name is ours, in whichever version: a user may have given theirs that name."""
    return text is not None and text.startswith(_PLUGIN_MARK)


def is_our_hook(hook: object) -> bool:
    """Whether a hook is memdir's, wherever its program lies: one that does anything else is its user's."""
    return bool(_called_by(hook)[0])


def _called_by(hook: object) -> tuple[str, str]:
    """The program that a hook calls and the home that it names, where the whole command is what we write; else ""."""
    command = hook.get("command") if isinstance(hook, dict) else None
    found = _OURS.fullmatch(command) if isinstance(command, str) else None
    program, home = (shlex.split(found[at] or "''")[0] for at in (2, 1)) if found else ("", "")
    return (program, home) if os.path.basename(program).startswith(NAME) else ("", "")


def our_hooks(group: object) -> list[dict[str, Any]]:
    """Those of a group that are memdir's: a user may have put their own beside it."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [hook for hook in hooks if is_our_hook(hook)] if isinstance(hooks, list) else []


def is_ours(group: object) -> bool:
    """Whether a group of hooks is memdir's alone."""
    ours = our_hooks(group)
    return bool(ours) and isinstance(group, dict) and ours == group["hooks"]


def ours_at(text: Any, event: str) -> list[int]:
    """Where ours stand among the groups of an event."""
    groups = text.get("hooks", event)
    return [at for at, group in enumerate(groups if isinstance(groups, list) else ()) if our_hooks(group)]


def called_by(group: dict[str, Any]) -> tuple[str, str]:
    """The program that ours in a group calls, and memdir's home where it names one."""
    return _called_by(our_hooks(group)[0])


def part(within: dict[str, Any], name: str) -> dict[str, Any]:
    found = within.get(name)
    return found if isinstance(found, dict) else {}


def program_path() -> str:
    """The absolute path of the `memdir` that runs now, for settings that outlive this shell."""
    beside = os.path.join(os.path.dirname(sys.executable), "memdir")
    for found in (sys.argv[0], beside, shutil.which("memdir") or ""):
        full = os.path.abspath(found) if found else ""
        if os.path.basename(full).startswith("memdir") and os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    raise UsageError("the program `memdir` is not found", remedy="Install it with pip, pipx or uv, then try again")
