"""A night leaves clean Markdown behind, loses nothing, and the next night finds nothing (D3, D7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from memdir.model.builtin.dream import Night, NightFile, plan_night
from memdir.model.builtin.dream.memory_page import tokens
from memdir.model.builtin.dream.pair_features import Note, compared
from memdir.model.builtin.dream.testimony import title_of
from memdir.store.topic import Topic

NOW = datetime(2026, 6, 20, 3, 0, tzinfo=UTC)
OLD, NEW = NOW.timestamp() - 40 * 86_400, NOW.timestamp() - 3 * 86_400
# What an older memory says of a thing, and what a newer one says instead.
CHANGES = (
    ("The request timeout of the gateway is 30 s", "The request timeout of the gateway is 45 s now (was 30 s)"),
    (
        "Nothing is shown under 200 ms in the search page",
        "Nothing is shown under 150 ms in the search page now (was 200 ms)",
    ),
    (
        "Deploys of the billing service go out on Tuesday",
        "Deploys of the billing service go out on Thursday now, not Tuesday",
    ),
    ("The gateway cache holds 500 entries", "The gateway cache holds 800 entries now instead of 500 entries"),
    ("Das Zeitlimit des Gateways ist 30 s", "Das Zeitlimit des Gateways ist jetzt 45 s statt 30 s"),
    ("Le délai de la passerelle est de 30 s", "Le délai de la passerelle est maintenant de 45 s au lieu de 30 s"),
)
SHAPES = (
    "{old}.\n",
    "# {old}\n\n{old}.\n",
    "- {old}.\n- Ask Ana before a change.\n",
    "Ask Ana first; {lower}; the board is at https://b.example/7.\n",
    "{old}.\n\n**Why:** the load test of 2026-03-01.\n\n**How to apply:** tell Ana (room 7).\n",
    "{old}. Bob wrote it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "~~An old remark by hand.~~ {old}.\n",
)


def memory(name: str, description: str, body: str) -> bytes:
    return f"---\nname: {name}\ndescription: {description}\ntype: project\n---\n\n{body}".encode()


def night_after(files: list[NightFile]) -> tuple[list[NightFile], list[str]]:
    """The files after a night, and which of them it changed."""
    plan = plan_night(Night(tuple(files), (), NOW))
    edits = {edit.key: edit for edit in plan.edits}
    kept = [file for file in files if file.key not in edits]
    written = [NightFile(one.key, one.data, one.mtime or NEW) for one in plan.edits if one.data is not None]
    return [*kept, *written], sorted(edits)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("old", "new"), CHANGES, ids=[old[:24] for old, _ in CHANGES])
def test_a_night_leaves_clean_markdown_and_nothing_for_the_next(old: str, new: str, shape: str) -> None:
    body = shape.format(old=old, lower=old[:1].lower() + old[1:])
    files = [
        NightFile("project_older.md", memory(old, old, body), OLD),
        NightFile("project_newer.md", memory(new[:30], new, f"{new}.\n\n**Why:** Noor measured it.\n"), NEW),
    ]
    after, _ = night_after(files)
    topics = {file.key: Topic(file.data) for file in after if file.key != "MEMORY.md"}
    text = "\n".join(f"{topic.name}\n{topic.description}\n{topic.body}" for topic in topics.values())
    assert text.count("~~") == body.count("~~")
    assert not re.search(r"^\s*(?:[-*]|\*\*[^*]+\*\*)\s*$|\n\n\n|;\s*;|\s[.;]\s", text, re.MULTILINE), text
    assert all(not topic.problems() and topic.name for topic in topics.values())
    before = b"\n".join(Topic(file.data).data for file in files).decode()
    assert set(tokens(before)) - set(tokens("\n".join(topic.data.decode() for topic in topics.values()))) == set()
    assert night_after(after)[1] == []


def test_lines_of_one_day_are_asked_about_by_what_they_say_and_tell_their_dates_once() -> None:
    """That they were said on one day makes no two memories one subject."""
    said = (
        "[feedback] Never push to main.",
        "[project] We decided to use PostgreSQL 16 for billing.",
        "[user] My name is Ann and I am a data scientist.",
        "[project] The release is on July 5 (2026-07-05).",
        "[reference] Bugs are tracked in Linear project BILL.",
    )
    log = "".join(f"- 12:{minute:02} {line}\n" for minute, line in enumerate(said))
    plan = plan_night(Night((NightFile("logs/2026/06/2026-06-17.md", log.encode(), NEW),), (), NOW))
    topics = [Topic(edit.data) for edit in plan.edits if edit.data is not None and edit.key != "MEMORY.md"]
    assert len(topics) == len(said)
    assert not plan.asked
    assert [one.description for one in topics if "July" in one.name] == ["The release is on July 5 (2026-07-05)"]


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [("Always squash before merging.", True), ("Never push to main.", True), ("standup, nothing special", False)],
)
def test_of_lines_without_a_type_a_rule_is_kept_and_the_weather_of_the_day_is_not(line: str, is_kept: bool) -> None:
    log = NightFile("logs/2026/06/2026-06-17.md", f"- 12:00 {line}\n".encode(), NEW)
    edits = plan_night(Night((log,), (), NOW)).edits
    assert bool([edit for edit in edits if edit.key != "MEMORY.md"]) is is_kept


def test_a_long_line_of_a_log_is_kept_whole() -> None:
    """What extraction noted with its reason is no pasted message, however long it is (K3)."""
    reason = " ".join(f"reason {number} of the team" for number in range(100))
    log = f"- 12:00 [feedback] Never push to main. Why: {reason}.\n".encode()
    plan = plan_night(Night((NightFile("logs/2026/06/2026-06-17.md", log, NEW),), (), NOW))
    [topic] = [Topic(edit.data) for edit in plan.edits if edit.data is not None and edit.key != "MEMORY.md"]
    assert topic.description == "Never push to main" and "**Why:** reason 0" in topic.body and "reason 99" in topic.body


def test_what_was_corrected_reads_as_it_holds_and_says_what_was_before() -> None:
    """The title too; nothing is struck out, and what the newer one says stands in front with its day."""
    old = memory("Standup time 09:15", "The standup starts at 09:15", "The standup starts at 09:15 in room Fjord.\n")
    new = memory(
        "Standup moved",
        "The standup moved from 09:15 to 10:00",
        "Since the new shifts the standup was moved from 09:15 to 10:00, same room.\n",
    )
    after, changed = night_after([NightFile("project_a.md", old, OLD), NightFile("project_b.md", new, NEW)])
    assert "project_a.md" in changed
    [topic] = [Topic(file.data) for file in after if file.key == "project_a.md"]
    today = topic.body.partition("**Before 2026-06-17:**")
    assert today[0].lstrip().startswith("**Update 2026-06-17:**")
    assert "The standup starts at 10:00 in room Fjord." in today[0]
    assert "The standup starts at 09:15 in room Fjord." in today[2]
    assert topic.name == "Standup time 10:00"


def test_what_stands_below_a_line_of_the_index_never_comes_to_another_memory() -> None:
    """Of a memory that is there it moves into it, with what its second line says; of one that is gone it stays as
    words where nothing else tells its figures (S7)."""
    index = (
        "# Ours\n- [Board](board.md) — The board\n  - The key hangs in room 12\n"
        "- [Board](board.md) — It is cleaned by Noor\n"
        "- [Hut](hut.md) — Rented until 2026-09-30\n  - The deposit is 400 euros\n"
    )
    board = memory("Board", "The board", "The board is made of oak, see [the hut.md](hut.md).\n")
    after, _ = night_after([NightFile("MEMORY.md", index.encode(), NEW), NightFile("board.md", board, OLD)])
    texts = {file.key: file.data.decode() for file in after}
    assert texts["MEMORY.md"] == (
        "# Ours\n- [Board](board.md) — The board\n- Hut — Rented until 2026-09-30; The deposit is 400 euros\n"
    )
    told = Topic(texts["board.md"].encode()).body.split()
    expected = "The board is made of oak, see the hut. The key hangs in room 12. It is cleaned by Noor."
    assert told == expected.split()
    assert night_after(after)[1] == []


def test_a_memory_beside_the_daily_logs_is_one_like_any_other() -> None:
    """Only the days of the log are none, by the rule of the scan (S9)."""
    files = [NightFile("logs/rules.md", memory("Rules", "How logs are kept", "Logs are kept a year.\n"), OLD)]
    after, _ = night_after(files)
    [index] = [file.data.decode() for file in after if file.key == "MEMORY.md"]
    assert index == "- [Rules](logs/rules.md) — How logs are kept\n"


def test_what_is_only_likely_is_asked_and_changes_nothing() -> None:
    old, new = CHANGES[0]
    files = (
        NightFile("project_a.md", memory("Old note", old, f"{old}.\n"), OLD),
        NightFile("project_b.md", memory("New note", new, f"{new}.\n"), NEW),
    )
    plan = plan_night(Night(files, (), NOW))
    assert [(one.kind, one.older, one.newer) for one in plan.asked] == [("replaces", "project_a.md", "project_b.md")]
    assert [edit.key for edit in plan.edits if edit.key != "MEMORY.md"] == []


@pytest.mark.parametrize(
    ("old", "new", "is_asked"),
    [
        ("The staging database runs on port 5432", "The staging database runs on port 6000", True),
        ("Standup is at 9:30", "Standup is at 10:00", True),
        ("We use Node 18", "We use Node 20", True),
        ("The office is in Berlin", "The office is in New York", True),
        ("The Berlin office opens at nine", "The Paris office opens at nine", False),
        ("Invoices go to Anna", "Invoices are paid by Bob", False),
    ],
)
def test_what_a_person_wrote_again_with_another_value_is_asked(old: str, new: str, is_asked: bool) -> None:
    """As `memdir remember` writes it: a sentence, which is its name and description as well."""
    files = tuple(
        NightFile(f"project_{name}.md", memory(text, text, f"{text}.\n"), time)
        for name, text, time in (("a", old, OLD), ("b", new, NEW))
    )
    plan = plan_night(Night(files, (), NOW))
    asked = [(one.kind, one.older, one.newer) for one in plan.asked]
    assert asked == ([("replaces", "project_a.md", "project_b.md")] if is_asked else [])
    assert [edit.key for edit in plan.edits if edit.key != "MEMORY.md"] == []


def test_what_was_said_gets_a_name_without_its_speaker_and_without_half_a_bracket() -> None:
    said = "Dario: DataHub will be read-only 2025-12-10 08:00-12:00 (upgrade of the cluster)"
    assert title_of(said) == "DataHub will be read-only 2025-12-10 08:00-12:00"


def test_a_night_holds_the_same_two_memories_against_each_other_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def count(older: Note, newer: Note) -> dict[str, float]:
        seen.append((older.text, newer.text))
        return compared(older, newer)

    monkeypatch.setattr("memdir.model.builtin.dream.pair_judge.compared", count)
    bodies = [f"The gateway of {place} answers the billing service." for place in ("Porto", "Lagos", "Osaka", "Turin")]
    files = [NightFile(f"m{at}.md", memory(f"gateway {at}", body, body), NEW) for at, body in enumerate(bodies)]
    plan_night(Night(tuple(files), (), NOW))
    assert seen
    assert len(seen) == len(set(seen))
