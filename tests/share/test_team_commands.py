"""The commands around a team, two people in two homes: join, sync, status, conflicts, leave (E4)."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir import open_memory
from memdir.errors import RemoteError
from memdir.layout import Place
from memdir.share.remote import Delta, Manifest, Version, digest_of
from memdir.share.remotes.folder import MARK, FolderRemote
from tests.conftest import Ran
from tests.security.fakes import github_token
from tests.share.remotes import FolderPlace, GitPlace, member, memory_text

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


@pytest.mark.parametrize("where", [FolderPlace], indirect=True)
def test_who_joins_sees_how_far_the_first_sync_is(
    memdir: Memdir, memdir_command: str, where: str, tmp_path: Path, project: Path
) -> None:
    at(tmp_path / "ann", memdir, "join", where)
    at(tmp_path / "ann", memdir, "remember", "Deploys go out on Tuesdays", "--name", "deploys", "--scope", "team")
    at(tmp_path / "ann", memdir, "sync")
    controller, terminal = pty.openpty()
    try:
        words = [memdir_command, "join", where, "--home", str(tmp_path / "bob")]
        subprocess.run(words, cwd=project, stdout=subprocess.DEVNULL, stderr=terminal, check=True, timeout=60)
        told = os.read(controller, 1 << 16)
    finally:
        os.close(controller)
        os.close(terminal)
    shown = [line.removeprefix("syncing with the team") for line in told.decode().split("\r\x1b[2K")]
    assert shown[1:5] == [" …", ": 1 …", ": 0 of 1", ": 0 of 2"]


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
    shown = at(homes[0], memdir, "sync", "--resolve").out
    assert "another version of project_deploys.md (from the team, by" in shown, "and whose it is"
    for words in (("show", "project_deploys.md"), ("log", "project_deploys.md")):
        assert at(homes[0], memdir, *words).code == 0, "the whole file name is one's alone"
    assert at(homes[0], memdir, "sync", "--resolve", found["file"]).code == 0
    assert at(homes[0], memdir, "sync", "--resolve", "project_deploys.md").code == 2, "it is settled"
    assert answer(at(homes[0], memdir, "sync", "--json"))["sentDeletions"] == [found["file"]]


def test_leaving_ends_it_and_keeps_the_files(memdir: Memdir, where: str, project: Path) -> None:
    memdir("join", where)
    memdir("remember", "Deploys of the bakery go out on Tuesdays", "--name", "deploys", "--scope", "team")
    ran = memdir("leave")
    assert ran.code == 2 and "has not got 1 change yet" in ran.err
    memdir("sync")
    assert "Left" in memdir("leave").out
    memory = open_memory(project)
    assert not memory.places.has_team and os.listdir(memory.place.team().root)
    assert "No memory clearly helps" in memdir("recall", "when do deploys of the bakery go out?").out
    assert memdir("sync").out.startswith("No team was joined here.")


def test_a_deletion_that_waits_is_called_one(memdir: Memdir, where: str, project: Path) -> None:
    memdir("join", where)
    memdir("remember", "Deploys go out on Tuesdays", "--name", "deploys", "--scope", "team")
    memdir("sync")
    (one,) = answer(memdir("list", "--scope", "all", "--json"))["memories"]
    assert (one["file"], one["scope"]) == ("team/project_deploys.md", "team")
    memdir("forget", "deploys")
    assert "waits to be deleted for all: project_deploys.md" in memdir("sync", "--status").out


def test_whoever_deletes_most_by_hand_is_told_how_it_is_done(memdir: Memdir, where: str, project: Path) -> None:
    """What is missing may have been lost, and comes back: somebody who meant it would delete it again and again."""
    memdir("join", where)
    memdir("remember", "Deploys go out on Tuesdays", "--scope", "team")
    memdir("sync")
    (path,) = Path(open_memory(project).place.team().root).glob("project_*.md")
    path.unlink()
    ran = memdir("sync")
    assert f"brought back: {path.name}" in ran.out and "`memdir forget FILE --scope team`" in ran.err
    memdir("forget", path.name, "--scope", "team")
    ran = memdir("sync")
    assert f"deleted for all: {path.name}" in ran.out and "forget" not in ran.err and not path.exists()


def test_what_a_teammate_gave_with_a_secret_is_theirs_to_mend(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    remote = FolderPlace(tmp_path / "remote")
    memdir("join", remote.where, "--as", "Bob")
    text = f"---\nname: token\ndescription: a token\n---\n\nIt is {github_token()}\n".encode()
    theirs = remote.open("Ann", Place(str(tmp_path / "ann" / "memory")), lambda: 1e9)
    version = Version(digest_of(text), "Ann", 1e9)
    assert theirs.push(Delta({"token.md": version}, {"token.md": text}), expected=Manifest()).accepted
    told = memdir("sync").err
    assert "as Ann gave it to the team" in told and "ask Ann to repair or delete it there" in told
    assert "Take it out" not in told


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
    assert not open_memory(tmp_path).places.has_team


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


def test_no_filter_of_a_repository_runs_here_for_a_work_tree_that_it_asks_for(memdir: Memdir, tmp_path: Path) -> None:
    """ADR 0067: a teammate who may write to the repository's files would have it checked out by whoever pushes."""
    team, ran = GitPlace(tmp_path / "remote"), tmp_path / "ran"
    memdir("join", team.where)
    memdir("remember", "Deploys go out on Tuesdays", "--scope", "team")
    assert answer(memdir("sync", "--json"))["sent"]
    told = {"core.bare": "false", "core.worktree": team.where, "receive.denyCurrentBranch": "updateInstead"}
    for name, value in told.items():
        team.run("config", name, value)
    team.run("--git-dir=.", "reset", "-q", "--hard", "main")
    for name in ("smudge", "clean"):
        team.run("--git-dir=.", "config", f"filter.x.{name}", f"touch {ran}; cat")
    Path(team.where, "info").mkdir(exist_ok=True)
    Path(team.where, "info", "attributes").write_text("*.md filter=x\n")
    memdir("remember", "Freezes begin on Fridays", "--scope", "team")
    assert answer(memdir("sync", "--json"))["sent"] and not ran.exists()


