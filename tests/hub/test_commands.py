"""`memdir hub admin` as docs/how-to/hub.md shows it, on the server's own machine and without a token."""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir.hub.admin import act
from memdir.hub.hub_commands import TAKES
from tests.clients.terminal import Terminal
from tests.conftest import Ran
from tests.hub.servers import DEFAULTS, Client, HubServer, now, start_hub

Memdir = Callable[..., Ran]
PAGE = (Path(__file__).parents[2] / "docs/how-to/hub.md").read_text(encoding="utf-8")


def told(ran: Ran) -> dict[str, object]:
    assert ran.code == 0, ran.err
    answer: dict[str, object] = json.loads(ran.out)
    return answer


def test_what_the_page_shows_can_be_done_in_its_order(memdir: Memdir, project: Path) -> None:
    lines = re.findall(r"^memdir (hub admin [^#\n]*?)\s*(?:#.*)?$", PAGE, re.MULTILINE)
    assert len(lines) >= 7
    token = ""
    for line in lines:
        plain = re.sub(r" --database \S+", "", line)  # here it is one database for all
        words = [token if word == "k_0123456789ab" else word for word in plain.split()]
        answer = told(memdir(*words, "--json"))
        token = str(answer.get("tokenId", token))
    members = told(memdir("hub", "admin", "members", "acme", "--json"))["members"]
    assert [(one["name"], one["role"], one["active"]) for one in members] == [  # type: ignore[index,union-attr,attr-defined]
        ("ana", "admin", True),
        ("bob", "reader", False),
    ]
    assert (project / "hub-monday.sqlite3").stat().st_size > 0


