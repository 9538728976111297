"""What the built-in model keeps hangs on what the user says: not on the replies, nor on how many turns come at once."""

from __future__ import annotations

import asyncio

import pytest

from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.remember.turn import FinishedTurn
from memdir.store.history import Origin
from memdir.transcript.message import Message, Text
from tests.remember.conftest import Bench, topic

ENGLISH = (
    "Branch names must begin with the ticket number.",
    "Release tags are always signed and never moved.",
    "I'm a data scientist, new to Go.",
    "The merge freeze starts on 2026-12-01 because the mobile team cuts a release branch.",
    "Pipeline bugs are tracked in the Linear project INGEST.",
)
GERMAN = (
    "Bitte nie Mocks in Integrationstests verwenden, letztes Quartal ist damit eine Migration kaputtgegangen.",
    "Ich bin Datenwissenschaftlerin und neu in Go.",
    "Der Merge-Freeze beginnt am 2026-12-01, weil das Mobilteam einen Branch schneidet.",
)
REPLIES = (
    "Got it.",
    "I don't think that's a good idea.",
    "I ran the tests: 3 failed. Shall I fix them?",
    "Should I remember that?",
    "",
)


async def kept(bench: Bench, said: tuple[str, ...], reply: str, *, at_once: int) -> set[str]:
    """The bodies of what is in the store after all of it was said."""
    extraction = bench.talk(BuiltinModel()).extraction
    messages: list[Message] = []
    for number, text in enumerate(said):
        messages.append(Message("user", (Text(text),), f"u{number}"))
        answer = Message("assistant", (Text(reply or "."),), f"a{number}")
        is_due = number % at_once == at_once - 1 or number == len(said) - 1
        if is_due:
            await extraction.extract(FinishedTurn(Request("m", messages=tuple(messages)), answer))
        if is_due or reply:
            messages.append(answer)
    keys = [header.key for header in bench.store.scan(limit=None).headers]
    return {bench.store.read(key).topic.body for key in keys}


@pytest.mark.parametrize("said", [ENGLISH, GERMAN], ids=["english", "german"])
@pytest.mark.parametrize("at_once", [1, 2, len(ENGLISH)])
@pytest.mark.parametrize("reply", REPLIES)
def test_the_same_is_kept_whatever_was_replied_and_however_many_came_at_once(
    bench: Bench, said: tuple[str, ...], at_once: int, reply: str
) -> None:
    found = asyncio.run(kept(bench, said, reply, at_once=at_once))
    told = (
        ("Branch names", "Release tags", "scientist", "2026-12-01", "INGEST")
        if said is ENGLISH
        else ("Mocks", "Datenw", "2026-12-01")
    )
    assert [word for word in told if not any(word in body for body in found)] == []
    assert len(found) == len(told)  # each a memory of its own


@pytest.mark.parametrize("reply", REPLIES)
async def test_what_comes_after_a_question_of_the_assistant_s_is_kept_as_after_anything_else(
    bench: Bench, reply: str
) -> None:
    """A decision that answers nothing that was asked."""
    said = ("The board decided to close the Ghent office.", "We've decided on Keycloak for the login.")
    assert len(await kept(bench, said, reply, at_once=1)) == len(said)


async def test_an_update_of_the_built_in_model_keeps_the_rest(bench: Bench) -> None:
    """X6: the reason, the use and what was written by hand; the title follows."""
    held = (
        "Branch names begin with the ticket number.\n\n**Why:** the board links them.\n\n"
        "**How to apply:** hotfixes too.\n\n- by hand: ask Ana"
    )
    with bench.store.changing(Origin("user"), "by hand") as change:
        change.write(
            "feedback_branches.md",
            topic("Branch prefixes", held, description="Branch names begin with the ticket number").encode(),
        )
    said = "From now on branch names begin with the team name instead of the ticket number."
    await kept(bench, (said,), "OK.", at_once=1)
    found = bench.read("feedback_branches.md")
    assert all(
        text in found
        for text in ("team name", "the board links them", "hotfixes too", "ask Ana", "**Before:** Branch names")
    )
    assert "team name" in bench.read("MEMORY.md")
    await kept(bench, ("From now on release tags must always be signed, never move a release tag.",), "OK.", at_once=1)
    assert bench.read("feedback_branches.md") == found


@pytest.mark.parametrize("at_once", [1, 2])
@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            ("Maria owns the billing service.", "Tom owns the search service."),
            {"Maria owns the billing service.", "Tom owns the search service."},
        ),
        (
            ("Maria owns the billing service.", "Tom owns the billing service."),
            {"Tom owns the billing service.\n\n**Before:** Maria owns the billing service"},
        ),
    ],
)
async def test_what_is_so_of_one_person_and_another_is_told_apart_in_one_turn_or_two(
    bench: Bench, said: tuple[str, ...], found: set[str], at_once: int
) -> None:
    """X5, X6: Tom is no small word, though one of another language."""
    assert {body.strip() for body in await kept(bench, said, "Got it.", at_once=at_once)} == found
