"""docs/reference/hub.md is the contract: every path of the server is in it, and every answer is as it says (E7)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memdir.hub.app import HubApp
from memdir.hub.bounds import MAX_SMALL_BYTES
from memdir.hub.hub_database import SQL, open_database
from memdir.hub.hub_state import Hub
from tests.hub.servers import Answer, Client, HubServer

PAGE = (Path(__file__).parents[2] / "docs/reference/hub.md").read_text(encoding="utf-8")
SPEC: dict[str, Any] = json.loads(PAGE.split("```json\n")[1].split("```")[0])
ANY = {400, 401, 403, 404, 405, 429, 431, 503}
OF_A_BODY = {408, 413}
Join = Callable[..., Client]


def conforms(answer: Answer, method: str, path: str) -> Answer:
    """The answer, if the contract knows it."""
    operation = SPEC["paths"][path][method.lower()]
    told, others = operation["responses"], ANY | (OF_A_BODY if "requestBody" in operation else set())
    assert str(answer.status) in told or answer.status in others, f"{method} {path} answered {answer.status}"
    found = told.get(str(answer.status), {"$ref": f"#/components/responses/{answer.status}"})
    if "$ref" in found:
        found = SPEC["components"]["responses"][found["$ref"].rpartition("/")[2]]
    for kind in found.get("content", {}).values():
        schema = {**kind["schema"], "components": SPEC["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.body)
    return answer


def test_the_server_and_the_contract_name_the_same_paths(tmp_path: Path) -> None:
    app = HubApp(Hub(open_database(str(tmp_path / "hub.sqlite3"))))
    served = {
        (re.sub(r":\w+\}", "}", route.path), method)
        for route in app.routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served == {(path, method.upper()) for path, methods in SPEC["paths"].items() for method in methods}


def test_every_kind_of_error_has_a_row() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path("src/memdir/hub").glob("*.py"))
    kinds = set(re.findall(r'HubRefusal\(\s*\d{3}, "([a-z-]+)"', source))
    rows = set(re.findall(r"`([a-z-]+)`", "\n".join(re.findall(r"^\| \d{3}.*", PAGE, re.MULTILINE))))
    assert len(kinds) > 12 and kinds <= rows


def test_the_schemas_are_schemas() -> None:
    for schema in SPEC["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_path_answers_as_the_contract_says(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    asked: set[tuple[str, str]] = set()

    def ask(method: str, path: str, body: object = None, /, who: Client = team, **headers: str) -> Answer:
        shape = path.partition("?")[0]
        for name, value in {"member": bob.member, "key": "a.md", **ids}.items():
            shape = shape.replace(f"/{value}", f"/{{{name}}}")
        full = shape if path.startswith("/") else f"/v1/teams/{{team}}/{shape}"
        asked.add((full, method))
        return conforms(who.ask(method, path, body, **headers), method, full)

    ids: dict[str, str] = {}
    assert ask("GET", "/health").status == ask("GET", "/ready").status == ask("GET", "/v1/me").status == 200
    assert ask("GET", "/metrics").status == 403
    etag = ask("PUT", "entries/a.md", b"one", If_None_Match="*").body["etag"]
    assert ask("GET", "entries/a.md").status == 200
    assert ask("PUT", "entries/a.md", b"two", If_None_Match="*").status == 412
    assert ask("PUT", "entries/a.md", b"two").status == 428
    assert ask("GET", "entries?since=0&content=1").status == 200
    put = {"op": "put", "key": "b.md", "content": "x", "ifMatch": None}
    assert ask("POST", "batch", {"changes": [put, {**put, "key": "../c.md"}]}).status == 200
    assert ask("GET", "changes?since=0&wait=1").status == 200
    assert ask("GET", "versions").status == 200
    ids["revision"] = "1"
    assert ask("GET", "versions/1").status == 200
    assert ask("POST", "versions/1/redact").status == 409
    assert ask("DELETE", "entries/a.md", If_Match=f'"{etag}"').status == 200
    assert ask("GET", "entries/a.md").status == 410
    assert ask("GET", "entries?since=1").status == 200
    assert ask("POST", "versions/1/redact").status == 200
    assert ask("GET", "versions").status == 200
    assert ask("GET", "members").status == 200
    assert ask("POST", "members", {"name": "cleo", "role": "reader"}).status == 201
    assert ask("PATCH", f"members/{bob.member}", {"role": "reader"}).status == 200
    ids["token"] = ask("POST", "tokens", {"member": bob.member}).body["id"]
    assert ask("GET", "tokens").status == 200
    assert ask("DELETE", f"tokens/{ids['token']}").status == 200
    assert ask("POST", f"members/{bob.member}/purge", {}).status == 200
    assert ask("DELETE", f"members/{bob.member}").status == 200
    assert ask("GET", "audit").status == 200
    assert ask("POST", "jobs", {"kind": "dream"}).status == 201
    assert ask("GET", "jobs").status == 200
    assert ask("GET", "proposals").status == 200
    ids["proposal"] = "999999999"
    assert ask("POST", "proposals/999999999", {"decision": "accept"}).status == 404
    assert ask("GET", "/v1/me", who=bob.elsewhere()).status == 401
    assert ask("POST", "members", {"name": "x" * MAX_SMALL_BYTES}).status == 413
    assert ask("POST", "batch", {"changes": [{"op": "put", "key": "c.md", "content": "x"}]}).status == 428
    ids["key"] = "MEMORY.md"
    assert ask("DELETE", "entries/MEMORY.md", If_Match=f'"{etag}"').status == 422
    assert ask("GET", "versions?key=MEMORY.md").status == 422
    hub.rows("delete from jobs where team = ? returning id", team.team)
    assert asked == {(path, method.upper()) for path, methods in SPEC["paths"].items() for method in methods}


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_what_a_path_does_not_offer_is_named(team: Client, method: str) -> None:
    refused = team.ask(method, "/health")
    assert (refused.status, refused.kind, refused.headers["allow"]) == (405, "method", "GET, HEAD")


def test_every_statement_is_asked_and_tells_whose_team_it_is_about() -> None:
    """No team sees another's: whatever reads or changes what a team has names the team."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path("src/memdir/hub").glob("*.py"))
    assert [name for name in SQL if f'"{name}"' not in source] == []
    of_teams = re.compile(r"\b(?:from|join|update|into) (?:entries|versions|proposals|members|actions)\b")
    named = re.compile(r"\bteam = (?:\?|asked\.\w+)|\binto \w+ \(team\b")
    of_all = {"last_change", "members_active", "versions_pruned", "teams_changed"}  # on the server itself
    of_all |= {"token_found"}  # which tells the team
    assert {name for name, text in SQL.items() if of_teams.search(text) and not named.search(text)} == of_all
