"""Whose key is used: nobody's, until a person chose. In a terminal the first use asks, once; elsewhere the built-in
model serves and one event says so."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdir.memdir import open_memory
from memdir.model.model import ScriptedModel
from memdir.settings import Environment
from tests.cli.test_shell import Keyboard
from tests.conftest import Events, Ran
from tests.provider_server import KEY, ProviderServer, says

Memdir = Callable[..., Ran]
QUESTION = "Which model may"
CHOOSE = "press Enter for 1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A provider that a key, and an address beside it, lead to."""
    with ProviderServer() as started:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", started.url)
        yield started


@pytest.fixture(autouse=True)
def memory(project: Path) -> None:
    open_memory(project).add("Deploys are frozen until 2026-12-01: the auditors are in the house")


def own_settings() -> dict[str, object]:
    path = Path(os.environ["MEMDIR_HOME"], "settings.json")
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def told() -> list[dict[str, object]]:
    log = Path(os.environ["MEMDIR_HOME"], "logs", "events.jsonl")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return [line for line in lines if line["event"] == "model.builtin"]


@pytest.mark.parametrize(
    "words",
    [
        ("dream", "--yes"),
        ("dream", "--dry-run", "--json"),
        ("recall", "may I deploy?"),
        ("recall", "may I deploy?", "--selector", "model", "--json"),
    ],
)
def test_without_a_terminal_no_key_is_used_and_one_event_says_so(
    memdir: Memdir, server: ProviderServer, words: tuple[str, ...]
) -> None:
    ran = memdir(*words)
    assert ran.code == 0, ran.err
    assert QUESTION not in ran.out + ran.err
    assert server.requests == []
    assert own_settings() == {}
    [event] = told()
    assert event["unused"] == ["ANTHROPIC_API_KEY"] and event["reason"] == "nobody chose a model"


@pytest.mark.parametrize(
    "words", [("remember", "Ines bakes at five"), ("recall", "x", "--selector", "local"), ("list",)]
)
def test_what_asks_no_model_speaks_of_none(
    memdir: Memdir, server: ProviderServer, words: tuple[str, ...], memdir_command: str, project: Path
) -> None:
    assert memdir(*words).code == 0 and told() == []
    person = Keyboard([memdir_command, *words], project)
    assert person.ended() == 0 and QUESTION not in person.screen


def test_in_a_terminal_the_first_use_asks_once_and_keeps_it_in_the_person_s_own_settings(
    memdir_command: str, project: Path, server: ProviderServer
) -> None:
    server.add(says('{"selected_memories": []}'), says('{"selected_memories": []}'))
    person = Keyboard([memdir_command, "recall", "may I deploy?"], project)
    person.wait_for(CHOOSE)
    assert "2  claude-sonnet-5-5 by anthropic with the key in ANTHROPIC_API_KEY" in person.screen
    assert server.requests == [], "nothing is sent before the answer"
    person.types("2\n")
    assert person.ended() == 0, person.screen
    assert own_settings() == {"model.provider": "anthropic"}
    assert len(server.requests) == 1
    again = Keyboard([memdir_command, "recall", "may I deploy?"], project)
    assert again.ended() == 0 and QUESTION not in again.screen
    assert len(server.requests) == 2
    assert list(project.iterdir()) == [], "never in the repository"


def test_in_another_agent_s_home_its_settings_stay_as_they_are(
    memdir_command: str, tmp_path: Path, project: Path, server: ProviderServer
) -> None:
    home = tmp_path / ".claude"
    home.mkdir()
    (home / "settings.json").write_text('{"permissions": {"allow": []}}', encoding="utf-8")
    for is_asked in (True, False):
        person = Keyboard([memdir_command, "dream", "--dry-run"], project, MEMDIR_HOME=str(home))
        if is_asked:
            person.wait_for(CHOOSE)
            person.types("1\n")
        assert person.ended() == 0 and (QUESTION in person.screen) is is_asked
    assert json.loads((home / "settings.json").read_text(encoding="utf-8")) == {"permissions": {"allow": []}}


@pytest.mark.parametrize("typed", ["\n", "1\n", "builtin\n", "0\n", "frog\n\n"])
def test_the_built_in_model_is_an_answer_too(
    memdir_command: str, project: Path, server: ProviderServer, typed: str
) -> None:
    person = Keyboard([memdir_command, "dream", "--dry-run"], project)
    person.wait_for(CHOOSE)
    person.types(typed if typed != "0\n" else "0\n1\n")
    assert person.ended() == 0, person.screen
    assert own_settings() == {"model.provider": "builtin"}
    again = Keyboard([memdir_command, "dream", "--dry-run"], project)
    assert again.ended() == 0 and QUESTION not in again.screen
    assert server.requests == [] and told() == []


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_ctrl_c_at_the_question_keeps_nothing_and_the_next_use_asks_again(
    memdir_command: str, project: Path, server: ProviderServer, key: str
) -> None:
    for _ in range(2):
        person = Keyboard([memdir_command, "dream", "--yes"], project)
        person.wait_for(CHOOSE)
        person.types(key)
        person.types("2\n")
        assert person.ended() == 130
        assert "Traceback" not in person.screen
        assert own_settings() == {} and server.requests == []


