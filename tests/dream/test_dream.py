"""A dream is a transaction (D3–D7)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memdir.dream.dream import MAX_LISTED, Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.dream.dream_check import all_facts, facts_of, missing_from
from memdir.dream.gates import last_dream, take_dream_lock
from memdir.errors import BudgetReached, ModelError
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Reply, Request, ScriptedModel, Step, calls, says
from memdir.prompts.compose import load_prompt
from memdir.store.history import Origin
from memdir.store.index import MAX_LINES
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.store.undo import undo
from tests.conftest import NOW, Clock, Events
from tests.remember.conftest import topic

ONE = topic(
    "Tests", "Integration tests use PostgreSQL 16, never a mock.\n\n**Why:** the incident of 2026-03-02.", "feedback"
)
TWO = topic("Testing", "No mocks of the database in tests; see https://wiki.example/db.", "feedback")
BOTH = topic(
    "Tests",
    "Integration tests use PostgreSQL 16, never a mock; see https://wiki.example/db.\n\n"
    "**Why:** the incident of 2026-03-02.",
    "feedback",
)
PARENT = Request("scripted")


@pytest.fixture
def root(store: MemoryStore) -> Path:
    store.ensure()
    folder = Path(store.root)
    (folder / "tests.md").write_text(ONE)
    (folder / "testing.md").write_text(TWO)
    (folder / "MEMORY.md").write_text("- [Tests](tests.md)\n- [Testing](testing.md)\n")
    store.record_outside_changes()
    return folder


def merges(root: Path) -> list[Step]:
    """The script of a good dream."""
    return [
        calls(*(("Read", {"file_path": str(root / name)}) for name in ("tests.md", "testing.md", "MEMORY.md"))),
        calls(
            ("Write", {"file_path": str(root / "tests.md"), "content": BOTH}),
            ("Write", {"file_path": str(root / "testing.md"), "content": "<!-- delete: merged; source: tests.md -->"}),
            (
                "Edit",
                {"file_path": str(root / "MEMORY.md"), "old_string": "- [Testing](testing.md)\n", "new_string": ""},
            ),
        ),
        says("Merged two memories about tests."),
    ]


Dream = Callable[..., "DreamReport | NotDreamt"]


@pytest.fixture
def dream(store: MemoryStore, events: Events, clock: Clock, tmp_path: Path, project: Path) -> Dream:
    def run(
        steps: list[Step], *, is_dry: bool = False, task: DreamTask | None = None, stores: tuple[MemoryStore, ...] = ()
    ) -> DreamReport | NotDreamt:
        said = {"type": "user", "uuid": "m1", "sessionId": "session-1", "timestamp": "2026-09-20T10:00:00Z"}
        record = {**said, "message": {"role": "user", "content": "For the record: we deploy on Tuesdays only."}}
        with (tmp_path / "session-1.jsonl").open("a") as transcript:
            transcript.write(json.dumps(record) + "\n")
        plan = DreamPlan(stores or (store,), str(project), str(tmp_path), ("session-1",))
        dreamer = Dreamer(plan, ScriptedModel(steps), events, clock)
        return asyncio.run(dreamer.dream(PARENT, task or DreamTask(1), is_dry=is_dry))

    return run


def test_a_dream_is_one_change_set_with_its_reasons_and_one_undo_takes_it_back(
    dream: Dream, root: Path, store: MemoryStore, clock: Clock, events: Events
) -> None:
    before = {path.name: path.read_bytes() for path in root.glob("*.md")}
    report = dream(merges(root))
    assert isinstance(report, DreamReport)
    assert {path.name: path.read_text() for path in root.glob("*.md")} == {
        "tests.md": BOTH,
        "MEMORY.md": "- [Tests](tests.md)\n",
    }
    commit = store.history.log()[0]
    assert commit.source == "dream"
    assert commit.trailers["Deleted"] == "testing.md: merged; source: tests.md"
    assert commit.trailers["Derived"] == "tests.md < testing.md"
    assert last_dream(str(root), clock.now) == clock.now
    assert events.names[-1] == "memory.dream"
    assert events.events[-1].fields["prompt_hash"] == load_prompt("dream/consolidate.md").hash
    undo(store)
    assert {path.name: path.read_bytes() for path in root.glob("*.md")} == before


def test_the_calls_of_a_reply_that_broke_off_are_not_run(dream: Dream, root: Path, clock: Clock) -> None:
    """D5: half a file is no memory, and the night comes again."""
    before = {path.name: path.read_bytes() for path in root.glob("*.md")}
    read, write, done = merges(root)
    assert isinstance(write, Reply)
    outcome = dream([read, replace(write, stop_reason="max_tokens"), done])
    assert isinstance(outcome, NotDreamt) and "max_tokens" in outcome.reason
    assert {path.name: path.read_bytes() for path in root.glob("*.md")} == before
    assert last_dream(str(root), clock.now) is None


@pytest.mark.parametrize(
    "prose",
    [
        "I should write tests.md with the merged text and delete the other.",
        "Both files are about tests and could become one.",
    ],
)
def test_prose_where_calls_were_due_is_answered_once(dream: Dream, root: Path, prose: str) -> None:
    report = dream([says(prose), *merges(root)])
    assert isinstance(report, DreamReport) and (root / "tests.md").read_text() == BOTH


def test_a_dry_run_shows_the_change_and_makes_none(dream: Dream, root: Path, clock: Clock) -> None:
    report = dream(merges(root), is_dry=True)
    assert isinstance(report, DreamReport)
    assert {draft.key for draft in report.written} == {"tests.md", "testing.md", "MEMORY.md"}
    assert (root / "testing.md").read_text() == TWO
    assert last_dream(str(root), clock.now) is None


def test_text_of_low_trust_gains_none_by_merging(dream: Dream, root: Path, store: MemoryStore) -> None:
    """L1: the merged memory is marked with the lowest trust of its sources."""
    (root / "testing.md").write_text(TWO.replace("type:", "trust: tool\ntype:"))
    assert isinstance(dream(merges(root)), DreamReport)
    assert store.read("tests.md").topic.fields["trust"] == "tool"


def test_a_dream_cannot_take_the_mark_of_low_trust_off(dream: Dream, root: Path, store: MemoryStore) -> None:
    (root / "tests.md").write_text(ONE.replace("type:", "trust: web\ntype:"))
    path = str(root / "tests.md")
    told = dream(
        [calls(("Read", {"file_path": path})), calls(("Write", {"file_path": path, "content": ONE})), says("-")]
    )
    assert isinstance(told, DreamReport)
    assert store.read("tests.md").topic.fields["trust"] == "web"


@pytest.mark.parametrize(
    "words",
    ["Database mocks are not used in tests.", "In Tests werden keine Mocks der Datenbank verwendet."],
    ids=["paraphrased", "translated"],
)
def test_a_dream_cannot_launder_low_trust_by_other_words(
    dream: Dream, root: Path, store: MemoryStore, words: str
) -> None:
    """L1: a rule of a page, told again in a new file, stays a page's."""
    (root / "testing.md").write_text(TWO.replace("type:", "trust: web\ntype:"))
    write = {"file_path": str(root / "mocks.md"), "content": topic("Mocks", words, "feedback")}
    assert isinstance(dream([calls(("Write", write)), says("-")]), DreamReport)
    assert store.read("mocks.md").topic.fields["trust"] == "web"


