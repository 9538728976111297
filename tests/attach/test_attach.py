"""`memdir attach` and `detach`: into the user's own settings, and out again without a trace."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir.attach import settings_edit
from memdir.attach.settings_edit import AttachRecord, FileEdit
from memdir.disk.atomic import TEMPORARY_PREFIX
from memdir.disk.replace_file import replace_file
from memdir.errors import EditConflict
from tests.attach.conftest import CLAUDE, CODEX_HOOKS, Run, Told
from tests.clients.terminal import Terminal
from tests.hooks.agents import wait_for


def snapshot(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_attach_adds_ours_behind_theirs_and_detach_leaves_no_trace(
    run: Run, user_home: Path, tmp_path: Path, memdir_command: str
) -> None:
    before = snapshot(user_home)
    run("attach", "--yes")
    claude = json.loads((user_home / ".claude/settings.json").read_text())
    assert [group["hooks"][0]["command"] for group in claude["hooks"]["Stop"]] == [
        "beep",
        f"MEMDIR_HOME={tmp_path}/home {memdir_command} hook claude Stop || true",
    ]
    assert sorted(claude["hooks"]) == ["PreCompact", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"]
    assert claude["unknown"] == [1, 2]
    for name in (".codex/hooks.json", ".qwen/settings.json", ".gemini/settings.json"):
        assert "SessionEnd || true" in (user_home / name).read_text(), "X10: the last turn may have been broken off"
    server = json.loads((user_home / ".claude.json").read_text())["mcpServers"]["memdir"]
    assert server == {
        "type": "stdio",
        "command": memdir_command,
        "args": ["mcp"],
        "env": {"MEMDIR_HOME": f"{tmp_path}/home"},
    }
    gemini = (user_home / ".gemini/settings.json").read_text()
    for comment in ("// my theme", "/* keep */", "// theirs"):
        assert comment in gemini
    assert '"BeforeAgent"' in gemini and '"timeout": 10000' in gemini
    assert (user_home / ".codex/config.toml").read_text().startswith(before[".codex/config.toml"].decode())
    assert memdir_command in (user_home / ".config/opencode/plugins/memdir.js").read_text()
    attached = snapshot(user_home)
    assert "Everything is attached already" in run("attach", "--yes").stdout
    assert snapshot(user_home) == attached
    run("detach", "--yes")
    assert snapshot(user_home) == before
    assert "Nothing is attached" in run("detach", "--yes").stdout


def test_a_file_that_its_client_rewrote_loses_ours_only(run: Run, user_home: Path) -> None:
    run("attach", "--yes")
    for name in (".claude/settings.json", ".claude.json", ".codex/hooks.json", ".qwen/settings.json"):
        path = user_home / name
        path.write_text(json.dumps({**json.loads(path.read_text()), "added": True}, indent=4, sort_keys=True))
    gemini = user_home / ".gemini/settings.json"
    gemini.write_text(gemini.read_text().replace('"dark"', '"light"').replace("  ", "    "))
    run("detach", "--yes")
    text = "".join(path.read_text() for path in user_home.rglob("*") if path.is_file())
    assert "memdir" not in text
    assert json.loads((user_home / ".claude/settings.json").read_text()) == {**json.loads(CLAUDE), "added": True}
    assert json.loads((user_home / ".claude.json").read_text()) == {"numStartups": 3, "added": True}
    assert json.loads((user_home / ".codex/hooks.json").read_text()) == {**json.loads(CODEX_HOOKS), "added": True}
    assert "// theirs" in gemini.read_text() and '"light"' in gemini.read_text()


def test_trust_in_codex_s_hooks_stays_with_the_hooks_it_was_given_to(run: Run, user_home: Path) -> None:
    """Codex knows a hook by its place: ours goes, and the one behind it moves up with its trust."""
    run("attach", "codex", "--yes")
    hooks, config = user_home / ".codex/hooks.json", user_home / ".codex/config.toml"
    found = json.loads(hooks.read_text())
    found["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    hooks.write_text(json.dumps(found))
    for place, word in ((1, "ours"), (2, "later")):
        config.write_text(config.read_text() + f'\n[hooks.state."{hooks}:stop:{place}:0"]\ntrusted_hash = "{word}"\n')
    config.write_text(config.read_text() + '\n[tui]\ntheme = "x"\n')
    run("detach", "codex", "--yes")
    text = config.read_text()
    assert "ours" not in text and "mcp_servers" not in text and '[tui]\ntheme = "x"' in text
    assert f'[hooks.state."{hooks}:stop:1:0"]\ntrusted_hash = "later"' in text
    assert f'[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:aa"' in text
    assert [group["hooks"][0]["command"] for group in json.loads(hooks.read_text())["hooks"]["Stop"]] == [
        "beep",
        "later",
    ]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (".claude/settings.json", '{"a": 1 /* note */}', "a comment"),
        (".claude/settings.json", '{"a": 1,}', "a comma"),
        (".claude/settings.json", "[]", "no object"),
        (".claude/settings.json", '{"hooks": []}', "hooks is not an object"),
        (".claude.json", '{"mcpServers": ', "no JSON"),
        (".codex/hooks.json", '{"hooks": {}, "version": 1}', "'version' at its top"),
        (".codex/config.toml", "model = ", "no TOML"),
        (".gemini/settings.json", "{{", "no JSON"),
        (".qwen/settings.json", "\ud800", "no text in UTF-8"),
    ],
)
def test_settings_that_the_client_would_ignore_are_refused_and_cost_no_other(
    run: Run, user_home: Path, file: str, text: str, words: str
) -> None:
    (user_home / file).write_bytes(text.encode("utf-8", "surrogatepass"))
    before = snapshot(user_home)
    done = run("attach", "--yes", code=1)
    assert words in done.stderr and file in done.stderr
    after = snapshot(user_home)
    agent = "." + file.split("/", maxsplit=1)[0].split(".")[1]
    for name, data in before.items():
        assert (after[name] == data) == (name.startswith(agent)), name


@pytest.mark.parametrize("hooks", ['[{"event": "Stop", "command": "x"}]', "3", "true", '"x"'])
@pytest.mark.parametrize("file", [".claude/settings.json", ".codex/hooks.json", ".qwen/settings.json"])
def test_hooks_in_no_form_that_a_client_reads_are_told_and_cost_no_other(
    run: Run, told: Told, user_home: Path, file: str, hooks: str
) -> None:
    """Attach, status, doctor and detach."""
    run("attach", "--yes")
    (user_home / file).write_text(f'{{"hooks": {hooks}}}')
    words, title = "hooks is not an object", file.split("/", maxsplit=1)[0][1:]
    assert words in run("attach", "--yes", code=1).stderr
    [found] = [one for one in told("attach", "--status")["agents"] if words in str(one["notes"])]
    assert found["agent"] == title
    assert words in str(told("doctor")["findings"])
    assert words in run("detach", "--yes", code=1).stderr
    assert not [one for one in told("attach", "--status")["agents"] if one["events"]]
    assert (user_home / file).read_text() == f'{{"hooks": {hooks}}}'


def test_it_works_before_a_client_s_first_run_and_through_links(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "user-home"
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "settings.json").write_text("{}\n")
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").symlink_to(tmp_path / "dotfiles" / "settings.json")
    run("attach", "claude", "codex", "opencode", "--yes")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "hook claude" in (tmp_path / "dotfiles" / "settings.json").read_text()
    assert (home / ".codex" / "hooks.json").exists() and (home / ".config/opencode/opencode.json").exists()
    run("detach", "--yes")
    assert [str(path) for path in home.rglob("*") if path.is_file() and not path.is_symlink()] == []
    assert (tmp_path / "dotfiles" / "settings.json").read_text() == "{}\n"


def test_places_that_the_clients_are_told_of_are_honoured(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "o"))
    run("attach", "claude", "codex", "opencode", "--yes")
    for name in ("c/settings.json", "c/.claude.json", "x/hooks.json", "x/config.toml", "o/opencode/plugins/memdir.js"):
        assert (tmp_path / name).exists(), name


def test_nothing_is_written_unasked(run: Run, user_home: Path) -> None:
    before = snapshot(user_home)
    assert "+" in run("attach", "--dry-run").stdout
    assert "--yes" in run("attach", code=2).stderr
    assert "no agent 'cluade'" in run("attach", "cluade", code=2).stderr
    answer = json.loads(run("attach", "--dry-run", "--json").stdout)
    assert answer["ok"] and not answer["written"] and len(answer["changes"]) == 8
    assert snapshot(user_home) == before


def test_with_no_agent_there_is_nothing_to_attach_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "none of" in run("attach", "--yes", code=1).stderr


def test_a_program_that_moved_is_written_again_in_its_place(
    run: Run, user_home: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMDIR_HOME")
    run("attach", "--yes")
    path = user_home / ".codex/hooks.json"
    path.write_text(path.read_text().replace(memdir_command, "/old place/bin/memdir".replace(" ", "\\\\ ")))
    status = json.loads(run("attach", "--status", "--json", code=1).stdout)
    codex = next(one for one in status["agents"] if one["agent"] == "codex")
    assert any("is gone" in problem for problem in codex["problems"])
    run("attach", "codex", "--yes")
    commands = [group["hooks"][0]["command"] for group in json.loads(path.read_text())["hooks"]["Stop"]]
    assert commands == ["beep", f"{memdir_command} hook codex Stop || true"]


def test_the_status_tells_what_is_there_and_what_is_wrong(run: Run, user_home: Path) -> None:
    def state() -> dict[str, Any]:
        done = subprocess.run(  # the exit code is looked at by others
            [*status_command], capture_output=True, text=True, cwd=user_home, stdin=subprocess.DEVNULL, timeout=60
        )
        return {one["agent"]: one for one in json.loads(done.stdout)["agents"]}

    status_command = [run("path").args[0], "attach", "--status", "--json"]
    assert {one["state"] for one in state().values()} == {"not attached"}
    run("attach", "--yes")
    found = state()
    assert {name: one["state"] for name, one in found.items()} == {
        "claude": "attached",
        "codex": "needs attention",
        "gemini": "attached",
        "qwen": "attached",
        "opencode": "attached",
    }
    assert "trust" in found["codex"]["problems"][0]
    hooks = user_home / ".codex/hooks.json"
    trust = [f'[hooks.state."{hooks}:{event}:0:0"]' for event in ("session_start", "user_prompt_submit", "session_end")]
    trust.append(f'[hooks.state."{hooks}:stop:1:0"]')
    config = user_home / ".codex/config.toml"
    config.write_text(config.read_text() + "".join(f'\n{name}\ntrusted_hash = "x"\n' for name in trust))
    assert state()["codex"]["state"] == "attached"
    hook = {"hooks": [{**json.loads(hooks.read_text())["hooks"]["SessionStart"][0]["hooks"][0]}]}
    hook["hooks"][0]["command"] = hook["hooks"][0]["command"].replace("SessionStart", "PreToolUse")
    told = json.loads(hooks.read_text())
    hooks.write_text(json.dumps({**told, "hooks": {**told["hooks"], "PreToolUse": [hook]}}))
    (problem,) = state()["codex"]["problems"]
    assert "does not trust the hooks for PreToolUse" in problem and "guards do not hold" in problem
    claude = user_home / ".claude/settings.json"
    text = json.loads(claude.read_text())
    del text["hooks"]["Stop"]
    claude.write_text(json.dumps({**text, "disableAllHooks": True}))
    problems = " ".join(state()["claude"]["problems"])
    assert "no hook for Stop" in problems and "switched off" in problems


def test_detaching_leaves_no_trace_whichever_memory_was_attached(run: Run, user_home: Path, tmp_path: Path) -> None:
    home = Path(os.environ["MEMDIR_HOME"])
    for path in (user_home / ".claude/settings.json", user_home / ".codex/config.toml", user_home / ".claude.json"):
        path.unlink()
    assert "Attached claude, codex: 4 files changed" in run("attach", "claude", "codex", "--yes").stdout
    run("--home", str(tmp_path / "another"), "detach", "--yes")
    assert not [path for path in user_home.rglob("*") if path.is_file() and path.read_text().strip() in ("", "{}")]
    run("attach", "claude", "codex", "--yes")
    run("detach", "--yes")
    assert not list(user_home.glob(".claude*/*")) and not (home / "attached.json").exists()


def test_off_for_one_project(run: Run, project: Path) -> None:
    before = snapshot(project)
    assert '+  "memoryEnabled": false' in run("attach", "--not-here", "--dry-run").stdout
    assert not json.loads(run("attach", "--not-here", "--dry-run", "--json").stdout)["written"]
    assert snapshot(project) == before
    run("list")
    run("attach", "--not-here")
    assert "off" in run("list", code=1).stderr
    run("config", "set", "memoryEnabled", "--unset", "--layer", "local")
    run("list")


def test_a_server_of_the_user_s_by_our_name_stays(run: Run, user_home: Path) -> None:
    program, mark = user_home / "my-own", user_home / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    own = {"mcpServers": {"memdir": {"command": str(program), "args": ["serve"]}}}
    (user_home / ".claude.json").write_text(json.dumps(own))
    run("attach", "claude", "--yes")
    assert json.loads((user_home / ".claude.json").read_text()) == own
    run("attach", "claude", "--status", code=1)
    assert not mark.exists(), "what is not ours is not run"
    run("detach", "--yes")
    assert json.loads((user_home / ".claude.json").read_text()) == own


def test_settings_that_cannot_be_written_are_told(run: Run, user_home: Path) -> None:
    if os.geteuid() == 0:
        (user_home / ".qwen/settings.json").unlink()
        (user_home / ".qwen/settings.json").mkdir()
    else:
        (user_home / ".qwen").chmod(0o500)
    assert ".qwen/settings.json" in run("attach", "qwen", "--yes", code=1 if os.geteuid() == 0 else 9).stderr


TOOLS = {
    ".claude/settings.json": ["PreToolUse"],
    ".codex/hooks.json": ["PreToolUse"],
    ".gemini/settings.json": ["BeforeTool", "AfterTool"],
    ".qwen/settings.json": ["PreToolUse", "PostToolUse"],
}


def test_agents_ask_before_their_tools_only_when_something_is_guarded(
    run: Run, user_home: Path, tmp_path: Path
) -> None:
    """Q1: a guard of any project counts, since the settings are for all of them; detaching takes it out again."""
    before = {name: (user_home / name).read_bytes() for name in TOOLS}
    plugin = user_home / ".config/opencode/plugins/memdir.js"
    run("attach", "--yes")
    assert not any(event in (user_home / name).read_text() for name, events in TOOLS.items() for event in events)
    assert "const GUARDED = false" in plugin.read_text()
    other = tmp_path / "another"
    other.mkdir()
    run("remember", "Never push with --force.", "--type", "feedback", "--name", "Force", "--project", str(other))
    run("guard", "add", "feedback_force", "block shell(git push --force)", "--project", str(other))
    assert "PreToolUse" in run("attach", "--status", "claude", code=1).stdout, "the status tells what is missing"
    run("attach", "--yes")
    for name, events in TOOLS.items():
        text = (user_home / name).read_text()
        assert all(f"memdir hook {name[1:].partition('/')[0]} {event} || true" in text for event in events), name
    assert "const GUARDED = true" in plugin.read_text()
    assert run("attach", "--yes").stdout == "Everything is attached already.\n"
    run("detach", "--yes")
    assert {name: (user_home / name).read_bytes() for name in TOOLS} == before


def test_an_agent_s_own_memory_is_told_and_switched_off_on_request(run: Run, user_home: Path) -> None:
    before = snapshot(user_home)
    run("attach", "claude", "qwen", "--yes")
    notes = {one["agent"]: one["notes"] for one in json.loads(run("attach", "--status", "--json").stdout)["agents"]}
    assert "--own-memory off" in str(notes["claude"]) and "--own-memory off" in str(notes["qwen"])
    assert not notes["gemini"]
    run("attach", "claude", "qwen", "--own-memory", "off", "--yes")
    assert json.loads((user_home / ".claude/settings.json").read_text())["autoMemoryEnabled"] is False
    assert json.loads((user_home / ".qwen/settings.json").read_text())["memory"] == {"enableManagedAutoMemory": False}
    assert not any(one["notes"] for one in json.loads(run("attach", "--status", "--json").stdout)["agents"])
    run("detach", "--yes")
    assert snapshot(user_home) == before


def test_past_sessions_are_learned_from_when_the_user_says_so(run: Run, user_home: Path, project: Path) -> None:
    told = "Please never mock the database in our tests, we got burned by that last quarter."
    slug = "".join(c if c.isalnum() else "-" for c in str(project))
    transcript = user_home / ".claude/projects" / slug / "0a1b2c3d-0000-4000-8000-000000000001.jsonl"
    transcript.parent.mkdir(parents=True)
    base = {"sessionId": transcript.stem, "cwd": str(project), "isSidechain": False, "version": "2.1.325"}
    records: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": told}},
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "I will."}]},
        },
    ]
    lines = [json.dumps({**base, **one, "timestamp": "2026-11-01T10:00:00.000Z"}) for one in records]
    transcript.write_text("\n".join(lines) + "\n")
    run("attach", "claude", "--yes")
    assert json.loads(run("list", "--json").stdout)["memories"] == []
    assert "1 past session of this project" in run("attach", "claude", "--yes", "--past").stderr

    def found() -> list[dict[str, Any]]:
        memories: list[dict[str, Any]] = json.loads(run("list", "--scope", "all", "--json").stdout)["memories"]
        return memories

    wait_for(found)
    assert "mock" in found()[0]["description"]
    assert "past session" not in run("attach", "claude", "--yes", "--past").stderr


CODEX_NOTES = """# Task Group: shop
scope: checkout