def test_nobody_is_asked_where_there_is_nothing_to_choose_or_it_would_not_be_in_force(
    memdir_command: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Keyboard([memdir_command, "dream", "--dry-run"], project)
    assert person.ended() == 0 and QUESTION not in person.screen
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for words in (("--set", "model.provider=auto"), ("--json",)):
        person = Keyboard([memdir_command, "dream", "--dry-run", *words], project)
        assert person.ended() == 0 and QUESTION not in person.screen


def test_a_repository_can_neither_choose_nor_keep_the_person_from_it(
    memdir_command: str, memdir: Memdir, project: Path, server: ProviderServer
) -> None:
    """S2: what it says about models is refused, in a terminal and elsewhere."""
    folder = project / ".memdir"
    folder.mkdir()
    hostile = {"model": {"provider": "anthropic", "baseUrl": server.url}, "recall.selector": "model"}
    (folder / "settings.json").write_text(json.dumps(hostile), encoding="utf-8")
    assert memdir("dream", "--yes").code == 0
    person = Keyboard([memdir_command, "recall", "may I deploy?"], project)
    person.wait_for(CHOOSE)
    person.types("1\n")
    assert person.ended() == 0
    assert server.requests == []
    assert json.loads((folder / "settings.json").read_text(encoding="utf-8")) == hostile


async def test_a_model_passed_to_open_memory_is_a_choice(project: Path, server: ProviderServer, events: Events) -> None:
    model = ScriptedModel([says("ignored")])
    memory = open_memory(project, model=model, sink=events)
    assert memory.model_name == "ScriptedModel" and memory.recallers.asks_model
    memory.models.for_job("extract")
    memory.recallers.of()
    assert "model.builtin" not in events.names
    hosts = open_memory(project, sink=events)  # a host in a terminal is not asked either
    hosts.models.for_job("extract")
    hosts.models.for_job("dream")
    hosts.recallers.of()
    assert events.names.count("model.builtin") == 1
    await hosts.close()
    await memory.close()


@pytest.mark.parametrize("provider", ["anthropic", "openai", "command"])
def test_a_key_without_its_sdk_is_told_and_not_fatal(
    memdir: Memdir, project: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    for package in ("anthropic", "openai"):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setenv(f"{package.upper()}_API_KEY", KEY)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    chosen = ("--set", f"model.provider={provider}")
    ran = memdir("dream", "--dry-run", *chosen)
    assert ran.code == 0, ran.err
    assert "not installed" in ran.err and "the built-in model serves" in ran.err
    if provider != "command":
        assert f"pip install 'memdir[{provider}]'" in ran.err
    recalled = memdir("recall", "may I deploy?", *chosen)
    assert recalled.code == 0 and "the model did not choose: " in recalled.out and "not installed" in recalled.out
    found = memdir("doctor", "--json", *chosen)
    [finding] = [one for one in json.loads(found.out)["findings"] if one["check"] == "model"]
    assert "not installed" in finding["message"] and finding["severity"] == "warning"


def test_doctor_says_which_model_serves_and_why(memdir: Memdir, server: ProviderServer) -> None:
    assert (
        "the built-in model, because nobody chose another (ANTHROPIC_API_KEY: not used unasked)" in memdir("doctor").out
    )
    memdir("config", "set", "model.provider", "anthropic")
    assert "claude-sonnet-5-5 (anthropic), chosen in the user settings" in memdir("doctor").out
    memdir("config", "set", "model.provider", "builtin")
    assert json.loads(memdir("doctor", "--json").out)["model"] == "the built-in model, chosen in the user settings"
    assert server.requests == []


def test_doctor_tells_that_the_chosen_provider_has_no_key(memdir: Memdir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = memdir("doctor", "--set", "model.provider=openai")
    assert ran.code == 1 and "there is no key for OpenAI" in ran.out and "OPENAI_API_KEY" in ran.out


def test_a_hook_s_environment_alone_sends_nothing(project: Path, server: ProviderServer, events: Events) -> None:
    names = {"MEMDIR_HOME": os.environ["MEMDIR_HOME"], "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    memory = open_memory(project, environment=Environment(names), sink=events)
    assert not memory.recallers.asks_model and memory.model_name == "builtin"
