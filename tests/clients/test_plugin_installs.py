"""The folder `plugin/`, installed by the agents' own means, works as attaching does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.clients.conftest import Desk, texts
from tests.clients.test_guarded_clients import PROMPT, RULE, breaks_the_rule
from tests.clients.test_one_memory import QUESTION, recalled

PLUGIN = str(Path(__file__).parents[2] / "plugin")
NAMES = ("claude", "codex", "gemini")

pytestmark = pytest.mark.timeout(600)


def install(desk: Desk, name: str) -> None:
    client = desk.client(name)
    if name == "gemini":
        client.run("extensions", "install", PLUGIN, "--consent", said="y\n")
        return
    client.run("plugin", "marketplace", "add", PLUGIN)
    client.run("plugin", "install" if name == "claude" else "add", "memdir@memdir")


@pytest.fixture
def plugged(desk: Desk) -> Desk:
    desk.has_memdir = True
    return desk


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [("claude", "plugin", "Validation passed"), ("gemini", "extensions", "has been successfully validated")],
)
def test_who_has_a_validator_finds_no_fault_with_it(plugged: Desk, name: str, words: str, told: str) -> None:
    """Codex has none: there it is installed, and works (below)."""
    assert told in plugged.client(name).run(words, "validate", PLUGIN)


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_plugin_brings_memory_once_and_attaching_as_well_is_told(plugged: Desk, name: str) -> None:
    plugged.memdir("remember", "Never mock the database in our tests")
    install(plugged, name)
    # With a model that it knows better, Codex offers no tool but a script that calls them.
    requests = plugged.asked(name, QUESTION, *(("-m", "gpt-5") if name == "codex" else ()))
    assert len(recalled(requests)) == 1
    answering = max(requests, key=lambda request: len(str(request.body)))
    assert sum("# Memory" in text and "Contents of /" in text for text in texts(answering.body)) == 1
    offered = r"memdir_+search|Find memories by words"  # Claude Code names them, the others describe them
    assert re.search(offered, str(answering.body)), "the server's tools are there"
    [found] = json.loads(plugged.memdir("attach", "--status", name, "--json"))["agents"]
    assert found["state"] == "plugin"
    plugged.memdir("attach", name, "--yes")
    assert "comes twice" in plugged.memdir("attach", "--status", name, code=1)


def test_gemini_has_nothing_to_complain_of(plugged: Desk) -> None:
    install(plugged, "gemini")
    assert "Invalid hook event" not in plugged.client("gemini").ask("hi").stderr


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_plugin_has_guards(plugged: Desk, name: str) -> None:
    """Q1."""
    plugged.memdir("remember", RULE, "--type", "feedback", "--name", "Forced")
    plugged.memdir("guard", "add", "feedback_forced", "block shell(touch forced*)")
    install(plugged, name)
    plugged.server.add(*[breaks_the_rule] * 12)
    more = {
        "claude": ("--dangerously-skip-permissions",),
        "codex": ("--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5"),
    }
    requests = plugged.asked(name, PROMPT, *more.get(name, ()))
    told = [text for request in requests for text in texts(request.body) if "goes against a rule" in text]
    assert told and not (plugged.project / "forced.txt").exists()