### rollout_summary_files
- rollout_summaries/a.md (cwd=/x, rollout_path=/y)

## User preferences
- The user wants every commit message in the imperative mood
- when a migration is added, the user said to number it by date
  and never by hand

## Reusable knowledge
- the build takes nine minutes
"""
GEMINI_NOTES = (
    "# Mine\n\n## Gemini Added Memories\n- The user reads Portuguese\n* [pointer](x.md)\n- ok\n- The token is TOKEN\n"
)


def test_notes_of_agents_with_another_form_are_taken_over_on_request_and_never_written(
    run: Run, user_home: Path, project: Path
) -> None:
    """Q2: what Codex and Gemini CLI wrote down themselves, with the trust of an agent's words."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kept = user_home / ".gemini/tmp/shop/memory"
    kept.mkdir(parents=True)
    (kept.parent / ".project_root").write_text(str(project.resolve()))
    (kept / "MEMORY.md").write_text("- [deploys](deploys.md)\n- Deploys of this shop go through Argo\n")
    other = user_home / ".gemini/tmp/other/memory"
    other.mkdir(parents=True)
    (other.parent / ".project_root").write_text("/somewhere/else")
    (other / "MEMORY.md").write_text("- Another project builds with Bazel\n")
    (user_home / ".gemini/GEMINI.md").write_text(GEMINI_NOTES.replace("TOKEN", token))
    (user_home / ".codex/memories").mkdir()
    (user_home / ".codex/memories/MEMORY.md").write_text(CODEX_NOTES)
    before = snapshot(user_home)
    run("attach", "codex", "gemini", "--yes")
    assert json.loads(run("list", "--json", "--scope", "user").stdout)["memories"] == []
    assert "5 notes" in run("attach", "codex", "gemini", "--yes", "--past").stderr
    run("attach", "codex", "gemini", "--yes", "--past")
    for_all = json.loads(run("list", "--json", "--scope", "user").stdout)["memories"]
    here = json.loads(run("list", "--json").stdout)["memories"]
    told = " ".join(one["description"] for one in here)
    assert len(here) == 3 and "imperative" in told and "never by hand" in told and "Argo" in told
    assert ["Portuguese" in one["description"] for one in for_all] == [True], "X12: a rule of a model is for here"
    assert "assistant" in run("why", here[0]["file"]).stdout
    run("detach", "--yes")
    assert snapshot(user_home) == before
    assert token not in "".join(path.read_text(errors="replace") for path in (user_home.parent / "home").rglob("*.md"))


