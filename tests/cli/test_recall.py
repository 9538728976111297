"""`memdir recall` and `memdir check`: recall explains itself, and a case can be pinned as a test (O2)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdir.memdir import open_memory
from memdir.recall import model_select
from tests.conftest import Ran
from tests.provider_server import KEY, Hang, ProviderServer, Refusal, says
from tests.search.worlds import BAKERY

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


def test_that_nothing_comes_back_is_no_failure_and_the_docs_say_so(memdir: Memdir, bakery: Path) -> None:
    """R3: for most messages nothing is right; who searches wants something."""
    for more in ((), ("--json",), ("--render",)):
        assert memdir("recall", "good morning", *more).code == 0
    assert "a success, too" in " ".join(memdir("help", "recall").out.split())
    page = (Path(__file__).parents[2] / "docs" / "exit-codes.md").read_text()
    assert "`recall` that brings nothing back" in page and "a search found nothing" in page


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


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A provider whose key is there."""
    with ProviderServer() as started:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        yield started


def at(server: ProviderServer) -> tuple[str, ...]:
    return "--set", "model.provider=anthropic", "--set", f"model.baseUrl={server.url}"


def test_recall_asks_the_model_that_a_conversation_would_ask(memdir: Memdir, server: ProviderServer) -> None:
    server.add(says('{"selected_memories": ["hours.md"]}'))
    ran = memdir("recall", OVEN, "--explain", *at(server))
    assert ran.out.startswith("+ hours.md  Ines starts at five")
    assert "\nfor comparison, the ranking by words" in ran.out
    assert "\n+ real_oven.md" not in ran.out
    assert "chosen by claude-sonnet-5-5" in ran.out
    assert OVEN in str(server.requests[0].body)


def test_a_model_that_is_certain_of_nothing_brings_nothing(memdir: Memdir, server: ProviderServer) -> None:
    server.add(says('{"selected_memories": []}'))
    out = memdir("recall", OVEN, *at(server)).out
    assert "No memory clearly helps" in out
    assert "real_oven.md" not in out


def test_recall_says_why_the_model_did_not_choose(memdir: Memdir, server: ProviderServer) -> None:
    server.add(Refusal("wrong_key"))
    ran = memdir("recall", OVEN, *at(server))
    assert "+ real_oven.md" in ran.out
    assert "chosen on this machine, by words; the model did not choose: " in ran.out
    server.add(Refusal("wrong_key"))
    found = json.loads(memdir("recall", OVEN, "--json", *at(server)).out)
    assert found["recalled"][0] == "real_oven.md"
    assert found["chosenBy"] == "words"
    assert "key" in found["insteadOfModel"]


def test_recall_waits_for_a_model_no_longer_than_a_conversation_does(
    memdir: Memdir, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_select, "MODEL_SECONDS", 0.05)
    server.add(Hang(says("never")))
    ran = memdir("recall", OVEN, *at(server))
    assert "+ real_oven.md" in ran.out
    assert "no answer within 0.05 s" in ran.out


def test_the_selector_may_be_named_for_one_call(memdir: Memdir, server: ProviderServer) -> None:
    assert "+ real_oven.md" in memdir("recall", OVEN, "--selector", "local", *at(server)).out
    assert server.requests == []
    server.add(says('{"selected_memories": ["hours.md"]}'))
    where = ("--set", "recall.selector=local", *at(server))
    assert json.loads(memdir("recall", OVEN, "--selector", "auto", "--json", *where).out)["recalled"] == ["hours.md"]


