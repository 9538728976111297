"""Recall for a session: choose, fall back, render, log (R1, R2, R4, R7, O2)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memdir.errors import ModelError
from memdir.model.model import Model, Reply, Request, ScriptedModel, Step, Usage, says
from memdir.prompts.compose import load_prompt
from memdir.recall import model_select, recall_log
from memdir.recall import recall as recall_module
from memdir.recall.inject import MAX_SESSION_CHARACTERS
from memdir.recall.model_select import ModelChooser
from memdir.recall.prefetch import RecallThreads, WarmSelector
from memdir.recall.recall import Recaller, RecallRequest, Selection, Shown, ShownBySession
from memdir.recall.recall_log import Injection, Pin, RecallLog
from memdir.recall.selection import LocalChooser, LocalSelector
from memdir.store.scan import MAX_RETURNED
from memdir.store.store import MemoryStore
from tests.conftest import NOW, Events
from tests.search.worlds import BAKERY

if TYPE_CHECKING:
    from memdir.recall.recall import Chooser

OVEN = "write integration tests for the oven client"


@pytest.fixture
def bench(store: MemoryStore, events: Events, tmp_path: Path) -> Bench:
    store.ensure()
    for one in BAKERY:
        text = f"---\nname: {one.title}\ndescription: {one.description}\ntype: {one.kind}\n---\n\n{one.description}.\n"
        Path(store.root, one.key).write_text(text, encoding="utf-8")
    return Bench(store, events, tmp_path)


class Bench:
    """The one way over one store, and what it needs."""

    def __init__(self, store: MemoryStore, events: Events, project: Path) -> None:
        self.store, self.events, self.project = store, events, project
        selector = LocalSelector(store.root, store.place.derived)
        self.local = LocalChooser(store.place, "project", selector, clock=lambda: NOW)
        self.shown = Shown("s1")
        self.recaller = self.over(self.local)

    def over(self, chooser: Chooser) -> Recaller:
        return Recaller(chooser, (), lambda _: self.store.place, str(self.project), sink=self.events, clock=lambda: NOW)

    def choose(self, text: str = OVEN) -> list[str]:
        (selection,) = self.recaller.choose(RecallRequest(text, shown=self.shown))
        return selection.keys

    def render(self, keys: Sequence[str]) -> list[str]:
        selection = Selection("project", list(keys), "words")
        prepared = self.recaller.prepare(RecallRequest(OVEN, shown=self.shown), [selection])
        return [one.reminder for one in self.recaller.show(prepared)]

    def by_model(self, model: Model) -> list[str]:
        sink = self.events
        chooser = ModelChooser(self.local, self.store, open_model=lambda: model, name="any", sink=sink)
        (selection,) = self.over(chooser).choose(RecallRequest(OVEN, shown=self.shown))
        return selection.keys


@pytest.mark.parametrize("by", ["words", "model"])
def test_what_a_team_left_here_takes_no_place_while_it_is_switched_off(bench: Bench, by: str) -> None:
    """E1: neither those of the project nor the person's own stay away for it."""
    before = bench.choose()
    os.mkdir(os.path.join(bench.store.root, "team"))
    for number in range(30):
        text = f"---\nname: oven client {number}\ndescription: {OVEN}\ntype: feedback\n---\n\n{OVEN}, no. {number}.\n"
        Path(bench.store.root, "team", f"oven_{number}.md").write_text(text, encoding="utf-8")
    listed: list[str] = []

    def chosen(request: Request) -> Reply:
        listed.append(str(request.messages))
        return says('{"selected_memories": []}')

    model = ScriptedModel([chosen])
    selector = LocalSelector(bench.store.root, bench.store.place.derived)
    local = LocalChooser(bench.store.place, "project", selector, clock=lambda: NOW, has_team=False)
    chooser = ModelChooser(local, bench.store, open_model=lambda: model, name="any", sink=bench.events)
    recaller = Recaller(
        chooser if by == "model" else local,
        (local,),
        lambda _: bench.store.place,
        str(bench.project),
        sink=bench.events,
        clock=lambda: NOW,
        has_team=False,
    )
    found = recaller.choose(RecallRequest(OVEN, shown=bench.shown))
    assert before and set(found[-1].keys) == set(before)
    assert all("team/" not in text for text in listed)


def by_model(bench: Bench, steps: Sequence[Step]) -> list[str]:
    return bench.by_model(ScriptedModel(steps))


def test_what_was_shown_is_not_chosen_again(bench: Bench) -> None:
    first = bench.choose()
    assert "real_oven.md" in first
    assert len(bench.render(first)) == len(first)
    assert not set(first) & set(bench.choose())