def test_in_a_terminal_one_is_asked_and_only_what_one_says_is_done(
    memdir_command: str, project: Path, user_home: Path
) -> None:
    """What becomes of the agent's own memory, and who learns: the built-in model, or the agent's, which costs money."""
    settings = user_home.parent / "home" / "settings.json"
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}

    def attach(*answers: str) -> str:
        command = [memdir_command, "attach", "claude"]
        with Terminal(command, cwd=project, environment=environment) as terminal:
            for question, answer in zip(("memory of its own", "Which model learns", "Change "), answers, strict=False):
                terminal.wait_for(question)
                terminal.type(f"{answer}\n")
            terminal.end()
            return terminal.shown

    before = snapshot(user_home)
    attach("k", "b", "n")
    assert snapshot(user_home) == before and not settings.exists(), "who says no has nothing changed"
    attach("s", "h", "y")
    assert json.loads(settings.read_text()) == {"memoryHome": "claude", "attach.model": "host"}
    assert "hook claude" in (user_home / ".claude/settings.json").read_text()


def test_who_learns_is_said_by_an_option_too(run: Run, user_home: Path) -> None:
    settings = user_home.parent / "home" / "settings.json"
    run("attach", "claude", "--yes")
    assert not settings.exists(), "nothing is chosen for anybody"
    run("attach", "claude", "--learn-with", "host", "--yes")
    assert json.loads(settings.read_text()) == {"attach.model": "host"}
    settings.write_text('{"attach": {"model": "host"}}')
    run("attach", "claude", "--learn-with", "builtin", "--yes")
    assert json.loads(settings.read_text()) == {"attach": {"model": "builtin"}}


