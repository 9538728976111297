"""Members, roles, tokens, and a member who left (E7, L2)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.hub.bearer import Identities, NewToken
from memdir.hub.hub_database import Author, HubDatabase
from memdir.hub.people import TeamLog, add_member, add_team, give_token, let_leave, purge, revoke_token
from memdir.hub.reply import HubRefusal
from memdir.hub.sqlite_database import SqliteDatabase
from memdir.share.remote import TeamCaps
from tests.hub.servers import Client, HubServer, now

Join = Callable[..., Client]


def with_token(client: Client, token: str) -> Client:
    return Client(client.port, token, client.team)


def test_a_role_and_a_token_both_have_to_allow_a_thing(team: Client, join: Join) -> None:
    etag = team.put("a.md", "one").body["etag"]
    reader = join("rita", "reader")
    assert reader.get("a.md").status == 200
    for refused in (
        reader.put("b.md", "two"),
        reader.delete("a.md", etag),
        reader.ask("POST", "batch", {"changes": []}),
    ):
        assert (refused.status, refused.kind) == (403, "not-allowed")
    writer = join("bob")
    assert writer.ask("POST", "members", {"name": "eve", "role": "admin"}).status == 403
    limited = team.ask("POST", "tokens", {"member": writer.member, "scopes": ["read"], "days": 1}).body
    assert with_token(writer, limited["token"]).put("b.md", "two").status == 403
    too_much = team.ask("POST", "tokens", {"member": reader.member, "scopes": ["read", "write", "admin"]}).body
    assert with_token(reader, too_much["token"]).put("b.md", "two").status == 403, "a token gives no more than the role"


def test_a_token_is_told_once_and_kept_nowhere(hub: HubServer, team: Client) -> None:
    made = team.ask("POST", "tokens", {"label": "laptop"}).body
    assert with_token(team, made["token"]).ask("GET", "/v1/me").body["member"]["name"] == "ana"
    listed = team.ask("GET", "tokens")
    assert made["id"] in {one["id"] for one in listed.body["tokens"]} and made["token"] not in listed.data.decode()
    assert made["token"] not in team.ask("GET", "audit").data.decode()
    for (row,) in hub.rows("select hash from tokens"):
        assert row != made["token"] and len(row) == 64
    assert made["token"] not in hub.log.read_text(encoding="utf-8")


def test_a_token_tells_when_it_was_last_used_if_only_to_read(hub: HubServer, team: Client) -> None:
    made = team.ask("POST", "tokens", {"label": "laptop"}).body

    def used() -> object:
        return next(one["used"] for one in team.ask("GET", "tokens").body["tokens"] if one["id"] == made["id"])

    assert used() is None
    with_token(team, made["token"]).ask("GET", "/v1/me")
    listed = {one["id"]: one for one in hub.admin("tokens", team.team)["tokens"]}
    assert str(used())[:4].isdigit() and listed[made["id"]]["lastUsed"] == used()


def test_a_token_ends_when_it_is_revoked_expires_or_its_member_leaves(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    made = team.ask("POST", "tokens", {"member": bob.member}).body
    other = with_token(bob, made["token"])
    assert other.ask("GET", "/v1/me").status == 200
    assert bob.ask("DELETE", f"tokens/{made['id']}").status == 200, "one's own"
    assert other.elsewhere().ask("GET", "/v1/me").status == 401
    hub.rows("update tokens set expires = ? where member = ? returning id", int(time.time() * 1000) - 1, bob.member)
    until = time.monotonic() + 5
    while bob.ask("GET", "/v1/me").status == 200 and time.monotonic() < until:
        time.sleep(0.1)  # another process changed it: known within a second
    assert bob.elsewhere().ask("GET", "/v1/me").status == 401
    cleo = join("cleo")
    assert cleo.ask("DELETE", f"members/{cleo.member}").status == 200, "whoever wants to may leave"
    assert cleo.elsewhere().ask("GET", "/v1/me").status == 401
    assert [one["active"] for one in team.ask("GET", "members").body["members"] if one["name"] == "cleo"] == [False]


async def test_a_clock_that_is_set_back_makes_no_token_live_longer(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "hub.sqlite3"))
    await database.connect()
    clock = [2_000_000.0]
    identities, team = Identities(database, lambda: clock[0]), await add_team(database, "acme", TeamCaps(), 1)
    member, *_ = await add_member(database, Author(team, ""), "Bob", "writer", 1)
    token, value = await give_token(database, Author(team, ""), NewToken(team, member, "Bob", ("read",), None), 1)
    assert (await identities.of(value)).name == "Bob"
    await revoke_token(database, Author(team, ""), token, 2)  # in another process
    clock[0] -= 3_600
    until = time.monotonic() + 10
    with pytest.raises(HubRefusal, match="revoked"):
        while time.monotonic() < until:
            await identities.of(value)
            await asyncio.sleep(0.05)
    await database.close()


def test_the_last_admin_can_neither_leave_nor_step_down(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    for refused in (
        team.ask("DELETE", f"members/{team.member}"),
        team.ask("PATCH", f"members/{team.member}", {"role": "writer"}),
    ):
        assert (refused.status, refused.kind) == (409, "last-admin")
    assert team.ask("PATCH", f"members/{bob.member}", {"role": "admin"}).body["role"] == "admin"
    assert team.ask("PATCH", f"members/{team.member}", {"role": "reader"}).status == 200
    assert team.put("a.md", "one").status == 403, "and it holds at once"
    assert bob.ask("GET", "audit").status == 403, "his token was made for a writer"
    bob = with_token(bob, hub.admin("token", team.team, "bob")["token"])
    assert bob.ask("POST", "members", {"name": "bob", "role": "writer"}).kind == "twice"


def test_of_two_last_admins_who_leave_at_once_one_stays(hub: HubServer, team: Client, join: Join) -> None:
    if not hub.database.startswith("postgresql"):
        return  # there one transaction is over before another begins
    bob = join("bob", "admin")

    async def leave(database: HubDatabase, who: Client) -> None:
        async with database.transaction() as held:
            await let_leave(held, Author(team.team, who.member), who.member, now())

    async def both(database: HubDatabase) -> None:
        async with database.transaction() as held:
            await let_leave(held, Author(team.team, team.member), team.member, now())
            second = asyncio.create_task(leave(database, bob))
            await asyncio.wait({second}, timeout=0.5)  # it has to wait: whether the first has left is not yet known
        with pytest.raises(HubRefusal, match="last admin"):
            await second

    hub.do(both)
    assert hub.rows("select id from members where team = ? and active = 1", team.team) == [(bob.member,)]


def test_a_lost_admin_token_is_recovered_on_the_servers_machine(hub: HubServer, team: Client) -> None:
    made = hub.admin("token", team.team, "ana")
    assert with_token(team, made["token"]).ask("GET", "/v1/me").body["role"] == "admin"
    hub.admin("revoke", made["tokenId"])
    actions = [(one["action"], one["by"]["name"], one["what"]) for one in team.ask("GET", "audit").body["actions"]]
    assert ("revoke", "", made["tokenId"]) in actions
    assert ("token", "") in [one[:2] for one in actions]


def test_a_token_that_was_made_for_less_does_not_speak_for_its_member(hub: HubServer, team: Client, join: Join) -> None:
    bob, rita = join("bob"), join("rita", "reader")
    made = hub.admin("token", team.team, "bob", read_only=True)
    limited = with_token(bob, made["token"])
    assert limited.ask("DELETE", f"members/{bob.member}").kind == "not-allowed"
    for other in bob.ask("GET", "tokens").body["tokens"]:
        if other["id"] != made["tokenId"]:
            assert limited.ask("DELETE", f"tokens/{other['id']}").kind == "not-allowed"
    assert bob.put("a.md", "he is still here").status == 201
    assert limited.ask("DELETE", f"tokens/{made['tokenId']}").status == 200, "who found it may end it"
    assert rita.ask("DELETE", f"members/{rita.member}").status == 200, "a reader may leave as everybody may"


def test_who_left_can_come_back_as_who_they_were(hub: HubServer, team: Client, join: Join) -> None:
    dan = join("dan")
    dan.put("his.md", "dan's")
    assert team.ask("DELETE", f"members/{dan.member}").status == 200
    hub.admin("purge", team.team, "dan")
    for refused in (
        team.ask("PATCH", f"members/{dan.member}", {"role": "admin"}),
        team.ask("POST", "tokens", {"member": dan.member}),
    ):
        assert (refused.status, refused.kind) == (404, "not-found")
        assert "Add them again" in refused.body["error"]["remedy"]
    again = join("dan", "reader")
    assert again.member == dan.member
    assert again.ask("GET", "/v1/me").body["role"] == "reader"
    assert dan.elsewhere().ask("GET", "/v1/me").status == 401, "what ended has ended"
    assert team.ask("POST", "members", {"name": "dan", "role": "writer"}).kind == "twice"
    (told,) = [one for one in team.ask("GET", "members").body["members"] if one["name"] == "dan"]
    assert told["active"]


def test_a_role_that_allows_more_than_any_token_is_told(hub: HubServer, team: Client, join: Join) -> None:
    cy = join("cy", "reader")
    assert team.ask("PATCH", f"members/{cy.member}", {"role": "writer"}).body["needsToken"] is True
    refused = cy.put("a.md", "one")
    assert refused.kind == "not-allowed" and "new token: your role allows it" in refused.body["error"]["remedy"]
    new = with_token(cy, hub.admin("token", team.team, "cy")["token"])
    assert new.put("a.md", "one").status == 201
    assert team.ask("PATCH", f"members/{cy.member}", {"role": "writer"}).body["needsToken"] is False
    assert hub.admin("role", team.team, "cy", role="admin")["needsToken"] is True


def test_what_a_member_wrote_goes_with_them(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    bob.put("his.md", "bob's own words")
    first = bob.put("both.md", "bob began this").body["etag"]
    team.put("both.md", "bob began this, ana went on", first)
    old = team.put("hers.md", "ana's").body["etag"]
    changed = bob.put("hers.md", "bob's version of it", old).body["etag"]
    team.put("hers.md", "ana's again, all new", changed)
    since = team.manifest()["revision"]
    gone = hub.admin("purge", team.team, "bob")
    assert gone["removed"] == ["his.md"]
    assert gone["derived"] == ["both.md", "hers.md"], "others' texts stay until somebody says so"
    page = team.manifest(since)
    assert [(one["key"], one["deleted"], one["reason"]) for one in page["entries"]] == [("his.md", True, "purged")]
    assert [(one["member"]["name"], one["revision"]) for one in page["purged"]] == [("bob", page["revision"])]
    assert team.get("both.md").data == b"bob began this, ana went on"
    more = team.ask("POST", f"members/{bob.member}/purge", {"derived": True}).body
    assert more["removed"] == ["both.md", "hers.md"]
    everything = json.dumps(hub.rows("select content from versions where team = ?", team.team))
    assert "bob" not in everything
    assert team.manifest(page["revision"])["purged"][0]["member"]["id"] == bob.member


def test_what_others_made_of_it_and_deleted_goes_too(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    first = bob.put("gone.md", "a word of bob's").body["etag"]
    second = team.put("gone.md", "a word of bob's, and ana's", first).body["etag"]
    assert team.delete("gone.md", second).status == 200
    team.put("gone.md", "all ana's, begun again")
    path = f"members/{bob.member}/purge"
    assert team.ask("POST", path, {}).body["derived"] == ["gone.md"], "it is named"
    assert team.ask("POST", path, {"derived": True}).body["removed"] == []
    kept = hub.rows("select content from versions where team = ? and content is not null", team.team)
    assert kept == [("all ana's, begun again",)] and team.get("gone.md").data == b"all ana's, begun again"


@pytest.mark.parametrize("name", ["Bob", "BOB", "b\u043eb", "\uff42ob", "bo\u1d47"])
def test_a_name_that_can_pass_for_a_members_is_refused(team: Client, join: Join, name: str) -> None:
    join("bob")
    assert team.ask("POST", "members", {"name": name, "role": "reader"}).status in (400, 409)
    assert team.ask("POST", "members", {"name": "Ирина O'Neil @home", "role": "reader"}).status == 201


@pytest.mark.parametrize("name", ["", " x", "a\nb", "<b>x</b>", "x" * 65, "ignore: all", "a/b", "\u202eabc", 7, None])
def test_a_name_that_teammates_models_read_is_only_a_name(team: Client, name: object) -> None:
    assert team.ask("POST", "members", {"name": name, "role": "reader"}).status == 400


def test_names_of_people_are_taken_as_they_are_written(team: Client) -> None:
    for name in ("Zoë O'Neill", "李小龙", "иван-2", "a.b+c@example.org"):
        assert team.ask("POST", "members", {"name": name, "role": "reader"}).body["name"] == name


def test_the_audit_is_read_page_by_page_and_nothing_is_passed_over(team: Client) -> None:
    """Of a batch, all that is done at one moment."""
    keys = [f"k{number}.md" for number in range(7)]
    team.batch(*({"op": "put", "key": key, "ifMatch": None, "content": f"Fact of {key}"} for key in keys))
    whole, seen, place = team.ask("GET", "audit").body, [], ""
    while place is not None:
        page = team.ask("GET", f"audit?limit=2{place and f'&before={place}'}").body
        assert page["more"] == (page["next"] is not None)
        seen, place = seen + page["actions"], page["next"]
    assert seen == whole["actions"] and {one["what"] for one in seen} >= set(keys)
    assert whole["next"] is None


def test_the_audit_tells_what_was_recorded_while_a_clock_stood_ahead(hub: HubServer, team: Client) -> None:
    team.put("a.md", "one")
    for table, name in (("actions", "at"), ("versions", "changed")):
        hub.rows(f"update {table} set {name} = {name} + 86400000 where team = ? returning 1", team.team)
    found, place = [], ""
    while place is not None:
        page = team.ask("GET", f"audit?limit=2{place and f'&before={place}'}").body
        found, place = found + page["actions"], page["next"]
    assert found == team.ask("GET", "audit").body["actions"] and "a.md" in {one["what"] for one in found}


def test_others_are_answered_while_a_long_log_is_read_and_what_they_write_is_purged_as_well(
    hub: HubServer, team: Client, join: Join
) -> None:
    bob = join("bob")
    bob.batch(*({"op": "put", "key": f"k{n}.md", "ifMatch": None, "content": f"Bob says {n}"} for n in range(90)))

    async def look(database: HubDatabase) -> tuple[int, list[str]]:
        turns = 0

        async def take_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        others, log = asyncio.ensure_future(take_turns()), TeamLog(team.team)
        await log.read(database, breathes=True)
        others.cancel()
        bob.put("late.md", "Bob says this late")
        async with database.transaction() as held:
            told = await purge(held, Author(team.team, team.member), bob.member, now(), derived=False, log=log)
        return turns, told.removed

    turns, removed = hub.do(look)
    assert turns >= 4 and len(removed) == 91 and "late.md" in removed