SECRET = "ghp" + "_" + secrets.token_hex(18)
NEW = topic("Deploys", "We deploy on Tuesdays only.", "project")


@pytest.mark.parametrize("case", ["no reason", "pinned", "secret", "secret in the index"])
def test_what_a_dream_may_not_do_is_answered_at_the_write_and_costs_no_other_file(
    dream: Dream, root: Path, case: str
) -> None:
    heard: list[str] = []
    bad = {
        "no reason": ("testing.md", "<!-- delete -->"),
        "pinned": ("tests.md", BOTH),
        "secret in the index": ("MEMORY.md", f"- [Tests](tests.md) — {SECRET}\n"),
        "secret": ("tests.md", f"{BOTH}The token is {SECRET}"),
    }[case]
    if case == "pinned":
        (root / "tests.md").write_text(ONE.replace("type:", "pinned: true\ntype:"))
    before = (root / bad[0]).read_bytes()

    def listens(request: Request) -> Reply:
        heard.extend(result.content for result in request.messages[-1].tool_results if result.is_error)
        return says("Done.")

    reads = calls(*(("Read", {"file_path": str(root / name)}) for name in ("tests.md", "testing.md", "MEMORY.md")))
    writes = calls(
        *(
            ("Write", {"file_path": str(root / name), "content": text})
            for name, text in (bad, ("project_deploys.md", NEW))
        )
    )
    outcome = dream([reads, writes, listens])
    assert isinstance(outcome, DreamReport)
    assert len(heard) == len(outcome.refused) == 1 and SECRET not in heard[0]
    assert (root / "project_deploys.md").read_text() == NEW
    assert bad[0] == "MEMORY.md" or (root / bad[0]).read_bytes() == before
    assert SECRET not in (root / "MEMORY.md").read_text()


