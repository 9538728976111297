"""The folder `plugin/`, which Claude Code, Codex and Gemini CLI install: what it names is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memdir.attach.agents import all_agents
from memdir.hooks.hook import EVENTS
from memdir.settings import Environment
from memdir.version import __version__

PLUGIN = Path(__file__).parent.parent.parent / "plugin"


def test_every_manifest_has_this_version_and_the_server() -> None:
    for name in (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json"):
        manifest = json.loads((PLUGIN / name).read_text())
        assert (manifest["name"], manifest["version"]) == ("memdir", __version__), name
    server = {"memdir": {"command": "memdir", "args": ["mcp"]}}
    assert json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"] == server
    assert json.loads((PLUGIN / "gemini-extension.json").read_text())["mcpServers"] == server


def test_every_hook_is_one_that_memdir_answers_and_none_can_stop_a_turn() -> None:
    """No timeout: Gemini counts it in milliseconds, the others in seconds; the hook has a limit of its own."""
    hooks = hooks_of("hooks/hooks.json") | hooks_of("hooks/turns.json")
    assert {EVENTS[event] for event in hooks} == {"start", "prompt", "stop", "compact", "end", "tool", "tool done"}
    for event, groups in hooks.items():
        for hook in (hook for group in groups for hook in group["hooks"]):
            assert hook == {"type": "command", "command": f"2>/dev/null memdir hook auto {event} || true"}


def test_gemini_finds_no_event_that_it_does_not_know_and_complains_of() -> None:
    """It reads one file, by its fixed name; the others read that too, and take what a manifest names beside it."""
    known = {"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "PreCompress"}
    assert set(hooks_of("hooks/hooks.json")) == known and not known & set(hooks_of("hooks/turns.json"))
    named = {
        name: json.loads((PLUGIN / f".{name}-plugin/plugin.json").read_text())["hooks"] for name in ("claude", "codex")
    }
    assert named == {"claude": "./hooks/turns.json", "codex": ["./hooks/hooks.json", "./hooks/turns.json"]}


def hooks_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PLUGIN / name).read_text())["hooks"]
    return found


def test_the_folder_is_a_marketplace_of_its_own() -> None:
    """Claude Code and Codex install from a marketplace only: this one offers what lies beside it."""
    offered = json.loads((PLUGIN / ".claude-plugin/marketplace.json").read_text())
    assert [(one["name"], one["source"]) for one in offered["plugins"]] == [(offered["name"], "./")]


def test_skill_and_commands_say_what_they_are_for() -> None:
    skill = (PLUGIN / "skills/memory/SKILL.md").read_text()
    assert re.match(r"---\nname: memory\ndescription: .{40,}\n---\n", skill)
    for name in ("remember", "recall", "forget"):
        assert "$ARGUMENTS" in (PLUGIN / f"commands/{name}.md").read_text()
        assert "{{args}}" in tomllib.loads((PLUGIN / f"commands/{name}.toml").read_text())["prompt"]


@pytest.mark.parametrize(
    ("marks", "host"),
    [
        (("GEMINI_SESSION_ID",), "gemini"),
        (("QWEN_CODE_CLI",), "qwen"),
        (("CLAUDECODE",), "claude"),
        ((), "codex"),
        (("CLAUDECODE",), "codex"),  # which was started by Claude Code
        (("CLAUDECODE",), "gemini"),
        (("GEMINI_SESSION_ID", "CLAUDECODE"), "claude"),  # which Gemini CLI started
        (("CLAUDECODE", "GEMINI_SESSION_ID"), "qwen"),
    ],
)
def test_the_hook_finds_out_who_calls(
    marks: tuple[str, ...], host: str, memdir_command: str, project: Path, tmp_path: Path
) -> None:
    event = "BeforeAgent" if host == "gemini" else "UserPromptSubmit"
    name = "0a1b2c3d-0000-4000-8000-000000000001.jsonl"
    folder = tmp_path / "user-home" / f".{host}" if len(marks) > 1 else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    transcript = folder / (f"rollout-2026-11-16T06-57-14-{name}" if host == "codex" else name)
    transcript.write_text("")
    told = {"session_id": "0a1b", "transcript_path": str(transcript), "cwd": str(project), "prompt": "Hello"}
    others = ("GEMINI_SESSION_ID", "QWEN_CODE_CLI", "CLAUDECODE")
    environment = {key: value for key, value in os.environ.items() if key not in others} | dict.fromkeys(marks, "1")
    command = [memdir_command, "hook", "auto", event]
    subprocess.run(command, input=json.dumps(told), text=True, check=True, timeout=60, env=environment)
    (noted,) = (tmp_path / "home").rglob("attended")
    assert noted.read_text().startswith({"claude": "claude-code"}.get(host, host) + "\n")


ODD_CALLS = """
const { MemdirPlugin } = await import(process.argv[2])
const plugin = await MemdirPlugin({ directory: process.cwd(), client: {} })
const text = { type: "text", text: "hello" }
await plugin["chat.message"]({ sessionID: "s" }, { parts: [null, text] })
for (const [name, hook] of Object.entries(plugin))
  for (const input of [undefined, null, {}, { sessionID: "s" }, { event: null }, { event: {} }])
    for (const output of [undefined, null, {}, { system: "text" }, { parts: 7 }, { parts: [null] }, { output: 1 }])
      await hook(input, output).catch((error) => {
        if (error.message !== "No force here.") throw error
      })
