"""Codex and Claude Code as a person has them, in a terminal: trust, compaction, resume, sub-agents."""

from __future__ import annotations

import json

import pytest

from tests.clients.conftest import Desk, texts
from tests.clients.terminal import DOWN, ENTER, Terminal
from tests.clients.test_one_memory import QUESTION, recalled
from tests.hooks.agents import wait_for
from tests.provider_server import Answer, Call, Recorded, says
from tests.provider_server.script import Body, Outcome

RULE = "Never mock the database in our tests"
OPTIONS = {"codex": ("--no-daemon",), "claude": ("--model", "claude-sonnet-4-5")}
RESUMED = {"codex": ("resume", "--last"), "claude": ("--continue",)}
READY = "auto mode on"  # Claude Code takes a prompt now

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def known(desk: Desk) -> Desk:
    """Claude Code was used before: nothing is left to be asked. A memory is there."""
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["test-key"], "rejected": []},
        "projects": {str(desk.project): {"hasTrustDialogAccepted": True}},
    }
    (desk.home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
    desk.memdir("attach", "--yes")
    desk.memdir("remember", RULE)
    return desk


def opened(desk: Desk, name: str, *more: str) -> Terminal:
    client = desk.client(name)
    return Terminal([client.program, *more, *OPTIONS[name]], cwd=client.project, environment=client.environment)


def answered(terminal: Terminal, *keys: str) -> None:
    """Answer what Codex asks at its first start with new hooks: yes to the folder, and these keys to the hooks."""
    terminal.wait_for("Trust this folder")
    terminal.type(ENTER)
    terminal.wait_for("hooks are new or changed")
    for key in (*keys, ENTER):
        terminal.type(key)
    terminal.wait_for("Ask Codex to do anything")


def said(desk: Desk, terminal: Terminal, text: str) -> Recorded:
    """The request in which a line reaches the provider that was typed."""
    before = len(desk.server.requests)
    terminal.say(text)

    def found() -> list[Recorded]:
        terminal.look()
        new = desk.server.requests[before:]
        return [request for request in new if any(part.strip() == text for part in texts(request.body))]

    wait_for(found)
    terminal.wait_for("ok")
    return found()[-1]


def begins(request: Recorded) -> int:
    """How often a request holds what a session begins with."""
    return sum("Contents of /" in text and "# Memory" in text for text in texts(request.body))


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_a_session_keeps_its_memory_once_when_compacted_and_when_resumed(known: Desk, name: str) -> None:
    """N7, R1: what a compaction threw away is shown again, what a resumed session still has is not."""
    with opened(known, name) as terminal:
        if name == "codex":
            answered(terminal, DOWN)  # trust all and continue
        else:
            terminal.wait_for(READY)
        first = said(known, terminal, QUESTION)
        assert (len(recalled([first])), begins(first)) == (1, 1)
        more = said(known, terminal, f"{QUESTION} And those for the cache?")
        assert (len(recalled([more])), begins(more)) == (1, 1)
        terminal.say("/compact")
        terminal.wait_for("compacted", "Compacted")
        again = said(known, terminal, f"{QUESTION} I forgot.")
        assert (len(recalled([again])), begins(again)) == (1, 1)
        terminal.say("/exit" if name == "claude" else "/quit")
        terminal.end()
    with opened(known, name, *RESUMED[name]) as terminal:
        terminal.wait_for("I forgot.")
        resumed = said(known, terminal, f"{QUESTION} Once more.")
        assert (len(recalled([resumed])), begins(resumed)) == (1, 1)
    if name == "codex":
        assert "attached" in known.memdir("attach", "--status", "codex"), "the hooks are trusted, and were seen"


def test_codex_runs_no_hook_that_nobody_trusts_and_status_says_so(known: Desk) -> None:
    """Nobody stamps the trust for the user."""
    with opened(known, "codex") as terminal:
        answered(terminal, DOWN, DOWN)  # continue without trusting
        assert not recalled([said(known, terminal, QUESTION)])
    assert "trust" in known.memdir("attach", "--status", "codex", code=1)


def test_what_is_saved_is_told_once_with_the_next_prompt(known: Desk) -> None:
    """X9: in the words of Claude Code's own notes."""
    with opened(known, "claude") as terminal:
        terminal.wait_for(READY)
        said(known, terminal, "From now on always run the tests with make check before you commit, please.")
        wait_for(lambda: len(known.memories) == 2 or terminal.look())
        terminal.say("thanks")
        terminal.wait_for("Memory saved:")
        said(known, terminal, "and bye")
        assert "Memory saved" not in terminal.shown


def test_what_a_sub_agent_is_told_is_no_rule_of_the_users(known: Desk) -> None:
    """L4: the model wrote it. The person's own words of the same turn count."""
    told = "Please never mock the message queue in our tests, we got burned by that last quarter."
    task = {"description": "look", "prompt": told, "subagent_type": "general-purpose", "run_in_background": False}

    def step(body: Body) -> Outcome:
        is_main = any(text.startswith("Ask a helper") for text in texts(body["messages"]))
        is_new = not any("tool_result" in str(message["content"]) for message in body["messages"])
        return Answer((Call("Agent", task, "toolu_1"),)) if is_main and is_new else says("ok")

    known.server.add(*[step] * 12)
    requests = known.asked("claude", "Ask a helper to look. From now on we deploy on Mondays only.")
    helpers = [request for request in requests if told in texts(request.body["messages"])]
    assert helpers and not recalled(helpers)
    wait_for(lambda: len(known.memories) > 1)
    assert not [path for path in known.memories if "queue" in path.read_text(encoding="utf-8")]
    assert [path for path in known.memories if "Mondays" in path.read_text(encoding="utf-8")]