def test_a_deletion_that_loses_something_after_all_is_given_up_and_kept_for_inspection_and_the_others_written(
    dream: Dream, root: Path
) -> None:
    """What had taken it in was written over later."""
    wipe = "<!-- delete: tidy -->"
    reads = calls(*(("Read", {"file_path": str(root / name)}) for name in ("tests.md", "testing.md")))
    files = (("project_deploys.md", TWO), ("testing.md", wipe), ("project_deploys.md", NEW))
    writes = calls(*(("Write", {"file_path": str(root / name), "content": text}) for name, text in files))
    dry = dream([reads, writes, says("Done.")], is_dry=True)
    assert isinstance(dry, DreamReport) and dry.kept == "" and not list(root.parent.rglob("refused-dreams"))
    outcome = dream([reads, writes, says("Done.")])
    assert isinstance(outcome, DreamReport)
    assert sorted(os.listdir(outcome.kept)) == ["testing.md"]
    assert (root / "testing.md").read_text() == TWO and (root / "tests.md").read_text() == ONE
    assert (root / "project_deploys.md").read_text() == NEW
    assert "(tests.md)" in (root / "MEMORY.md").read_text()


def test_a_dream_of_which_nothing_is_left_is_none(dream: Dream, root: Path, clock: Clock) -> None:
    wipe = "<!-- delete: tidy -->"
    reads = calls(*(("Read", {"file_path": str(root / name)}) for name in ("tests.md", "testing.md")))
    files = ("tests.md", "testing.md")
    writes = calls(*(("Write", {"file_path": str(root / name), "content": wipe}) for name in files))
    outcome = dream([reads, writes, says("Done.")])
    assert isinstance(outcome, NotDreamt)
    assert "stands in no other memory" in outcome.reason
    assert (root / "testing.md").read_text() == TWO
    assert last_dream(str(root), clock.now) is None, "the next session may try again"


RULES = {
    "feedback_mocks.md": "Never mock the database because the migration broke.",
    "feedback_reviews.md": "Ask before you push to somebody else's branch.",
    "feedback_tone.md": "Keine langen Einleitungen, komm gleich zur Sache.",
}


@pytest.mark.parametrize("reason", ["tidy", "merged; source: tests.md", "superseded by the session of yesterday"])
def test_a_rule_without_names_or_numbers_is_not_deleted_when_it_stands_nowhere_else(
    dream: Dream, root: Path, reason: str
) -> None:
    """D7: whatever the reason claims; and the model hears of it."""
    for name, body in RULES.items():
        (root / name).write_text(topic(name[:-3], body))
    heard: list[str] = []

    def listens(request: Request) -> Reply:
        heard.extend(result.content for result in request.messages[-1].tool_results if result.is_error)
        return says("Tidied up.")

    reads = calls(*(("Read", {"file_path": str(root / name)}) for name in RULES))
    wipe = f"<!-- delete: {reason} -->"
    writes = calls(*(("Write", {"file_path": str(root / name), "content": wipe}) for name in RULES))
    assert isinstance(dream([reads, writes, listens]), NotDreamt)
    assert len(heard) == 3 and all("stands in no other memory" in one for one in heard)
    assert {name: (root / name).read_text() for name in RULES} == {
        name: topic(name[:-3], body) for name, body in RULES.items()
    }


@pytest.mark.parametrize(
    ("other", "is_deleted"),
    [
        ("In tests, never mock the database, because the migration broke.", True),
        ("Never use fakes for the database; the migration broke because of that.", True),
        ("Never mock the payment gateway because the migration broke.", False),
        ("The migration broke.", False),
    ],
)
def test_what_stands_in_another_memory_in_nearly_the_same_words_may_be_deleted(
    dream: Dream, root: Path, other: str, is_deleted: bool
) -> None:
    (root / "feedback_mocks.md").write_text(topic("Mocks", RULES["feedback_mocks.md"]))
    (root / "feedback_other.md").write_text(topic("Other", other, description="a rule"))
    wipe = {"file_path": str(root / "feedback_mocks.md"), "content": "<!-- delete: said twice -->"}
    dream([calls(("Read", {"file_path": wipe["file_path"]})), calls(("Write", wipe)), says("Done.")])
    assert (root / "feedback_mocks.md").exists() is not is_deleted


