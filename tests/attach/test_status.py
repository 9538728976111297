"""What `memdir attach --status` and the doctor tell of attached agents (O1)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memdir.attach.agents import all_agents
from memdir.settings import Environment
from tests.attach.conftest import Run, Told
from tests.attach.test_attach import in_terminal, nothing, snapshot
from tests.clients.coding_agents import NAMES
from tests.clients.terminal import Terminal
from tests.hooks.agents import Agent, wait_for


def status_of(told: Told, agent: str) -> dict[str, Any]:
    [found] = told("attach", "--status", agent)["agents"]
    return dict(found)


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_doctor_tells_what_the_status_tells(run: Run, told: Told, user_home: Path) -> None:
    def of_agents() -> list[dict[str, Any]]:
        return [one for one in told("doctor")["findings"] if one["check"] == "attached"]

    assert of_agents() == []
    run("attach", "--yes")
    found = of_agents()
    [codex] = [one for one in found if one["severity"] == "warning"]
    assert "Codex" in codex["message"] and "trust" in codex["message"] and "/hooks" in codex["remedy"]
    assert {one["severity"] for one in found} == {"warning", "note"}
    assert told("doctor")["verdict"] == "needs attention"
    run("detach", "--yes")
    assert of_agents() == []


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen"])
def test_plugin_and_attach_are_one_too_many(
    run: Run, told: Told, user_home: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    """Where the real programs put it: `tests/clients/test_plugin_installs.py`."""
    monkeypatch.setenv("PATH", f"{Path(memdir_command).parent}:{os.environ['PATH']}")  # which the plugin needs
    if agent == "claude":
        path = user_home / ".claude/settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "enabledPlugins": {"memdir@memdir": True}}))
    elif agent == "codex":
        with (user_home / ".codex/config.toml").open("a") as file:
            file.write('\n[plugins."memdir@memdir"]\nenabled = true\n')
    else:
        program(user_home / f".{agent}/extensions/memdir", "gemini-extension.json", "{}")
    assert status_of(told, agent)["state"] == "plugin"
    run("attach", agent, "--yes")
    assert "comes twice" in str(status_of(told, agent)["problems"])
    run("detach", agent, "--yes")
    assert status_of(told, agent)["state"] == "plugin"


def test_the_versions_that_are_known_are_those_that_are_tried() -> None:
    package = json.loads((Path(__file__).parents[1] / "clients/package.json").read_text(encoding="utf-8"))
    known = {agent.name: agent.tried for agent in all_agents(Environment.read()).values()}
    assert sorted(known.values()) == sorted(package["dependencies"].values()) and tuple(known) == NAMES


def test_a_version_that_nobody_tried_is_told(
    run: Run, told: Told, user_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its package, which is read, or else by its own word; a program in the project's folder is not asked."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:.:{os.environ['PATH']}")
    run("attach", "claude", "codex", "gemini", "--yes")
    program(tmp_path / "bin", "codex", "#!/bin/sh\necho codex-cli 7.1.2\n")
    package = tmp_path / "lib/node_modules/@anthropic-ai/claude-code"
    program(package / "bin", "claude.exe", "#!/bin/sh\ntouch ran\n")
    (package / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "9.0.1"}')
    (tmp_path / "bin" / "claude").symlink_to(package / "bin" / "claude.exe")
    codex, claude = status_of(told, "codex"), status_of(told, "claude")
    assert codex["version"] == "7.1.2" and "7.1.2" in str(codex["notes"])
    assert claude["version"] == "9.0.1" and "9.0.1 is not known" in str(claude["notes"])
    (package / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "2.1.999"}')
    assert "is not known" not in str(status_of(told, "claude")["notes"])
    assert not list(tmp_path.rglob("ran"))


def test_a_server_that_does_not_answer_is_told(run: Run, told: Told, user_home: Path, tmp_path: Path) -> None:
    run("attach", "qwen", "--yes")
    silent = program(tmp_path / "other bin", "memdir", "#!/bin/sh\nexit 0\n")
    path = user_home / ".qwen/settings.json"
    settings = json.loads(path.read_text())
    settings["mcpServers"]["memdir"]["command"] = str(silent)
    path.write_text(json.dumps(settings))
    assert "does not answer" in str(status_of(told, "qwen")["problems"])
    assert "does not answer" in str(told("doctor")["findings"])


def session(user_home: Path, project: Path, name: str, moment: float) -> Path:
    slug = "".join(c if c.isalnum() else "-" for c in str(project.resolve()))
    transcript = user_home / ".claude/projects" / slug / f"{name}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": "Hello there"}
    said = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": name,
        "cwd": str(project),
        "message": message,
    }
    stamp = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    transcript.write_text(json.dumps({**said, "isSidechain": False, "timestamp": stamp}) + "\n")
    return transcript


def test_a_session_that_began_while_memory_was_off_is_no_sign(
    run: Run, told: Told, user_home: Path, project: Path
) -> None:
    run("attach", "claude", "--yes")
    moment = time.time() + 60
    session(user_home, project, "0a1b2c3d-0000-4000-8000-000000000001", moment)
    run("attach", "--not-here")
    run("config", "set", "memoryEnabled", "--unset", "--layer", "local")
    (local,) = Path(os.environ["MEMDIR_HOME"]).glob("projects/*/settings*.json")
    os.utime(local, (moment + 60, moment + 60))
    assert status_of(told, "claude")["problems"] == []


def test_hooks_that_are_there_and_never_called_are_told(
    run: Run, told: Told, user_home: Path, project: Path, memdir_command: str
) -> None:
    """A session from before memdir was attached is no sign of it, and a hook that was called is the best of one."""
    session(user_home, project, "0a1b2c3d-0000-4000-8000-000000000001", time.time() - 100)
    run("attach", "claude", "--yes")
    found = status_of(told, "claude")
    assert (found["state"], found["fired"]) == ("attached", "")
    later = session(user_home, project, "0a1b2c3d-0000-4000-8000-000000000002", time.time() + 60)
    assert "no hook was called" in str(status_of(told, "claude")["problems"])
    fields = {"session_id": later.stem, "transcript_path": str(later), "cwd": str(project), "prompt": "Hello there"}
    subprocess.run(
        [memdir_command, "hook", "claude", "UserPromptSubmit"], input=json.dumps(fields), text=True, check=True
    )
    found = status_of(told, "claude")
    assert found["state"] == "attached" and found["fired"].endswith(" here")
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    assert "in another project" in str(told("attach", "--status", "claude", "--project", str(elsewhere)))


@pytest.mark.parametrize(
    "hooks",
    [
        '"text"',
        "[1, 2]",
        '{"Stop": 5}',
        '{"Stop": {"a": 1}}',
        '{"Stop": [{"hooks": [{"command": "memdir hook claude Stop \'"}]}]}',
    ],
)
def test_whatever_stands_in_the_settings_the_status_stays_calm(told: Told, user_home: Path, hooks: str) -> None:
    (user_home / ".claude/settings.json").write_text(f'{{"hooks": {hooks}, "enabledPlugins": []}}')
    assert status_of(told, "claude")["agent"] == "claude"
    assert told("doctor")["ok"]


def test_what_its_owner_changed_in_our_server_s_entry_stays(run: Run, user_home: Path, memdir_command: str) -> None:
    """Only the program is ours to renew."""
    run("attach", "gemini", "codex", "--yes")
    path, config = user_home / ".gemini/settings.json", user_home / ".codex/config.toml"
    path.write_text(path.read_text().replace('"trust": true', '"trust": false').replace(memdir_command, "/old/memdir"))
    config.write_text(config.read_text() + "\n[mcp_servers.memdir.tools.search]\napproval_mode = 'approve'\n")
    run("attach", "gemini", "codex", "--yes")
    assert '"trust": false' in path.read_text() and "/old/memdir" not in path.read_text()
    assert "approval_mode" in config.read_text()
    run("detach", "--yes")
    assert "memdir" not in config.read_text().replace(str(user_home), "") and "memdir" not in path.read_text()


def test_opencode_that_waits_for_the_network_is_told(run: Run, told: Told, user_home: Path) -> None:
    """Measured: about 75 seconds at every start, with any plugin, until it was online once."""
    assert "be online" in run("attach", "opencode", "--yes").stderr
    assert "once while you are online" in str(status_of(told, "opencode")["notes"])
    (user_home / ".config/opencode/node_modules/@opencode-ai").mkdir(parents=True)
    assert not status_of(told, "opencode")["notes"]


def guarded(run: Run) -> None:
    run("remember", "Never push with --force.", "--type", "feedback", "--name", "Force")
    run("guard", "add", "feedback_force", "block shell(git push --force)")


def test_when_the_last_guard_is_gone_agents_ask_no_more_before_their_tools(run: Run, user_home: Path) -> None:
    """Q1: with the trust that the hooks behind ours have in Codex."""
    before = {path: path.read_bytes() for path in user_home.rglob("*") if path.is_file()}
    guarded(run)
    run("attach", "--yes")
    hooks, config = user_home / ".codex/hooks.json", user_home / ".codex/config.toml"
    found = json.loads(hooks.read_text())
    found["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "later"}]})
    hooks.write_text(json.dumps(found))
    states = [
        f'\n[hooks.state."{hooks}:pre_tool_use:{at}:0"]\ntrusted_hash = "{word}"\n'
        for at, word in enumerate(("ours", "later"))
    ]
    config.write_text(config.read_text() + "".join(states))
    run("guard", "remove", "feedback_force")
    run("attach", "--yes")
    assert [group["hooks"][0]["command"] for group in json.loads(hooks.read_text())["hooks"]["PreToolUse"]] == ["later"]
    assert f'[hooks.state."{hooks}:pre_tool_use:0:0"]\ntrusted_hash = "later"' in config.read_text()
    assert '"ours"' not in config.read_text()
    for name in (".claude/settings.json", ".gemini/settings.json", ".qwen/settings.json"):
        text = (user_home / name).read_text()
        assert "hook" in text and "ToolUse" not in text and "Tool" not in text.replace("mcpServers", "")
    assert "const GUARDED = false" in (user_home / ".config/opencode/plugins/memdir.js").read_text()
    run("detach", "claude", "gemini", "qwen", "opencode", "--yes")
    after = {path: path.read_bytes() for path in user_home.rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after.get(path)} == {hooks, config}


def test_the_trust_in_a_hook_that_attaching_changed_is_not_kept(
    run: Run, told: Told, user_home: Path, memdir_command: str
) -> None:
    """Codex skips a hook that is not the one it was told to trust, and the status has to say so."""
    run("attach", "codex", "--yes")
    hooks, config = user_home / ".codex/hooks.json", user_home / ".codex/config.toml"
    hooks.write_text(hooks.read_text().replace(memdir_command, "/old/bin/memdir"))
    places = ("session_start:0", "user_prompt_submit:0", "stop:1", "session_end:0")
    config.write_text(
        config.read_text() + "".join(f'\n[hooks.state."{hooks}:{at}:0"]\ntrusted_hash = "x"\n' for at in places)
    )
    run("attach", "codex", "--yes")
    assert "trust" in str(status_of(told, "codex")["problems"])
    assert f'[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:aa"' in config.read_text(), "the user's own stays"


def test_a_plugin_that_cannot_work_is_told(
    told: Told, user_home: Path, project: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It calls what is on the PATH, and Codex calls nothing that was not trusted."""
    program(user_home / ".gemini/extensions/memdir", "gemini-extension.json", "{}")
    with (user_home / ".codex/config.toml").open("a") as file:
        file.write('\n[plugins."memdir@memdir"]\nenabled = true\n')
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not on the PATH" in str(status_of(told, "gemini")["problems"])
    assert "not on the PATH" in str(told("doctor")["findings"])
    program(user_home / "broken", "memdir", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", str(user_home / "broken"))
    [problem] = status_of(told, "gemini")["problems"]
    assert problem.startswith(f"`{user_home}/broken/memdir mcp` does not answer")
    monkeypatch.setenv("PATH", str(Path(memdir_command).parent))
    assert status_of(told, "gemini")["state"] == "plugin"
    assert "trust them in /hooks" in str(status_of(told, "codex")["notes"])
    fields = {"session_id": "a", "transcript_path": str(user_home / "rollout-a.jsonl"), "cwd": str(project)}
    subprocess.run([memdir_command, "hook", "auto", "SessionStart"], input=json.dumps(fields), text=True, check=True)
    assert "trust" not in str(status_of(told, "codex")["notes"])


def test_hooks_that_codex_will_not_run_whoever_trusts_them_are_told(run: Run, told: Told, user_home: Path) -> None:
    run("attach", "codex", "--yes")
    hooks, config = user_home / ".codex/hooks.json", user_home / ".codex/config.toml"
    written = config.read_text()
    config.write_text(written + "\n[features]\nhooks = false\n")
    [problem] = status_of(told, "codex")["problems"]
    assert "switched off in" in problem and "config.toml" in problem
    assert "switched off in" in run("attach", "codex", "--yes").stderr, "also when it is attached"
    config.write_text(written)
    hooks.write_text(json.dumps({**json.loads(hooks.read_text()), "mine": 1}))
    [problem] = status_of(told, "codex")["problems"]
    assert "'mine' at its top, so Codex ignores the whole file" in problem


def test_a_server_of_the_user_s_by_our_name_is_told_and_left(run: Run, told: Told, user_home: Path) -> None:
    taken = {"mcpServers": {"memdir": {"command": "/opt/other/memdir", "args": ["x"]}}}
    (user_home / ".claude.json").write_text(json.dumps(taken))
    (user_home / ".codex/config.toml").write_text('[mcp_servers.memdir]\ncommand = "other"\n')
    done = run("attach", "claude", "codex", "--yes")
    assert done.stderr.count("an MCP server of yours has the name memdir") == 2
    for agent in ("claude", "codex"):
        assert "give it another name" in str(status_of(told, agent)["problems"])
        assert "MCP server is missing" not in str(status_of(told, agent)["problems"])
    assert "has the name memdir" in run("attach", "claude", "--yes").stderr, "as long as it is so"


def test_what_makes_attaching_useless_is_told_at_once(run: Run, user_home: Path) -> None:
    program(user_home / ".gemini/extensions/memdir", "gemini-extension.json", "{}")
    (user_home / ".qwen/settings.json").write_text('{"disableAllHooks": true}')
    told = run("attach", "--yes").stderr
    assert "Gemini CLI: it has the plugin as well, so everything comes twice" in told
    assert "Qwen Code: hooks are switched off" in told and "Claude Code" not in told
    told = run("detach", "--yes").stderr
    assert "Gemini CLI has the plugin: memory goes on" in told and "Claude Code" not in told


def test_what_read_only_settings_need_is_shown(run: Run, user_home: Path) -> None:
    path = user_home / ".claude/settings.json"
    path.chmod(0o444)
    done = run("attach", "claude", "--dry-run", code=1)
    assert "hook claude Stop" in done.stdout and "is read-only" in done.stderr


def test_memory_that_is_off_here_is_told_with_the_way_back(run: Run, told: Told, user_home: Path) -> None:
    run("attach", "claude", "--yes")
    assert told("attach", "--status")["off"] == ""
    run("attach", "--not-here")
    assert "memoryEnabled" in told("attach", "--status")["off"]
    for words in (("--status",), ("claude", "--yes"), ("claude", "--past", "--yes")):
        assert "memory is off here" in run("attach", *words).stderr


def test_folders_that_attaching_made_go_with_it(
    run: Run, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of an agent's is how it is known to be installed."""
    monkeypatch.setenv("PATH", "/nowhere")
    home = tmp_path / "user-home"
    (home / ".config").mkdir(parents=True)
    run("attach", "claude", "codex", "gemini", "qwen", "opencode", "--yes")
    (home / ".gemini/mine").write_text("x")
    run("detach", "--yes")
    assert {str(path.relative_to(home)) for path in home.rglob("*")} == {".config", ".gemini", ".gemini/mine"}
    assert {one["agent"]: one["state"] for one in told("attach", "--status")["agents"]}["claude"] == "not installed"


def test_the_choice_of_an_agent_s_own_memory_can_be_taken_back(run: Run, user_home: Path, tmp_path: Path) -> None:
    settings = tmp_path / "home/settings.json"
    run("attach", "claude", "--own-memory", "serve", "--yes")
    assert json.loads(settings.read_text())["memoryHome"] == "claude"
    assert "in memdir's home again" in run("attach", "claude", "--own-memory", "keep", "--yes").stderr
    assert json.loads(settings.read_text())["memoryHome"] == "memdir"
    run("attach", "claude", "--own-memory", "serve", "--yes")
    run("attach", "claude", "--own-memory", "off", "--yes")
    assert json.loads(settings.read_text())["memoryHome"] == "memdir"
    run("detach", "--yes")
    for file, name in ((".claude/settings.json", "claude"), (".qwen/settings.json", "qwen")):
        before = (user_home / file).read_bytes()
        run("attach", name, "--own-memory", "off", "--yes")
        assert b": false" in (user_home / file).read_bytes()
        run("attach", name, "--yes")
        assert b": false" in (user_home / file).read_bytes(), "who says nothing changes nothing"
        run("attach", name, "--own-memory", "keep", "--yes")
        assert b": false" not in (user_home / file).read_bytes()
        run("detach", name, "--yes")
        assert (user_home / file).read_bytes() == before
    for agent in ("gemini", "codex"):
        assert "for claude and qwen" in run("attach", agent, "--own-memory", "off", "--yes", code=2).stderr


def test_who_learns_on_a_subscription_is_told(
    run: Run, told: Told, user_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, says in (("claude", ""), ("codex", '{"models": [{}]}')):
        program(tmp_path / "bin", name, f"#!/bin/sh\necho '{says}'\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    run("attach", "--learn-with", "host", "--yes")
    assert "`codex` learns" in str(status_of(told, "codex")["notes"])
    assert "`claude` learns" in str(status_of(told, "claude")["notes"])
    assert "subscription" not in str(status_of(told, "gemini")["notes"])
    assert (
        "on your subscription: `memdir config set attach.model builtin`" in run("attach", "--status", "claude").stdout
    )
    run("config", "set", "attach.model", "builtin")  # which attaches nobody
    assert "subscription" not in str(told("doctor")["findings"])


def test_that_the_model_which_learns_gives_no_answer_is_told_until_it_does(
    run: Run, told: Told, user_home: Path, project: Path, memdir_command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B1, X4: a worker has nobody to tell it to, and all that was said would wait unseen."""
    claude = program(user_home / "bin", "claude", "#!/bin/sh\necho 'Not logged in' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", f"{claude.parent}:{os.environ['PATH']}")
    run("attach", "claude", "--learn-with", "host", "--yes")
    at_work = Agent("claude", user_home, project.resolve(), memdir_command, environment=dict(os.environ))
    ledger = Path(os.environ["MEMDIR_HOME"]) / "logs" / "ledger.jsonl"
    for answer, state in (("", "needs attention"), ('{"result": "nothing"}', "attached")):
        if answer:
            program(claude.parent, "claude", f"#!/bin/sh\ncat > /dev/null\necho '{answer}'\n")
        at_work.prompt("Never mock the database in our tests")
        at_work.say("Never mock the database in our tests")
        calls = len(ledger.read_text().splitlines()) if ledger.exists() else 0
        at_work.stop()
        wait_for(lambda calls=calls: ledger.exists() and len(ledger.read_text().splitlines()) > calls)
        found = status_of(told, "claude")
        assert (found["state"], "run `claude` once by hand" in str(found["problems"])) == (state, not answer)
    ledger.unlink()
    ledger.mkdir()
    assert "nothing is learned" in str(status_of(told, "claude")["problems"])


def test_a_program_that_cannot_learn_is_told_when_it_is_chosen_with_who_learns_instead(
    run: Run, told: Told, user_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path / "bin", "codex", "#!/bin/sh\necho 'unrecognized subcommand' >&2\nexit 2\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    why = "the built-in model learns, since `codex debug models` lists none"
    assert why in run("attach", "codex", "--learn-with", "host", "--yes").stderr
    assert why in str(status_of(told, "codex")["problems"]) and why in str(told("doctor")["findings"])
    assert "subscription" not in str(status_of(told, "codex"))


def test_the_past_is_counted_before_anything_is_learned_and_a_note_once(run: Run, told: Told, user_home: Path) -> None:
    (user_home / ".gemini/GEMINI.md").write_text("- The release branch is called stable\n")
    assert "1 note that" in run("attach", "gemini", "--past", "--dry-run").stderr
    assert "1 note that" in told("attach", "gemini", "--past", "--dry-run")["past"]
    _others, first, *_ = run("attach", "gemini", "--past", "--yes").stderr.splitlines()
    assert "1 note that" in first
    assert "nothing that is not known yet" in run("attach", "gemini", "--past", "--yes").stderr
    assert run("list").stdout.count("is called stable") == 1


def test_what_was_learned_from_the_past_is_no_sign_that_a_hook_was_called(
    run: Run, told: Told, user_home: Path, project: Path
) -> None:
    session(user_home, project, "0a1b2c3d-0000-4000-8000-000000000001", time.time() - 100)
    assert "1 past session" in run("attach", "claude", "--past", "--yes").stderr
    assert status_of(told, "claude")["fired"] == ""


def test_the_past_alone_is_that_of_the_agents_that_are_attached_and_attaches_none(
    run: Run, told: Told, user_home: Path
) -> None:
    (user_home / ".gemini/GEMINI.md").write_text("- The release branch is called stable\n")
    assert "no agent is attached" in run("attach", "--past", "--yes", code=1).stderr
    run("attach", "claude", "--yes")
    for words in (("--dry-run",), ("--yes",)):
        done = run("attach", "--past", *words)
        assert "nothing that is not known yet" in done.stderr and done.stdout == ""
    assert told("attach", "--past", "--json")["past"] == ""
    assert [one["agent"] for one in told("attach", "--status")["agents"] if one["events"]] == ["claude"]
    run("attach", "gemini", "--yes")
    assert "1 note that" in run("attach", "--past").stderr


def test_an_answer_that_is_none_is_asked_for_again_and_every_change_is_seen(
    run: Run, memdir_command: str, project: Path, user_home: Path
) -> None:
    asked: list[tuple[str, str, Callable[[], object]]] = [
        ("switch it [o]ff?", "q", nothing), ("one of the letters", "o", nothing),
        ("on your subscription?", "y", nothing), ("one of the letters", "b", nothing),
        ("memdir.js: made", "y", nothing),
    ]  # fmt: skip
    assert "spawnSync" in run("attach", "opencode", "--dry-run").stdout, "the program that is going to run"
    in_terminal([memdir_command, "attach", "claude", "opencode"], project, *asked)
    assert json.loads((user_home / ".claude/settings.json").read_text())["autoMemoryEnabled"] is False


def test_a_byte_order_mark_is_taken_as_the_client_takes_it(run: Run, user_home: Path) -> None:
    """Measured: Gemini CLI ends with an error, Codex reads over it."""
    (user_home / ".gemini/settings.json").write_bytes(b"\xef\xbb\xbf{}")
    assert "byte order mark" in run("attach", "gemini", "--yes", code=1).stderr
    config = user_home / ".codex/config.toml"
    config.write_bytes(b'\xef\xbb\xbfmodel = "gpt"\n')
    run("attach", "codex", "--yes")
    run("detach", "--yes")
    assert config.read_bytes() == b'\xef\xbb\xbfmodel = "gpt"\n'


def test_servers_in_one_line_are_told_with_what_helps(run: Run, user_home: Path) -> None:
    (user_home / ".codex/config.toml").write_text('mcp_servers = { other = { command = "x" } }\n')
    assert "[mcp_servers.NAME]" in run("attach", "codex", "--yes", code=1).stderr


def test_an_empty_file_is_empty_again_and_a_link_to_nothing_is_in_nobody_s_way(run: Run, user_home: Path) -> None:
    path, link = user_home / ".claude/settings.json", user_home / ".gemini/settings.json"
    path.write_bytes(b"")
    link.unlink()
    link.symlink_to(user_home / "gone.json")
    run("attach", "claude", "--yes")
    run("detach", "--yes")
    assert path.read_bytes() == b"" and link.is_symlink()


@pytest.mark.parametrize("agent", ["claude", "gemini", "qwen", "opencode"])
def test_what_is_attached_here_stands_in_the_repository_and_is_known_there(
    run: Run, told: Told, user_home: Path, project: Path, tmp_path: Path, agent: str
) -> None:
    before, there = snapshot(user_home), snapshot(project)
    run("attach", agent, "--here", "--yes")
    assert snapshot(user_home) == before
    new = [name for name in snapshot(project) if name not in there]
    assert new and all(name.startswith((f".{agent}/", ".mcp.json")) for name in new)
    assert "Everything is attached already" in run("attach", agent, "--here", "--yes").stdout
    here = status_of(told, agent)
    assert here["state"] == "attached" and "in this repository alone" in str(here["notes"])
    other = tmp_path / "other"
    other.mkdir()
    assert status_of(lambda *words: told(*words, "--project", str(other)), agent)["state"] == "not attached"
    assert f"`memdir detach {agent}` and attach it once" in run("attach", agent, "--yes").stderr, "it is told at once"
    assert "`memdir detach" in str(status_of(told, agent)["problems"]), "everything would come twice"
    run("detach", agent, "--yes")
    assert (snapshot(user_home), snapshot(project)) == (before, there)


@pytest.mark.parametrize("agent", ["claude", "gemini", "qwen", "opencode"])
def test_what_is_wrong_here_is_mended_here(
    run: Run, told: Told, user_home: Path, project: Path, memdir_command: str, agent: str
) -> None:
    """Who did as told would have the agent attached for all projects as well."""
    run("attach", agent, "--here", "--yes")
    before = snapshot(user_home)
    for path in (path for path in project.rglob("*") if path.is_file() and ".git" not in path.parts):
        path.write_text(path.read_text().replace(memdir_command, "/gone/memdir"))
    for text in (str(status_of(told, agent)), run("attach", "--status", agent, code=1).stdout, str(told("doctor"))):
        assert f"`memdir attach {agent} --here` writes" in text and f"memdir attach {agent}`" not in text
        assert "--own-memory" not in text, "it would be attached by that for all projects"
    run("attach", agent, "--here", "--yes")
    assert status_of(told, agent)["state"] == "attached" and snapshot(user_home) == before
    assert status_of(told, agent)["title"] not in run("attach", "codex", "--dry-run").stderr, "it is attached"
    assert "without --here" in run("attach", agent, "--here", "--own-memory", "off", code=2).stderr


def test_two_wishes_of_which_one_would_be_passed_over_are_none(run: Run, user_home: Path) -> None:
    for words in (("--status", "--not-here"), ("--not-here", "--here"), ("--here", "--status")):
        assert "not allowed with" in run("attach", *words, code=2).stderr
    assert "for all agents" in run("attach", "codex", "--not-here", code=2).stderr
    assert "memory is off" not in run("attach", "--status").stderr


def test_who_is_attached_for_all_projects_or_trusts_by_place_is_not_attached_here(
    run: Run, user_home: Path, project: Path
) -> None:
    there = snapshot(project)
    assert "`memdir attach codex`" in run("attach", "codex", "--here", "--yes", code=1).stderr
    run("attach", "claude", "--yes")
    assert "Claude Code is attached in your own settings" in run("attach", "claude", "--here", "--yes", code=1).stderr
    assert snapshot(project) == there


def test_who_has_the_plugin_is_not_attached_here_and_who_gets_it_later_is_told(
    run: Run, told: Told, user_home: Path, project: Path
) -> None:
    there = snapshot(project)
    run("attach", "gemini", "--here", "--yes")
    program(user_home / ".gemini/extensions/memdir", "gemini-extension.json", "{}")
    assert "comes twice" in str(status_of(told, "gemini")["problems"])
    run("detach", "gemini", "--yes")
    assert "Gemini CLI has the plugin" in run("attach", "gemini", "--here", "--yes", code=1).stderr
    assert snapshot(project) == there


def test_a_diff_is_headed_by_its_agent_and_who_is_left_out_is_named(
    run: Run, user_home: Path, memdir_command: str, project: Path
) -> None:
    shutil.rmtree(user_home / ".qwen")
    done = run("attach", "claude", "codex", "--dry-run")
    assert done.stdout.startswith(f"claude\n--- {user_home}/.claude/settings.json\n")
    assert f"\ncodex\n--- {user_home}/.codex/hooks.json\n" in done.stdout
    assert "not attached: Gemini CLI, opencode\n" in done.stderr and "not installed: Qwen Code\n" in done.stderr
    command = [memdir_command, "attach", "claude"]
    with Terminal(command, cwd=project, environment={**os.environ, "NO_COLOR": "1", "COLUMNS": "60"}) as terminal:
        terminal.wait_for("[o]ff?")
        assert max(map(len, terminal.lines)) <= 60
        terminal.type("k\n")
        terminal.wait_for("on your subscription?")
        assert max(map(len, terminal.lines)) <= 60


def test_what_is_attached_elsewhere_is_told(
    run: Run, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "cc"))
    run("attach", "claude", "--yes")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert f"attached in {tmp_path}/cc" in str(status_of(told, "claude")["notes"])


def test_opencode_is_told_once_however_its_settings_are_called(
    run: Run, told: Told, user_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    run("attach", "opencode", "--yes")
    (tmp_path / "xdg/opencode/opencode.jsonc").write_text("{}")
    assert "attached in" not in str(status_of(told, "opencode")["notes"]), "it is the same folder"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    (user_home / ".config/opencode").mkdir(parents=True, exist_ok=True)
    (user_home / ".config/opencode/opencode.jsonc").write_text("{}")
    assert str(status_of(told, "opencode")["notes"]).count("attached in") == 1


def test_why_attaching_was_refused_is_told_by_the_status_too(told: Told, user_home: Path) -> None:
    (user_home / ".claude/settings.json").write_text('{"a": 1 /* note */}')
    found = status_of(told, "claude")
    assert found["state"] == "not attached" and "a comment" in str(found["notes"])


def test_what_gemini_notes_of_hooks_in_a_repository_goes_with_them(run: Run, user_home: Path, project: Path) -> None:
    """It warns of each once, and keeps that it did."""
    before = snapshot(user_home)
    run("attach", "gemini", "--here", "--yes")
    given = json.loads((project / ".gemini/settings.json").read_text())["hooks"]
    ours = [f"memdir:{group['hooks'][0]['command']}" for groups in given.values() for group in groups]
    noted = user_home / ".gemini/trusted_hooks.json"
    noted.write_text(json.dumps({str(project): ours}, indent=2))
    run("detach", "--yes")
    assert snapshot(user_home) == before
    run("attach", "gemini", "--here", "--yes")
    noted.write_text(json.dumps({"/elsewhere": ["mine:beep", *ours], str(project): ours}, indent=2))
    run("detach", "gemini", "--yes")
    assert json.loads(noted.read_text()) == {"/elsewhere": ["mine:beep"]}
    noted.write_text("{")
    run("attach", "gemini", "--yes")
    run("detach", "gemini", "--yes")
    assert noted.read_text() == "{"


def switched_off(agent: str, user_home: Path, tree: Path) -> Path:
    """As the client itself writes it when its user switches one server off; the file in which that stands."""
    ours: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
        "claude": (
            ".claude.json",
            lambda text: text.update(projects={"/other": {"a": []}, str(tree): {"disabledMcpServers": ["memdir"]}}),
        ),
        "gemini": (".gemini/mcp-server-enablement.json", lambda text: text.update(memdir={"enabled": False})),
        "qwen": (".qwen/settings.json", lambda text: text.update(mcp={"excluded": ["memdir"]})),
        "opencode": (".config/opencode/opencode.json", lambda text: text["mcp"]["memdir"].update(enabled=False)),
    }
    if agent == "codex":
        path = user_home / ".codex/config.toml"
        path.write_text(path.read_text().replace('args = ["mcp"]', 'args = ["mcp"]\nenabled = false'))
        return path
    name, change = ours[agent]
    path = user_home / name
    text = json.loads(path.read_text()) if path.exists() else {}
    change(text)
    path.write_text(json.dumps(text, indent=2))
    return path


@pytest.mark.parametrize("agent", NAMES)
def test_a_server_that_was_switched_off_in_the_client_is_told_and_is_on_once_attached_again(
    run: Run, told: Told, user_home: Path, project: Path, agent: str
) -> None:
    run("attach", agent, "--yes")
    path = switched_off(agent, user_home, project)
    [off] = [one for one in status_of(told, agent)["problems"] if "MCP server is switched off" in one]
    assert str(path) in off
    assert any("MCP server is switched off" in one["message"] for one in told("doctor")["findings"])
    run("detach", "--yes")
    assert not path.exists() or "memdir" not in path.read_text()
    run("attach", agent, "--yes")
    assert "switched off" not in str(status_of(told, agent)["problems"])


def test_what_else_is_switched_off_in_the_client_stays(run: Run, told: Told, user_home: Path, project: Path) -> None:
    run("attach", "claude", "gemini", "qwen", "--yes")
    paths = [switched_off(agent, user_home, project) for agent in ("claude", "gemini", "qwen")]
    claude, gemini, qwen = paths
    claude.write_text(claude.read_text().replace(str(project), "/another"))
    assert "switched off" not in str(status_of(told, "claude")["problems"]), "only in another project"
    gemini.write_text('{"memdir": {"enabled": false},  "theirs": {"enabled": false}}')
    qwen.write_text(qwen.read_text().replace('"memdir"\n    ]', '"theirs",\n      "memdir"\n    ]'))
    run("detach", "--yes")
    assert json.loads(claude.read_text())["projects"] == {"/other": {"a": []}}
    assert gemini.read_text().endswith('"theirs": {"enabled": false}}') and "memdir" not in gemini.read_text()
    assert json.loads(qwen.read_text())["mcp"] == {"excluded": ["theirs"]}


def test_a_server_of_the_users_by_our_name_stays_switched_off(run: Run, user_home: Path) -> None:
    path = user_home / ".qwen/settings.json"
    path.write_text('{"mcpServers": {"memdir": {"command": "theirs"}}, "mcp": {"excluded": ["memdir"]}}')
    there = path.read_text()
    run("attach", "qwen", "--yes")
    path.write_text(path.read_text() + "\n")
    run("detach", "--yes")
    assert json.loads(path.read_text()) == json.loads(there)


def test_what_claude_notes_of_the_server_in_a_repository_goes_with_it(run: Run, user_home: Path, project: Path) -> None:
    there = snapshot(project)
    run("attach", "claude", "--here", "--yes")
    path = project / ".claude/settings.local.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "enabledMcpjsonServers": ["memdir"]}, indent=2))
    run("detach", "--yes")
    assert snapshot(project) == there
    run("attach", "claude", "--here", "--yes")
    known = {**json.loads(path.read_text()), "enabledMcpjsonServers": ["theirs", "memdir"]}
    path.write_text(json.dumps({**known, "disabledMcpjsonServers": ["memdir"], "env": {"A": "memdir"}}, indent=2))
    run("detach", "claude", "--yes")
    assert json.loads(path.read_text()) == {"enabledMcpjsonServers": ["theirs"], "env": {"A": "memdir"}}
