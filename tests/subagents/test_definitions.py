"""Definitions of sub-agents: where they are found, whose goes first, and what a stranger's file cannot do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir import Environment, open_memory
from memdir.chat.command import apart
from memdir.subagents.definitions import (
    MAX_BYTES,
    MAX_FILES,
    MAX_PROJECT_BYTES,
    AgentDefinition,
    Definitions,
    find_definitions,
    model_of,
)
from tests.conftest import Ran

Memdir = Callable[..., Ran]
HOMES = {
    "user": ("home/agents", "user"),
    "claude": ("user-home/.claude/agents", "user"),
    "project": ("project/.memdir/agents", "project"),
    "project claude": ("project/.claude/agents", "project"),
}


def define(folder: Path, head: str, *, file: str = "reviewer.md", body: str = "You review code.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    path.write_text(f"---\n{head}\n---\n\n{body}\n", encoding="utf-8")
    return path


def found(project: Path) -> Definitions:
    memory = open_memory(project)
    return find_definitions(memory)


def only(project: Path) -> AgentDefinition:
    definitions = found(project)
    (one,) = definitions.agents.values()
    assert definitions.left_out == []
    return one


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("agent-local:reviewr", ["no sub-agent 'reviewr'", "did you mean reviewer?"]),
        ("agent:zebra", ["no sub-agent 'zebra'", "memdir agents"]),
        ("agent:reviewer", ["reviewer reads agent-local:reviewer", "not agent:reviewer"]),
        ("agent-local:plain", ["plain reads no memory"]),
        ("agent-local:reviewer", []),
    ],
)
def test_a_scope_that_no_sub_agent_reads_is_told(
    memdir: Callable[..., Ran], project: Path, scope: str, words: list[str]
) -> None:
    """A1: a mistyped name makes a memory that nobody reads."""
    define(project / ".memdir/agents", "name: reviewer\nmemory: local")
    define(project / ".memdir/agents", "name: plain", file="plain.md")
    ran = memdir("remember", "Ports are in ports.txt.", "--type", "reference", "--scope", scope)
    assert ran.code == 0 and [word for word in words if word not in ran.err] == []
    assert ("sub-agent" in ran.err) == bool(words)


@pytest.mark.parametrize("home", HOMES)
def test_a_definition_is_found_in_each_of_the_four_places(project: Path, tmp_path: Path, home: str) -> None:
    folder, whose = HOMES[home]
    define(tmp_path / folder / "below", "name: reviewer\ndescription: reviews\nmemory: project")
    one = only(project)
    assert (one.name, one.description, one.prompt) == ("reviewer", "reviews", "You review code.")
    assert (one.whose, one.kind) == (whose, "claude" if "claude" in home else "memdir")
    assert one.scope == "agent-project:reviewer" and one.tools is None


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        ("tools: Read, Grep, Glob", ("Read", "Grep", "Glob")),
        ("tools: [Read, 'Grep', \"LS\"]", ("Read", "Grep", "Glob")),
        ("tools:\n  - Read\n  - MultiEdit", ("Read", "Edit")),
        ("tools:\n- Read\n# - Bash\n- Grep # never Bash\n  # Write\nmodel: x", ("Read", "Grep")),
        ("other:\n  tools: Bash\ntools: Read", ("Read",)),
        ("tools: Read\ntools: Bash", ("Read",)),
        ("tools: bash, read", ("Bash", "Read")),
        ("tools:Bash\ntools: Read", ("Read",)),  # the first line is no key
        ("\u00a0tools: Read", ("Read",)),  # as a page is copied
        ("model: x\r\n\x0btools:\r\n- Read\r", ("Read",)),
        ("tools: Read, Task, Agent", ("Read",)),
        ("tools: Read, Bash(git diff:*), Bash(rm, -rf)", ("Read",)),
        ("tools:", ()),
        ("tools: []", ()),
        ("tools: '*'", None),
        ("permissionMode: bypassPermissions\nhooks:\n  PreToolUse:\n    - x\ncolor: red", None),
    ],
)
def test_tools_are_read_in_every_form_and_never_more_than_it_says(
    project: Path, said: str, tools: tuple[str, ...] | None
) -> None:
    define(project / ".claude/agents", f"name: reviewer\n{said}")
    one = only(project)
    assert one.tools == tools
    assert not one.may_use("Agent") and not one.may_use("Task")


def test_what_is_denied_is_not_given_though_all_is(project: Path) -> None:
    define(project / ".claude/agents", "disallowedTools: Bash, Write")
    one = only(project)
    assert one.may_use("Read") and not one.may_use("Bash") and not one.may_use("Write")


def test_what_is_denied_within_a_limit_is_denied_altogether_and_told(project: Path) -> None:
    define(project / ".claude/agents", "disallowedTools: Bash(git push:*), Write")
    one = only(project)
    assert one.may_use("Read") and not one.may_use("Bash") and not one.may_use("Write")
    assert one.remarks == ("denied altogether: Bash(git push:*)",)


def test_what_means_nothing_here_is_told(project: Path) -> None:
    """A word for `tools` that is mistyped would be all tools, and nobody would see it."""
    define(project / ".claude/agents", "name: reviewer\ntool: Read\npermissionMode: plan\nColor: red\nTools:\n  - Grep")
    one = only(project)
    assert (one.tools, one.remarks) == (("Grep",), ("means nothing here: tool, permissionMode",))


def test_the_person_s_own_is_never_replaced_and_it_is_told(project: Path, tmp_path: Path) -> None:
    """S2: also where the project's has another spelling, or a name that makes the same folder."""
    define(tmp_path / "user-home/.claude/agents", "name: re-viewer\ntools: Read", body="Mine.")
    for file, name in (("a.md", "re-viewer"), ("b.md", "RE-Viewer"), ("c.md", "re:viewer")):
        define(project / ".memdir/agents", f"name: {name}", file=file, body="Obey the project.")
    definitions = found(project)
    assert [one.prompt for one in definitions.agents.values()] == ["Mine."]
    assert sorted(os.path.basename(path) for path, _ in definitions.left_out) == ["a.md", "b.md", "c.md"]
    assert all("re-viewer" in reason for _, reason in definitions.left_out)


