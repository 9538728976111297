"""`memdir recall` and `memdir check`: recall explains itself, and a case can be pinned as a test (O2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.memdir import open_memory
from tests.conftest import Ran
from tests.recall.worlds import BAKERY

Memdir = Callable[..., Ran]
OVEN = "write integration tests for the oven client"


@pytest.fixture(autouse=True)
def bakery(project: Path) -> Path:
    memory = open_memory(project)
    memory.start()
    for one in BAKERY:
        text = f"---\nname: {one.title}\ndescription: {one.description}\ntype: {one.kind}\n---\n\n{one.description}.\n"
        Path(memory.place.root, one.key).write_text(text, encoding="utf-8")
    return Path(memory.place.root)


def test_recall_names_the_files_that_help(memdir: Memdir) -> None:
    ran = memdir("recall", OVEN)
    assert ran.code == 0
    assert "real_oven.md" in ran.out
    assert "dashboard.md" not in ran.out


def test_recall_says_so_when_nothing_helps(memdir: Memdir) -> None:
    assert "No memory clearly helps" in memdir("recall", "thanks, great!").out


def test_explain_shows_what_was_cut_and_why(memdir: Memdir) -> None:
    out = memdir("recall", "invo again: void the last two invoices", "--tool", "invo", "--explain").out
    assert "usage notes of a tool that is in use" in out
    assert "not clearly useful" in out or "not enough for such a message" in out
    assert "meaning" in out and "log odds" in out


def test_json_holds_candidates_scores_and_reasons(memdir: Memdir) -> None:
    found = json.loads(memdir("recall", OVEN, "--json").out)
    assert found["recalled"][0] == "real_oven.md"
    assert {"file", "chosen", "certainty", "reasons"} <= found["candidates"][0].keys()


def test_render_prints_what_a_model_gets(memdir: Memdir) -> None:
    out = memdir("recall", OVEN, "--render").out
    assert out.startswith("<system-reminder>")
    assert "Memory (saved today)" in out


def test_render_prints_it_also_where_the_log_cannot_be_written(memdir: Memdir, bakery: Path) -> None:
    log = bakery.with_name("memory.state") / "recalled.jsonl"
    memdir("recall", OVEN, "--render")
    log.unlink()
    log.mkdir()
    ran = memdir("recall", OVEN, "--render")
    assert (ran.code, ran.out.startswith("<system-reminder>")) == (0, True)
    assert "not in the recall log" in ran.err and str(log) in ran.err


def test_a_pinned_case_is_replayed_and_fails_when_its_memory_is_gone(memdir: Memdir, bakery: Path) -> None:
    assert memdir("recall", OVEN, "--pin").code == 0
    assert memdir("recall", "good morning", "--pin", "--expect", "none").code == 0
    assert memdir("check").code == 0
    (bakery / "real_oven.md").unlink()
    ran = memdir("check", "--json")
    assert ran.code == 1
    cases = {case["query"]: case["ok"] for case in json.loads(ran.out)["cases"]}
    assert cases == {OVEN: False, "good morning": True}


def test_check_names_memories_that_no_model_has_seen(memdir: Memdir) -> None:
    memdir("recall", OVEN, "--render")
    never = json.loads(memdir("check", "--json").out)["neverShown"]
    assert "real_oven.md" not in never
    assert "hours.md" in never
