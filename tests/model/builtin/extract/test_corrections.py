"""How people correct what is kept, through fork, gate and store: that changes, and nothing else (X6, T5)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import pytest
from evals.extract_run import run_case

from memdir.model.builtin import builtin_model
from memdir.model.builtin.extract import Existing
from memdir.model.builtin.extract_job import answer_extract
from memdir.model.job import ExtractJob, MemoryFolder
from memdir.model.model import Request
from memdir.store.kept import kept
from memdir.store.topic import Topic
from memdir.text.nearness import is_opposite
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user

from .talk import NOW, drafts, memory, messages

TABS = memory("feedback_indentation.md", "Use tabs for indentation")


def on_disk(script: str, *existing: Existing) -> dict[str, dict[str, str]]:
    """What a conversation leaves in a store that held these memories: what changed, by file."""
    case = {"now": NOW, "messages": messages(script), "existing": [asdict(one) for one in existing]}
    return {one["file"]: one for one in run_case(case, builtin_model.BuiltinModel(), "builtin")}


@pytest.mark.parametrize(
    ("old", "said", "new", "stays"),
    [
        (
            "Staging runs on port 8080. The admin page runs on port 8081.",
            "staging now runs on port 9090",
            "9090",
            "The admin page runs on port 8081.",
        ),
        (
            "Backups are kept 30 days. Logs are kept 30 days.",
            "backups are kept 90 days from now on",
            "90",
            "Logs are kept 30 days.",
        ),
        (
            "Tom owns billing. Tom owns search. Nina owns mail.",
            "Nina owns billing now, not Tom",
            "Nina owns billing",
            "Tom owns search. Nina owns mail.",
        ),
    ],
)
@pytest.mark.parametrize("is_headed", [True, False])
def test_news_of_one_thing_costs_no_other(old: str, said: str, new: str, stays: str, is_headed: bool) -> None:
    """X6: nor is the other told to be past, whether the description tells all of it or the first."""
    description = old.partition(". ")[0] if is_headed else old
    [found] = on_disk(f"u: {said}\na: OK.", memory("project_things.md", description, old)).values()
    current, _, past = found["body"].partition("**Before:**")
    assert found["action"].startswith("update") and new in current and stays in current and stays not in past
    assert old.partition(".")[0] not in current


def test_a_sentence_that_the_draft_tells_as_past_takes_its_news_with_it() -> None:
    before = "Staging runs on port 8080. The admin page runs on port 8081."
    after = "Staging now runs on port 9090.\n\n**Before:** Staging runs on port 8080."
    old, new = (Topic.compose(name="n", description="d", kind=None, body=body) for body in (before, after))
    assert kept(old, new).lines == ("The admin page runs on port 8081.",)


def test_the_reason_of_a_rule_is_no_reason_for_the_one_in_its_place() -> None:
    old = memory(
        "feedback_indentation.md", "Use tabs for indentation", "Use tabs for indentation.\n\n**Why:** Ana asks."
    )
    [found] = on_disk("u: use spaces for indentation from now on\na: OK.", old).values()
    current, _, past = found["body"].partition("**Before:**")
    assert "Use spaces for indentation" in current and "Ana" not in current and "Why: Ana asks." in past


def test_what_is_said_behind_no_is_kept() -> None:
    """A "no," denies what came before it, not what follows."""
    [found] = on_disk("u: no, use spaces for indentation from now on\na: OK.", TABS).values()
    assert found["action"].startswith("update") and found["description"] == "Use spaces for indentation from now on"
    [found] = on_disk("u: no, always answer in German\na: OK.").values()
    assert (found["type"], found["description"]) == ("feedback", "Always answer in German")
    [found] = on_disk("u: No, from now on use pnpm\na: OK.").values()
    assert found["type"] == "feedback"


@pytest.mark.parametrize("no", ["No, use tabs.", "Nein, use tabs.", "wait, no, use tabs", "No — use tabs."])
def test_a_word_set_apart_denies_nothing_that_follows(no: str) -> None:
    assert not is_opposite(no, "Use tabs.") and is_opposite(no, "Never use tabs.")
    assert is_opposite("No tabs.", "Use tabs.") and is_opposite("Never, ever use tabs.", "Use tabs.")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "we decided to drop Windows support because nobody uses it; wide tables are out too",
            "drop Windows support. ",
        ),
        (
            "we moved billing to Postgres because MySQL can't do row security; Ana owns it",
            "We moved billing to Postgres. ",
        ),
        ("wir nehmen Kafka weil Rabbit nicht reicht; die Broker stehen in Frankfurt", "ir nehmen Kafka. "),
    ],
)
def test_a_reason_that_says_no_denies_not_what_it_explains(said: str, kept: str) -> None:
    [found] = on_disk(f"u: {said}\na: OK.").values()
    assert kept in found["body"].partition("**Why:**")[0]
    assert not is_opposite(said.partition(";")[0], kept, "de" if "weil" in said else "en")


def test_what_is_denied_for_the_same_reason_is_the_opposite() -> None:
    assert is_opposite("Never use tabs because the linter fails", "Use tabs because the linter fails", "en")
    assert is_opposite("Never use tabs because the linter fails", "Use tabs", "en")
    assert is_opposite("We keep Windows", "We don't keep Windows because nobody asked", "en")


def test_a_name_that_told_the_old_rule_tells_the_new_one() -> None:
    old = Existing("feedback_tabs.md", "Use tabs for indentation", "Use tabs for indentation", "feedback", "Use tabs.")
    [found] = on_disk("u: no, use spaces for indentation from now on\na: OK.", old).values()
    assert "tabs" not in found["name"] and "tabs" not in found["description"]


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Always use tabs in this repo", "never use tabs in this repo"),
        ("Tom owns billing. Tom owns search. Nina owns mail", "Nina owns billing now, not Tom"),
        ("The admin page runs on port 8081. Staging runs on port 8080", "staging runs on port 9090"),
    ],
)
def test_what_contradicts_a_memory_is_not_known(old: str, said: str) -> None:
    kind = "feedback" if "tabs" in old else "project"
    assert [one.action for one in drafts(f"u: {said}\na: OK.", memory(f"{kind}_old.md", old))] == ["update"]


INSTRUCTIONS = """Run the tests with make test. Before a commit, format the code. Change the version by hand.
Ask in #dev for access. Use tabs."""