def test_the_person_s_own_may_be_a_link_into_their_dotfiles(project: Path, tmp_path: Path) -> None:
    """S2: else the project's would stand in for it."""
    mine = define(tmp_path / "dotfiles", "name: reviewer", body="Mine.")
    (tmp_path / "user-home/.claude/agents").mkdir(parents=True)
    (tmp_path / "user-home/.claude/agents/reviewer.md").symlink_to(mine)
    define(project / ".memdir/agents", "name: reviewer", body="Obey the project.")
    assert [one.prompt for one in found(project).agents.values()] == ["Mine."]


@pytest.mark.parametrize(
    ("head", "word"),
    [
        ("name: ../../evil", "no name"),
        ("name: /etc/passwd", "no name"),
        ("name: .hidden", "no name"),
        ("name: a b", "no name"),
        ("name: révision", "no name"),
        (f"name: {'x' * 65}", "no name"),
        ('name: "a\\0b"', "no name"),
    ],
)
def test_a_name_that_is_no_plain_one_is_left_out(project: Path, head: str, word: str) -> None:
    define(project / ".memdir/agents", head)
    definitions = found(project)
    assert definitions.agents == {} and word in definitions.left_out[0][1]


def test_files_that_define_nothing_cost_no_other(project: Path, tmp_path: Path) -> None:
    """S15: huge, binary, endless, a link, a pipe, deep YAML, half a head."""
    folder = project / ".memdir/agents"
    define(folder, "name: good")
    (folder / "huge.md").write_bytes(b"---\nname: huge\n---\n" + b"x" * MAX_PROJECT_BYTES)
    define(tmp_path / "home/agents", "name: long", file="long.md", body="x" * MAX_PROJECT_BYTES)
    define(tmp_path / "home/agents", "name: huge", file="huge.md", body="x" * MAX_BYTES)
    (folder / "binary.md").write_bytes(b"---\nname: binary\n---\n\0\1\2")
    (folder / "half.md").write_text("---\nname: half\n", encoding="utf-8")
    (folder / "empty.md").write_text("---\nname: empty\n---\n", encoding="utf-8")
    outside = define(tmp_path / "elsewhere", "name: outside")
    (folder / "link.md").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    (folder / "folder").symlink_to(outside.parent)
    deep = "".join(f"{' ' * depth}a{depth}:\n" for depth in range(1, 90)) + "&a [*a, " + "[" * 1_000
    define(folder, f"name: deep\nx:\n{deep}", file="deep.md")
    definitions = found(project)
    assert sorted(definitions.agents) == ["deep", "good", "long"]
    left = sorted(os.path.basename(path) for path, _ in definitions.left_out)
    assert left == ["binary.md", "empty.md", "half.md", "huge.md", "huge.md", "link.md", "pipe.md"]


def test_a_project_of_endless_folders_costs_no_more_than_a_person_s(project: Path, tmp_path: Path) -> None:
    define(tmp_path / "home/agents", "name: mine", file="mine.md")
    for outer in range(30):
        for inner in range(30):
            (project / f".memdir/agents/{outer}/{inner}").mkdir(parents=True)
    for number in range(MAX_FILES + 50):
        define(project / ".memdir/agents/many", f"name: a{number}", file=f"{number}.md")
    define(project / ".memdir/agents/0/0/deeper", "name: deep")
    definitions = found(project)
    assert 1 < len(definitions.agents) <= MAX_FILES + 1 and "deep" not in definitions.agents
    assert "mine" in definitions.agents


def test_with_memory_off_the_person_s_own_still_goes_first(project: Path, tmp_path: Path) -> None:
    """A chat with memory off has a home that goes away with it; definitions are no memory."""
    define(tmp_path / "home/agents", "name: reviewer", body="Mine.")
    define(project / ".memdir/agents", "name: reviewer", body="Theirs.")
    off = apart(open_memory(project))
    definitions = find_definitions(off)
    assert [one.prompt for one in definitions.agents.values()] == ["Mine."]


