"""Agents that keep memories as we do are served where theirs lie, and a memory reaches a model once (Q2)."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import Layout, slug_of
from memdir.settings import Environment, own_memory
from tests.hooks.agents import Agent, context, wait_for
from tests.hooks.conftest import MakeAgent

OWN = "Never mock the database in our tests"
QUESTION = "How should I write the tests for the database?"

Keeper = Callable[[str], Path]


@pytest.fixture
def own(tmp_path: Path, project: Path) -> Keeper:
    """The directory in which an agent keeps memories of this project itself, with one in it."""

    def own(name: str) -> Path:
        folder = tmp_path / "user-home" / f".{name}" / "projects" / slug_of(str(project.resolve())) / "memory"
        folder.mkdir(parents=True)
        head = f"---\nname: Database tests\ndescription: {OWN}\ntype: feedback\n---\n"
        (folder / "db_tests.md").write_text(f"{head}\n{OWN}; the zebra clause applies.\n")
        (folder / "MEMORY.md").write_text(f"- [Database tests](db_tests.md) — {OWN}\n")
        return folder

    return own


def memdir(agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    command = [agent.command, *words, "--project", str(agent.project)]
    return subprocess.run(
        command, env=agent.environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


SWITCHES: dict[str, Callable[[bool], dict[str, object]]] = {
    "claude": lambda on: {"autoMemoryEnabled": on},
    "qwen": lambda on: {"memory": {"enableManagedAutoMemory": on}},
}


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_what_an_agent_wrote_itself_is_known_to_the_others_and_to_itself_once(
    make_agent: MakeAgent, own: Keeper, layout: Layout, name: str
) -> None:
    folder = own(name)
    agent, other = make_agent(name), make_agent("codex", session="0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a02")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert memdir(agent, "attach", name, "--own-memory", "serve", "--yes").returncode == 0
    assert memdir(agent, "path").stdout.strip() == str(folder)
    memdir(agent, "remember", "The user reads Portuguese", "--scope", "user")
    assert OWN in context(other.start()) and "zebra" in context(other.prompt(QUESTION))
    start = context(agent.start())
    assert OWN not in start and "# Memory" not in start, "the agent shows both by itself"
    assert "Portuguese" in start, "what it knows nothing of"
    recalled = context(agent.prompt(QUESTION))
    assert ("zebra" in recalled) == (name == "claude"), "Qwen Code recalls by itself, Claude Code shows its index only"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, "nothing is copied or rewritten"
    assert not list(Path(layout.home).glob("projects/*/memory/*.md"))


@pytest.mark.parametrize("where", ["another worktree", "a folder of the project", "the folder it works in"])
def test_what_qwen_looks_for_elsewhere_comes_from_us(
    make_agent: MakeAgent, own: Keeper, git: Callable[..., str], tmp_path: Path, where: str
) -> None:
    """Q2: it knows no linked worktree, and may be told to keep its memories in the project."""
    own("qwen")
    agent = make_agent("qwen")
    memdir(agent, "attach", "qwen", "--own-memory", "serve", "--yes")
    if where == "another worktree":
        git("commit", "-q", "--allow-empty", "-m", "x", cwd=agent.project)
        git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=agent.project)
        agent.project = (tmp_path / "tree").resolve()
    elif where == "the folder it works in":
        agent.environment["QWEN_CODE_MEMORY_PROJECT_SCOPE"] = "workspace"
        assert context(agent.start()).count(OWN) == 0, "there it is the same"
        agent.session, agent.project = "0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a02", agent.project / "sub"
        agent.project.mkdir()
    else:
        agent.environment["QWEN_CODE_MEMORY_LOCAL"] = "1"
    assert context(agent.start()).count(OWN) == 1 and "zebra" in context(agent.prompt(QUESTION))


def test_what_is_learned_lies_in_the_directory_that_is_served(make_agent: MakeAgent, own: Keeper) -> None:
    folder = own("claude")
    agent = make_agent("codex")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    agent.start()
    told = "From now on we deploy on Mondays only."
    agent.prompt(told)
    agent.say(told)
    agent.stop()
    wait_for(lambda: "Mondays" in (folder / "MEMORY.md").read_text())
    assert len(list(folder.glob("*.md"))) == 3


@pytest.mark.parametrize(
    "settings",
    [{"autoMemoryEnabled": False}, {"autoMemoryDirectory": "~/elsewhere"}, {"env": "CLAUDE_CODE_DISABLE_AUTO_MEMORY"}],
)
def test_where_the_agent_does_not_show_it_we_do(
    make_agent: MakeAgent, own: Keeper, settings: dict[str, object]
) -> None:
    """Whatever was done to its settings since."""
    folder = own("claude")
    agent = make_agent("claude")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    path = folder.parents[2] / "settings.json"
    if "env" in settings:
        agent.environment[str(settings["env"])] = "1"
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}, indent=2))
    start = context(agent.start())
    assert "# Memory" in start and start.count(OWN) == 1


@pytest.mark.parametrize(
    ("name", "files", "is_told"),
    [
        ("claude", {"settings.json": False}, False),
        ("claude", {"settings.local.json": False}, False),
        ("claude", {"settings.json": False, "settings.local.json": True}, True),
        ("claude", {"settings.json": True, "settings.local.json": False}, False),
        ("qwen", {"settings.json": False}, False),
        ("claude", {"settings.json": True, "user": False}, False),
    ],
)
def test_where_it_is_switched_off_for_one_project_we_show_it_there(
    make_agent: MakeAgent, own: Keeper, name: str, files: dict[str, bool], *, is_told: bool
) -> None:
    """Q2: the index, and by recall; that a repository switches it on is not believed."""
    folder = own(name)
    agent = make_agent(name)
    memdir(agent, "attach", name, "--own-memory", "serve", "--yes")
    for file, is_on in files.items():
        path = folder.parents[2] / "settings.json" if file == "user" else agent.project / f".{name}" / file
        path.parent.mkdir(exist_ok=True)
        kept = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**kept, **SWITCHES[name](is_on)}))
    assert (OWN in context(agent.start())) != is_told
    status = json.loads(memdir(agent, "attach", "--status", name, "--json").stdout)["agents"][0]
    assert status["own_memory"] == ("served" if is_told else "off")


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ('// "enableManagedAutoMemory": false\n  "memory": {"enableManagedAutoMemory": true}', True),
        ('"a": "http://x\\\\", /* "enableManagedAutoMemory": false */ "autoMemoryEnabled": false', True),
        ('"memory": {"enableManagedAutoMemory": true, "enableManagedAutoMemory": false}', False),
        ('"a": "say \\"hi // ", "memory": {"enableManagedAutoMemory": false}', False),
    ],
)
def test_its_own_switch_counts_and_no_comment(make_agent: MakeAgent, own: Keeper, said: str, *, is_told: bool) -> None:
    folder = own("qwen")
    agent = make_agent("qwen")
    memdir(agent, "attach", "qwen", "--own-memory", "serve", "--yes")
    (folder.parents[2] / "settings.json").write_text(f"{{\n  {said}\n}}\n")
    assert (OWN in context(agent.start())) != is_told


def test_large_settings_of_an_agent_keep_no_hook_waiting(
    tmp_path: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    environment, path = Environment.read(), tmp_path / "settings.json"
    many = {f"key {number}": f'a "value" {number}' for number in range(20_000)}
    path.write_text(json.dumps({**many, "autoMemoryEnabled": False}))
    begun = time.process_time()
    assert own_memory(environment, layout, "claude") == ""
    assert time.process_time() - begun < 5, "of its size, and not of the square of that"


def test_an_agent_that_was_pointed_at_our_directory_is_told_by_itself(make_agent: MakeAgent, layout: Layout) -> None:
    """The other way round: `autoMemoryDirectory` of Claude Code names our store."""
    agent = make_agent("claude")
    memdir(agent, "remember", OWN)
    settings = Path(agent.environment["HOME"]) / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"autoMemoryDirectory": layout.default_memory}))
    assert OWN not in context(agent.start())


def test_a_project_that_has_memories_here_keeps_them_and_the_rest_is_told(make_agent: MakeAgent, own: Keeper) -> None:
    agent = make_agent("codex")
    memdir(agent, "remember", "Deploys are frozen until 2099-12-01")
    folder = own("claude")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    assert "frozen" in context(agent.start())
    status = json.loads(memdir(agent, "attach", "--status", "claude", "--json").stdout)["agents"][0]
    assert str(folder) in str(status["problems"]) and status["own_memory"] == "beside"
    own_root = Path(memdir(agent, "path").stdout.strip())
    for path in own_root.glob("*.md"):
        if path.name != "MEMORY.md":
            path.rename(folder / path.name)
    memdir(agent, "doctor", "--fix")
    status = json.loads(memdir(agent, "attach", "--status", "claude", "--json").stdout)["agents"][0]
    assert (status["own_memory"], status["problems"]) == ("served", [])
    assert "frozen" in (folder / "MEMORY.md").read_text()


def test_a_project_that_has_memories_here_is_not_told_to_do_what_was_just_done(make_agent: MakeAgent) -> None:
    """The agent has none of it yet: nothing is lost, and what to do is another thing than `serve`."""
    agent = make_agent("codex")
    memdir(agent, "remember", "Deploys are frozen until 2099-12-01")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    status = json.loads(memdir(agent, "attach", "--status", "claude", "--json").stdout)["agents"][0]
    assert "move the files of" in str(status["notes"]) and "--own-memory serve" not in str(status)


@pytest.mark.parametrize("choice", ["keep", "off"])
def test_what_was_served_and_is_no_more_stays_in_sight_in_every_project(
    make_agent: MakeAgent, own: Keeper, tmp_path: Path, git: Callable[..., str], choice: str
) -> None:
    folder, agent = own("claude"), make_agent("codex")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git("init", "-q", cwd=elsewhere)
    other = Agent("codex", agent.home, elsewhere, agent.command, environment=agent.environment)
    done = memdir(other, "attach", "claude", "--own-memory", choice, "--yes")
    assert f"1 memory stays in {folder}" in done.stderr and "those in" not in done.stderr
    taking = f"memdir import {folder}"
    assert taking in memdir(agent, "list").stderr and taking in memdir(agent, "doctor").stdout
    assert taking not in memdir(other, "list").stderr + memdir(other, "doctor").stdout
    assert memdir(agent, "import", str(folder)).returncode == 0
    assert OWN in memdir(agent, "list").stdout
    assert taking not in memdir(agent, "list").stderr + memdir(agent, "doctor").stdout, "it is here now"


def test_one_directory_serves_all_and_the_other_memory_is_switched_off(make_agent: MakeAgent, own: Keeper) -> None:
    claude, qwen = own("claude"), own("qwen")
    agent = make_agent("codex")
    done = memdir(agent, "attach", "claude", "qwen", "--own-memory", "serve", "--yes")
    assert done.returncode == 0 and "Qwen Code" in done.stderr
    assert memdir(agent, "path").stdout.strip() == str(claude)
    settings = json.loads((qwen.parents[2] / "settings.json").read_text())
    assert settings["memory"] == {"enableManagedAutoMemory": False}
    found = json.loads(memdir(agent, "attach", "--status", "claude", "qwen", "--json").stdout)["agents"]
    assert [one["own_memory"] for one in found] == ["served", "off"]
    assert memdir(agent, "detach", "--yes").returncode == 0
    assert memdir(agent, "path").stdout.strip() == str(claude), "memories stay where they are"


def test_a_directory_that_is_another_project_s_is_not_shared(
    make_agent: MakeAgent, own: Keeper, project: Path, git: Callable[..., str]
) -> None:
    """S3: two folders whose names come out the same."""
    folder, agent = own("claude"), make_agent("codex")
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    agent.start()
    first, second = Path(f"{project}-a-b"), Path(f"{project}-a_b")
    for one in (first, second):
        one.mkdir()
        git("init", "-q", cwd=one)
    one, other = (
        Agent("codex", agent.home, path, agent.command, environment=agent.environment) for path in (first, second)
    )
    one.start()
    memdir(one, "remember", "The first has its own rules")
    other.start()
    assert "own rules" not in memdir(other, "list").stdout
    assert folder.exists()


def test_a_repository_cannot_say_where_memories_lie(make_agent: MakeAgent, own: Keeper, project: Path) -> None:
    """S2."""
    own("claude")
    (project / ".memdir").mkdir()
    (project / ".memdir" / "settings.json").write_text('{"memoryHome": "claude"}')
    assert ".claude" not in memdir(make_agent("codex"), "path").stdout


def test_a_path_that_every_program_shortens_in_its_own_way_is_not_served(
    make_agent: MakeAgent, tmp_path: Path, git: Callable[..., str]
) -> None:
    """Nobody knows where the agent keeps it, so memdir keeps its own, and shows it."""
    agent = make_agent("claude")
    agent.project = tmp_path / ("long" * 30) / ("name" * 30)
    agent.project.mkdir(parents=True)
    git("init", "-q", cwd=agent.project)
    memdir(agent, "attach", "claude", "--own-memory", "serve", "--yes")
    memdir(agent, "remember", OWN)
    assert ".claude" not in memdir(agent, "path").stdout
    assert context(agent.start()).count(OWN) == 1