def test_a_memory_that_vanished_meanwhile_is_left_out(bench: Bench, store: MemoryStore) -> None:
    keys = bench.choose()
    Path(store.root, "real_oven.md").unlink()
    assert not any("real_oven.md" in text for text in bench.render(keys))


def test_every_injection_is_logged_and_told(bench: Bench, events: Events, store: MemoryStore) -> None:
    bench.render(["real_oven.md"])
    (injection,) = RecallLog(store.place.state).injections()
    assert (injection.session, injection.keys, injection.time) == ("s1", ("real_oven.md",), NOW)
    assert "memory.recall" in events.names


def test_what_a_description_names_is_checked_too(bench: Bench, store: MemoryStore, tmp_path: Path) -> None:
    Path(store.root, "named.md").write_text("---\nname: n\ndescription: see src/a.py\ntype: project\n---\n\nx\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    assert "any more" not in bench.render(["named.md"])[0]
    (tmp_path / "src" / "a.py").unlink()
    bench.shown.forget()
    assert "not in the project any more: src/a.py." in bench.render(["named.md"])[0]


def test_a_session_is_never_flooded(bench: Bench, store: MemoryStore) -> None:
    for number in range(12):
        text = f"---\nname: long {number}\ndescription: d\ntype: project\n---\n\n" + "word " * 4000
        Path(store.root, f"long{number}.md").write_text(text, encoding="utf-8")
    shown = [bench.render([f"long{number}.md"]) for number in range(12)]
    assert "word word" in shown[0][0]
    assert "word word" not in shown[-1][0]
    assert str(Path(store.root, "long11.md")) in shown[-1][0], "what was cut is said, with its path"
    assert bench.shown.characters <= MAX_SESSION_CHARACTERS + 2_000


def test_that_a_memory_has_changed_is_told_however_much_a_session_was_shown(bench: Bench, store: MemoryStore) -> None:
    """R7: the session holds it in words that are no longer so."""
    path = Path(store.root, "port.md")
    text = "---\nname: Port\ndescription: the port\ntype: project\n---\n\nThe api listens on port 5433.\n"
    path.write_text(text + "word " * 200)
    assert "port 5433" in bench.render(["port.md"])[0]
    bench.shown.characters = MAX_SESSION_CHARACTERS
    path.write_text(text.replace("5433", "5434") + "word " * 200)
    [told] = bench.render(["port.md"])
    assert "has changed since it was shown" in told and "port 5434" not in told and str(path) in told


def test_of_many_sessions_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_module, "MAX_SESSIONS", 2)
    sessions = ShownBySession()
    for session in ("one", "two", "one", "three"):
        sessions.of(session).add("project", "freeze.md", 10)
    assert [len(sessions.of(session).keys("project")) for session in ("one", "three", "two")] == [1, 1, 0]


def test_names_a_model_made_up_are_dropped(bench: Bench) -> None:
    reply = says('{"selected_memories": ["freeze.md", "invented.md", "../../etc/passwd", "freeze.md"]}')
    assert by_model(bench, [reply]) == ["freeze.md"]


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
def test_a_list_of_names_is_found_however_it_is_dressed(bench: Bench, answer: str) -> None:
    assert by_model(bench, [says(answer)]) == ["freeze.md"]


@pytest.mark.parametrize(
    "name",
    [
        "freeze",
        "Freeze.MD",
        "./freeze.md",
        "/home/ann/.memdir/projects/-p/memory/freeze.md",
        "~/.memdir/projects/-p/memory/freeze",
        "memory\\\\freeze.md",
        "[project] freeze.md",
        "- [project] freeze.md (2026-03-01T10:00:00Z): the release is frozen",
        "1. `freeze.md`",
        "[freeze.md](freeze.md)",
        "freeze.md: it says when the freeze begins",
        "freeze - it fits",
        "  'freeze.md' ",
    ],
)
def test_a_name_is_known_however_a_model_writes_it(bench: Bench, name: str) -> None:
    written = name.replace("'", "`")
    objects = f'{{"selected_memories": [{{"file": "{written}", "reason": "it fits"}}]}}'
    assert by_model(bench, [says(objects)]) == ["freeze.md"]
    assert by_model(bench, [says(f'{{"Selected_Memories": ["{written}", "none such"]}}')]) == ["freeze.md"]
    assert by_model(bench, [says(f'{{"selected_memories": "{written}"}}')]) == ["freeze.md"]
    assert by_model(bench, [says(f'{{"selected_memories": {{"{written}": "it fits"}}}}')]) == ["freeze.md"]


