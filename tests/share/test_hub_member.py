"""A member of a team on a real hub: joins by a token that no argument holds, sees a change at once, loses what was
purged (E4, E7)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.errors import RemoteError
from memdir.hooks.hook import _of_team as of_team
from memdir.memdir import MemDir
from memdir.share.known import KnownTeam
from memdir.share.remote import Manifest, digest_of
from memdir.share.remotes.hub import HubRemote
from memdir.share.team import Address, read_token
from memdir.store.history import Origin, tell_derived
from memdir.store.topic import Topic
from memdir.store.undo import undo
from memdir.team.commands import REASONS, REMEDIES
from tests.conftest import Ran
from tests.hub.servers import Client, HubServer
from tests.share.remotes import HubPlace, member, memory_text

Memdir = Callable[..., Ran]
SEEN_SECONDS = 10.0  # what a loaded machine is given; the hub itself tells within a second


@pytest.fixture
def hub(hubs: dict[str, HubServer]) -> HubServer:
    return hubs["hub-sqlite"]


@pytest.fixture
def admin(hub: HubServer) -> Iterator[Client]:
    admin = hub.team(f"team {time.time()}")
    yield admin
    admin.connection.close()


@pytest.mark.parametrize("held", [b"", b"mdh_one\nmdh_two\n", "mdh_größe".encode()])
def test_a_file_that_holds_no_token_is_told_with_a_remedy(tmp_path: Path, held: bytes) -> None:
    layout, address = open_memory(tmp_path, home=tmp_path / "home").layout, Address.parse("hub:http://127.0.0.1:1#t")
    path = Path(layout.hub_token(str(address)))
    path.parent.mkdir(parents=True)
    path.write_bytes(held)
    with pytest.raises(RemoteError, match="no token") as told:
        read_token(layout, address)
    assert "join" in told.value.remedy


def joined(command: str, url: str, token: str, home: Path, project: Path) -> subprocess.CompletedProcess[str]:
    words = [command, "join", url, "--home", str(home), "--project", str(project)]
    return subprocess.run(words, input=f"{token}\n", capture_output=True, text=True, timeout=60, check=False)


def test_a_member_joins_by_a_token_that_is_kept_to_oneself(
    hub: HubServer, admin: Client, memdir_command: str, project: Path, tmp_path: Path
) -> None:
    url, token = f"http://127.0.0.1:{hub.port}", hub.member(admin, "Bob").token
    done = joined(memdir_command, url, token, tmp_path / "bob", project)
    assert done.returncode == 0 and "Joined hub:" in done.stdout, done.stderr
    (kept,) = (tmp_path / "bob" / "hub-tokens").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and kept.read_text().strip() == token
    others = [path for path in (tmp_path / "bob").rglob("*") if path.is_file() and path != kept]
    assert not any(token.encode() in path.read_bytes() for path in others)
    assert token not in done.stdout + done.stderr
    memory = open_memory(project, home=tmp_path / "bob")
    memory.add("Deploys go out on Tuesdays", name="deploys", scope="team")
    assert memory.team.sync().sent == ["project_deploys.md"]
    assert admin.keys() == ["project_deploys.md"]
    assert admin.manifest()["entries"][0]["by"]["name"] == "Bob"


def test_what_the_admin_s_command_printed_and_what_the_status_shows_are_good_to_join_by(
    hub: HubServer, admin: Client, memdir_command: str, project: Path, tmp_path: Path
) -> None:
    url, token = f"http://127.0.0.1:{hub.port}", hub.member(admin, "Bob").token
    printed = f"Token of Bob, shown this once (k_6a61ef89656e, until 2027-11-19T23:33:28Z):\n{token}"
    done = joined(memdir_command, f"{url}/#{admin.team}", printed, tmp_path / "bob", project)
    assert done.returncode == 0 and f"Joined hub:{url}#{admin.team} as Bob" in done.stdout, done.stderr
    (kept,) = (tmp_path / "bob" / "hub-tokens").iterdir()
    assert kept.read_text().strip() == token
    done = joined(memdir_command, url, f"{token}\n{token}x", tmp_path / "eve", project)
    assert done.returncode == 2 and "several tokens" in done.stderr and token not in done.stderr


def test_a_wrong_token_joins_nothing(hub: HubServer, memdir_command: str, project: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{hub.port}"
    done = joined(memdir_command, url, "mdh_" + "x" * 43, tmp_path / "eve", project)
    assert done.returncode == 16 and "xxxx" not in done.stdout + done.stderr
    assert not open_memory(project, home=tmp_path / "eve").places.has_team
    assert not (tmp_path / "eve" / "hub-tokens").exists()


@pytest.mark.parametrize("what", ["token", "team"])
def test_what_a_member_can_do_about_a_token_that_has_ended_is_told(hub: HubServer, admin: Client, what: str) -> None:
    token, team = ("mdh_" + "x" * 43, admin.team) if what == "token" else (admin.token, "t_000000000000")
    remote = HubRemote(f"http://127.0.0.1:{hub.port}", team=team, token=token)
    with pytest.raises(RemoteError) as told:
        remote.pull(Manifest())
    remote.close()
    assert told.value.kind == "not_allowed" and "`memdir join http" in told.value.remedy
    assert "Bearer" not in str(told.value) and token not in str(told.value)


@pytest.mark.parametrize("host", ["hub.example.com:84433", "hub.example.com:x", "hub..example.com", "[::1", ""])
def test_what_cannot_be_an_address_is_said(memdir_command: str, project: Path, tmp_path: Path, host: str) -> None:
    done = joined(memdir_command, f"https://{host}", "mdh_" + "x" * 43, tmp_path / "eve", project)
    assert "is no address of a hub" in done.stderr and done.returncode == RemoteError.exit_code


def test_whoever_watches_sees_a_change_at_once(
    hub: HubServer, admin: Client, memdir_command: str, project: Path, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{hub.port}"
    joined(memdir_command, url, hub.member(admin, "Bob").token, tmp_path / "bob", project)
    words = [memdir_command, "sync", "--watch", "--home", str(tmp_path / "bob"), "--project", str(project)]
    watching = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert watching.stdout and b"Nothing was sent" in watching.stdout.readline()
        admin.put("freeze.md", memory_text("freeze", "No deploys this week."))
        file = Path(open_memory(project, home=tmp_path / "bob").place.team().root, "freeze.md")
        until = time.monotonic() + SEEN_SECONDS
        while not file.exists():
            assert time.monotonic() < until, "nobody saw it"
            time.sleep(0.02)
    finally:
        os.kill(watching.pid, signal.SIGINT)
        watching.communicate(timeout=30)


def test_a_dry_run_tells_that_a_token_may_only_read(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann = member(place, "ann", tmp_path, time.time)
    token = hub.admin("token", place.admin.team, "ann", read_only=True)["token"]
    ann = replace(ann, remote=HubRemote(f"http://127.0.0.1:{hub.port}", team=place.admin.team, token=token))
    ann.put("a.md", memory_text("a", "What nobody gets."))
    told, done = ann.sync(is_dry=True), ann.sync()
    assert told.reason == done.reason == "not_allowed" and told.problem
    assert told.sent == done.sent == []


def test_a_limit_of_the_hub_is_named_with_what_is_beyond_it(
    hub: HubServer, memdir: Memdir, project: Path, tmp_path: Path
) -> None:
    admin = hub.team(f"small {time.time()}", entries=1, entry_bytes=300)
    memdir("join", f"http://127.0.0.1:{hub.port}", stdin=admin.token)
    root = Path(open_memory(project).place.team().root)
    for name, words in (("a", "Short."), ("b", "Short."), ("c", "Long. " * 100)):
        (root / f"{name}.md").write_text(memory_text(name, words))
    told = {one["file"]: one for one in json.loads(memdir("sync", "--json").out)["leftOut"]}
    assert "may have 1 memories and 16,777,216 bytes on the hub" in told["b.md"]["told"] and told["b.md"]["remedy"]
    assert "may have 300 bytes on the hub" in told["c.md"]["told"] and told["c.md"]["remedy"]
    for looks in ("--status", "--dry-run"):
        why = {one["file"]: one["reason"] for one in json.loads(memdir("sync", looks, "--json").out)["leftOut"]}
        assert why == {"b.md": "cap", "c.md": "too_large"}, "also where the hub is not asked"
    assert "is off" not in memdir("join").err
    memdir("config", "set", "team.enabled", "false", "--layer", "local")
    assert "team memory is off here" in memdir("sync").err


def test_what_a_member_wrote_who_was_purged_is_gone_with_the_next_pull(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    ann.put("hers.md", memory_text("hers", "What Ann said."))
    ann.sync()
    bob.put("his.md", memory_text("his", "What Bob said."))
    bob.sync()
    bob.put("hers.md", bob.read("hers.md") + "\nAnd what Bob added.\n")
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    report = bob.sync()
    assert (report.deleted, report.purged) == (["hers.md"], ["team/hers.md"]), "what was not sent went with it"
    assert bob.files().keys() == {"his.md"}
    undo(bob.store, bob.store.history.log("team/hers.md", limit=1)[0].id)
    assert "And what Bob added." in bob.read("hers.md")
    place.admin.connection.close()


def test_what_was_purged_is_told_as_that_with_whose_it_was_and_what_one_can_do(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    text = memory_text("hers", "What Ann said.")
    ann.put("hers.md", text)
    ann.sync()
    bob.sync()
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    assert bob.sync().purged == [], "of what one has not changed there is nothing to tell"
    bob.put("hers.md", text)
    report = bob.sync()
    (left,) = report.left_out.values()
    assert (report.sent, report.reason, left.reason) == ([], "purged", "purged")
    today = datetime.now(UTC).date()
    assert left.told == f"it was purged for the team by ana on {today}, with what ann wrote"
    assert "forget" in REMEDIES["purged"] and "purged" in REASONS["purged"]
    place.admin.connection.close()


def copied(memory: MemDir, key: str, text: str) -> None:
    """A dream of one's own takes over what a teammate wrote."""
    dreamt, derived = Origin("dream", trust="team"), tell_derived({key: ["team/hers.md"]})
    with memory.store.changing(dreamt, "dream", Derived=derived) as change:
        change.write(key, text.encode())
        change.put_entry(key, Topic(text.encode()))


