"""Settings as they are found: too deep, said twice, in other forms and places, not for us to write. One agent costs no
other, and detaching leaves nothing of ours (S3)."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.attach.json_text import JsonText
from memdir.attach.settings_edit import AttachRecord, FileEdit
from memdir.hooks.past_sessions import PastSessions
from memdir.memdir import open_memory
from memdir.settings import Environment
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.gemini import QwenSessions
from memdir.transcript.sources.source import SessionRef
from tests.attach.conftest import CLAUDE, CODEX_HOOKS
from tests.attach.test_attach import TABLE, snapshot
from tests.conftest import Ran

Run = Callable[..., Ran]

NOTE = 'note = """\n[mcp_servers.memdir]\nkeep = "this"\n# ["""\n'
TRUST = ("session_start:0:0", "user_prompt_submit:0:0", "stop:1:0", "session_end:0:0")


@pytest.fixture
def run(memdir: Run) -> Run:
    def run(*words: str, code: int = 0) -> Ran:
        done = memdir(*words)
        assert done.code == code, done
        return done

    return run


def test_numbers_that_equal_nothing_are_no_harm(run: Run, user_home: Path) -> None:
    path = user_home / ".codex/config.toml"
    path.write_text("a = nan\nb = [-nan, inf, 1.10]\n")
    run("attach", "codex", "--yes")
    assert "mcp_servers.memdir" in path.read_text()
    run("detach", "codex", "--yes")
    assert path.read_text() == "a = nan\nb = [-nan, inf, 1.10]\n"


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{a=" * 5000 + "1" + "}" * 5000,
        ".".join(["a"] * 1000) + " = 1",
        f"[{'.'.join(['a'] * 300)}]\nb = 1",
        "a = " + "1" * 5000,
    ],
    ids=["lists", "tables", "dotted", "header", "number"],
)
def test_toml_that_no_reader_gets_through_costs_no_other_agent(run: Run, user_home: Path, text: str) -> None:
    path = user_home / ".codex/config.toml"
    path.write_text(text)
    before = snapshot(user_home)
    assert str(path) in run("attach", "codex", "claude", "--yes", code=1).err
    assert "hook claude" in (user_home / ".claude/settings.json").read_text()
    if text.startswith("a = ["):
        shown = run("attach", "--status", "codex", "claude", code=1).out
        assert str(path) in shown and "Claude Code  attached" in shown
        assert str(path) in run("doctor", "--json", code=1).out
    assert str(path) in run("detach", "--yes", code=1).err
    assert snapshot(user_home) == before


@pytest.mark.parametrize("name", [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"])
@pytest.mark.parametrize("deep", [150, 600, 50_000])
def test_json_of_any_depth_costs_no_other_agent(memdir: Run, user_home: Path, name: str, deep: int) -> None:
    (user_home / name).write_text('{"description": ' + "[" * deep + "]" * deep + "}")
    before = snapshot(user_home)
    assert memdir("attach", "--yes").code == (1 if deep == 50_000 else 0)
    assert "hook qwen" in (user_home / ".qwen/settings.json").read_text()
    assert memdir("attach", "--status").code in (0, 1)
    memdir("detach", "--yes")
    assert snapshot(user_home) == before


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "hooks": {"Stop": []},\n  "x": 1,\n  "hooks": {}\n}',
        '{\n"a": 1, "b": 2,\n\n\n "a": 3}',
        '{"x": [{\n"b": 1,\n\n\n "\\u0062": 1}]}',
    ],
)
def test_settings_that_have_a_name_twice_are_refused_with_that_reason(run: Run, user_home: Path, text: str) -> None:
    """Readers differ on which of the two holds, and what is put into one may be seen by nobody."""
    (user_home / ".claude/settings.json").write_text(text)
    (user_home / ".gemini/settings.json").write_text("// mine\n" + text)
    before = snapshot(user_home)
    told = run("attach", "claude", "gemini", "--yes", code=1).err
    assert told.count("stands twice, once in line") == 2 and "line 2" in told and "no JSON" not in told
    assert snapshot(user_home) == before


