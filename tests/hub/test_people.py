"""Members, roles, tokens, and a member who left (E7, L2)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from tests.hub.servers import Client, HubServer

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


def test_a_token_ends_when_it_is_revoked_expires_or_its_member_leaves(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    made = team.ask("POST", "tokens", {"member": bob.member}).body
    other = with_token(bob, made["token"])
    assert other.ask("GET", "/v1/me").status == 200
    assert bob.ask("DELETE", f"tokens/{made['id']}").status == 200, "one's own"
    assert other.ask("GET", "/v1/me").status in (401, 429)
    hub.rows("update tokens set expires = ? where member = ? returning id", int(time.time() * 1000) - 1, bob.member)
    until = time.monotonic() + 5
    while bob.ask("GET", "/v1/me").status == 200 and time.monotonic() < until:
        time.sleep(0.1)  # another process changed it: known within a second
    assert bob.ask("GET", "/v1/me").status in (401, 429)
    cleo = join("cleo")
    assert cleo.ask("DELETE", f"members/{cleo.member}").status == 200, "whoever wants to may leave"
    assert cleo.ask("GET", "/v1/me").status in (401, 429)
    assert [one["active"] for one in team.ask("GET", "members").body["members"] if one["name"] == "cleo"] == [False]


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


def test_a_lost_admin_token_is_recovered_on_the_servers_machine(hub: HubServer, team: Client) -> None:
    made = hub.admin("token", team.team, "ana")
    assert with_token(team, made["token"]).ask("GET", "/v1/me").body["role"] == "admin"
    hub.admin("revoke", made["tokenId"])
    actions = [(one["action"], one["by"]["name"]) for one in team.ask("GET", "audit").body["actions"]]
    assert ("token", "") in actions


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


@pytest.mark.parametrize("name", ["", " x", "a\nb", "<b>x</b>", "x" * 65, "ignore: all", "a/b", "\u202eabc", 7, None])
def test_a_name_that_teammates_models_read_is_only_a_name(team: Client, name: object) -> None:
    assert team.ask("POST", "members", {"name": name, "role": "reader"}).status == 400


def test_names_of_people_are_taken_as_they_are_written(team: Client) -> None:
    for name in ("Zoë O'Neill", "李小龙", "иван-2", "a.b+c@example.org"):
        assert team.ask("POST", "members", {"name": name, "role": "reader"}).body["name"] == name
