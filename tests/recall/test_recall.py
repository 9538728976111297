"""Recall for a session: choose, fall back, render, log (R1, R2, R4, R7, O2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memdir.errors import ModelError
from memdir.model.model import Reply, Request
from memdir.model.scripted import ScriptedModel, Step, says
from memdir.recall import recall as recall_module
from memdir.recall import shown as shown_module
from memdir.recall.prefetch import Prefetch, Show
from memdir.recall.recall import Recaller
from memdir.recall.recall_log import Injection, Pin, RecallLog
from memdir.recall.selection import LocalSelector
from memdir.store.store import MemoryStore
from tests.conftest import NOW, Events
from tests.search.worlds import BAKERY

OVEN = "write integration tests for the oven client"


@pytest.fixture
def recaller(store: MemoryStore, events: Events, tmp_path: Path) -> Recaller:
    store.ensure()
    for one in BAKERY:
        text = f"---\nname: {one.title}\ndescription: {one.description}\ntype: {one.kind}\n---\n\n{one.description}.\n"
        Path(store.root, one.key).write_text(text, encoding="utf-8")
    selector = LocalSelector(store.root, str(tmp_path / "index"))
    log = RecallLog(str(tmp_path / "state"))
    return Recaller(store, selector, project=str(tmp_path), log=log, sink=events, clock=lambda: NOW)


async def by_model(recaller: Recaller, steps: Sequence[Step]) -> list[str]:
    return (await recaller.choose_by_model(OVEN, open_model=lambda: ScriptedModel(steps), name="any")).keys


def test_what_was_shown_is_not_chosen_again(recaller: Recaller) -> None:
    first = recaller.choose(OVEN, session="s").keys
    assert "real_oven.md" in first
    assert len(recaller.render(first, session="s")) == len(first)
    assert not set(first) & set(recaller.choose(OVEN, session="s").keys)


def test_a_memory_that_vanished_meanwhile_is_left_out(recaller: Recaller, store: MemoryStore) -> None:
    keys = recaller.choose(OVEN).keys
    Path(store.root, "real_oven.md").unlink()
    assert not any("real_oven.md" in text for text in recaller.render(keys))


def test_every_injection_is_logged_and_told(recaller: Recaller, events: Events, tmp_path: Path) -> None:
    recaller.render(["real_oven.md"], session="s1")
    (injection,) = RecallLog(str(tmp_path / "state")).injections()
    assert (injection.session, injection.keys, injection.time) == ("s1", ("real_oven.md",), NOW)
    assert "memory.recall" in events.names


def test_what_a_description_names_is_checked_too(recaller: Recaller, store: MemoryStore, tmp_path: Path) -> None:
    Path(store.root, "named.md").write_text("---\nname: n\ndescription: see src/a.py\ntype: project\n---\n\nx\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    assert "any more" not in recaller.render(["named.md"])[0]
    (tmp_path / "src" / "a.py").unlink()
    recaller.shown_by_session.forget()
    assert "not in the project any more: src/a.py." in recaller.render(["named.md"])[0]


def test_a_session_is_never_flooded(recaller: Recaller, store: MemoryStore) -> None:
    for number in range(12):
        text = f"---\nname: long {number}\ndescription: d\ntype: project\n---\n\n" + "word " * 4000
        Path(store.root, f"long{number}.md").write_text(text, encoding="utf-8")
    shown = [recaller.render([f"long{number}.md"]) for number in range(12)]
    assert "word word" in shown[0][0]
    assert "word word" not in shown[-1][0]
    assert str(Path(store.root, "long11.md")) in shown[-1][0], "what was cut is said, with its path"
    assert recaller.shown().characters <= recall_module.MAX_SESSION_CHARACTERS + 2_000


def test_of_many_sessions_the_oldest_are_forgotten(recaller: Recaller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_module, "MAX_SESSIONS", 2)
    for session in ("one", "two", "one", "three"):
        recaller.render(["freeze.md"], session=session)
    assert [len(recaller.shown(session).keys("project")) for session in ("one", "three", "two")] == [1, 1, 0]


async def test_names_a_model_made_up_are_dropped(recaller: Recaller) -> None:
    reply = says('{"selected_memories": ["freeze.md", "invented.md", "../../etc/passwd", "freeze.md"]}')
    assert await by_model(recaller, [reply]) == ["freeze.md"]


FREEZE = '{"selected_memories": ["freeze.md"]}'


@pytest.mark.parametrize(
    "answer",
    [
        FREEZE,
        f"```json\n{FREEZE}\n```",
        f"Here you are: {FREEZE} I left out the rest.",
        'The form is {"selected_memories": []}, so: ' + FREEZE,
        f'{{"result": {FREEZE}}}',
        '["freeze.md"]',
        'I choose ["freeze.md"], as [1] says.',
    ],
)
async def test_a_list_of_names_is_found_however_it_is_dressed(recaller: Recaller, answer: str) -> None:
    assert await by_model(recaller, [says(answer)]) == ["freeze.md"]


@pytest.mark.parametrize(
    "answer", ['{"selected_memories": []}', 'None fits: {"selected_memories": []}', "[]", "```\n[]\n```"]
)
async def test_an_empty_list_means_that_no_memory_helps(recaller: Recaller, answer: str) -> None:
    assert await by_model(recaller, [says(answer)]) == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I think the freeze matters.",
        "I cannot help with that.",
        '{"selected_memories": ["fre',
        '{"selected_memories": null}',
        '{"memories": []}',
        "call f([]) first",
        "null",
        "[" * 5000,
    ],
)
async def test_an_answer_without_a_list_leaves_the_choice_to_this_machine(recaller: Recaller, answer: str) -> None:
    assert await by_model(recaller, [says(answer)]) == recaller.choose(OVEN).keys != []


async def test_what_was_shown_is_not_offered_to_the_model(recaller: Recaller) -> None:
    recaller.render(["freeze.md"])
    model = ScriptedModel([says('{"selected_memories": ["freeze.md"]}')])
    assert (await recaller.choose_by_model(OVEN, open_model=lambda: model, name="any")).keys == []
    assert "freeze.md" not in str(model.requests[0].messages)


async def test_what_cannot_be_read_is_not_offered_to_the_model(
    recaller: Recaller, store: MemoryStore, tmp_path: Path
) -> None:
    (tmp_path / "second name").hardlink_to(Path(store.root, "freeze.md"))
    model = ScriptedModel([says(FREEZE)])
    assert (await recaller.choose_by_model(OVEN, open_model=lambda: model, name="any")).keys == []
    assert "freeze.md" not in str(model.requests[0].messages)


async def test_a_model_that_fails_leaves_the_choice_to_this_machine(recaller: Recaller) -> None:
    local = recaller.choose(OVEN).keys
    assert await by_model(recaller, [ModelError("down", kind="overloaded", remedy="wait")]) == local


class Broken:
    """A host's model with a mistake in it."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        raise ValueError("a mistake of the host's")

    async def close(self) -> None: ...