def test_a_model_without_its_key_leaves_the_choice_to_this_machine(
    memdir: Memdir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ran = memdir("recall", OVEN, "--selector", "model", "--set", "model.provider=anthropic")
    assert "+ real_oven.md" in ran.out
    assert "the model did not choose: " in ran.out


def test_where_no_model_is_configured_the_built_in_one_is_not_asked_to_choose(
    memdir: Memdir, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    ran = memdir("recall", OVEN, "--selector", "model")
    assert "+ real_oven.md" in ran.out
    assert "no model is configured" in ran.out


def test_a_pin_is_chosen_as_check_replays_it(memdir: Memdir, server: ProviderServer) -> None:
    assert memdir("recall", OVEN, "--pin", *at(server)).code == 0
    assert memdir("check", *at(server)).code == 0
    assert server.requests == []
    refused = memdir("recall", OVEN, "--pin", "--selector", "model", *at(server))
    assert refused.code != 0
    assert "replays" in refused.err


def test_what_is_rendered_was_chosen_by_the_model(memdir: Memdir, server: ProviderServer) -> None:
    server.add(says('{"selected_memories": ["hours.md"]}'))
    out = memdir("recall", OVEN, "--render", *at(server)).out
    assert "hours.md" in out
    assert "real_oven.md" not in out


async def put_into(project: Path, session: str, text: str) -> None:
    """One message of a conversation, with its memories."""
    memory = open_memory(project, flags={"recall.encoder": "words", "recall.selector": "local"})
    pending = memory.session(session).prefetch(text)
    while not pending.is_done:
        await asyncio.sleep(0)
    assert pending.ready()
    await memory.close()


def test_the_log_tells_what_was_shown_when_and_for_which_message(memdir: Memdir, project: Path) -> None:
    assert "No memory was put into a conversation yet" in memdir("recall", "--log").out
    asyncio.run(put_into(project, "monday", OVEN))
    asyncio.run(put_into(project, "tuesday", "please\n" + ", ".join([OVEN] * 3)))
    newest, older = json.loads(memdir("recall", "--log", "--json").out)["shown"]
    assert (older["session"], older["message"], older["chosenBy"]) == ("monday", OVEN, "words")
    assert "real_oven.md" in older["files"]
    assert newest["session"] == "tuesday"
    assert newest["message"].startswith(f"please {OVEN}, write")
    assert len(newest["message"]) == 80
    out = memdir("recall", "--log", "--limit", "1").out
    assert "tuesday  please" in out and "real_oven.md" in out and ", chosen by words" in out
    assert "monday" not in out
    assert "monday" in memdir("recall", OVEN, "--log").out
    assert "for that" in memdir("recall", "croissants", "--log").out


def test_the_log_names_the_model_that_chose(memdir: Memdir, server: ProviderServer) -> None:
    server.add(says('{"selected_memories": ["hours.md"]}'))
    memdir("recall", OVEN, "--render", *at(server))
    (only,) = json.loads(memdir("recall", "--log", "--json").out)["shown"]
    assert (only["chosenBy"], only["files"], only["session"]) == ("model", ["hours.md"], "cli")


def test_recall_wants_a_message(memdir: Memdir) -> None:
    ran = memdir("recall")
    assert ran.code == 2
    assert "nothing to recall" in ran.err


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


def test_recall_adds_what_the_user_keeps_for_all_projects(memdir: Memdir) -> None:
    memdir("remember", "Integration tests for a client I want as tables", "--scope", "user")
    ran = memdir("recall", OVEN)
    assert "+ real_oven.md" in ran.out
    assert "yours, for all projects (--scope user)" in ran.out, "how another command is told which one"
    assert "(--scope user)" in memdir("search", "tables").out
    (own,) = json.loads(memdir("recall", OVEN, "--json").out)["recalledOfUser"]
    assert own in ran.out
    assert "as tables" in memdir("recall", OVEN, "--render").out
    assert json.loads(memdir("recall", OVEN, "--json", "--scope", "user").out)["recalled"] == [own]


def test_what_was_shown_of_the_team_is_not_called_never_shown(memdir: Memdir, bakery: Path) -> None:
    (bakery / "team").mkdir()
    (bakery / "real_oven.md").rename(bakery / "team" / "real_oven.md")
    assert "team/real_oven.md" in json.loads(memdir("check", "--json").out)["neverShown"]
    assert "real_oven.md" in memdir("recall", OVEN, "--scope", "team", "--render").out
    assert "team/real_oven.md" not in json.loads(memdir("check", "--json").out)["neverShown"]


def test_explain_tells_of_both_scopes(memdir: Memdir, project: Path) -> None:
    own = Path(open_memory(project).places.of("user").root)
    own.mkdir(parents=True, exist_ok=True)
    head = "---\nname: Tests\ndescription: likes oven tests with real temperatures\ntype: user\n---\n"
    (own / "ovens.md").write_text(f"{head}\nSaid twice.\n", encoding="utf-8")
    out = memdir("recall", OVEN, "--explain").out
    mine = out.partition("of your memories for all projects:")[2]
    assert "ovens.md" in mine and "meaning" in mine and "real_oven.md" not in mine
    found = json.loads(memdir("recall", OVEN, "--json").out)
    assert [one["file"] for one in found["candidatesOfUser"]] == ["ovens.md"]
