"""A magic doc as the built-in model keeps it: true, in place, under headings that stay (M3)."""

from __future__ import annotations

from datetime import datetime

import pytest

from memdir.model.builtin.doc_notes import answer_doc
from memdir.model.job import DocJob
from memdir.model.model import Request
from memdir.transcript.message import Message, Text, ToolResult, assistant, user

NOW = datetime(2026, 9, 21, 12).astimezone()
PATH = "/p/doc.md"
DECIDED = "We decided to use PostgreSQL 17 for the billing service because of the audit rules."
LINE = "- We decided to use PostgreSQL 17 for the billing service. Why: Because of the audit rules.\n"


def kept(body: str, *said: str | Message) -> str:
    """The document below its head after what was said; as it was where nothing was written."""
    messages = tuple(user(one, message_id=f"m{at}") if isinstance(one, str) else one for at, one in enumerate(said))
    job = DocJob(PATH, body, messages, NOW)
    asked = user("[memdir job]", is_meta=True)
    first = answer_doc(job, Request("m", messages=(asked,))).message
    read = Message("user", (ToolResult(first.tool_uses[0].id, body),))
    (answer,) = answer_doc(job, Request("m", messages=(asked, first, read))).message.content
    if isinstance(answer, Text):
        return body
    assert answer.input["content"] != body, "what says the same is not written: its own line ends would be lost"
    return str(answer.input["content"])


def test_what_was_decided_comes_under_its_heading() -> None:
    assert kept("", DECIDED) == f"\n## Decisions\n\n{LINE}"
    assert kept("\nText.\n", DECIDED) == f"\nText.\n\n## Decisions\n\n{LINE}"
    mine = "\n## decisions\n\n- We ship on Mondays.\n\n## Later\n\nMore.\n"
    assert kept(mine, DECIDED) == mine.replace("Mondays.\n", f"Mondays.\n{LINE}")
    empty = "\n## Decisions\n\n## Later\n\nMore.\n"
    assert kept(empty, DECIDED) == f"\n## Decisions\n\n{LINE}\n## Later\n\nMore.\n"


def test_what_stands_there_is_not_written_again_and_what_changed_is_changed_where_it_stands() -> None:
    once = kept("", DECIDED)
    assert kept(once, DECIDED) == once
    assert (
        kept("\nThe billing service uses PostgreSQL 17, decided because of the audit rules.\n", DECIDED).count("17")
        == 1
    )
    changed = kept(once, "We decided to use PostgreSQL 18 for the billing service.")
    assert changed == "\n## Decisions\n\n- We decided to use PostgreSQL 18 for the billing service.\n"
    limits = [f"We decided to limit uploads to {one} files." for one in (50, 80)]
    assert kept(kept("", limits[0]), limits[1]) == f"\n## Decisions\n\n- {limits[1]}\n"


LOOK = "Look at @billing.md. "
APART = {
    "names": [f"{LOOK}We decided to use {one}." for one in ("PostgreSQL", "Kafka", "Redis")],
    "versions": [f"We decided to use {one}." for one in ("PostgreSQL 18 for bills", "Kafka 4 for events", "Redis 8")],
    "one name, two uses": [f"We decided to use PostgreSQL 17 for the {one}." for one in ("audit log", "session cache")],
    "other words": [f"{LOOK}{one}" for one in ("We chose Redis.", "We are going with Postgres.")],
    "German": [f"Wir haben uns für {one} entschieden." for one in ("PostgreSQL", "Kafka")],
    "things by number": [f"We decided that gadget {one} ships in crates because of weight." for one in ("07", "11")],
    "by number in German": [f"Wir haben beschlossen, dass Gerät {one} in Kisten verschickt wird." for one in (7, 9)],
    "facts": [f"{LOOK}The {one}." for one in ("auth service listens on port 8082", "api service listens on port 8081")],
}


@pytest.mark.parametrize("said", APART.values(), ids=APART)
def test_what_is_said_of_something_else_stands_beside_what_stands_there(said: list[str]) -> None:
    body, lines = "\nInvoices are made at night.\n", []
    for one in said:
        lines.append(one.removeprefix(LOOK).partition(" because")[0].rstrip("."))
        body = kept(body, one, assistant("Understood."))
        assert [line for line in lines if f"- {line}." not in body] == []


@pytest.mark.parametrize(
    "said",
    [
        "We decided to use MySQL for the billing service instead of PostgreSQL.",
        "We switched from PostgreSQL to MySQL.",
        "We changed our mind: we decided to use MySQL for the billing service.",
        "We no longer use PostgreSQL, we use MySQL now.",
    ],
)
def test_a_decision_that_says_what_it_replaces_takes_its_place(said: str) -> None:
    after = kept(kept("", "We decided to use PostgreSQL for the billing service."), said)
    assert after.count("\n- ") == 1 and "MySQL" in after


@pytest.mark.parametrize(
    "said",
    [
        "I am a vegetarian and I like short answers.",
        "Always answer me in German, please.",
        "Should we use Redis as the queue?",
        "Fix the test in the parser, please.",
        "Thanks!",
    ],
)
def test_nothing_about_a_person_no_question_and_no_errand(said: str) -> None:
    assert kept("\nText.\n", said) == "\nText.\n"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("We decided to use MySQL 9 for billing. I like short answers.", "We decided to use MySQL 9 for billing."),
        (
            "We decided to use Kafka for events because Anna knows it. My name is Bob and I hate meetings.",
            "We decided to use Kafka for events. Why: Because Anna knows it.",
        ),
        ("Wir haben beschlossen, MySQL zu nehmen. Ich mag kurze Antworten.", "Wir haben beschlossen, MySQL zu nehmen."),
    ],
)
def test_what_a_person_says_of_themselves_beside_a_decision_is_not_in_it(said: str, line: str) -> None:
    assert kept("", said) == f"\n## Decisions\n\n- {line}\n"


def test_what_nobody_said_is_not_in_it() -> None:
    tool = Message("user", (ToolResult("t", "We decided to use Oracle for the billing service because of the price."),))
    reply = assistant("We decided to use MongoDB for the billing service because it is fast.")
    assert kept("\nText.\n", tool, reply, "Thanks!") == "\nText.\n"


def test_code_is_no_heading() -> None:
    body = "\n```\n## Decisions\n- a comment\n```\n"
    assert kept(body, DECIDED) == f"{body}\n## Decisions\n\n{LINE}"