def test_what_the_user_ended_since_may_be_deleted(dream: Dream, root: Path, store: MemoryStore, tmp_path: Path) -> None:
    """The reason is looked up in the sessions."""
    (root / "project_freeze.md").write_text(topic("Freeze", "No merges before the release.", "project"))
    store.record_outside_changes()
    said = "The freeze is over: no merges before the release no longer holds."
    line = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "session-1",
        "timestamp": datetime.fromtimestamp(NOW + 60, UTC).isoformat(),
        "message": {"role": "user", "content": said},
    }
    wipe = {"file_path": str(root / "project_freeze.md"), "content": "<!-- delete: the freeze is over -->"}
    script: list[Step] = [calls(("Read", {"file_path": wipe["file_path"]})), calls(("Write", wipe)), says("Done.")]
    assert isinstance(dream(script), NotDreamt)
    (tmp_path / "session-1.jsonl").write_text(json.dumps(line) + "\n")
    assert isinstance(dream(script), DreamReport)
    assert not (root / "project_freeze.md").exists()


def test_at_the_turn_limit_a_dream_keeps_what_loses_nothing(dream: Dream, root: Path) -> None:
    """What it had deleted and not yet written elsewhere stays."""
    steps: list[Step] = [
        calls(*(("Read", {"file_path": str(root / name)}) for name in ("tests.md", "testing.md"))),
        calls(
            ("Write", {"file_path": str(root / "testing.md"), "content": "<!-- delete: merged; source: tests.md -->"}),
            ("Write", {"file_path": str(root / "project_deploys.md"), "content": NEW}),
        ),
        *[calls(("Glob", {"pattern": "*"}))] * 99,
    ]
    outcome = dream(steps)
    assert isinstance(outcome, DreamReport)
    assert (root / "testing.md").read_text() == TWO
    assert (root / "project_deploys.md").read_text() == NEW


@pytest.mark.parametrize(
    "steps",
    [
        [ModelError("down", kind="overloaded")],
        [calls(("Glob", {"pattern": "*"}))] * 100,
        [says("")],
        [calls(("Nonsense", {}), ("Write", {"file_path": 7})), says("garbage")],
    ],
    ids=["fails", "never ends", "says nothing", "garbage"],
)
def test_a_bad_model_changes_nothing(dream: Dream, root: Path, steps: list[Step]) -> None:
    before = {path.name: path.read_bytes() for path in root.iterdir() if path.suffix == ".md"}
    dream(steps)
    assert {path.name: path.read_bytes() for path in root.iterdir() if path.suffix == ".md"} == before


@pytest.mark.parametrize(
    "who", [("person",), ("extraction",), ("pull",), ("person", "extraction", "pull")], ids="+".join
)
def test_what_others_do_during_the_dream_survives(
    dream: Dream, root: Path, store: MemoryStore, who: tuple[str, ...]
) -> None:
    """D7: each alone and all at once. A person's text wins; the rest is merged."""
    script = merges(root)

    def meanwhile(request: Request) -> Reply:
        if "person" in who:
            (root / "testing.md").write_text(TWO + "\nA person's late addition.\n")
        if "extraction" in who:
            add_memory(store, "Extracted meanwhile", kind=None, origin=Origin("extract"))
        if "pull" in who:
            team = MemoryStore(store.place.team(), scope="team")
            add_memory(team, "Pulled meanwhile", kind=None, origin=Origin("team"))
        return script[2]  # type: ignore[return-value]

    report = dream([script[0], script[1], meanwhile])
    assert isinstance(report, DreamReport)
    assert report.kept_theirs == (("testing.md",) if "person" in who else ())
    assert (root / "tests.md").read_text() == BOTH, "the rest of the dream is written"
    assert (root / "testing.md").exists() is ("person" in who)
    if "person" in who:
        assert "A person's late addition." in (root / "testing.md").read_text()
        assert "(testing.md)" in (root / "MEMORY.md").read_text(), "and its line in the index"
    if "extraction" in who:
        assert (root / "extracted_meanwhile.md").exists()
        assert "(extracted_meanwhile.md)" in (root / "MEMORY.md").read_text()
    if "pull" in who:
        assert (root / "team" / "pulled_meanwhile.md").exists()
        assert "(pulled_meanwhile.md)" in (root / "team" / "MEMORY.md").read_text()