def test_names_that_differ_by_case_or_folder_only_are_told_apart(bench: Bench, store: MemoryStore) -> None:
    for folder, name in (("", "Freeze.md"), ("old", "freeze.md"), ("old", "plan.md")):
        Path(store.root, folder).mkdir(exist_ok=True)
        Path(store.root, folder, name).write_text("---\nname: n\ndescription: d\ntype: project\n---\n\nx\n")
    for name, key in (("Freeze.md", "Freeze.md"), ("old/freeze", "old/freeze.md"), ("plan", "old/plan.md")):
        assert by_model(bench, [says(f'["{name}"]')]) == [key]


def test_one_name_a_line_is_a_list_too(bench: Bench) -> None:
    assert by_model(bench, [says("These help:\n- freeze.md\n- [project] real_oven.md: tests\n")]) == [
        "freeze.md",
        "real_oven.md",
    ]


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "length"])
def test_where_its_answer_broke_off_this_machine_chooses(bench: Bench, events: Events, stop: str) -> None:
    cut = replace(says(FREEZE), stop_reason=stop)  # type: ignore[arg-type]
    by_model(bench, [cut])
    assert "memory.refused" in events.names


def test_where_nothing_it_named_is_there_this_machine_chooses(bench: Bench, events: Events) -> None:
    assert by_model(bench, [says('{"selected_memories": ["oven_rules.md", "42"]}')]) == bench.choose() != []
    assert ("recall by a model", "bad_reply") in [
        (event.fields["what"], event.fields["reason"]) for event in events.events if event.name == "memory.refused"
    ]


def test_of_more_memories_than_a_model_is_shown_the_nearest_are_among_them(bench: Bench, store: MemoryStore) -> None:
    for number in range(MAX_RETURNED + 20):
        text = f"---\nname: Plant {number}\ndescription: how plant {number} is watered\ntype: project\n---\n\nx\n"
        Path(store.root, f"plant{number}.md").write_text(text)
    for key in ("real_oven.md", "freeze.md"):
        os.utime(Path(store.root, key), (NOW - 900 * 86400, NOW - 900 * 86400))
    model = ScriptedModel([says('["real_oven.md"]')])
    assert bench.by_model(model) == ["real_oven.md"]
    asked = model.requests[0].messages[0].text
    assert asked.count("\n- [") == MAX_RETURNED
    assert f"({len(store.scan(limit=None).headers) - MAX_RETURNED} more are not listed" in asked


@pytest.mark.parametrize(
    "answer", ['{"selected_memories": []}', 'None fits: {"selected_memories": []}', "[]", "```\n[]\n```"]
)
def test_an_empty_list_means_that_no_memory_helps(bench: Bench, answer: str) -> None:
    assert by_model(bench, [says(answer)]) == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I think the freeze matters.",
        "I cannot help with that.",
        '{"selected_memories": ["fre',
        '{"selected_memories": null}',
        '{"memories": []}',
        '{"selected_memories": [1, 3]}',
        '{"selected_memories": [["freeze.md"]]}',
        "call f([]) first",
        "null",
        "[" * 5000,
    ],
)
def test_an_answer_without_a_list_leaves_the_choice_to_this_machine(bench: Bench, answer: str) -> None:
    assert by_model(bench, [says(answer)]) == bench.choose() != []


def test_where_nothing_is_left_to_choose_from_no_model_is_paid(bench: Bench, store: MemoryStore) -> None:
    """B1: nothing is remembered yet, or a small store was shown as a whole."""
    bench.render([header.key for header in store.scan(limit=None).headers[:5]])
    for path in Path(store.root).glob("*.md"):
        if path.name not in bench.shown.keys("project"):
            path.unlink()
    model = ScriptedModel([])
    assert bench.by_model(model) == []
    assert model.requests == [] and "memory.refused" not in bench.events.names


def test_what_was_shown_is_not_offered_to_the_model(bench: Bench) -> None:
    bench.render(["freeze.md"])
    model = ScriptedModel([says('{"selected_memories": ["freeze.md"]}')])
    assert "freeze.md" not in bench.by_model(model)
    assert "freeze.md" not in str(model.requests[0].messages)


def test_what_cannot_be_read_is_not_offered_to_the_model(bench: Bench, store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "second name").hardlink_to(Path(store.root, "freeze.md"))
    model = ScriptedModel([says(FREEZE)])
    assert "freeze.md" not in bench.by_model(model)
    assert "freeze.md" not in str(model.requests[0].messages)


def test_a_model_that_fails_leaves_the_choice_to_this_machine(bench: Bench) -> None:
    local = bench.choose()
    assert by_model(bench, [ModelError("down", kind="overloaded", remedy="wait")]) == local


class Broken:
    """A host's model with a mistake in it."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        raise ValueError("a mistake of the host's")

    async def close(self) -> None: ...


def test_a_mistake_in_a_hosts_model_costs_no_turn_and_is_told(bench: Bench, events: Events) -> None:
    assert bench.by_model(Broken()) == bench.choose()
    assert [event.fields["reason"] for event in events.events if event.name == "memory.refused"] == ["ValueError"]


class Silent:
    """A model that never answers."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