def in_terminal(command: list[str], project: Path, *steps: tuple[str, str, Callable[[], object]]) -> str:
    """What is shown to a person who answers these questions, each after something else happened."""
    with Terminal(command, cwd=project, environment={**os.environ, "NO_COLOR": "1", "TERM": "xterm"}) as terminal:
        for question, answer, meanwhile in steps:
            terminal.wait_for(question)
            meanwhile()
            terminal.type(f"{answer}\n")
        terminal.end()
        return terminal.shown


def nothing() -> None:
    pass


@pytest.mark.parametrize("word", ["attach", "detach"])
def test_what_a_client_wrote_while_its_user_read_the_changes_stays(
    run: Run, memdir_command: str, project: Path, user_home: Path, word: str
) -> None:
    """Every running Claude writes in that file: the changes are planned, and asked for, again."""
    state = user_home / ".claude.json"
    run("attach", "codex", "--yes")
    if word == "detach":
        run("attach", "claude", "--yes")

    def started_again() -> None:
        state.write_text(json.dumps({**json.loads(state.read_text()), "numStartups": 4, "written": "meanwhile"}))

    asked: list[tuple[str, str, Callable[[], object]]] = [("Change ", "y", started_again), ("Change ", "y", nothing)]
    if word == "attach":
        asked = [("memory of its own", "k", nothing), ("Which model learns", "b", nothing), *asked]
    shown = in_terminal([memdir_command, word, "claude"], project, *asked)
    found = json.loads(state.read_text())
    assert (found["numStartups"], found["written"]) == (4, "meanwhile")
    assert ("memdir" in found.get("mcpServers", {})) == (word == "attach"), shown
    assert ("hook claude" in (user_home / ".claude/settings.json").read_text()) == (word == "attach")


