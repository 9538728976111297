"""What a dream asks, and what a person's answer does (D3)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memdir.dream.dream import DreamReport, DreamTask
from memdir.dream.questions import EXPIRES_SECONDS, OpenQuestion, Questions
from memdir.errors import MemdirError
from memdir.layout import Place
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.dream.night import Plan, Unsettled
from memdir.model.builtin.dream_job import _told, line_of
from memdir.model.model import ScriptedModel, says
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from tests.clients.terminal import Terminal

NOW = 1_780_000_000.0
OLDER, NEWER = "project_gateway_timeout.md", "project_gateway_timeout_now.md"
ASKED = line_of("replaces", OLDER, NEWER, "45 s now (was 30 s)")


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def filled(store: MemoryStore) -> None:
    texts = {
        OLDER: ("Gateway timeout", "The request timeout is 30 s. Noor owns it."),
        NEWER: ("Gateway timeout now", "The timeout is 45 s now."),
    }
    for at, (key, (name, text)) in enumerate(texts.items()):
        added = add_memory(
            store, text, kind="project", name=name, description=text.split(".")[0], origin=Origin("t", trust="user")
        )
        assert added.memory.key == key
        os.utime(added.memory.path, (NOW - 9_000_000 + at * 100, NOW - 9_000_000 + at * 100))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> MemoryStore:
    store = MemoryStore(Place(str(tmp_path / "memory")), clock=clock)
    store.ensure()
    filled(store)
    return store


def text_of(store: MemoryStore, key: str) -> str:
    return (store.read_bytes(key) or b"").decode()


def test_only_a_line_that_names_two_memories_is_a_question(store: MemoryStore, clock: Clock) -> None:
    lines = (
        "I asked myself: Question: same? no.md",
        line_of("same", OLDER, "gone.md", "it is not there"),
        line_of("same", "../outside.md", NEWER, "no key"),
        line_of("same", OLDER, OLDER, "itself"),
        ASKED,
    )
    assert Questions(store, clock).ask("\n".join(lines)) == (
        OpenQuestion("replaces", OLDER, NEWER, "45 s now (was 30 s)", NOW),
    )
    assert [one.newer for one in Questions(store, clock).waiting()] == [NEWER]


def test_no_question_of_a_night_is_lost_however_many_there_are(store: MemoryStore, clock: Clock) -> None:
    """A later night does not compare the same two again, so each is told and waits."""
    keys = [OLDER]
    for number in range(60):
        name, text = f"Note {number}", f"Note {number} is about line {number}."
        keys.append(add_memory(store, text, kind="project", name=name, origin=Origin("t", trust="user")).memory.key)
    asked = tuple(Unsettled("same", OLDER, key, "likely") for key in keys[1:])
    Questions(store, clock).ask(_told(Plan((), (), asked), ()))
    assert [one.newer for one in Questions(store, clock).waiting()] == keys[1:]


def test_what_waits_was_answered_or_expired_is_not_asked_again(store: MemoryStore, clock: Clock) -> None:
    questions = Questions(store, clock)
    [one] = questions.ask(ASKED)
    assert questions.ask(ASKED) == ()
    clock.now += EXPIRES_SECONDS + 1
    assert questions.waiting() == ()
    assert questions.ask(ASKED) == (), "nobody answered in a month"
    with pytest.raises(MemdirError):
        questions.answer(one.id, "same")


def test_keeping_both_holds_until_one_of_them_changes_and_never_holds_for_good(
    store: MemoryStore, clock: Clock
) -> None:
    questions = Questions(store, clock)
    for answer, comes_again in (("keep", True), ("never", False)):
        [one] = questions.ask(ASKED)
        assert questions.answer(one.id, answer) == ()
        assert questions.ask(ASKED) == ()
        Path(store.path_of(NEWER)).write_text(text_of(store, NEWER) + f"\nMore, {answer}.\n", encoding="utf-8")
        if not comes_again:
            assert questions.ask(ASKED) == ()


@pytest.mark.parametrize("answer", ["same", "replace"])
def test_an_answer_makes_one_memory_with_every_sentence_and_undo_takes_it_back(
    store: MemoryStore, clock: Clock, answer: str
) -> None:
    from memdir.store.undo import undo

    before = {key: text_of(store, key) for key in (OLDER, NEWER)}
    [one] = Questions(store, clock).ask(ASKED)
    assert Questions(store, clock).answer(one.id, "same" if answer == "same" else "replace") == (OLDER, NEWER)
    after = text_of(store, OLDER)
    assert all(words in after for words in ("30 s", "Noor owns it", "The timeout is 45 s now"))
    assert ("**Update " in after) == (answer == "replace")
    assert store.read_bytes(NEWER) is None
    assert NEWER not in text_of(store, "MEMORY.md")
    undo(store)
    assert {key: text_of(store, key) for key in (OLDER, NEWER)} == before


def test_a_deadline_that_is_past_stands_in_review_and_is_kept_or_never_asked_again(
    project: Path, memdir: Callable[..., object]
) -> None:
    """What a nightly dream asks in its last words alone reaches nobody."""
    memory = open_memory(project)
    memory.add("The merge freeze holds until 2026-03-05.", "project")
    [key] = [header.key for header in memory.list()]
    os.utime(Path(memory.place.root, key), (1_771_000_000, 1_771_000_000))
    assert "Question: ended?" in memdir("dream", "--yes").out  # type: ignore[attr-defined]
    [one] = memory.questions()
    shown = memdir("review").out  # type: ignore[attr-defined]
    assert "1 of 1: Is this over?" in shown and "it names 2026-03-05" in shown and shown.count("holds until") == 1
    assert one.id in memdir("review", "--json").out  # type: ignore[attr-defined]
    with pytest.raises(MemdirError, match="memdir forget"):
        memory.answer(one.id, "replace")
    assert memory.answer(one.id, "keep") == () and memory.questions() == ()
    memdir("dream", "--yes")
    assert memory.questions() == (), "it was answered, and is as it was"


def test_a_pinned_memory_is_not_joined_by_an_answer(store: MemoryStore, clock: Clock) -> None:
    [one] = Questions(store, clock).ask(ASKED)
    path = Path(store.path_of(OLDER))
    path.write_text(path.read_text(encoding="utf-8").replace("type:", "pinned: true\ntype:", 1), encoding="utf-8")
    with pytest.raises(MemdirError):
        Questions(store, clock).answer(one.id, "same")
    assert store.read_bytes(NEWER) is not None


def test_a_broken_file_of_questions_is_an_empty_one(store: MemoryStore, clock: Clock) -> None:
    for data in (b"", b"[]", b'{"open": [1, {"kind": "x"}], "closed": [2]}', b"\xff\x00"):
        Path(store.place.questions).write_bytes(data)
        assert Questions(store, clock).waiting() == ()
    assert len(Questions(store, clock).ask(ASKED)) == 1


def test_an_llms_dream_asks_through_its_last_words_and_a_host_answers(project: Path) -> None:
    memory: MemDir = open_memory(project, model=ScriptedModel([says(f"Nothing merged.\n{ASKED}\n")]))
    memory.start()
    filled(memory.store)

    async def dream() -> object:
        try:
            return await memory.session("monday").dream(DreamTask(0))
        finally:
            await memory.close()

    outcome = asyncio.run(dream())
    assert isinstance(outcome, DreamReport)
    assert [one.older for one in memory.questions()] == [OLDER] == [one.older for one in outcome.questions]
    assert memory.answer(memory.questions()[0].id, "replace") == (OLDER, NEWER)
    assert memory.questions() == ()


def test_review_shows_both_texts_and_takes_an_answer(project: Path, memdir: Callable[..., object]) -> None:
    memory = open_memory(project)
    memory.start()
    filled(memory.store)
    [one] = Questions(memory.store, memory.clock).ask(ASKED)
    shown = memdir("review")
    assert shown.out.count("The timeout is 45 s now") == 1  # type: ignore[attr-defined]
    assert all(words in shown.out for words in ("Noor owns it", "45 s now", "was 30 s", one.id))  # type: ignore[attr-defined]
    listed = json.loads(memdir("review", "--json").out)["questions"]  # type: ignore[attr-defined]
    assert [(row["id"], row["older"]["file"], row["newer"]["file"]) for row in listed] == [(one.id, OLDER, NEWER)]
    assert datetime.fromisoformat(listed[0]["asked"]).tzinfo is UTC
    answered = memdir("review", one.id, "same", "--json")
    assert json.loads(answered.out)["files"] == [OLDER, NEWER]  # type: ignore[attr-defined]
    assert "No questions" in memdir("review").out  # type: ignore[attr-defined]
    assert memdir("review", "nope", "same").code != 0  # type: ignore[attr-defined]


def test_an_answer_that_ends_other_questions_does_not_end_the_review(project: Path, memdir_command: str) -> None:
    """In a terminal, key by key: the second question is about a memory that the first answer took in."""
    memory = open_memory(project)
    memory.start()
    filled(memory.store)
    third = memory.add("The team meets on Tuesday at ten.", name="Meeting", type="project").memory.key
    asked = f"{ASKED}\n{line_of('same', NEWER, third, 'no subject')}\n{line_of('same', OLDER, third, 'none either')}"
    assert len(Questions(memory.store, memory.clock).ask(asked)) == 3
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with Terminal([memdir_command, "review"], cwd=project, environment=environment) as terminal:
        terminal.wait_for("1 of 3")
        terminal.wait_for("[q]uit?")
        terminal.type("xr")  # one key each; others say nothing
        terminal.wait_for("One memory now")
        terminal.wait_for("3 of 3")
        terminal.wait_for("[q]uit?")
        terminal.type("k")
        terminal.wait_for("Nothing changes.")
        terminal.end()
    assert open_memory(project).questions() == ()