const told = { system: [] }
await plugin["experimental.chat.system.transform"]({ sessionID: "s" }, told)
const call = { sessionID: "s", tool: "bash", callID: "c" }
const refused = await plugin["tool.execute.before"](call, { args: {} }).then(() => "", (error) => error.message)
console.log(JSON.stringify({ told: told.system.length, refused }))
"""


@pytest.mark.parametrize("printed", ['{"context": "Never force."}', "null", "7", "{", '{"refusal": "No force here."}'])
def test_the_plugin_for_opencode_throws_nothing_but_a_guard_s_refusal(printed: str, tmp_path: Path) -> None:
    """Whatever a newer opencode hands over, and whatever memdir says, the prompt goes on (Q1)."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node here")
    program, plugin, script = tmp_path / "memdir", tmp_path / "memdir.mjs", tmp_path / "odd.mjs"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{printed}'\n")
    program.chmod(0o755)
    agent = all_agents(Environment.read(), is_guarded=True)["opencode"]
    plugin.write_text(agent.plugin(str(program)))
    script.write_text(ODD_CALLS)
    done = subprocess.run([node, str(script), str(plugin)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == ("No force here." if "refusal" in printed else "")
    assert found["told"] > 0 if "context" in printed else found["told"] == 0


@pytest.mark.parametrize(
    ("words", "is_headless"), [(("run", "hello"), True), (("--print-logs", "run"), True), ((), False)]
)
def test_the_plugin_for_opencode_tells_where_nobody_sees_what_is_told(
    words: tuple[str, ...], is_headless: bool, tmp_path: Path
) -> None:
    """X9: a notice waits for somebody who does."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node here")
    program, plugin, script = tmp_path / "memdir", tmp_path / "memdir.mjs", tmp_path / "opencode.mjs"
    program.write_text(f"#!/bin/sh\ncat >> {tmp_path / 'told'}\n")
    program.chmod(0o755)
    plugin.write_text(all_agents(Environment.read())["opencode"].plugin(str(program)))
    script.write_text(
        f"const {{ MemdirPlugin }} = await import({json.dumps(str(plugin))})\n"
        'const plugin = await MemdirPlugin({ directory: "/", client: {} })\n'
        'await plugin["chat.message"]({ sessionID: "s" }, { parts: [] })\n'
    )
    subprocess.run([node, str(script), *words], check=True, timeout=60)
    told = (tmp_path / "told").read_text()
    assert ('"is_headless":true' in told) is is_headless and told


def test_recall_is_asked_with_a_person_s_words_and_not_with_what_opencode_adds(tmp_path: Path) -> None:
    """R1: the text of a file that was named, say, as a part that tells it is synthetic."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node here")
    program, plugin, script = tmp_path / "memdir", tmp_path / "memdir.mjs", tmp_path / "opencode.mjs"
    program.write_text(f"#!/bin/sh\ncat >> {tmp_path / 'told'}\n")
    program.chmod(0o755)
    plugin.write_text(all_agents(Environment.read())["opencode"].plugin(str(program)))
    parts = [{"type": "text", "text": "my words"}, {"type": "text", "text": "a whole file", "synthetic": True}]
    script.write_text(
        f"const {{ MemdirPlugin }} = await import({json.dumps(str(plugin))})\n"
        'const plugin = await MemdirPlugin({ directory: "/", client: {} })\n'
        f'await plugin["chat.message"]({{ sessionID: "s" }}, {{ parts: {json.dumps(parts)} }})\n'
    )
    subprocess.run([node, str(script)], check=True, timeout=60)
    assert '"prompt":"my words"' in (tmp_path / "told").read_text()
