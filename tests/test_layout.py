"""Every path (S3, A1, A2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from memdir.errors import PathEscape
from memdir.layout import MAX_SLUG, Layout, Place, safe_agent_name, slug_of
from memdir.memdir import open_memory


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/home/ann/my.project_1", "-home-ann-my-project-1"),
        ("/home/ann/Größe", "-home-ann-Gr--e"),
        ("/home/ann/😀", "-home-ann---"),
    ],
)
def test_the_slug_is_the_one_claude_code_makes(path: str, slug: str) -> None:
    """S3, FACTS: every UTF-16 unit outside [A-Za-z0-9] is a dash, so that homes can be shared."""
    assert slug_of(path) == slug


def test_overlong_slugs_are_shortened_and_stay_apart() -> None:
    first, second = "/" + "a" * 300 + "/one", "/" + "a" * 300 + "/two"
    assert slug_of(first) != slug_of(second)
    assert slug_of(first) == slug_of(first)
    assert len(slug_of(first)) <= MAX_SLUG + 13


def test_another_agent_s_home_of_the_same_layout_is_served_as_it_is(tmp_path: Path, project: Path) -> None:
    """S3: with the home set to ~/.claude, Claude Code's memories are ours."""
    claude = tmp_path / ".claude" / "projects" / slug_of(str(project)) / "memory"
    assert Layout(str(tmp_path / ".claude"), str(project)).default_memory == str(claude)


def test_agents_have_memories_of_their_own(tmp_path: Path, project: Path) -> None:
    """A1: what lies in the repository keeps its lock and history in the home."""
    layout = Layout(str(tmp_path / "home"), str(project))
    assert layout.agent_memory("rev:iewer", "user").root == str(tmp_path / "home" / "agent-memory" / "rev-iewer")
    shared = layout.agent_memory("reviewer", "project")
    local = layout.agent_memory("reviewer", "local")
    assert shared.root == str(project / ".memdir" / "agent-memory" / "reviewer")
    assert local.root == str(project / ".memdir" / "agent-memory-local" / "reviewer")
    for place in (shared, local):
        assert place.history.startswith(str(tmp_path / "home"))
    assert shared.history != local.history


@pytest.mark.parametrize("planted", [None, b"!*\n", b"# ours\n!*.md", b"* \n", b"*\r\n", "link"])
def test_an_agent_s_local_memory_is_never_committed(
    repository: Path, git: Callable[..., str], planted: bytes | str | None, tmp_path: Path
) -> None:
    """A1: git leaves it out by itself, whatever a repository says to that."""
    folder = repository / ".memdir" / "agent-memory-local"
    (repository / ".gitignore").write_text("!.memdir/**\n")
    (tmp_path / "elsewhere").write_text("untouched")
    if planted is not None:
        folder.mkdir(parents=True)
        if isinstance(planted, bytes):
            (folder / ".gitignore").write_bytes(planted)
        else:
            (folder / ".gitignore").symlink_to(tmp_path / "elsewhere")
    memory = open_memory(repository)
    memory.add("Only on this machine", scope="agent-local:reviewer")
    memory.add("For everybody", scope="agent-project:reviewer")
    git("add", "--all", cwd=repository)
    added = git("diff", "--cached", "--name-only", cwd=repository)
    assert "agent-memory/reviewer/project_for_everybody.md" in added
    assert "only_on_this_machine" not in added and "agent-memory-local" not in added
    assert (tmp_path / "elsewhere").read_text() == "untouched"


@pytest.mark.parametrize(
    ("name", "safe"),
    [("a:b", "a-b"), ("../../x", "-..-x"), ("é x", "--x"), ("a/b\\c", "a-b-c"), ("x" * 400, "x" * 200)],
)
def test_agent_names_are_safe_folder_names(name: str, safe: str) -> None:
    """A2."""
    assert safe_agent_name(name) == safe


@pytest.mark.parametrize("name", ["a/b", "../evil", ".hidden", "é x", "a b", "x" * 400, "a.state", "a.State"])
@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_two_agents_never_share_a_memory_because_of_their_names(
    tmp_path: Path, name: str, scope: Literal["user", "project", "local"]
) -> None:
    """A2: what is not plain is refused, and told what is; beside the memory of `a` its state lies in `a.state`."""
    with pytest.raises(PathEscape, match="no name for an agent"):
        Layout(str(tmp_path / "home"), str(tmp_path)).agent_memory(name, scope)


@pytest.mark.parametrize("scope", ["agent", "agent-project", "agent-local"])
def test_agents_whose_names_make_one_folder_do_not_share_it(project: Path, scope: str) -> None:
    """A2: `a:b` and `a-b`; who was first keeps it, whichever that was."""
    memory = open_memory(project)
    memory.add("The release is cut on Mondays", scope=f"{scope}:a:b")
    with pytest.raises(PathEscape, match="would share the memory of 'a:b'"):
        open_memory(project).add("Something else", scope=f"{scope}:a-b")
    with pytest.raises(PathEscape):
        open_memory(project).list(scope=f"{scope}:a-b")
    assert len(open_memory(project).list(scope=f"{scope}:a:b")) == 1
    assert list(open_memory(project).layout.agent_scopes()) == [f"{scope}:a:b"], "under the name that opens it"


@pytest.mark.parametrize("name", ["", "..", "///", "é"])
def test_an_agent_name_without_letters_is_refused(name: str) -> None:
    with pytest.raises(PathEscape):
        safe_agent_name(name)


def test_a_place_knows_its_neighbours() -> None:
    place = Place("/h/projects/p/memory")
    assert (place.state, place.prefix) == ("/h/projects/p/memory.state", "")
    assert place.team().root == "/h/projects/p/memory/team"
    assert (place.team().state, place.team().prefix) == (place.state, "team/")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", ".hidden", "memory", "memory.state", "agents", "x" * 300]
)
def test_a_session_cannot_lead_elsewhere_or_share_a_folder_of_ours(tmp_path: Path, name: str) -> None:
    layout = Layout(str(tmp_path), str(tmp_path))
    with pytest.raises(PathEscape):
        layout.session(name)
    with pytest.raises(PathEscape):
        layout.session_folder(name)


def test_session_ids_of_real_hosts_are_taken(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path), str(tmp_path))
    for name in (
        "0f3a91c2-0000-4000-8000-000000000001",
        "monday",
        "cli",
        "rollout-2026-11-15T10-00-00-abc",
        "Ärger_1.2",
    ):
        assert layout.session(name).endswith(f"{name}.jsonl")