TABLE = '[mcp_servers.memdir]\ncommand = "/old/bin/memdir" # mine\nargs = ["mcp"]\n'
BESIDE = (
    '[mcp_servers.first]\ncommand = "a"\n\n{}\n# my second server, keep this\n[mcp_servers.second]\ncommand = "b"\n'
)
WITH_KEYS = TABLE + 'enabled = false\nstartup_timeout_sec = 40\n\n[mcp_servers.memdir.env]\nKEY = "value"\n'


@pytest.mark.parametrize(
    "text",
    [
        BESIDE.format(TABLE),
        BESIDE.format(WITH_KEYS),
        BESIDE.format(TABLE.replace("mcp_servers.memdir", " mcp_servers . 'memdir' ")),
        '# all\n[mcp_servers]\nmemdir = {command = "/old/bin/memdir", args = ["mcp"], enabled = false}\nx = {}\n',
        "mcp_servers.memdir.command = '/old/bin/memdir'\nmcp_servers.memdir.args = ['mcp'] # mine\nmodel = 'gpt'\n",
    ],
)
def test_of_codex_s_settings_only_the_program_changes_and_only_ours_goes(
    run: Run, user_home: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.delenv("MEMDIR_HOME")
    config = user_home / ".codex/config.toml"
    config.write_text(text)
    before = tomllib.loads(text)
    run("attach", "codex", "--yes")
    assert config.read_text() == text.replace("'/old/bin/memdir'", f'"{memdir_command}"').replace(
        "/old/bin/memdir", memdir_command
    )
    config.write_text(config.read_text() + "# later\n")  # so that it is cut out, not put back
    run("detach", "codex", "--yes")
    after = tomllib.loads(config.read_text())
    del before["mcp_servers"]["memdir"]
    assert after.get("mcp_servers", {}) == before["mcp_servers"] and after.get("model") == before.get("model")
    for comment in ("# my second server, keep this\n[mcp_servers.second]", "# all", "# later"):
        assert (comment in config.read_text()) == (comment in text + "# later\n")


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {memdir = {command = "/old/bin/memdir", args = ["mcp"]}, x = {url = "u"}}\n',
        'mcp_servers = {memdir = {command = "/old/bin/memdir", args = ["mcp"]}, x = {url = """\n[a]\n"""}}\n',
    ],
)
def test_what_cannot_be_cut_out_of_codex_s_settings_is_told(run: Run, user_home: Path, text: str) -> None:
    config = user_home / ".codex/config.toml"
    config.write_text(text)
    assert "mcp_servers.memdir" in run("detach", "codex", "--yes", code=1).stderr
    assert config.read_text() == text


