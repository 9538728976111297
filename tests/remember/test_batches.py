"""What the built-in model keeps hangs on what the user says: not on the replies, nor on how many turns come at once."""

from __future__ import annotations

import asyncio
import re

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


SWAPPED = [
    ("From now on deploy on Tuesday, never on Friday.", "From now on deploy on Friday, never on Tuesday."),
    ("Remember: the primary is db1, the replica is db2.", "Remember: the primary is db2, the replica is db1."),
    (
        "Remember that staging is in Ghent, production in Bern.",
        "Remember that staging is in Bern, production in Ghent.",
    ),
    ("We decided that the build server signs and Ana ships.", "We decided that Ana signs and the build server ships."),
    ("Remember that deploys need approval from Ole and Petra.", "Remember that deploys need approval from Petra only."),
    ("We decided to support Postgres, MySQL and SQLite.", "We decided to support Postgres and SQLite."),
    ("Remember: ports 7001, 7002 and 7003 are ours.", "Remember: ports 7001 and 7003 are ours."),
    ("From now on write tests before code, except for prototypes.", "From now on write tests before code."),
    ("Merk dir: Ole prüft Zahlungen, Petra prüft Suche.", "Merk dir: Petra prüft Zahlungen, Ole prüft Suche."),
]


@pytest.mark.parametrize("at_once", [1, 2])
@pytest.mark.parametrize(("first", "second"), SWAPPED)
async def test_what_is_said_in_the_words_of_a_memory_and_means_something_else_takes_its_place(
    bench: Bench, first: str, second: str, at_once: int
) -> None:
    """X6: values that changed places, less of a list, an exception more or less."""
    wish = re.compile(r"Remember(?: that|:) |Merk dir: ")
    now, before = (wish.sub("", text)[1:] for text in (second, first))
    (body,) = await kept(bench, (first, second), "Got it.", at_once=at_once)
    lead, past = body.strip().split("\n\n**Before:** ")
    assert lead[1:] == now and past[1:] in before
    assert now.rstrip(".") in bench.read("MEMORY.md")
    if at_once == 1:  # and back again: what stands under Before is said no longer
        (body,) = await kept(bench, (first,), "Got it.", at_once=1)
        assert body.strip()[1:].startswith(before)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("From now on use tabs in Go and two spaces in YAML.", "From now on use two spaces in YAML."),
        ("Remember: the demo for the board is in room 4.", "Remember: the demo is in room 4."),
        (
            "We decided that the gateway retries 3 times, because it is slow.",
            "We decided that the gateway retries 3 times.",
        ),
    ],
)
async def test_what_a_memory_says_already_changes_nothing_when_a_part_of_it_is_said_again(
    bench: Bench, first: str, second: str
) -> None:
    assert len(found := await kept(bench, (first,), "Got it.", at_once=1)) == 1
    assert await kept(bench, (second,), "Got it.", at_once=1) == found


async def test_why_a_rule_was_made_is_no_reason_of_the_one_that_takes_its_place_in_one_batch_or_two(
    bench: Bench,
) -> None:
    """X5, X6: a later turn of the same batch finds the memory that an earlier one makes as it would on disk."""
    said = (
        "From now on, sign release tags with the key of the build server, because the auditors ask for it.",
        "From now on, sign release tags with the key of Marta.",
    )
    (fast,) = await kept(bench, said, "Got it.", at_once=2)
    assert "**Why:**" not in fast.split("**Before:**")[0] and "auditors" in fast