def test_what_was_meant_for_a_file_that_a_person_changed_is_not_deleted(
    dream: Dream, root: Path, store: MemoryStore
) -> None:
    """D7: the merge is not written, so its source must stay, with its line in the index."""
    script = merges(root)

    def meanwhile(request: Request) -> Reply:
        (root / "tests.md").write_text(ONE.replace("PostgreSQL 16, never a mock.", "PostgreSQL 17 only."))
        return script[2]  # type: ignore[return-value]

    report = dream([script[0], script[1], meanwhile])
    assert isinstance(report, DreamReport)
    assert report.kept_theirs == ("tests.md",)
    assert "PostgreSQL 17 only." in (root / "tests.md").read_text()
    assert (root / "testing.md").read_text() == TWO
    assert (root / "MEMORY.md").read_text().count("(testing.md)") == 1
    assert not any("Derived" in commit.trailers for commit in store.history.log()), "nothing was made from anything"


def test_a_person_and_the_dream_may_change_different_lines_of_one_file(dream: Dream, root: Path) -> None:
    """D7: three-way, file by file."""
    script = merges(root)

    def meanwhile(request: Request) -> Reply:
        (root / "tests.md").write_text(ONE + "\nAsk Marek first.\n")
        return script[2]  # type: ignore[return-value]

    assert isinstance(dream([script[0], script[1], meanwhile]), DreamReport)
    text = (root / "tests.md").read_text()
    assert "Ask Marek first." in text
    assert "https://wiki.example/db" in text


def test_a_second_dream_steps_back_while_one_runs(dream: Dream, root: Path, store: MemoryStore, clock: Clock) -> None:
    lock = take_dream_lock(str(root), guard=store.place.lock, now=clock.now)
    assert lock is not None
    assert dream([]) == NotDreamt("another dream is running")
    lock.give_up()


def test_an_owner_that_lost_the_lock_writes_nothing(dream: Dream, root: Path, store: MemoryStore, clock: Clock) -> None:
    script = merges(root)

    def robbed(request: Request) -> Reply:
        thief = take_dream_lock(str(root), guard=store.place.lock, now=clock.now + 7200)
        assert thief is not None
        thief.done(clock.now, "theirs")
        return script[2]  # type: ignore[return-value]

    outcome = dream([script[0], script[1], robbed])
    assert isinstance(outcome, NotDreamt)
    assert "lost" in outcome.reason
    assert (root / "testing.md").read_text() == TWO
    assert last_dream(str(root), clock.now) == clock.now, "the thief's time stays"


def test_a_dream_can_be_watched_and_stopped(dream: Dream, root: Path, clock: Clock) -> None:
    """D5."""
    seen: list[tuple[str, int, int]] = []
    task = DreamTask(3, on_change=lambda task: seen.append((task.phase, task.turns, len(task.files))))
    dream(merges(root), task=task)
    assert [phase for phase, _, _ in seen] == ["starting", "updating", "updating", "done"]
    assert seen[-1][2] == 3
    stopped = DreamTask(1)
    script = [calls(("Glob", {"pattern": "*"}))] * 9
    stopped.on_change = lambda task: task.kill()
    outcome = dream(script, task=stopped)
    assert isinstance(outcome, NotDreamt)
    assert stopped.phase == "stopped"


def test_a_model_that_never_answers_is_stopped_and_the_lock_given_back(
    store: MemoryStore, events: Events, clock: Clock, root: Path, tmp_path: Path, project: Path
) -> None:
    """D2, D7: the next session may try again."""

    class Silent(ScriptedModel):
        async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    plan = DreamPlan((store,), str(project), str(tmp_path), (), max_seconds=0.05)
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    outcome = asyncio.run(Dreamer(plan, Silent([]), events, clock).dream(PARENT, DreamTask(1)))
    assert isinstance(outcome, NotDreamt)
    assert "took too long" in outcome.reason
    assert {path.name: path.read_bytes() for path in root.iterdir()} == before
    assert take_dream_lock(str(root), guard=store.place.lock, now=clock.now) is not None