def test_what_stands_twice_since_loses_ours_all_the_same(run: Run, user_home: Path) -> None:
    run("attach", "claude", "gemini", "--yes")
    for name, ours in ((".claude/settings.json", ""), (".claude.json", ""), (".gemini/settings.json", "// mine")):
        path = user_home / name
        text = path.read_text().rstrip().removesuffix("}").rstrip().removesuffix(",")
        path.write_text(f'{text},\n"hooks": {{"Stop": []}}, "mcpServers": {{"x": {{}}}} {ours}\n}}')
    run("detach", "--yes")
    for name in (".claude/settings.json", ".claude.json", ".gemini/settings.json"):
        text = (user_home / name).read_text()
        assert "memdir" not in text and JsonText(text).get("hooks") == {"Stop": []}
        assert JsonText(text).get("mcpServers") == {"x": {}}
    assert "beep" in (user_home / ".claude/settings.json").read_text(), "the user's own stays, seen or not"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{NOTE}{TABLE}# the end\n", f"{NOTE}# the end\n"),
        (NOTE.replace('"""', "'''") + TABLE, NOTE.replace('"""', "'''")),
        (f"{TABLE}[b]\n{NOTE}", f"[b]\n{NOTE}"),
        ('[mcp_servers]\nmemdir = {command = "memdir", args = [\n  "mcp",\n]}\nx = {}\n', "[mcp_servers]\nx = {}\n"),
        (f"a = [\n  ['mcp_servers.memdir'],\n]\n{TABLE}", "a = [\n  ['mcp_servers.memdir'],\n]\n"),
        (f"{TABLE}instructions = '''\n[x]\n'''\n# mine\n", "# mine\n"),
        (TABLE.replace('"mcp"', '"--home", "/x", "mcp", "--read-only"'), ""),
    ],
)
def test_only_what_is_our_server_goes_and_not_a_text_that_reads_like_it(
    run: Run, user_home: Path, text: str, left: str
) -> None:
    config = user_home / ".codex/config.toml"
    config.write_text(text)
    run("detach", "codex", "--yes")
    assert (config.read_text() if config.exists() else "") == left, "a file that held nothing else goes"


def test_our_server_goes_with_whatever_options_its_owner_gave_it(
    run: Run, user_home: Path, memdir_command: str
) -> None:
    run("attach", "claude", "opencode", "--yes")
    claude, opencode = user_home / ".claude.json", user_home / ".config/opencode/opencode.json"
    claude.write_text(claude.read_text().replace('"mcp"\n', '"--home", "/x", "mcp"\n'))
    opencode.write_text(
        opencode.read_text().replace('"mcp"\n', '"mcp", "--read-only"\n').replace(memdir_command, "/memdir")
    )
    run("attach", "opencode", "--yes")
    assert json.loads(opencode.read_text())["mcp"]["memdir"]["command"] == [memdir_command, "mcp", "--read-only"]
    assert "attached" in run("attach", "--status", "claude").out
    run("detach", "--yes")
    assert "mcpServers" not in json.loads(claude.read_text()) and "memdir" not in opencode.read_text()