@pytest.mark.parametrize("linked", [".memdir", ".memdir/agents", ".claude"])
def test_a_folder_of_the_project_that_is_a_link_leads_nowhere(project: Path, tmp_path: Path, linked: str) -> None:
    define(tmp_path / "elsewhere/agents", "name: outside")
    define(tmp_path / "elsewhere", "name: outside")
    (project / linked).parent.mkdir(exist_ok=True)
    (project / linked).symlink_to(tmp_path / "elsewhere")
    assert found(project).agents == {}


def test_what_came_with_the_project_chooses_no_model_and_reaches_no_memory_of_others(
    project: Path, tmp_path: Path
) -> None:
    define(project / ".memdir/agents", "model: claude-opus-5\nmemory: user")
    one = only(project)
    assert (one.model, one.memory) == ("", "local") and len(one.remarks) == 2
    define(tmp_path / "home/agents", "name: mine\nmodel: claude-haiku-5-5\nmemory: user", file="mine.md")
    mine = found(project).find("Mine")
    assert (mine.memory, mine.scope) == ("user", "agent:mine")
    assert model_of(mine, provider="anthropic", inherited="claude-x") == "claude-haiku-5-5"
    for provider in ("openai", "builtin", "command"):
        assert model_of(mine, provider=provider, inherited="inherited") == "inherited"


@pytest.mark.parametrize("word", ["inherit", "sonnet", "opus", "haiku", "INHERIT"])
def test_words_of_claude_code_for_a_model_mean_that_of_the_conversation(
    project: Path, tmp_path: Path, word: str
) -> None:
    define(tmp_path / "user-home/.claude/agents", f"model: {word}")
    assert model_of(only(project), provider="anthropic", inherited="claude-x") == "claude-x"


def test_a_home_that_is_claude_code_s_own_is_looked_through_once(project: Path, tmp_path: Path) -> None:
    define(tmp_path / "user-home/.claude/agents", "name: reviewer")
    environment = Environment({**os.environ, "MEMDIR_HOME": str(tmp_path / "user-home/.claude")})
    memory = open_memory(project, environment=environment)
    definitions = find_definitions(memory)
    assert list(definitions.agents) == ["reviewer"] and definitions.left_out == []


def test_the_command_lists_and_shows_where_each_comes_from(memdir: Memdir, project: Path, tmp_path: Path) -> None:
    assert "no sub-agent" in memdir("agents").out
    define(tmp_path / "home/agents", "name: mine\ndescription: does my work", file="mine.md")
    define(project / ".claude/agents", "name: theirs\ndescription: \x1b[31mred\ntools: Read, WebFetch\nmemory: user")
    define(project / ".claude/agents", "name: mine", file="x.md")
    listed = memdir("agents").out
    assert "mine" in listed and "yours" in listed and "came with the project" in listed and "\x1b[31m" not in listed
    assert "x.md is left out" in listed
    told = json.loads(memdir("agents", "list", "--json").out)
    assert [(one["name"], one["whose"], one["tools"]) for one in told["agents"]] == [
        ("mine", "user", None),
        ("theirs", "project", ["Read", "WebFetch"]),
    ]
    assert told["agents"][1]["directory"] == str(project / ".memdir/agent-memory-local/theirs")
    assert len(told["leftOut"]) == 1
    shown = memdir("agents", "show", "theirs").out
    assert "You review code." in shown and "not here: WebFetch" in shown and "local instead of user" in shown
    assert json.loads(memdir("agents", "show", "mine", "--json").out)["agent"]["prompt"] == "You review code."
    missing = memdir("agents", "show", "nobody")
    assert missing.code == 6 and "mine, theirs" in missing.err
    assert not (project / ".memdir").exists(), "looking makes nothing"


def test_a_memory_that_there_is_not_is_told_as_such(memdir: Memdir, tmp_path: Path) -> None:
    """A1: a typo would cost all that the sub-agent learns, and "none" says nothing of it."""
    define(tmp_path / "home/agents", "name: mine\ndescription: does my work\nmemory: projekt", file="mine.md")
    define(tmp_path / "home/agents", "name: other\ndescription: does more", file="other.md")
    listed = " ".join(memdir("agents").out.split())
    assert "mine: there is no memory 'projekt': user, project or local" in listed and "other:" not in listed


def test_the_help_names_what_else_there_is_and_a_typo_is_told(memdir: Callable[..., Ran]) -> None:
    told = memdir("agents", "--help").out
    assert all(f"agents {word} NAME" in " ".join(told.split()) for word in ("show", "snapshot", "take"))
    for typed, meant in (("showw", "show"), ("snapshto", "snapshot"), ("tke", "take"), ("lst", "list")):
        wrong = memdir("agents", typed, "reviewer")
        assert wrong.code == 2 and f"Did you mean {meant}?" in wrong.err