def test_a_token_is_printed_once_for_people_too(memdir: Memdir) -> None:
    shown = memdir("hub", "admin", "add-team", "acme", "--admin", "ana").out
    assert len(re.findall(r"mdh_[\w-]{43}\b", shown)) == 1
    assert "mdh_" not in memdir("hub", "admin", "members", "acme").out + memdir("hub").out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("add-team", "acme"), "a team of that name already"),
        (("members", "nobody"), "no team 'nobody'"),
        (("token", "acme", "eve"), "no member 'eve'"),
        (("remove-member", "acme", "ana"), "the team's last admin"),
        (("role", "acme", "bob", "admin"), "takes TEAM MEMBER --role ROLE"),
        (("teams", "acme"), "takes no name"),
        (("add-member", "acme", "a\nb"), "member: a name is up to"),
        (("add-team", "ac|me", "--admin", "ana"), "team: a name is up to"),
        (("add-team", "other", "--admin", "a|na"), "member: a name is up to"),
        (("revoke", "k_000000000000"), "no such token"),
        (("drop",), "there are `hub serve`, `hub work`, and `hub admin` with"),
        (("token", "acme", "ana", "--role", "reader"), "has no --role"),
        (("add-team", "large", "--entries", "3000000000"), "no number from 0 to 2147483647"),
        (("add-team", "large", "--entry-bytes", "3000000000"), "no number from 0 to 2147483647"),
        (("backup", "nowhere/copy.sqlite3"), "nowhere/copy.sqlite3 cannot be written"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(memdir: Memdir, words: tuple[str, ...], why: str) -> None:
    memdir("hub", "admin", "add-team", "acme", "--admin", "ana")
    ran = memdir("hub", "admin", *words)
    assert ran.code == 2 and why in ran.err


def test_a_file_that_is_no_database_is_left_alone(memdir: Memdir, project: Path) -> None:
    (project / "notes.txt").write_text("mine" * 2_000, encoding="utf-8")
    ran = memdir("hub", "admin", "teams", "--database", "notes.txt")
    assert ran.code == 1 and "cannot be opened" in ran.err
    assert (project / "notes.txt").read_text(encoding="utf-8") == "mine" * 2_000


def test_tokens_are_listed_and_a_member_s_end_without_their_ids(memdir: Memdir) -> None:
    made = told(memdir("hub", "admin", "add-team", "acme", "--admin", "ana", "--days", "30", "--json"))
    told(memdir("hub", "admin", "add-member", "acme", "bob", "--role", "reader", "--days", "0", "--json"))
    tokens: Any = told(memdir("hub", "admin", "tokens", "acme", "--json"))["tokens"]
    assert [(one["member"], one["scopes"], one["ended"]) for one in tokens] == [
        ("ana", ["read", "write", "admin"], None),
        ("bob", ["read"], None),
    ]
    assert tokens[0]["id"] == made["tokenId"] and tokens[0]["expires"] == made["expires"] != tokens[1]["expires"]
    shown = memdir("hub", "admin", "tokens", "acme").out
    assert tokens[1]["id"] in shown and "without an end" in shown and f"until {made['expires']}" in shown
    assert "mdh_" not in shown
    assert told(memdir("hub", "admin", "revoke", "acme", "bob", "--json"))["revoked"] == [tokens[1]["id"]]
    assert "revoked" in memdir("hub", "admin", "tokens", "acme").out
    assert "has no token" in memdir("hub", "admin", "revoke", "acme", "bob").out
    again = memdir("hub", "admin", "revoke", tokens[1]["id"])
    assert again.code == 2 and "has ended already" in again.err


def test_after_a_restore_it_is_told_who_works_again_and_what_to_repeat(memdir: Memdir) -> None:
    for words in (
        "add-team acme --admin ana",
        "add-member acme bob",
        "backup monday.sqlite3",
        "remove-member acme bob",
    ):
        assert memdir("hub", "admin", *words.split()).code == 0
    there = ("--database", "monday.sqlite3")
    shown = memdir("hub", "admin", "restored", *there).out
    for command in ("remove-member", "role", "revoke", "purge"):
        assert f"`{command}`" in shown
    assert "BEFORE YOU START" in shown and "acme: ana, admin" in shown and "acme: bob, writer" in shown
    assert memdir("hub", "admin", "remove-member", "acme", "bob", *there).code == 0
    again = told(memdir("hub", "admin", "restored", *there, "--json"))
    assert again["active"] == [{"team": "acme", "member": "ana", "role": "admin"}] and again["backupEnds"]


def test_a_restore_over_what_a_killed_hub_left_is_told_as_none(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    """SQLite would read the log of writes of the database before with the copy: nothing would be restored, or worse."""
    there = ("--database", "hub.sqlite3")
    made = told(memdir("hub", "admin", "add-team", "acme", "--admin", "ana", *there, "--json"))
    server = start_hub(str(project / "hub.sqlite3"), tmp_path / "log")
    team = Client(server.port, str(made["token"]), str(made["team"]))
    assert team.put("a.md", "before").status == 201
    told(memdir("hub", "admin", "backup", "monday.sqlite3", *there, "--json"))
    assert team.put("b.md", "after").status == 201
    server.process.kill()
    server.stop()
    shutil.copy(project / "monday.sqlite3", project / "hub.sqlite3")
    ran = memdir("hub", "admin", "restored", *there)
    assert ran.code == 2 and "hub.sqlite3-wal" in ran.err and "put the copy there again" in ran.err
    for end in ("wal", "shm"):
        (project / f"hub.sqlite3-{end}").unlink()
    assert "1 team" in memdir("hub", "admin", "restored", *there).out
    assert "1 entry" in memdir("hub", "admin", "teams", *there).out


def test_a_backup_that_is_restored_twice_at_once_goes_on_from_another_revision_each_time(
    memdir: Memdir, project: Path
) -> None:
    """E7: by the clock alone both began with the same one, and no machine saw that there were two."""
    told(memdir("hub", "admin", "add-team", "acme", "--admin", "ana", "--database", "monday.sqlite3", "--json"))
    told(memdir("hub", "admin", "restored", "--database", "monday.sqlite3", "--json"))
    begun = set()
    for name in ("one.sqlite3", "other.sqlite3"):
        shutil.copy(project / "monday.sqlite3", project / name)
        told(memdir("hub", "admin", "restored", "--database", name, "--json"))
        [team] = told(memdir("hub", "admin", "teams", "--database", name, "--json"))["teams"]  # type: ignore[misc]
        begun.add(team["revision"])
    assert len(begun) == 2


def test_only_what_makes_a_hub_makes_a_database(memdir: Memdir, project: Path) -> None:
    for words in (("backup", "b.sqlite3"), ("teams",), ("prune",), ("restored",), ("metrics",)):
        ran = memdir("hub", "admin", *words, "--database", "hub/hub.sqlite")
        assert ran.code == 2 and "there is no hub's database" in ran.err, words
    assert memdir("hub", "work", "--database", "h.sqlite3").code == 2
    assert memdir("hub", "--database", "h.sqlite3").code == 2
    for words in (("admin", "add-team", "acme"), ("serve", "--check")):
        ran = memdir("hub", *words, "--database", "mysql://ana:word@x/y")
        assert ran.code == 2 and "no database that a hub knows" in ran.err and "word" not in ran.err
    assert list(project.iterdir()) == []
    told(memdir("hub", "admin", "add-team", "acme", "--database", "h.sqlite3", "--json"))
    assert "acme" in memdir("hub", "--database", "h.sqlite3").out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_in_a_folder_of_the_hub_s_user_is_that_user_s(memdir: Memdir, project: Path) -> None:
    folder = project / "var"
    folder.mkdir()
    os.chown(folder, 1501, 1501)
    told(memdir("hub", "admin", "add-team", "acme", "--database", str(folder / "hub.sqlite3"), "--json"))
    assert {path.stat().st_uid for path in folder.iterdir()} == {1501}


@pytest.mark.parametrize(
    "words",
    [
        ("admin", "role", "acme", "ana"),
        ("admin", "token", "acme", "ana", "--days", "-1"),
        ("admin", "token", "acme", "ana", "--days", "99999999999"),
        ("admin", "prune", "--days", "-1"),
        ("admin", "token", "acme", "ana", "--dry-run"),
        ("serve", "--port", "99999"),
        ("serve", "--port", "-1"),
    ],
)
def test_what_would_be_another_thing_than_was_meant_is_a_usage_error(memdir: Memdir, words: tuple[str, ...]) -> None:
    memdir("hub", "admin", "add-team", "acme", "--admin", "ana")
    assert memdir("hub", *words).code == 2
    members: Any = told(memdir("hub", "admin", "members", "acme", "--json"))["members"]
    assert members[0]["role"] == "admin"


def test_a_team_of_nobody_says_how_somebody_comes_in(memdir: Memdir) -> None:
    assert "add-member acme NAME --role admin" in memdir("hub", "admin", "add-team", "acme").out
    assert "Nobody is in it yet" in memdir("hub", "admin", "members", "acme").out


def test_what_a_purge_or_a_prune_would_erase_is_shown_and_stays(hub: HubServer, team: Client) -> None:
    etag = team.put("a.md", "one").body["etag"]
    team.put("a.md", "two", etag)

    def looked(action: str, **options: object) -> dict[str, Any]:
        given = argparse.Namespace(**{**DEFAULTS, "action": action, "team": team.team, "member": "ana", **options})
        answer: dict[str, Any] = hub.do(lambda database: act(database, given, now() + 1_000, is_dry=True))[0]
        assert answer["dryRun"] is True
        return answer

    before = team.manifest(), team.ask("GET", "versions").body
    assert looked("purge")["removed"] == ["a.md"]
    assert looked("prune", days=0)["erased"] >= 1
    hub.member(team, "bob", role="admin")
    assert looked("remove-member", purge=True)["removed"] == ["a.md"]
    assert (team.manifest(), team.ask("GET", "versions").body) == before
    assert team.ask("GET", "/v1/me").status == 200


def test_a_person_is_asked_before_texts_are_erased(memdir: Memdir, memdir_command: str, project: Path) -> None:
    made = told(memdir("hub", "admin", "add-team", "acme", "--admin", "ana", "--json"))
    words = [memdir_command, "hub", "admin", "purge", "acme", "ana"]
    for key, end in (("n", "Nothing was changed."), ("y", "is removed: 0 entries")):
        with Terminal(words, cwd=project, environment=dict(os.environ)) as terminal:
            terminal.wait_for("Would be so:")
            terminal.wait_for("[y/N]")
            terminal.type(f"{key}\r")
            terminal.wait_for(end)
            terminal.end()
    revision = told(memdir("hub", "--json"))["teams"]
    assert made["team"] and [one["revision"] for one in revision] == [1]  # type: ignore[attr-defined]


def test_what_the_pool_of_connections_says_is_a_line_of_json_without_names(capsys: pytest.CaptureFixture[str]) -> None:
    from memdir.hub.serve import Serving, server_of

    server_of(bare, Serving("", "127.0.0.1", 0), lambda: None)
    logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "pool-2", "user ana at db.internal")
    line = capsys.readouterr().err
    assert "psycopg.pool" in json.loads(line)["error"] and "ana" not in line


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """An application."""


def test_every_action_has_its_function() -> None:
    from memdir.hub.admin import ACTIONS

    assert TAKES.keys() == ACTIONS.keys()