def test_a_dream_at_the_day_s_cap_waits_for_no_budget_and_changes_nothing(
    store: MemoryStore, events: Events, clock: Clock, root: Path, tmp_path: Path, project: Path
) -> None:
    """B2."""
    before = {path.name: path.read_bytes() for path in root.iterdir()}

    class Capped(ScriptedModel):
        async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
            raise BudgetReached("today's tokens for background work are spent", resumes_at=clock.now + 86_400)

    plan = DreamPlan((store,), str(project), str(tmp_path), ())
    outcome = asyncio.run(Dreamer(plan, Capped([]), events, clock).dream(PARENT, DreamTask(1)))
    assert isinstance(outcome, NotDreamt)
    assert "spent" in outcome.reason
    assert {path.name: path.read_bytes() for path in root.iterdir()} == before


def test_private_and_team_change_together(dream: Dream, root: Path, store: MemoryStore) -> None:
    team = MemoryStore(store.place.team(), scope="team")
    team.ensure()
    path = Path(team.root, "rule.md")
    script: list[Step] = [
        calls(("Read", {"file_path": str(root / "testing.md")}), ("Read", {"file_path": str(root / "tests.md")})),
        calls(
            ("Write", {"file_path": str(path), "content": TWO}),
            (
                "Write",
                {"file_path": str(root / "testing.md"), "content": "<!-- delete: moved; source: team/rule.md -->"},
            ),
        ),
        says("Moved."),
    ]
    assert isinstance(dream(script, stores=(store, team)), DreamReport)
    commit = store.history.log()[0]
    assert {file.path for file in commit.files} == {"MEMORY.md", "team/MEMORY.md", "team/rule.md", "testing.md"}


def test_the_job_has_four_phases_the_sessions_and_the_limits(dream: Dream, root: Path, store: MemoryStore) -> None:
    """D3."""
    model_saw: list[str] = []

    def look(request: Request) -> Reply:
        model_saw.append(request.messages[-1].text)
        return says("-")

    dream([look])
    [job] = model_saw
    assert job.startswith("[memdir job: dream]")
    for words in ("Phase 1", "Phase 2", "Phase 3", "Phase 4", "session-1", "200 lines", "25,000", "tests.md", "pinned"):
        assert words in job