def test_no_words_of_a_repository_come_into_a_file_that_its_log_leads_to(memdir: Memdir, tmp_path: Path) -> None:
    team, ran, started = GitPlace(tmp_path / "remote"), tmp_path / "ran", tmp_path / "profile"
    started.write_text("")
    team.run("config", "user.name", f"$(touch {ran})")
    Path(team.where, "logs/refs/heads").mkdir(parents=True)
    Path(team.where, "logs/refs/heads/main").symlink_to(started)
    memdir("join", team.where)
    memdir("remember", "Deploys go out on Tuesdays", "--scope", "team")
    assert answer(memdir("sync", "--json"))["sent"]
    assert str(ran) not in started.read_text()


def test_people_and_programs_see_whose_a_memory_is(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    where = FolderPlace(tmp_path / "remote").where
    for home, name in ((tmp_path / "ann", "Ann"), (tmp_path / "bob", "Bob")):
        at(home, memdir, "join", where, "--as", name)
    mine = open_memory(project, home=tmp_path / "ann")
    mine.add("Deploys of the shop go out on Tuesdays", name="deploys", scope="team")
    mine.team.sync()
    bob = tmp_path / "bob"
    at(bob, memdir, "sync")
    told = "from the team, by Ann"
    assert told in " ".join(at(bob, memdir, "list").out.split()), "also where the first row is the team's"
    at(bob, memdir, "remember", "Lunch is at noon", "--name", "lunch")
    for words in (("list",), ("list", "--scope", "team"), ("show", "deploys"), ("search", "deploys")):
        shown = at(bob, memdir, *words).out
        assert told in " ".join(shown.split()) and shown.count(told) == 1, words
    assert told in at(bob, memdir, "recall", "when do deploys of the shop go out?").out
    listed = {one["file"]: one for one in answer(at(bob, memdir, "list", "--json"))["memories"]}
    assert listed["team/project_deploys.md"]["by"] == "Ann" and listed["team/project_deploys.md"]["ofTeam"] is True
    assert listed["project_lunch.md"]["by"] is None and listed["project_lunch.md"]["ofTeam"] is False
    assert answer(at(bob, memdir, "show", "deploys", "--json"))["by"] == "Ann"
    assert answer(at(bob, memdir, "search", "deploys", "--json"))["matches"][0]["by"] == "Ann"
    recalled = answer(at(bob, memdir, "recall", "when do deploys of the shop go out?", "--json"))
    assert recalled["by"] == {"team/project_deploys.md": "Ann"}
    at(bob, memdir, "unshare", "deploys")
    why = at(bob, memdir, "why", "deploys").out
    assert "written by you" not in why and "trust: user" not in why and "by: Ann" in why


@pytest.mark.parametrize("syncs_between", [False, True])
def test_what_was_taken_back_and_is_shared_again_is_the_text_that_it_was(
    memdir: Memdir, where: str, tmp_path: Path, project: Path, syncs_between: bool
) -> None:
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    for home, name in ((ann, "Ann"), (bob, "Bob")):
        at(home, memdir, "join", where, "--as", name)
    mine = open_memory(project, home=ann)
    mine.add("Deploys of the shop go out on Tuesdays", name="deploys", scope="team")
    for home in (ann, bob):
        at(home, memdir, "sync")
    for _ in range(2):
        at(bob, memdir, "unshare", "deploys")
        assert "trust: team" in at(bob, memdir, "show", "deploys").out
        if syncs_between:
            at(bob, memdir, "sync")
        assert at(bob, memdir, "share", "deploys").code == 0
        at(bob, memdir, "sync")
        at(ann, memdir, "sync")
        for home in (ann, bob):
            shown = at(home, memdir, "show", "deploys").out
            assert "by Ann" in shown and "trust:" not in shown


def test_of_several_that_are_taken_back_each_is_whose_it_was(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    where = FolderPlace(tmp_path / "remote").where
    for home, name in ((tmp_path / "ann", "Ann"), (tmp_path / "bob", "Bob")):
        at(home, memdir, "join", where, "--as", name)
    mine = open_memory(project, home=tmp_path / "ann")
    mine.add("Deploys of the shop go out on Tuesdays", name="deploys", scope="team")
    mine.team.sync()
    bob = tmp_path / "bob"
    at(bob, memdir, "remember", "Lunch is at noon", "--name", "lunch", "--scope", "team")
    at(bob, memdir, "sync")
    assert at(bob, memdir, "unshare", "deploys", "lunch").code == 0
    hers, his = (at(bob, memdir, "why", name).out for name in ("deploys", "lunch"))
    assert "trust: team" in hers and "by: Ann" in hers
    assert "trust: team" not in his and "Ann" not in his and "trust: user" in his


def test_what_is_ones_own_stays_so_where_it_was_lost_and_brought_back(
    memdir: Memdir, tmp_path: Path, project: Path
) -> None:
    place = FolderPlace(tmp_path / "remote")
    memdir("join", place.where, "--as", "Ann")
    bob = member(place, "bob", tmp_path, time.time)
    bob.put("printer.md", memory_text("printer", "The printer is called Ulysses."))
    bob.sync()
    memory = open_memory(project)
    memory.add("Deploys go out on Tuesdays", name="deploys", scope="team")
    memdir("sync")
    for path in Path(memory.place.team().root).glob("*.md"):
        path.unlink()
    assert len(answer(memdir("sync", "--json"))["broughtBack"]) == 2
    memdir("unshare", "deploys", "printer")
    own, theirs = (Path(memory.place.root, name).read_text() for name in ("project_deploys.md", "printer.md"))
    assert "trust: team" not in own and "trust: team" in theirs


def test_several_memories_are_shared_as_one_or_not_at_all(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    memdir("join", FolderPlace(tmp_path / "remote").where)
    memory = open_memory(project)
    for name in ("adrs", "ruff", "tea break"):
        memory.add(f"What to know of {name}", name=name)
    memory.add("The user drinks tea", "user", name="drinks")
    assert memdir("share", "adrs", "ruff", "drinks").code != 0
    assert [one.key for one in memory.list(scope="team")] == [], "nothing was shared"
    assert memdir("share", "adrs", "nonsense").code != 0
    assert [one.key for one in memory.list(scope="team")] == []
    assert memdir("share", "adrs").code == 0
    assert memdir("share", "adrs", "ruff", "tea").code == 0, "whoever was interrupted calls again; `team/` is no word"
    assert len(memory.list(scope="team")) == 3
    memdir("undo")
    assert [one.key for one in memory.list(scope="team")] == ["project_adrs.md"], "they were one change"


def test_what_a_sync_has_to_tell_is_no_failure_of_it(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    """Somebody emptied the repository by plain git; the memories were given back."""
    place = GitPlace(tmp_path / "remote")
    memdir("join", place.where)
    memory = open_memory(project)
    for name in ("deploys", "tests", "freeze"):
        memory.add(f"What is so of {name}", name=name, scope="team")
    assert memdir("sync").code == 0
    tree = place.run("mktree").decode().strip()
    head = place.run("commit-tree", tree, "-p", "main", "-m", "clean up").decode().strip()
    place.run("update-ref", "refs/heads/main", head)
    ran = memdir("sync")
    assert "taken out of the repository" in ran.err and "sent: project_deploys.md" in ran.out
    assert "fail" not in memdir("sync", "--status").err
    assert answer(memdir("sync", "--status", "--json"))["failure"] is None


def test_what_fails_is_told_until_it_does_not(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    where = FolderPlace(tmp_path / "remote").where
    memdir("join", where)
    memory = open_memory(project)
    memory.add("Deploys go out on Tuesdays", name="deploys", scope="team")
    memory.team.sync()
    members = Path(where, "members")
    members.rename(tmp_path / "away")
    members.write_text("in the way")  # a remote that cannot be used
    memory.team.sync_behind()
    memory.team.sync_behind()
    memory.team.sync_behind(pushes_only=True)  # after a turn: nothing waits, so nobody was asked
    assert "fail (first today)" in memdir("sync", "--status").err
    failure = answer(memdir("sync", "--status", "--json"))["failure"]
    assert failure["since"].endswith("Z") and failure["problem"]
    assert "Syncs with the team fail" in memdir("doctor").out
    ran = memdir("sync", "--json")
    assert ran.code == 16 and answer(ran)["ok"] is False
    starts = [memdir("hook", "claude", "SessionStart", stdin=event(project, str(number))).out for number in range(2)]
    is_short = failure["reason"] == "offline"
    assert ["fail (first" in one for one in starts] == [not is_short, False], "once"
    members.unlink()
    Path(where, MARK).rename(tmp_path / "mark")  # now it fails by something else
    memory.team.sync_behind()
    assert "holds no team now" in memdir("sync", "--status").err
    assert "fail (first" not in memdir("hook", "claude", "SessionStart", stdin=event(project, "2")).out
    (tmp_path / "mark").rename(Path(where, MARK))
    (tmp_path / "away").rename(members)
    assert memdir("sync").code == 0
    status = answer(memdir("sync", "--status", "--json"))
    assert status["failure"] is None and status["synced"].endswith("Z")


def event(project: Path, session: str) -> str:
    return json.dumps({"session_id": f"s{session}", "cwd": str(project), "source": "startup", "transcript_path": ""})


def test_a_long_list_is_cut_short_for_people_only(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    memdir("join", FolderPlace(tmp_path / "remote").where)
    root = Path(open_memory(project).place.team().root)
    for number in range(60):
        (root / f"n{number}.md").write_text(f"---\nname: n{number}\ndescription: number {number}\n---\n\nText.\n")
    assert len(answer(memdir("sync", "--dry-run", "--json"))["sent"]) == 60
    shown = memdir("sync").out
    assert shown.count("sent: n") == 50 and "10 more" in shown
    ran = memdir("sync", "--set", "team.maxEntries=1")
    assert ran.err.count("does not travel") <= 5
    for number in range(20):
        (root / f"large{number}.md").write_text("x" * 200)
    ran = memdir("sync", "--status", "--set", "team.maxEntryBytes=100")
    assert all(f"large{number}.md" in ran.err for number in range(20)), "a person is told which"


def test_what_was_written_or_renamed_by_hand_is_in_the_index_here_too(
    memdir: Memdir, tmp_path: Path, project: Path
) -> None:
    memdir("join", FolderPlace(tmp_path / "remote").where)
    memory = open_memory(project)
    memory.add("Deploys go out on Tuesdays", name="deploys", scope="team")
    root = Path(memory.place.team().root)
    (root / "linters.md").write_text("---\nname: linters\ndescription: which ones run\n---\n\nRuff.\n")
    memdir("sync")
    assert "(linters.md)" in (root / "MEMORY.md").read_text()
    (root / "linters.md").rename(root / "checks.md")
    memdir("sync")
    index = (root / "MEMORY.md").read_text()
    assert "(checks.md)" in index and "(linters.md)" not in index and "(project_deploys.md)" in index


def test_a_remote_that_takes_no_change_says_what_to_do(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    where = GitPlace(tmp_path / "remote").where
    memdir("join", where)
    open_memory(project).add("Deploys go out on Tuesdays", name="deploys", scope="team")
    subprocess.run(["git", "-C", where, "config", "receive.hideRefs", "refs/heads/main"], check=True)
    ran = memdir("sync")
    assert ran.code == 16 and "did not take the change" in ran.err and "push to the branch main" in ran.err
    with pytest.raises(RemoteError) as refused, FolderRemote("/mnt/team", member="a" * 8)._reached():
        raise OSError(errno.EROFS, "read-only")
    assert refused.value.kind == "not_allowed" and "0700" not in str(refused.value)