async def test_a_mistake_in_a_hosts_model_costs_no_turn_and_is_told(recaller: Recaller, events: Events) -> None:
    assert (await recaller.choose_by_model(OVEN, open_model=Broken, name="any")).keys == recaller.choose(OVEN).keys
    assert [event.fields["reason"] for event in events.events if event.name == "memory.refused"] == ["ValueError"]


class Silent:
    """A model that never answers."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


async def test_a_model_that_takes_too_long_leaves_the_choice_to_this_machine(
    recaller: Recaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "MODEL_SECONDS", 0.01)
    chosen = await recaller.choose_by_model(OVEN, open_model=Silent, name="any")
    assert chosen.keys == recaller.choose(OVEN).keys


async def test_a_process_that_stays_asks_the_slow_selector_and_falls_back_to_the_quick_one(recaller: Recaller) -> None:
    local = recaller.choose(OVEN).keys
    recaller.opened = lambda _: None
    assert (await recaller.choose_in_time(OVEN)).keys == local
    assert (await recaller.choose_in_time("thanks, great!")).keys == []


async def test_prefetched_memories_join_once_and_only_when_they_are_there(recaller: Recaller) -> None:
    gate = asyncio.Event()

    async def find() -> Show:
        await gate.wait()
        return await recaller.prepare(await recaller.choose_in_time(OVEN))

    pending = Prefetch(find)
    assert pending.ready() == []
    gate.set()
    while not (messages := pending.ready()):
        await asyncio.sleep(0)
    assert all(message.is_meta and "<system-reminder>" in message.text for message in messages)
    assert pending.ready() == []


async def test_a_recall_that_fails_finds_nothing() -> None:
    async def find() -> Show:
        raise ModelError("down", kind="overloaded", remedy="wait")

    pending = Prefetch(find)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert pending.ready() == []


async def test_a_turn_that_ends_cancels_its_recall() -> None:
    pending = Prefetch(lambda: asyncio.sleep(60, lambda: ["late.md"]))
    await pending.cancel()
    assert pending.ready() == []


def test_of_a_message_pinned_twice_the_newer_counts(tmp_path: Path) -> None:
    log = RecallLog(str(tmp_path))
    log.pin(Pin("deploy?", ("old.md",)))
    log.pin(Pin("deploy?", ("new.md",), ("argocd",)))
    log.pin(Pin("hello", ()))
    assert [(pin.query, pin.expected, pin.recent_tools) for pin in log.pins()] == [
        ("deploy?", ("new.md",), ("argocd",)),
        ("hello", (), ()),
    ]


def test_the_log_keeps_no_secret_of_a_message(tmp_path: Path) -> None:
    token = "ghp_" + "Zx7Kq2Lm9Rt4Vb8Nc3Wd6Yf1Hj5Gs0Pa2Qe8"
    log = RecallLog(str(tmp_path))
    log.add(Injection(1.0, "s", ("a.md",), message=f"{'word ' * 12} use {token} to log in", by="words"))
    assert token[:12] not in (tmp_path / "recalled.jsonl").read_text(encoding="utf-8")


def test_lines_of_before_messages_were_logged_are_read(tmp_path: Path) -> None:
    (tmp_path / "recalled.jsonl").write_text('{"time": 2.0, "session": "s", "keys": ["a.md"]}\n', encoding="utf-8")
    (only,) = RecallLog(str(tmp_path)).injections()
    assert (only.keys, only.message, only.by) == (("a.md",), "", "")


def test_damaged_lines_of_the_log_cost_only_themselves(tmp_path: Path) -> None:
    log = RecallLog(str(tmp_path))
    log.add(Injection(1.0, "s", ("a.md",)))
    with (tmp_path / "recalled.jsonl").open("ab") as file:
        file.write(b'{"time": 2.0, "sess\n[1]\n{"time": "x", "session": "s", "keys": []}\n')
    log.add(Injection(3.0, "s", ("b.md",)))
    assert [one.keys for one in log.injections()] == [("a.md",), ("b.md",)]
