"""What a real client does when its model breaks a rule with a guard (Q1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.clients.coding_agents import NAMES
from tests.clients.conftest import Desk, texts
from tests.provider_server.script import Answer, Body, Call, says

PROMPT = "Please make the file."
RULE = "Never touch forced files. **Why:** the last one cost Maria a week."
SHELLS: dict[str, Mapping[str, Any]] = {
    "Bash": {"command": "touch forced.txt", "description": "make it"},
    "run_shell_command": {"command": "touch forced.txt", "description": "make it", "is_background": False},
    "bash": {"command": "touch forced.txt", "description": "make it"},
    "exec_command": {"cmd": "touch forced.txt"},
    "shell_command": {"command": "touch forced.txt"},
    "shell": {"command": ["bash", "-lc", "touch forced.txt"]},
}

pytestmark = pytest.mark.timeout(600)


def names(value: object) -> set[str]:
    """The tools that a request offers, whatever form it has."""
    if isinstance(value, dict):
        own = {str(value["name"])} if isinstance(value.get("name"), str) else set()
        return own | {name for one in value.values() for name in names(one)}
    return {name for one in value for name in names(one)} if isinstance(value, list) else set()


def breaks_the_rule(body: Body) -> Answer:
    """A model that calls its shell once, and is content with whatever comes back."""
    offered = [tool for tool in SHELLS if tool in names(body.get("tools") or body.get("input"))]
    said = texts({key: value for key, value in body.items() if key != "tools"})
    is_asked = any(PROMPT in text for text in said)
    is_done = any(tool_result in str(body) for tool_result in ("call_1", "functionResponse"))
    if not offered or not is_asked or is_done:
        return says("ok")
    return Answer((Call(offered[0], SHELLS[offered[0]], "call_1"),))


@pytest.mark.parametrize("action", ["block", "warn"])
@pytest.mark.parametrize("name", NAMES)
def test_a_breach_is_answered_with_the_rule_and_a_block_stops_it(desk: Desk, name: str, action: str) -> None:
    desk.memdir("remember", RULE, "--type", "feedback", "--name", "Forced")
    desk.memdir("guard", "add", "feedback_forced", f"{action} shell(touch forced*)")
    desk.memdir("attach", "--yes")
    desk.server.add(*[breaks_the_rule] * 12)
    more = ("--dangerously-skip-permissions",) if name == "claude" else ()
    # With a model that it knows, Codex offers no shell but a script that calls it.
    more = ("--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5") if name == "codex" else more
    requests = desk.asked(name, PROMPT, *more)
    told = [
        text
        for request in requests
        for text in texts(request.body)
        if "Maria" in text and "goes against a rule" in text
    ]
    assert told, "the model was not told"
    assert (desk.project / "forced.txt").exists() == (action == "warn")


def scripts_it(body: Body) -> Answer:
    """The same through the script that Codex offers a model of its own: the shell is called inside."""
    is_asked = any(PROMPT in text for text in texts(body["input"]))
    if not is_asked or "call_1" in str(body):
        return says("ok")
    return Answer((Call("custom:exec", 'text(await tools.exec_command({cmd: "touch forced.txt"}))', "call_1"),))


@pytest.mark.parametrize("action", ["block", "warn"])
def test_a_guard_holds_in_codex_s_code_mode(desk: Desk, action: str) -> None:
    desk.memdir("remember", RULE, "--type", "feedback", "--name", "Forced")
    desk.memdir("guard", "add", "feedback_forced", f"{action} shell(touch forced*)")
    desk.memdir("attach", "codex", "--yes")
    desk.server.add(*[scripts_it] * 12)
    requests = desk.asked("codex", PROMPT, "--dangerously-bypass-approvals-and-sandbox")
    assert "custom_tool_call_output" in str(requests[-1].body), "the script ran"
    told = [text for request in requests for text in texts(request.body) if "goes against a rule" in text]
    assert told and (desk.project / "forced.txt").exists() == (action == "warn")