def test_a_no_is_not_taken_for_done(memdir_command: str, project: Path, user_home: Path) -> None:
    """Q2: who says no hears of nothing that was attached, and nothing old is learned from, whatever was asked for."""
    notes = user_home / ".codex/memories/MEMORY.md"
    notes.parent.mkdir()
    notes.write_text(CODEX_NOTES)
    before = snapshot(user_home)
    command = [memdir_command, "attach", "claude", "--past", "--own-memory", "keep", "--learn-with", "builtin"]
    shown = in_terminal(
        ["/bin/sh", "-c", '"$@"; echo "ended with $?"', "sh", *command], project, ("Change ", "n", nothing)
    )
    assert "Nothing was changed" in shown and "ended with 1" in shown
    assert "known to all" not in shown and "earning from" not in shown
    assert snapshot(user_home) == before


def test_a_hook_of_the_user_s_beside_ours_in_one_group_stays_and_ours_is_known(
    run: Run, user_home: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMDIR_HOME")
    run("attach", "claude", "codex", "--yes")
    for name in (".claude/settings.json", ".codex/hooks.json"):
        found = json.loads((user_home / name).read_text())
        first, ours = (group["hooks"][0] for group in found["hooks"]["Stop"])
        found["hooks"]["Stop"] = [{"hooks": [first, ours, {"type": "command", "command": "last"}]}]
        (user_home / name).write_text(json.dumps(found, indent=2))
    config, hooks = user_home / ".codex/config.toml", user_home / ".codex/hooks.json"
    for place, word in ((1, "ours"), (2, "last")):
        config.write_text(config.read_text() + f'\n[hooks.state."{hooks}:stop:0:{place}"]\ntrusted_hash = "{word}"\n')
    assert "no hook" not in run("attach", "--status", "claude").stdout
    run("attach", "claude", "codex", "--yes")

    def commands(name: str) -> list[list[str]]:
        groups = json.loads((user_home / name).read_text())["hooks"]["Stop"]
        return [[hook["command"] for hook in group["hooks"]] for group in groups]

    assert commands(".claude/settings.json") == [["beep", "last"], [f"{memdir_command} hook claude Stop || true"]]
    assert "Everything is attached already" in run("attach", "claude", "codex", "--yes").stdout
    run("detach", "--yes")
    assert commands(".claude/settings.json") == commands(".codex/hooks.json") == [["beep", "last"]]
    trusted = tomllib.loads(config.read_text())["hooks"]["state"]
    assert {name.removeprefix(f"{hooks}:"): one["trusted_hash"] for name, one in trusted.items()} == {
        "stop:0:0": "sha256:aa",
        "stop:0:1": "last",
    }


def test_a_program_by_another_of_its_names_is_ours(run: Run, user_home: Path, memdir_command: str) -> None:
    run("attach", "claude", "--yes")
    path = user_home / ".claude/settings.json"
    path.write_text(path.read_text().replace(f"{memdir_command} hook", "/usr/bin/memdir3.12 hook"))
    run("attach", "claude", "--yes")
    assert "memdir3.12" not in path.read_text() and path.read_text().count("hook claude Stop") == 1


@pytest.mark.parametrize("former", [None, True])
def test_an_agent_s_own_memory_is_on_again_after_detach_though_its_client_rewrote_the_file(
    run: Run, user_home: Path, former: bool | None
) -> None:
    claude, qwen = user_home / ".claude/settings.json", user_home / ".qwen/settings.json"
    if former:
        claude.write_text('{"autoMemoryEnabled": true}')
        qwen.write_text('{"memory": {"enableManagedAutoMemory": true}}')
    before = [json.loads(path.read_text()) for path in (claude, qwen)]
    run("attach", "claude", "qwen", "--own-memory", "off", "--yes")
    for path in (claude, qwen):
        path.write_text(json.dumps({**json.loads(path.read_text()), "added": True}, indent=4, sort_keys=True))
    run("attach", "claude", "qwen", "--yes")
    run("detach", "--yes")
    assert [json.loads(path.read_text()) for path in (claude, qwen)] == [{**one, "added": True} for one in before]


def test_an_own_memory_that_its_user_switched_off_stays_off(run: Run, user_home: Path) -> None:
    claude = user_home / ".claude/settings.json"
    claude.write_text('{"autoMemoryEnabled": false}')
    run("attach", "claude", "--own-memory", "off", "--yes")
    claude.write_text(json.dumps({**json.loads(claude.read_text()), "added": True}))
    run("detach", "--yes")
    assert json.loads(claude.read_text()) == {"autoMemoryEnabled": False, "added": True}


PLUGIN = ".config/opencode/plugins/memdir.js"
OWN_PLUGINS = [
    "// my own plugin\n",
    "",
    "// like the one that was Made by `memdir attach`\nexport const Mine = 1\n",
    'const MEMDIR = "/usr/bin/mine"\nexport const Mine = 1\n',
]


@pytest.mark.parametrize("text", OWN_PLUGINS)
def test_a_plugin_of_the_user_s_by_our_name_is_neither_replaced_nor_deleted(
    run: Run, user_home: Path, text: str
) -> None:
    path = user_home / PLUGIN
    path.parent.mkdir(parents=True)
    path.write_text(text)
    before = snapshot(user_home)
    assert "Nothing is attached" in run("detach", "--yes").stdout
    assert "opencode     not attached" in run("attach", "--status", "opencode").stdout
    assert f"{path} is not memdir's" in run("attach", "opencode", "--yes", code=1).stderr
    assert snapshot(user_home) == before
    run("attach", "--yes", code=1)
    assert "hook qwen" in (user_home / ".qwen/settings.json").read_text()
    run("detach", "--yes")
    assert snapshot(user_home) == before


def test_a_plugin_that_the_user_put_in_the_place_of_ours_stays(run: Run, user_home: Path) -> None:
    run("attach", "opencode", "--yes")
    (user_home / PLUGIN).write_text(OWN_PLUGINS[0])
    run("detach", "--yes")
    assert (user_home / PLUGIN).read_text() == OWN_PLUGINS[0]
    assert "memdir" not in (user_home / ".config/opencode/opencode.json").read_text()


def test_a_plugin_of_another_version_of_ours_is_renewed_and_goes(run: Run, user_home: Path) -> None:
    run("attach", "opencode", "--yes")
    path = user_home / PLUGIN
    ours = path.read_text()
    path.write_text(ours.replace("LIMIT_MS = 10000", "LIMIT_MS = 9"))
    run("attach", "opencode", "--yes")
    assert path.read_text() == ours
    path.write_text(ours.replace("LIMIT_MS = 10000", "LIMIT_MS = 9"))
    run("detach", "--yes")
    assert not path.exists()


OWN_HOOKS = [
    "grep -q '/memdir hook claude' ~/log && ~/bin/backup.sh",
    "notify-send done; ~/bin/memdir hook claude Stop; ~/bin/backup.sh",
    "/usr/bin/memdir hook claude Stop || true; ~/bin/backup.sh",
    "/usr/bin/memdir hook claude Stop || true\n~/bin/backup.sh",
    "~/bin/backup.sh || /usr/bin/memdir hook claude Stop || true",
    "~/bin/backup.sh\n/usr/bin/memdir hook claude Stop || true",
    "$(~/bin/backup.sh)/memdir hook claude Stop || true",
    '"`~/bin/backup.sh`/memdir" hook claude Stop || true',
    "LOG=/memdir hook claude Stop || true",
    "MEMDIR_HOME=$(~/bin/backup.sh) /usr/bin/memdir hook claude Stop || true",
    "MEMDIR_HOME=/a LOG=/b /usr/bin/memdir hook claude Stop || true",
    "'/usr/bin/memdir' hook claude Stop || ~/bin/backup.sh",
    "/usr/bin/backup-memdir hook claude Stop || true",
    "/usr/bin/memdir/backup hook claude Stop || true",
    "/usr/bin/memdir hook claude Stop | tee ~/log || true",
    "/usr/bin/memdir hook claude 'Stop || true",
]


@pytest.mark.parametrize("command", OWN_HOOKS)
def test_a_hook_of_the_user_s_that_only_names_memdir_stays(run: Run, user_home: Path, command: str) -> None:
    path = user_home / ".claude/settings.json"
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}))
    before = snapshot(user_home)
    assert "Nothing is attached" in run("detach", "--yes").stdout
    run("attach", "claude", "--yes")
    commands = [group["hooks"][0]["command"] for group in json.loads(path.read_text())["hooks"]["Stop"]]
    assert len(commands) == 2 and commands[0] == command
    run("detach", "--yes")
    assert snapshot(user_home) == before


