"""Codex and Claude Code as a person has them, in a terminal: trust, compaction, resume, sub-agents."""

from __future__ import annotations

import json

import pytest

from tests.clients.coding_agents import NAMES
from tests.clients.conftest import Desk, texts
from tests.clients.terminal import DOWN, ENTER, UP, Terminal
from tests.clients.test_one_memory import QUESTION, recalled
from tests.clients.test_subagents import PROMPT, TASK, delegates
from tests.hooks.agents import wait_for
from tests.provider_server import Recorded

RULE = "Never mock the database in our tests"
OPTIONS = {
    "claude": ("--model", "claude-sonnet-4-5"),
    "codex": ("--no-daemon",),
    "gemini": ("-m", "gemini-2.5-flash", "--approval-mode", "yolo"),
    "qwen": ("--approval-mode", "yolo"),
    "opencode": ("--model", "stub/stub-model"),
}
RESUMED = {"codex": ("resume", "--last"), "claude": ("--continue",)}
READY = {  # to take a prompt
    "claude": "auto mode on",
    "gemini": "Type your message",
    "qwen": "Type your message",
    "opencode": "Ask anything",
}

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
            terminal.wait_for(READY[name])
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


@pytest.mark.parametrize("keys", [(), (UP, UP)], ids=["refused", "allowed"])
def test_what_claude_noted_of_the_server_in_a_repository_goes_with_detach(known: Desk, keys: tuple[str, ...]) -> None:
    known.memdir("detach", "--yes")
    known.memdir("attach", "claude", "--here", "--yes")
    with opened(known, "claude") as terminal:
        terminal.wait_for("New MCP server found")
        for key in (*keys, ENTER):
            terminal.type(key)
        terminal.wait_for(READY["claude"])
        assert recalled([said(known, terminal, QUESTION)])
    path = known.project / ".claude/settings.local.json"
    word = "enabledMcpjsonServers" if keys else "disabledMcpjsonServers"
    assert json.loads(path.read_text(encoding="utf-8"))[word] == ["memdir"]
    known.memdir("detach", "--yes")
    assert not path.exists()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_is_told_where_the_user_sees_it(known: Desk, name: str) -> None:
    """X9: at the start, beside the next prompt, or behind it, as each of them shows such things."""
    known.asked("codex", "From now on always run the tests with make check before you commit, please.")
    saved = known.memories[0].parents[1] / "attached" / "saved"
    wait_for(saved.exists)
    if name != "gemini":  # whose standard error has it
        known.asked(name, "Thank you.")
        assert saved.exists(), "nobody sees it where a program asks"
    with opened(known, name) as terminal:
        if name == "codex":
            answered(terminal, DOWN)
        else:
            terminal.wait_for(READY[name])
        if name not in ("claude", "gemini"):  # whose users are told when they start
            terminal.say("Thank you for that.")
        terminal.wait_for("Memory saved:")
        assert not saved.exists(), "nobody is told again"


def test_what_is_saved_while_a_session_goes_on_is_told_once_with_the_next_prompt(known: Desk) -> None:
    """X9: in the words of Claude Code's own notes."""
    with opened(known, "claude") as terminal:
        terminal.wait_for(READY["claude"])
        said(known, terminal, "From now on always run the tests with make check before you commit, please.")
        wait_for(lambda: len(known.memories) == 2 or terminal.look())
        terminal.say("thanks")
        terminal.wait_for("Memory saved:")
        said(known, terminal, "and bye")
        assert "Memory saved" not in terminal.shown


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_what_a_sub_agent_is_told_or_says_is_no_rule_of_the_users(known: Desk, name: str) -> None:
    """L4: the model wrote it. The person's own words of the same turn count."""
    known.server.add(*[delegates] * 30)
    before = len(known.server.requests)

    def helpers() -> list[Recorded]:
        new = [one for one in known.server.requests[before:] if TASK in str(one.body)]
        return [one for one in new if not any(PROMPT in text for text in texts(one.body))]

    with opened(known, name, *(("-m", "gpt-5") if name == "codex" else ())) as terminal:
        if name == "codex":
            answered(terminal, DOWN)
        else:
            terminal.wait_for(READY[name])
        said(known, terminal, PROMPT)
        wait_for(lambda: helpers() or terminal.look())
        wait_for(lambda: len(known.memories) > 1 or terminal.look())
        terminal.say("/exit" if name == "claude" else "/quit")
        terminal.end()
    wait_for(lambda: not list((known.home / ".memdir").glob("projects/*/attached/queue/*")))
    assert not recalled(helpers()), "nobody talks there"
    kept = "\n".join(path.read_text(encoding="utf-8") for path in known.memories)
    assert "Mondays" in kept and "burned" not in kept and "staging" not in kept and "before you delete" not in kept