@pytest.mark.parametrize(
    "said", ["From now on ask me before you change a test", "From now on never use tabs", "never ask for a version"]
)
def test_words_here_and_there_in_the_instruction_file_do_not_silence_a_rule(said: str) -> None:
    assert drafts(f"u: {said}\na: OK.", instructions=INSTRUCTIONS)


@pytest.mark.parametrize("is_error", [True, False])
def test_what_was_refused_is_not_said_to_be_saved(is_error: bool) -> None:
    job = ExtractJob(2, (MemoryFolder("/m", "project", ()),), datetime.fromisoformat(NOW))
    said = (user("never use tabs"), Message("assistant", (Text("Noted."),)), user("Save what matters.", is_meta=True))
    write = Message("assistant", (ToolUse("write_0", "Write", {"file_path": "/m/a.md", "content": "x"}),))
    result = Message("user", (ToolResult("write_0", "refused", is_error=is_error),))
    answer = answer_extract(job, Request("builtin", messages=(*said, write, result)))
    assert (answer.message.text == "Saved.") is not is_error


BUDGET = memory("project_budget.md", "The budget is 5,400 euros", "The budget is 5,400 euros. Ana holds it.")


@pytest.mark.parametrize(
    ("said", "old"),
    [
        ("My mistake, the budget is 4,500 not 5,400.", BUDGET),
        ("Sorry, the budget is 4,500, not 5,400.", BUDGET),
        ("Ich hatte mich vertan: Die Gruppe trifft sich im Saal B, nicht im Saal A.",
         memory("project_gruppe.md", "Die Gruppe trifft sich im Saal A")),
        ("Foutje van mij: het is zaal 3, niet zaal 4.", memory("project_koor.md", "Het koor repeteert in zaal 4")),
    ],
)  # fmt: skip
def test_who_names_the_old_value_corrects_the_memory_that_has_it(said: str, old: Existing) -> None:
    other = memory("project_hall.md", "The hall is closed on Mondays")
    [found] = on_disk(f"u: {said}\na: OK.", other, old).values()
    assert found["action"] == f"update:{old.file}"
    assert ("Ana holds it." in found["body"]) == (old is BUDGET)


POSTGRES = memory(
    "project_billing.md",
    "We use PostgreSQL 15 for billing",
    "We use PostgreSQL 15 for billing.\n\n**Why:** Because the audit needs row security.",
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("no wait, actually it's PostgreSQL 16, not 15", ""),
        ("sorry, I meant PostgreSQL 16 for billing, not 15", "PostgreSQL 16 for billing, not 15"),
        ("Correction: we use PostgreSQL 16 for billing", "We use PostgreSQL 16 for billing"),
        ("Entschuldigung, ich meinte PostgreSQL 16, nicht 15", "PostgreSQL 16, nicht 15"),
        ("pardon, je voulais dire PostgreSQL 16, pas 15", "PostgreSQL 16, pas 15"),
    ],
)
def test_a_correction_is_taken_however_it_begins_and_without_what_says_that_it_is_one(said: str, told: str) -> None:
    [found] = on_disk(f"u: {said}\na: OK.", POSTGRES).values()
    assert found["action"] == "update:project_billing.md" and "PostgreSQL 16" in found["description"]
    assert not told or found["description"] == told
    assert "**Before:** We use PostgreSQL 15 for billing" in found["body"]


@pytest.mark.parametrize("said", ["We give 14 days, not 30.", "I said blue, not green."])
def test_a_value_that_a_memory_of_something_else_has_corrects_nothing(said: str) -> None:
    others = (memory("project_backups.md", "Backups are kept 30 days"), memory("project_door.md", "The door is green"))
    assert not any(one.action == "update" for one in drafts(f"u: {said}\na: OK.", *others))


@pytest.mark.parametrize(
    ("said", "old"),
    [
        ("Forget what I said about emojis, I like them now.", "feedback_emojis.md: Never use emojis in client emails"),
        ("Please delete what you know about my knee surgery.", "user_knee.md: Knee surgery on 2026-06-03"),
    ],
)
def test_what_is_taken_back_by_its_subject_goes(said: str, old: str) -> None:
    file, _, text = old.partition(": ")
    assert [one.action for one in drafts(f"u: {said}\na: OK.", memory(file, text))] == ["delete"]