@pytest.mark.parametrize("name", ["memdir-dev", "memdir3.12", "memdir (copy)", "memdir's $HOME"])
def test_a_program_by_any_of_its_names_is_attached_once_and_detached(
    run: Run, user_home: Path, project: Path, tmp_path: Path, memdir_command: str, name: str
) -> None:
    program = tmp_path / "it's a $(touch x) dir" / name
    program.parent.mkdir()
    program.symlink_to(memdir_command)
    for _ in range(3):
        subprocess.run([program, "attach", "claude", "--yes"], cwd=project, check=True, capture_output=True, timeout=60)
    path = user_home / ".claude/settings.json"
    assert path.read_text().count("hook claude Stop") == 1
    command = json.loads(path.read_text())["hooks"]["Stop"][1]["hooks"][0]["command"]
    home = f"MEMDIR_HOME={tmp_path}/home"
    assert shlex.split(command) == [home, str(program), "hook", "claude", "Stop", "||", "true"]
    assert (
        "hooks are missing"
        not in subprocess.run(
            [program, "attach", "--status", "claude"], cwd=project, capture_output=True, text=True, timeout=60
        ).stdout
    )
    path.write_text(json.dumps({**json.loads(path.read_text()), "added": True}))
    run("detach", "--yes")
    assert json.loads(path.read_text()) == {**json.loads(CLAUDE), "added": True}


