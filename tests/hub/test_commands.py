"""`memdir hub admin` as docs/how-to/hub.md shows it, on the server's own machine and without a token."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.hub.hub_commands import TAKES
from tests.conftest import Ran

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
        words = [token if word == "k_0123456789ab" else word for word in line.split()]
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
        (("role", "acme"), "takes TEAM MEMBER"),
        (("teams", "acme"), "takes no name"),
        (("add-member", "acme", "a\nb"), "a name is up to"),
        (("revoke", "k_000000000000"), "no such token"),
        (("drop",), "invalid choice"),
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


def test_every_action_has_its_function() -> None:
    from memdir.hub.admin import ACTIONS

    assert TAKES.keys() == ACTIONS.keys()