@pytest.mark.parametrize(
    "form",
    [
        "[hooks.state.'{0}']\ntrusted_hash = \"x\"\n",
        '[ hooks . state . "{0}" ]\ntrusted_hash = "x"\n',
        "[hooks.state]\n'{0}' = {{ trusted_hash = \"x\" }}\n",
        '[hooks]\nstate."{0}" = {{ trusted_hash = "x" }}\n',
        '[hooks.state]\n"{0}".trusted_hash = "x"\n',
    ],
)
@pytest.mark.parametrize("is_linked", [False, True], ids=["plain", "linked"])
def test_codex_s_trust_is_known_in_every_spelling_and_goes(
    run: Run, user_home: Path, monkeypatch: pytest.MonkeyPatch, form: str, is_linked: bool
) -> None:
    """Codex takes the links out of its home before it names a file in it."""
    home = user_home / ".codex"
    if is_linked:
        (user_home / "way").symlink_to(home)
        monkeypatch.setenv("CODEX_HOME", str(user_home / "way"))
    (home / "config.toml").write_text("")
    run("attach", "codex", "--yes")
    hooks = json.loads((home / "hooks.json").read_text())
    hooks["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    (home / "hooks.json").write_text(json.dumps(hooks))
    header, _, entry = form.rpartition("]\n") if "]\n'" in form or ']\n"' in form or "]\ns" in form else ("", "", form)
    trusted = [entry.format(f"{home}/hooks.json:{at}") for at in (*TRUST, "stop:0:0", "stop:2:0")]
    config = home / "config.toml"
    config.write_text(config.read_text() + (f"{header}]\n" if header else "") + "".join(trusted))
    assert "trust" not in run("attach", "--status", "codex").out
    run("detach", "codex", "--yes")
    left = tomllib.loads(config.read_text())
    assert list(left["hooks"]["state"]) == [f"{home}/hooks.json:stop:0:0", f"{home}/hooks.json:stop:1:0"]
    assert "mcp_servers" not in left


def test_trust_in_one_line_that_cannot_be_cut_is_told(run: Run, user_home: Path) -> None:
    run("attach", "codex", "--yes")
    config, hooks = user_home / ".codex/config.toml", user_home / ".codex/hooks.json"
    config.write_text(f'hooks = {{ state = {{ "{hooks}:stop:1:0" = {{ trusted_hash = "x" }} }} }}\n')
    assert "hooks.state" in run("detach", "codex", "--yes", code=1).err


def test_what_was_written_elsewhere_is_found_again(
    run: Run, user_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(other))
    run("attach", "claude", "codex", "opencode", "--yes")
    for name in ("settings.json", ".claude.json", "hooks.json"):
        (other / name).write_text(json.dumps({**json.loads((other / name).read_text()), "description": "mine"}))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name)
    opencode = user_home / ".config/opencode"
    (opencode / "opencode.jsonc").write_text("{}")
    assert "Nothing is attached" in run("detach", "gemini", "--yes").out
    done = run("detach", "--yes")
    assert "Detached" in done.out and "meanwhile" not in done.err, "its plugin is in reach from both files"
    assert {path.name: path.read_text() for path in other.iterdir()} == dict.fromkeys(
        ("settings.json", ".claude.json", "hooks.json"), '{"description": "mine"}'
    )
    assert "memdir" not in (opencode / "opencode.json").read_text()
    assert "Nothing is attached" in run("detach", "--yes").out