def test_the_memory_that_is_named_is_the_one_that_is_attached(
    run: Run, told: Told, user_home: Path, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts the agent, a desktop for one: the home stands in what runs, not in a shell's environment."""
    before, work = snapshot(user_home), tmp_path / "it's work"
    monkeypatch.delenv("MEMDIR_HOME")
    run("--home", str(work), "attach", "--yes")
    run("--home", str(work), "remember", "The VPN name is heron", "--type", "project")
    hooks = {
        name: json.loads((user_home / name).read_text()) for name in (".claude/settings.json", ".codex/hooks.json")
    }
    fields = {"session_id": "a", "cwd": str(project), "source": "startup"}
    for at, settings in enumerate(hooks.values()):
        command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
        fields["transcript_path"] = str(user_home / f".codex/sessions/rollout-{at}.jsonl")
        done = subprocess.run(
            ["sh", "-c", command], input=json.dumps(fields), capture_output=True, text=True, check=True
        )
        assert "heron" in done.stdout
    servers = [
        json.loads((user_home / ".claude.json").read_text())["mcpServers"]["memdir"]["env"],
        json.loads((user_home / ".qwen/settings.json").read_text())["mcpServers"]["memdir"]["env"],
        tomllib.loads((user_home / ".codex/config.toml").read_text())["mcp_servers"]["memdir"]["env"],
        json.loads((user_home / ".config/opencode/opencode.json").read_text())["mcp"]["memdir"]["environment"],
    ]
    assert servers == [{"MEMDIR_HOME": str(work)}] * 4
    assert json.dumps(str(work)) in (user_home / ".config/opencode/plugins/memdir.js").read_text()
    assert "Everything is attached already" in run("--home", str(work), "attach", "--yes").stdout
    named = told("--home", str(work), "attach", "--status")["agents"]
    assert not any("another" in str(one["problems"]) or "not this one" in str(one["problems"]) for one in named)
    assert all(str(work) in str(one["problems"]) for one in told("attach", "--status")["agents"])
    run("attach", "--yes")
    assert not any(
        str(work) in path.read_text() for path in user_home.rglob("*") if path.is_file() and ".memdir" not in str(path)
    )
    run("--home", str(work), "attach", "--yes")
    run("--home", str(work), "detach", "--yes")
    assert {name: data for name, data in snapshot(user_home).items() if not name.startswith(".memdir")} == before


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_of_a_memdir_that_is_gone_no_shell_complains_where_its_user_is_shown_that(
    run: Run, user_home: Path, shell: str
) -> None:
    """Gemini CLI and Qwen Code show what a hook writes to its standard error, at every prompt."""
    run("attach", "gemini", "qwen", "--yes")
    for name in (".gemini/settings.json", ".qwen/settings.json"):
        words = re.findall(r'"command": "(.*? hook .*?)"', (user_home / name).read_text())
        assert len(words) >= 3
        for word in words:
            gone = word.replace("/memdir hook", "/gone/memdir hook")
            done = subprocess.run([shell, "-c", gone], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    run("detach", "--yes")
    assert "hook" not in (user_home / ".qwen/settings.json").read_text()


def test_what_a_client_writes_at_the_very_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look and the write; who attaches sees what would change now, and tries again."""
    path, real = tmp_path / "settings.json", replace_file
    for before, after in (("{}", '{"a": 1}'), ("{}", None), (None, "{}")):
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_text(before)

        def late(*given: Any) -> bytes | None:
            path.write_text('{"theirs": true}')
            return real(*given)

        monkeypatch.setattr(settings_edit, "replace_file", late)
        with pytest.raises(EditConflict):
            AttachRecord(str(tmp_path / "attached.json")).write([FileEdit(str(path), before, after, agent="claude")])
        assert path.read_text() == '{"theirs": true}'


def test_what_a_killed_attach_left_beside_the_settings_goes_with_the_next(run: Run, user_home: Path) -> None:
    before = snapshot(user_home)
    for folder in (user_home, user_home / ".gemini"):
        (folder / f"{TEMPORARY_PREFIX}0123456789abcdef").write_text("half of the")
        (folder / f"{TEMPORARY_PREFIX}0123456789abcdef").chmod(0o600)
    run("attach", "--yes")
    assert not [name for name in snapshot(user_home) if TEMPORARY_PREFIX in name]
    run("detach", "--yes")
    assert snapshot(user_home) == before


@pytest.mark.parametrize("agent", ["claude", "gemini", "qwen", "opencode"])
def test_settings_of_a_repository_that_lead_out_of_it_are_not_written(
    run: Run, project: Path, tmp_path: Path, agent: str
) -> None:
    """S2: a clone may bring links that lead anywhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / f".{agent}").symlink_to(elsewhere)
    done = run("attach", agent, "--here", "--yes", code=1)
    assert "leads out of the repository" in done.stderr and str(elsewhere) in done.stderr
    assert list(elsewhere.iterdir()) == []


def test_a_detach_that_comes_to_a_stop_half_way_has_forgotten_what_it_undid(tmp_path: Path) -> None:
    """Else a later one would switch on again what its user has switched off since."""
    first, second, record = tmp_path / "settings.json", tmp_path / "link.json", str(tmp_path / "attached.json")
    first.write_text("{}")
    second.symlink_to(first)
    setting, off = ("autoMemoryEnabled",), '{"autoMemoryEnabled": false}'
    AttachRecord(record).write([FileEdit(str(first), "{}", off, own_memory=setting, agent="claude")])
    assert AttachRecord(record).own_memories == {str(first): None}
    edits = [FileEdit(str(first), off, "{}"), FileEdit(str(second), off, "[]")]
    with pytest.raises(EditConflict):
        AttachRecord(record).write(edits, is_detaching=True)
    left = AttachRecord(record)
    assert first.read_text() == "{}" and left.own_memories == {} and left.paths_of("claude") == []
