"""What a team's nightly dream proposes is shown to its members, who accept or reject it by `memdir review` (D3, E7)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memdir.hub.hub_database import HubDatabase
from memdir.hub.jobs import ProposedChange, ask_for, finish, take
from tests.clients.terminal import Terminal
from tests.conftest import Ran
from tests.hub.servers import Client, HubServer
from tests.share.remotes import memory_text

Memdir = Callable[..., Ran]
WAITS = "1 change of the team's nightly dream"


def propose(hub: HubServer, team: Client, *changes: ProposedChange) -> None:
    async def do(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 0)
        job = await take(database, 1)
        assert job and job.team == team.team and await finish(database, job, list(changes), 2)

    asked: Callable[[HubDatabase], Awaitable[None]] = do
    hub.do(asked)


@pytest.fixture
def proposed(hub: HubServer, team: Client, join: Callable[..., Client], memdir: Memdir) -> Client:
    """Bob's project, in a team whose dream proposes to change what Ana wrote; the client is Ana's."""
    hub.rows("delete from jobs where state <> 'done' returning id")  # of other tests
    etag = team.put("deploys.md", memory_text("deploys", "Deploys go out on Mondays.")).body["etag"]
    assert memdir("join", f"http://127.0.0.1:{hub.port}", stdin=join("Bob").token).code == 0
    change = ProposedChange(
        "put", "deploys.md", etag, memory_text("deploys", "Deploys go out on Fridays."), "said in May"
    )
    propose(hub, team, change)
    return team


def test_a_proposal_is_told_shown_with_both_texts_and_written_when_a_member_accepts_it(
    proposed: Client, memdir: Memdir, memdir_command: str, project: Path
) -> None:
    assert WAITS in memdir("sync").err and WAITS in memdir("sync", "--status").err
    assert json.loads(memdir("sync", "--status", "--json").out)["proposals"] == 1
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": str(project)}
    words = [memdir_command, "hook", "claude", "SessionStart"]
    begun = subprocess.run(words, input=json.dumps(event).encode(), capture_output=True, check=True, cwd=project)
    assert WAITS in json.loads(begun.stdout)["systemMessage"]
    shown = memdir("review").out
    for words in ("deploys.md (by ana)", "on Mondays.", "on Fridays.", "because said in May", "nightly dream"):
        assert words in shown
    (one,) = json.loads(memdir("review", "--scope", "team", "--json").out)["proposals"]
    (change,) = one["changes"]
    assert "Mondays" in change["text"] and "Fridays" in change["proposed"] and change["by"] == "ana"
    assert memdir("review", one["id"], "same").code == 2
    done = memdir("review", one["id"], "accept", "--json")
    assert json.loads(done.out)["files"] == ["deploys.md"], done.err
    assert b"Fridays" in proposed.get("deploys.md").data
    assert "Fridays" in memdir("show", "deploys.md", "--scope", "team").out
    assert memdir("sync").err == "" and memdir("review").out == "No questions.\n"
    again = memdir("review", one["id"], "accept")
    assert again.code == 16 and "decided already" in again.err


def test_a_proposal_that_is_none_has_nothing_to_do_with_the_token(memdir: Memdir, proposed: Client) -> None:
    ran = memdir("review", "p999999", "accept")
    assert ran.code and "no such proposal" in ran.err and "`memdir review` lists" in ran.err and "token" not in ran.err


def test_one_key_rejects_it_and_nothing_changes(
    proposed: Client, memdir: Memdir, memdir_command: str, project: Path
) -> None:
    with Terminal([memdir_command, "review"], cwd=project, environment=dict(os.environ)) as terminal:
        terminal.wait_for("team 1 of 1")
        terminal.wait_for("[q]uit?")
        terminal.type("r\r")
        terminal.wait_for("Nothing changes.")
        terminal.end()
    assert b"Mondays" in proposed.get("deploys.md").data
    assert proposed.ask("GET", "proposals").body["proposals"] == []
    assert WAITS not in memdir("sync", "--status").err


def test_a_hub_that_answers_not_keeps_nobody_from_their_questions(memdir: Memdir, proposed: Client) -> None:
    (own,) = [one["id"] for one in proposed.ask("GET", "tokens").body["tokens"] if one["member"]["name"] == "Bob"]
    assert proposed.ask("DELETE", f"tokens/{own}").status == 200
    ran = memdir("review")
    assert ran.code == 0 and ran.out == "No questions.\n" and "cannot be asked for now" in ran.err
    remote = memdir("config", "get", "team.remote").out.strip()
    ran = memdir("review", "--set", f"team.remote={remote.replace(f':{proposed.port}', ':1')}")
    assert ran.code == 0 and ran.out == "No questions.\n" and "memdir: " in ran.err


@pytest.mark.parametrize("words", [("p1", "accept"), ("p1",), ("4f1c09ab", "accept")])
def test_what_cannot_be_answered_is_told(memdir: Memdir, words: tuple[str, ...]) -> None:
    assert memdir("review", *words).code == 2