def test_without_the_extra_the_job_tells_of_no_bash(dream: Dream, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G4: a turn would be lost on a call that is refused."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    model_saw: list[str] = []

    def look(request: Request) -> Reply:
        model_saw.append(request.messages[-1].text)
        return says("-")

    dream([look])
    assert "Read, Grep and Glob are allowed.\n" in model_saw[0] and "Bash" not in model_saw[0]


def test_facts_are_what_cannot_be_put_in_other_words() -> None:
    facts = facts_of(ONE.encode())
    assert {"postgresql", "16", "2026-03-02"} <= facts
    both = all_facts([ONE.encode(), TWO.encode()])
    assert missing_from(both, [BOTH.encode()]) == frozenset()
    assert missing_from(both, [b"---\nname: x\n---\nnothing"]) == both
    assert "thursday" not in facts_of(topic("Freeze", "It starts next Thursday.").encode()), "a date may stand for it"
    assert "montag" not in facts_of(topic("Freeze", "Er beginnt am Montag.").encode()), "in every language"


def test_a_memory_that_took_another_in_is_as_old_as_the_newest_of_them(dream: Dream, root: Path) -> None:
    """S11: put in order, not learned again."""
    os.utime(root / "tests.md", (1_700_000_000, 1_700_000_000))
    os.utime(root / "testing.md", (1_750_000_000, 1_750_000_000))
    assert isinstance(dream(merges(root)), DreamReport)
    assert (root / "tests.md").stat().st_mtime == 1_750_000_000


def test_a_full_index_gets_no_line_too_many(dream: Dream, root: Path) -> None:
    """S8: of more memories than the index has lines, those stand in it that the dream chose."""
    full = "".join(f"- [N{number}](n{number}.md) — x\n" for number in range(MAX_LINES))
    for number in range(MAX_LINES):
        (root / f"n{number}.md").write_text(topic(f"N{number}", "x"))
    (root / "MEMORY.md").write_text(full)
    path = {"file_path": str(root / "tests.md")}
    report = dream([calls(("Read", path)), calls(("Write", {**path, "content": BOTH})), says("-")])
    assert isinstance(report, DreamReport)
    assert (root / "MEMORY.md").read_text() == full


def test_an_index_far_over_its_limits_is_put_in_order_and_a_person_s_line_in_it_stays(
    store: MemoryStore, events: Events, clock: Clock, root: Path, tmp_path: Path, project: Path
) -> None:
    """S8: that is when a dream is needed most."""
    dead = "".join(f"- [Gone {number}](gone_{number}.md) — a file that is no more\n" for number in range(25_000))
    (root / "MEMORY.md").write_text(f"# Notes of our team\n\n{dead}- [Tests](tests.md) — how we test\n")
    plan = DreamPlan((store,), str(project), str(tmp_path), ())
    report = asyncio.run(Dreamer(plan, BuiltinModel(), events, clock).dream(PARENT, DreamTask(0)))
    assert isinstance(report, DreamReport)
    text = (root / "MEMORY.md").read_text()
    assert text.startswith("# Notes of our team\n")
    assert "(tests.md)" in text and "gone_" not in text


def test_of_a_very_large_store_the_job_names_the_newest(
    store: MemoryStore, events: Events, clock: Clock, root: Path, tmp_path: Path, project: Path
) -> None:
    """What no window holds helps no model."""
    for number in range(MAX_LISTED + 7):
        (root / f"n{number}.md").write_text(topic(f"N{number}", "x"))
    model = ScriptedModel([says("Nothing to do.")])
    plan = DreamPlan((store,), str(project), str(tmp_path), ())
    asyncio.run(Dreamer(plan, model, events, clock).dream(PARENT, DreamTask(0)))
    job = model.requests[0].messages[-1].text
    assert job.count("\n- [feedback] ") == MAX_LISTED
    assert "(and 9 older ones: find them with Glob)" in job


def test_a_dream_is_told_which_memories_have_ended_and_to_ask(
    store: MemoryStore, events: Events, clock: Clock, tmp_path: Path, project: Path
) -> None:
    """T3."""
    text = "---\nname: f\ndescription: a merge freeze\ntype: project\n---\n\nNo merges until 5 March 2020.\n"
    with store.changing(Origin("cli"), "x") as change:
        change.write("freeze.md", text.encode())
    model = ScriptedModel([says("Nothing to do.")])
    plan = DreamPlan((store,), str(project), str(tmp_path), ())
    asyncio.run(Dreamer(plan, model, events, clock).dream(PARENT, DreamTask(0)))
    told = model.requests[0].messages[-1].text
    assert re.search(r"freeze\.md \(.*\): a merge freeze \[names 2020-03-05, [\d,]+ days past\]", told)
    assert "[names …, N days past]" in told and "ask" in told


VALUES = [
    ("PostgreSQL 16", "PostgreSQL 11"),
    ("2026-03-02", "2031-05-05"),
    ("PostgreSQL 16", "MariaDB 16"),
    ("PostgreSQL 16", "PostgreSQL 16 on port 6543"),
]


@pytest.mark.parametrize(("old", "new"), VALUES)
def test_a_dream_changes_no_value_that_neither_a_memory_nor_a_session_tells(
    dream: Dream, root: Path, old: str, new: str
) -> None:
    path = str(root / "tests.md")
    write = ("Write", {"file_path": path, "content": ONE.replace(old, new)})
    outcome = dream([calls(("Read", {"file_path": path})), calls(write), says("Tidied up.")])
    assert isinstance(outcome, NotDreamt) and "neither a memory nor the user's own words say" in outcome.reason
    assert (root / "tests.md").read_text() == ONE


def test_a_dream_takes_the_newer_value_from_a_session(dream: Dream, root: Path) -> None:
    old = topic("Deploys", "We deploy on Mondays only.", "project")
    (root / "deploys.md").write_text(old)
    os.utime(root / "deploys.md", (1_700_000_000, 1_700_000_000))
    write = ("Write", {"file_path": str(root / "deploys.md"), "content": old.replace("Mondays", "Tuesdays")})
    dream([calls(("Read", {"file_path": str(root / "deploys.md")})), calls(write), says("Brought up to date.")])
    assert "Tuesdays" in (root / "deploys.md").read_text()
