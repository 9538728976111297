"""A clone carries links; scopes that lie in a project never follow one out of their folder (A1, E3, S15)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.cli.entry import EXIT_BUG
from memdir.errors import UsageError
from memdir.layout import Layout
from memdir.memdir import open_memory
from tests.conftest import Ran

Memdir = Callable[..., Ran]
FOLDERS = {"agent-project": "agent-memory", "agent-local": "agent-memory-local"}
LINKS = (".memdir", ".memdir/{folder}", ".memdir/{folder}/helper", ".memdir/{folder}/helper/MEMORY.md")
LINKS_INSIDE = (".memdir/{folder}/helper/secret_plan.md", ".memdir/{folder}/helper/sub")
MARKER = "the quick brown fox of the victim"


def state_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that a link could reach, made so that everything in it would be taken for a memory."""
    folder = tmp_path / "victim"
    memory = f"---\nname: {MARKER}\ndescription: {MARKER}\ntype: user\n---\n\n{MARKER}\n"
    for place in (
        folder,
        folder / "helper",
        folder / "agent-memory" / "helper",
        folder / "agent-memory-local" / "helper",
    ):
        place.mkdir(parents=True, exist_ok=True)
        (place / "secret_plan.md").write_text(memory)
        (place / "MEMORY.md").write_text(f"- [{MARKER}](secret_plan.md)\n")
    return folder


def target_of(kind: str, link: str, repository: Path, victim: Path) -> str:
    name = os.path.basename(link)
    outside = str(victim / name) if name.endswith(".md") else str(victim)
    inside = ".git/config" if name.endswith(".md") else ".git"
    up = "../" * link.count("/")
    return {"outside": outside, "git": up + inside, "git absolute": str(repository / inside), "nowhere": "/no/such"}[
        kind
    ]


COMMANDS = (
    ("remember", "Deploys are frozen until Monday"),
    ("list",),
    ("recall", f"what about {MARKER}?"),
    ("search", "quick"),
    ("show", "secret_plan"),
    ("forget", "secret_plan"),
    ("doctor", "--fix"),
    ("log",),
    ("undo",),
    ("export", "{out}"),
    ("import", "{source}"),
)


@pytest.mark.parametrize(
    ("scope", "kind"),
    [
        ("agent-project", "outside"),
        ("agent-project", "git"),
        ("agent-project", "git absolute"),
        ("agent-project", "nowhere"),
        ("agent-local", "git"),
    ],
)
@pytest.mark.parametrize("link", [*LINKS, *LINKS_INSIDE])
def test_no_command_follows_a_link_of_a_clone(
    scope: str, kind: str, link: str, victim: Path, memdir: Memdir, request: pytest.FixtureRequest
) -> None:
    tmp_path: Path = victim.parent
    repository: Path = request.getfixturevalue("repository")
    link = link.format(folder=FOLDERS[scope])
    path = repository / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target_of(kind, link, repository, victim))
    source = tmp_path / "source"
    source.mkdir()
    (source / "secret_plan.md").write_text("---\nname: plan\ndescription: d\n---\n\nMine.\n")
    (source / "sub").mkdir()
    (source / "sub" / "more.md").write_text("---\nname: more\ndescription: d\n---\n\nMine.\n")
    before = state_of(repository / ".git"), state_of(victim)
    for command in COMMANDS:
        words = [word.format(out=tmp_path / "out", source=source) for word in command]
        ran = memdir(*words, "--scope", f"{scope}:helper", cwd=repository)
        assert ran.code not in (EXIT_BUG, UsageError.exit_code), (command, ran.err)
        if not words[0].startswith(("recall", "search")):
            assert MARKER not in ran.out, command
    assert (state_of(repository / ".git"), state_of(victim)) == before
    assert path.is_symlink(), "the link is the repository's own business"


@pytest.mark.parametrize("link", LINKS[:3])
def test_it_is_said_that_a_link_stands_there(link: str, repository: Path, victim: Path, memdir: Memdir) -> None:
    path = repository / link.format(folder="agent-memory")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(victim)
    ran = memdir("remember", "A thing", "--scope", "agent-project:helper", cwd=repository)
    assert ran.code == 4
    assert "is a link" in ran.err and "came with the repository" in ran.err


def test_what_a_clone_puts_beside_an_agent_s_memory_is_not_believed(
    repository: Path, memdir: Memdir, tmp_path: Path
) -> None:
    """The lock, the journal, the history and the index of recall lie in the home, whatever the clone carries."""
    folder = repository / ".memdir" / "agent-memory"
    ran = tmp_path / "ran"
    for state in (folder / "helper.state", folder / "helper" / ".state", folder / "helper" / "helper.state"):
        hooks = state / "history.git" / "hooks"
        hooks.mkdir(parents=True)
        (hooks / "post-commit").write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / "post-commit").chmod(0o755)
        (state / "history.git" / "config").write_text(f'[filter "x"]\n\tclean = touch {ran}\n')
        (state / "journal").write_bytes(b"memdir-journal 1\n{}")
        (state / "identity.json").write_text('{"root": "/", "rootCommits": [], "remotes": []}')
    planted = state_of(folder)
    scope = ("--scope", "agent-project:helper")
    assert memdir("remember", "We deploy with make deploy", *scope, cwd=repository).code == 0
    assert memdir("recall", "how do we deploy?", *scope, cwd=repository).code == 0
    assert memdir("undo", *scope, cwd=repository).code == 0
    assert not ran.exists()
    assert {path: data for path, data in state_of(folder).items() if path in planted} == planted
    layout = Layout(str(tmp_path / "home"), str(repository))
    assert layout.agent_memory("helper", "project").state.startswith(str(tmp_path / "home"))


@pytest.mark.parametrize("link", [".memdir", ".memdir/settings.json"])
def test_settings_of_a_repository_are_not_read_through_a_link(link: str, repository: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_text(json.dumps({"memoryEnabled": False, "privateName": 1}))
    path = repository / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(elsewhere if link == ".memdir" else elsewhere / "settings.json")
    settings = open_memory(repository).settings
    assert settings.enabled
    [refusal] = settings.refused
    assert "link" in refusal.reason and "privateName" not in refusal.reason


def test_instruction_files_are_read_through_a_link_inside_the_project_only(
    repository: Path, victim: Path, memdir: Memdir
) -> None:
    rule = "never mock the database in integration tests because it lies about migrations"
    assert memdir("remember", rule, "--type", "feedback", cwd=repository).code == 0
    (victim / "CLAUDE.md").write_text(rule)
    (repository / "CLAUDE.md").symlink_to(victim / "CLAUDE.md")
    assert "repeats" not in memdir("doctor", cwd=repository).out
    (repository / "RULES.md").write_text(rule)
    (repository / "AGENTS.md").symlink_to("RULES.md")
    assert "repeats what AGENTS.md says" in memdir("doctor", cwd=repository).out