def test_empty_lists_and_objects_of_the_user_s_own_stay(run: Run, user_home: Path) -> None:
    claude = user_home / ".claude/settings.json"
    claude.write_text('{"hooks": {"Stop": []}}')
    (user_home / ".claude.json").write_text('{"mcpServers": {}}')
    run("attach", "claude", "--yes")
    for path in (claude, user_home / ".claude.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "added": 1}))
    run("attach", "claude", "--yes")
    run("detach", "--yes")
    assert json.loads(claude.read_text()) == {"hooks": {"Stop": []}, "added": 1}
    assert json.loads((user_home / ".claude.json").read_text()) == {"mcpServers": {}, "added": 1}


def test_what_its_owner_made_read_only_is_not_written(run: Run, user_home: Path) -> None:
    path = user_home / ".claude/settings.json"
    path.chmod(0o400)
    told = run("attach", "claude", "qwen", "--yes", code=1).err
    assert f"{path} is read-only" in told
    assert path.read_text() == CLAUDE and "memdir" not in (user_home / ".claude.json").read_text()
    assert "hook qwen" in (user_home / ".qwen/settings.json").read_text()
    path.chmod(0o600)
    run("attach", "claude", "--yes")
    path.chmod(0o400)
    assert f"{path} is read-only" in run("detach", "--yes", code=1).err
    assert "hook claude" in path.read_text() and oct(path.stat().st_mode)[-3:] == "400"


@pytest.mark.parametrize(
    "record",
    [
        '{"files": {"path": 5}}',
        '{"files": {"PATH": 5}}',
        '{"files": {"PATH": {"before": 5, "sum": "SUM", "agent": "codex"}}}',
        '{"files": {"PATH": {"before": "!!!", "sum": "SUM"}}}',
        '{"files": {"PATH": {"before": "/w==", "sum": "SUM", "agent": 5}}, "own_memories": 7}',
        '{"files": [], "own_memories": {"PATH": [1]}}',
        "[" * 100_000,
        "[]",
    ],
)
def test_a_damaged_note_of_what_was_there_costs_nothing(run: Run, user_home: Path, tmp_path: Path, record: str) -> None:
    run("attach", "codex", "--yes")
    known = tmp_path / "home" / "attached.json"
    path = str(user_home / ".codex/hooks.json")
    note = json.loads(known.read_text())["files"][path]["sum"]
    known.write_text(record.replace("PATH", path).replace("SUM", note))
    run("detach", "--yes")
    assert json.loads(Path(path).read_text()) == json.loads(CODEX_HOOKS), "ours is cut out where no copy is of use"


def test_settings_of_many_megabytes_are_edited_without_a_wait(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    text = JsonText(json.dumps({"permissions": [f"Bash(ls {at:040})" for at in range(40_000)]}, indent=2), str(path))
    begun = time.process_time()
    for event in ("a", "b", "c", "d", "e", "f"):
        text = text.with_item(["hooks", event], {"hooks": [{"command": event}]})
    for event in ("a", "b", "c", "d", "e", "f"):
        text = text.without(["hooks", event])
    AttachRecord(str(tmp_path / "attached.json")).write([FileEdit(str(path), None, text.text, agent="claude")])
    assert time.process_time() - begun < 6.0 and os.path.getsize(path) > 2_000_000


def test_qwen_s_settings_lie_in_its_home_and_its_sessions_where_it_works(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("QWEN_RUNTIME_DIR", str(tmp_path / "runtime"))
    run("attach", "qwen", "--yes")
    assert "hook qwen" in (tmp_path / "settings/settings.json").read_text() and not (tmp_path / "runtime").exists()
    environment = Environment(os.environ)
    source = all_sources(environment)["qwen"]
    assert isinstance(source, QwenSessions) and source.home == str(tmp_path / "runtime")
    assert environment.memory_homes["qwen"] == str(tmp_path / "runtime")


def test_the_estimate_names_the_model_that_will_learn(user_home: Path, project: Path) -> None:
    """By the settings as they are once the answer is written, and by whose sessions there are."""
    settings = user_home.parent / "home" / "settings.json"
    memory = open_memory(project)
    found = [SessionRef(name, "", agent, 0.0, 1) for name, agent in (("a", "claude-code"), ("b", "gemini"))]
    claude, both = PastSessions((found[0],), ()), PastSessions(tuple(found), ())
    assert claude.learners(memory) == both.learners(memory) == "the built-in model, here"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"attach.model": "host"}')
    assert claude.learners(memory) == "`claude`, on your subscription"
    assert both.learners(memory) == "`claude`, on your subscription and the built-in model, here"
    settings.write_text('{"attach.model": "host", "model.provider": "openai", "model.name": "big"}')
    assert both.learners(memory) == "big (openai)"
    assert PastSessions((), (("user", "a note"),)).learners(memory) == "", "notes are taken over as they are"


def test_the_estimate_of_a_year_of_sessions_is_a_number_that_one_can_read() -> None:
    year = PastSessions((SessionRef("a", "", "claude-code", 0.0, 411_900_000),), ())
    assert year.estimate == "1 past session of this project, 411.9 MB, about 34,325,000 tokens to read"


def test_the_copies_of_settings_are_for_no_other_eyes(run: Run, user_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    run("attach", "claude", "--yes")
    assert (home / "attached.json").stat().st_mode & 0o077 == 0


def test_two_agents_that_share_one_file_of_settings_are_not_both_written_into_it(run: Run, user_home: Path) -> None:
    """Each would take the other's hooks for its own, and neither would be served; one agent costs no other."""
    qwen = user_home / ".qwen/settings.json"
    qwen.unlink()
    qwen.symlink_to(user_home / ".claude/settings.json")
    before = snapshot(user_home)
    told = run("attach", "--yes", code=1).err
    assert f"{qwen} is a link to the settings of Claude Code" in told and "a file of its own" in told
    assert "memdir hook claude" in qwen.read_text() and "memdir hook qwen" not in qwen.read_text()
    assert "memdir" in (user_home / ".config/opencode/opencode.json").read_text()
    run("detach", "--yes")
    assert snapshot(user_home) == before


def test_settings_that_are_too_large_are_refused_with_that_reason(run: Run, user_home: Path) -> None:
    (user_home / ".claude.json").write_text(json.dumps({"history": "x" * (9 << 20)}))
    assert ".claude.json has more than 8 MiB" in run("attach", "claude", "--yes", code=1).err
