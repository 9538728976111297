"""The commands around a team, two people in two homes: join, sync, status, conflicts, leave (E4)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir import open_memory
from tests.conftest import Ran
from tests.security.fakes import github_token
from tests.share.remotes import FolderPlace, GitPlace

Memdir = Callable[..., Ran]


@pytest.fixture(params=[FolderPlace, GitPlace])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param(tmp_path / "remote").where)


def at(home: Path, memdir: Memdir, *words: str) -> Ran:
    return memdir(*words, "--home", str(home))


def answer(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_two_people_share_what_they_know(memdir: Memdir, where: str, tmp_path: Path, project: Path) -> None:
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    assert "Joined" in at(ann, memdir, "join", where, "--as", "Ann").out
    assert "as Bob" in at(bob, memdir, "join", where, "--as", "Bob").out
    at(ann, memdir, "remember", "Deploys go out on Tuesdays", "--name", "deploys", "--type", "project")
    at(ann, memdir, "share", "deploys")
    assert "waits to be sent: project_deploys.md" in at(ann, memdir, "sync", "--status").out
    assert "would be sent: project_deploys.md" in at(ann, memdir, "sync", "--dry-run").out
    assert "sent: project_deploys.md" in at(ann, memdir, "sync").out
    assert "taken in: project_deploys.md" in at(bob, memdir, "sync").out
    assert "by Ann" in at(bob, memdir, "log", "--scope", "team").out
    assert 'from the team, by "Ann".' in at(bob, memdir, "recall", "when do deploys go out?", "--render").out
    assert at(bob, memdir, "sync").out.strip() == "Nothing was sent: nothing has changed here."


def test_a_conflict_is_shown_and_settled(memdir: Memdir, where: str, tmp_path: Path, project: Path) -> None:
    homes = [tmp_path / "ann", tmp_path / "bob"]
    for home in homes:
        at(home, memdir, "join", where, "--as", home.name)
    at(homes[0], memdir, "remember", "Deploys go out on Tuesdays", "--name", "deploys", "--scope", "team")
    at(homes[0], memdir, "sync")
    at(homes[1], memdir, "sync")
    for home in homes:
        root = Path(open_memory(project, home=home).place.team().root)
        file = root / "project_deploys.md"
        file.write_text(file.read_text().replace("Tuesdays", f"{home.name} days"))
        at(home, memdir, "sync")
    at(homes[0], memdir, "sync")
    (found,) = answer(at(homes[0], memdir, "sync", "--resolve", "--json"))["conflicts"]
    assert found["memory"] == "project_deploys.md"
    assert "another version of project_deploys.md" in at(homes[0], memdir, "sync", "--resolve").out
    assert at(homes[0], memdir, "sync", "--resolve", found["file"]).code == 0
    assert at(homes[0], memdir, "sync", "--resolve", "project_deploys.md").code == 2, "it is settled"
    assert answer(at(homes[0], memdir, "sync", "--json"))["sentDeletions"] == [found["file"]]


def test_leaving_ends_it_and_keeps_the_files(memdir: Memdir, where: str, project: Path) -> None:
    memdir("join", where)
    memdir("remember", "Deploys of the bakery go out on Tuesdays", "--name", "deploys", "--scope", "team")
    assert memdir("leave").code == 2, "something was not sent yet"
    memdir("sync")
    assert "Left" in memdir("leave").out
    memory = open_memory(project)
    assert not memory.has_team and os.listdir(memory.place.team().root)
    assert "No memory clearly helps" in memdir("recall", "when do deploys of the bakery go out?").out
    assert memdir("sync").out.startswith("No team was joined here.")


def test_a_secret_is_told_by_kind_and_line_and_never_by_value(memdir: Memdir, where: str, project: Path) -> None:
    memdir("join", where)
    file = Path(open_memory(project).place.team().root, "token.md")
    file.write_text(f"---\nname: token\ndescription: a token\n---\n\nIt is {github_token()}\n")
    ran = memdir("sync")
    assert "github" in ran.err and "line 6" in ran.err and "Take it out" in ran.err
    assert github_token()[4:] not in ran.out + ran.err + memdir("sync", "--json").out
    assert "Nothing was sent: what changed holds a secret." in ran.out


def test_what_cannot_be_a_remote_is_said(memdir: Memdir, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    ran = memdir("join", str(tmp_path / "full"))
    assert ran.code == 16 and "holds no team" in ran.err
    assert memdir("join", "ext::sh -c id").code == 16
    assert memdir("join", "http://example.invalid").code != 0
    assert not open_memory(tmp_path).has_team


def test_no_hook_and_no_program_of_a_repository_runs_here(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    """ADR 0067: also where the remote lies on this disk, and git runs its other half, too."""
    where = GitPlace(tmp_path / "remote").where
    ran = tmp_path / "ran"
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        hook = Path(where, "hooks", name)
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\ncat >/dev/null\n")
        hook.chmod(0o755)
    settings = {
        "core.fsmonitor": f"touch {ran}",
        "core.alternateRefsCommand": f"touch {ran}",
        "receive.procReceiveRefs": "refs/heads",
        "uploadpack.packObjectsHook": f"touch {ran}",
        "core.sshCommand": f"touch {ran}",
        "gc.auto": "1",
        "gc.pruneExpire": "now",
    }
    for name, value in settings.items():
        subprocess.run(["git", "-C", where, "config", name, value], check=True)
    subprocess.run(["git", "-C", where, "config", "--unset", "receive.procReceiveRefs"], check=True)
    for home in (tmp_path / "ann", tmp_path / "bob"):
        at(home, memdir, "join", where)
        assert at(home, memdir, "remember", f"Deploys of {home.name} go out", "--scope", "team").code == 0
        assert answer(at(home, memdir, "sync", "--json"))["sent"]
    assert answer(at(tmp_path / "ann", memdir, "sync", "--json"))["taken"]
    assert not ran.exists()