def test_a_model_that_takes_too_long_leaves_the_choice_to_this_machine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_select, "MODEL_SECONDS", 0.01)
    assert bench.by_model(Silent()) == bench.choose()


def test_a_process_that_stays_asks_the_slow_selector_and_falls_back_to_the_quick_one(bench: Bench) -> None:
    warm = WarmSelector(lambda _: None, RecallThreads())
    selector = LocalSelector(bench.store.root, bench.store.place.derived)
    stays = LocalChooser(bench.store.place, "project", selector, clock=lambda: NOW, warm=warm)
    found = stays.choose(RecallRequest(OVEN))
    assert (found.keys, found.by) == (bench.choose(), "words")
    assert stays.choose(RecallRequest("thanks, great!")).keys == []


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


def test_the_log_is_rotated_and_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_log, "MAX_LOG_BYTES", 300)
    log = RecallLog(str(tmp_path))
    for number in range(40):
        log.add(Injection(float(number), "s", (f"m{number}.md",), message="Which port?"))
    kept = [int(injection.time) for injection in log.injections()]
    assert kept == list(range(kept[0], 40)) and 4 < len(kept) < 40
    assert len(list(tmp_path.glob("recalled*.jsonl"))) == 4
    assert all(path.stat().st_size < 500 for path in tmp_path.glob("recalled*.jsonl"))


def test_the_event_tells_who_chose_from_how_many_and_what_it_cost(bench: Bench, events: Events) -> None:
    """R1, O2."""
    model = ScriptedModel([says('["freeze.md", "real_oven.md"]', usage=Usage(900, 12))])
    by_model = ModelChooser(bench.local, bench.store, open_model=lambda: model, name="any", sink=events)
    for chooser, expected in ((bench.local, ("words", 0)), (by_model, ("model", 912))):
        recaller, request = bench.over(chooser), RecallRequest(OVEN, shown=Shown("s"))
        recaller.show(recaller.prepare(request, recaller.choose(request)))
        told = events.events[-1].fields
        assert events.events[-1].name == "memory.recall"
        assert (told["chooser"], told["tokens"]) == expected
        assert told["scanned"] == len(BAKERY)
        assert told["chosen"] == told["files"] != 0
        assert isinstance(told["ms"], float) and told["ms"] > 0


def test_the_selector_is_told_what_day_it_is_and_what_has_ended(bench: Bench, store: MemoryStore) -> None:
    """R2, T3: of the whole memory, not of its description alone; what is the same for every message comes first."""
    for name, body in (("freeze", "No merges until 2020-03-05."), ("later", "No merges until 2099-03-05.")):
        text = f"---\nname: {name}\ndescription: a merge {name}\ntype: project\n---\n\n{body}\n"
        Path(store.root, f"{name}.md").write_text(text, encoding="utf-8")
    model = ScriptedModel([says('{"selected_memories": []}')])
    bench.by_model(model)
    (request,) = model.requests
    told = request.messages[0].text
    (line,) = [line for line in told.splitlines() if "freeze.md" in line]
    assert re.search(r": a merge freeze \[names 2020-03-05, \d+ days past\]$", line)
    assert "99" not in told
    today = datetime.fromtimestamp(NOW).astimezone().date()
    assert told.index("Memories:") < told.index(f"Today is {today:%A}, {today}.") < told.index(f"Message:\n{OVEN}")
    assert told.endswith(OVEN)


def test_how_to_answer_is_told_to_the_selector_whoever_wrote_the_rest(tmp_path: Path) -> None:
    (tmp_path / "recall").mkdir()
    (tmp_path / "recall" / "select.md").write_text("Choose well.\n", encoding="utf-8")
    prompt = load_prompt("recall/select.md", overrides=str(tmp_path))
    (block,) = model_select.select_request("hello", "- a.md", prompt, name="any").system
    assert block.text.startswith("Choose well.\n\n## How to answer")
    assert '{"selected_memories": [' in block.text and "exactly as the list has it" in block.text


def test_a_key_that_leads_out_is_not_looked_at_again(tmp_path: Path) -> None:
    """E3: what was shown is kept in a file, and a file may say anything."""
    root = tmp_path / "memory"
    root.mkdir()
    (tmp_path / "secret.md").write_text("elsewhere", encoding="utf-8")
    (root / "sub").symlink_to(tmp_path)
    (root / "own.md").write_text("mine, and changed", encoding="utf-8")
    shown = Shown("s")
    for key in ("own.md", "../secret.md", "sub/secret.md", str(tmp_path / "secret.md")):
        shown.add("project", key, 1, b"as it was")
    assert shown.changed("project", str(root)) == ["own.md"]