@pytest.mark.parametrize("is_behind", [False, True])
def test_what_private_memories_took_over_from_a_purged_member_goes_with_the_next_pull(
    hub: HubServer, memdir_command: str, project: Path, tmp_path: Path, is_behind: bool
) -> None:
    place = HubPlace(hub)
    ann = member(place, "ann", tmp_path, time.time)
    ann.put("hers.md", memory_text("hers", "The door of the server room opens with the green card."))
    ann.sync()
    url, token = f"http://127.0.0.1:{hub.port}", hub.member(place.admin, "bob").token
    assert joined(memdir_command, url, token, tmp_path / "bob", project).returncode == 0
    memory = open_memory(project, home=tmp_path / "bob")
    memory.team.sync()
    copied(memory, "own.md", memory_text("own", "The door of the server room opens with the green card."))
    pinned = memory_text("mine", "The server room door opens with the green card.", "project\npinned: true")
    copied(memory, "pinned.md", pinned)
    memory.add("The coffee machine needs cleaning on Mondays", name="coffee")
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200

    def tells(*more: str) -> None:
        words = [memdir_command, "sync", *more, "--home", str(tmp_path / "bob"), "--project", str(project)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert "gone with a member who was purged: project/own.md" in done.stdout, done.stderr
        assert "project/pinned.md may hold what ann wrote" in done.stderr

    if is_behind:
        memory.team.sync_behind()
        memory.team.sync_behind(pushes_only=True)  # what the first took is told all the same
        assert any("went with a member" in line for line in of_team(memory))
        tells("--status")
    tells()
    assert not any("went with a member" in line for line in of_team(memory)), "somebody was told"
    assert {header.key for header in memory.list()} == {"pinned.md", "project_coffee.md"}
    memory.undo()
    report = memory.team.sync()
    assert report.purged == [] and memory.get("own.md"), "once: what its person brings back is theirs"
    place.admin.connection.close()


def test_what_came_from_who_was_purged_once_and_is_back_is_only_named_where_the_note_was_lost(
    hub: HubServer, memdir_command: str, project: Path, tmp_path: Path
) -> None:
    place = HubPlace(hub)
    ann = member(place, "ann", tmp_path, time.time)
    ann.put("hers.md", memory_text("hers", "What Ann said."))
    ann.sync()
    url, token = f"http://127.0.0.1:{hub.port}", hub.member(place.admin, "bob").token
    assert joined(memdir_command, url, token, tmp_path / "bob", project).returncode == 0
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    ann.sync()
    ann.put("new.md", memory_text("new", "Releases are cut from the green branch."))
    ann.sync()
    memory = open_memory(project, home=tmp_path / "bob")
    memory.team.sync()
    copied(memory, "own.md", memory_text("own", "Releases are cut from the green branch."))
    (note,) = (tmp_path / "bob").rglob("known.json")
    note.unlink()
    report = memory.team.sync()
    assert (report.purged, report.may_hold) == ([], {"project/own.md": "ann"}) and memory.get("own.md")
    report = memory.team.sync()
    assert (report.purged, report.may_hold) == ([], {})
    place.admin.connection.close()


def test_a_purge_that_was_cut_short_is_finished_by_the_next_sync(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    ann.put("hers.md", memory_text("hers", "What Ann said."))
    ann.sync()
    bob.sync()
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    tries: list[str] = []

    def fails_once(name: str) -> tuple[list[str], list[str]]:
        tries.append(name)
        if len(tries) == 1:
            raise KeyboardInterrupt
        return ["project/own.md"], []

    def syncs() -> list[str]:
        return replace(bob.syncing(), on_purged=fails_once).run().purged

    with pytest.raises(KeyboardInterrupt):
        syncs()
    assert syncs() == ["project/own.md"] and syncs() == []
    assert tries == ["ann", "ann"]
    place.admin.connection.close()


def test_whose_purge_it_is_the_token_says_and_no_name_of_a_machine(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    ann.put("hers.md", memory_text("hers", "What Ann said."))
    ann.sync(), bob.sync()
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    told: list[str] = []

    def note(name: str) -> tuple[list[str], list[str]]:
        told.append(name)
        return [], []

    replace(ann.syncing(), member="bob", on_purged=note).run()
    assert told == [], "one's own memories stay one's own"
    replace(bob.syncing(), member="ann", on_purged=note).run()
    assert told == ["ann"]
    place.admin.connection.close()


def test_who_comes_back_after_a_purge_is_not_purged_again(hub: HubServer, tmp_path: Path) -> None:
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    told: list[str] = []

    def note(name: str) -> tuple[list[str], list[str]]:
        told.append(name)
        return [], []

    def purges() -> list[str]:
        told.clear()
        replace(bob.syncing(), on_purged=note).run()
        return list(told)

    def is_purged(text: str) -> None:
        ann.put("hers.md", memory_text("hers", text))
        ann.sync()
        members = place.admin.ask("GET", "members").body["members"]
        (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
        assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200

    is_purged("What Ann said.")
    assert purges() == ["ann"]
    ann.sync()
    ann.put("new.md", memory_text("new", "What Ann says since she is back."))
    ann.sync()
    assert purges() == []
    known = KnownTeam.load(bob.store.place, bob.where)
    known.revision = ""  # as when a text has to be asked for again
    known.save()
    assert purges() == [] and "new.md" in bob.files()
    is_purged("What Ann said later.")
    assert purges() == ["ann"]
    place.admin.connection.close()


def test_a_rename_is_one_also_where_a_request_ends_within_it(hub: HubServer, tmp_path: Path) -> None:
    """In capitals only: the new name is refused while the old one lives."""
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    texts = sorted((memory_text(f"m{number}", f"Said as number {number}.") for number in range(100)), key=hashed)
    ann.put("foo.md", texts[-1])
    ann.sync(), bob.sync()
    (ann.root / "foo.md").rename(ann.root / "Foo.md")
    for number, text in enumerate(texts[:-1]):
        ann.put(f"m{number}.md", text)
    report = ann.sync()
    assert report.left_out == {} and report.sent_deletions == ["foo.md"] and len(report.sent) == 100
    bob.sync()
    assert bob.files() == ann.files()
    for one in (ann, bob):
        one.remote.close()


def hashed(text: str) -> str:
    return digest_of(text.encode())


def test_a_folder_that_is_renamed_while_the_network_fails_is_missed_by_nobody(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one request takes: what goes under its old name comes under its new one with the same."""
    place = HubPlace(hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    texts = [memory_text(f"m{number}", f"Said as number {number}.") for number in range(120)]
    for number, text in enumerate(texts):
        ann.put(f"old/m{number}.md", text)
    ann.sync(), bob.sync()
    (ann.root / "old").rename(ann.root / "new")
    ask, sent = HubRemote._json, []

    def cut_off(self: HubRemote, method: str, *words: object, **more: object) -> object:
        sent.append(method)
        if sent.count("POST") > 1:
            raise RemoteError("cut off")
        return ask(self, method, *words, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(HubRemote, "_json", cut_off)
        assert ann.sync().reason == "offline"
    bob.sync()
    assert sorted(bob.files().values()) == sorted(texts)
    ann.sync(), bob.sync()
    assert bob.files() == ann.files() and all(key.startswith("new/") for key in bob.files())
    for one in (ann, bob):
        one.remote.close()
