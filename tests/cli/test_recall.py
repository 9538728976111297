"""`memdir recall` and `memdir check`: recall explains itself, and a case can be pinned as a test (O2)."""

from __future__ import annotations

import json
import os
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


def test_a_case_pinned_for_the_team_is_replayed_in_its_scope(memdir: Memdir, bakery: Path) -> None:
    (bakery / "team").mkdir()
    (bakery / "real_oven.md").rename(bakery / "team" / "real_oven.md")
    assert memdir("recall", OVEN, "--scope", "team", "--pin").code == 0
    for words in (["check"], ["check", "--scope", "team"]):
        ran = memdir(*words, "--json")
        assert ran.code == 0, ran.out
        (case,) = json.loads(ran.out)["cases"]
        assert (case["scope"], case["expected"], case["ok"]) == ("team", ["real_oven.md"], True)
    assert "(team)" in memdir("check").out


def test_a_case_of_the_project_is_none_of_the_team(memdir: Memdir, bakery: Path) -> None:
    (bakery / "team").mkdir()
    memdir("recall", OVEN, "--pin")
    assert json.loads(memdir("check", "--scope", "team", "--json").out)["cases"] == []
    assert [case["ok"] for case in json.loads(memdir("check", "--json").out)["cases"]] == [True]


def test_letters_that_are_no_utf_8_can_be_pinned(memdir: Memdir, bakery: Path) -> None:
    odd = os.fsdecode(b"ofen-k\xe4lte.md")
    (bakery / "real_oven.md").rename(bakery / odd)
    query = OVEN + os.fsdecode(b" f\xfcr")
    assert memdir("recall", query, "--pin").code == 0
    assert memdir("recall", "größe 大きさ", "--pin", "--expect", "none").code == 0
    ran = memdir("check", "--json")
    assert ran.code == 0, ran.out
    assert odd in json.loads(ran.out)["cases"][0]["expected"]
    (bakery / odd).unlink()
    assert "FAIL" in memdir("check").out


def test_only_memories_that_exist_can_be_expected(memdir: Memdir) -> None:
    ran = memdir("recall", OVEN, "--pin", "--expect", "nosuch.md")
    assert ran.code != 0
    assert "nosuch.md" in ran.err and "memdir list" in ran.err
    assert json.loads(memdir("check", "--json").out)["cases"] == []


def test_a_memory_is_expected_by_its_name_as_elsewhere(memdir: Memdir) -> None:
    assert memdir("recall", OVEN, "--pin", "--expect", "real_oven").code == 0
    (case,) = json.loads(memdir("check", "--json").out)["cases"]
    assert case["expected"] == ["real_oven.md"]


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--expect", "real_oven.md"], "--pin"), (["--pin", "--expect", "none", "--expect", "real_oven.md"], "none")],
)
def test_expectations_that_make_no_sense_are_refused(memdir: Memdir, words: list[str], told: str) -> None:
    ran = memdir("recall", OVEN, *words)
    assert ran.code != 0
    assert told in ran.err
    assert json.loads(memdir("check", "--json").out)["cases"] == []


def test_check_replays_cases_when_the_log_cannot_be_read(memdir: Memdir, bakery: Path) -> None:
    memdir("recall", OVEN, "--pin")
    state = bakery.with_name("memory.state")
    (state / "recalled.jsonl").mkdir()
    ran = memdir("check", "--json")
    assert ran.code == 0
    assert "recalled.jsonl" in ran.err
    assert json.loads(ran.out)["neverShown"] is None
    assert "never shown" not in memdir("check").out


def test_check_does_not_call_it_a_success_that_the_cases_cannot_be_read(memdir: Memdir, bakery: Path) -> None:
    (bakery.with_name("memory.state") / "pinned-recalls.jsonl").mkdir()
    ran = memdir("check")
    assert ran.code == 9
    assert "pinned-recalls.jsonl" in ran.err


def test_the_team_and_the_project_do_not_disturb_each_others_index(memdir: Memdir, bakery: Path) -> None:
    (bakery / "team").mkdir()
    for one in BAKERY[:3]:  # the same names in both places
        text = f"---\nname: hangar\ndescription: the zeppelin hangar opens at nine\ntype: reference\n---\n\n{one.key}\n"
        (bakery / "team" / one.key).write_text(text, encoding="utf-8")
    words = ("recall", "when does the zeppelin hangar open?", "--json", "--scope")
    team, project = memdir(*words, "team").out, memdir(*words, "project").out
    assert json.loads(team)["recalled"]
    assert (memdir(*words, "team").out, memdir(*words, "project").out) == (team, project)
