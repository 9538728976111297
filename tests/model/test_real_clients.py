"""The real Claude Code and Codex as models, talking to the test server. `make test-clients` installs and runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memdir.errors import ModelError
from memdir.model.command import CommandModel
from memdir.model.model import ModelSettings, Request, SystemBlock
from memdir.transcript.message import Message, ToolResult, user
from tests.clients.coding_agents import INSTALLED, skip_unless_wanted
from tests.model.providers import READ
from tests.provider_server import KEY, Answer, Call, ProviderServer, says
from tests.provider_server.script import Body, Outcome

SETTINGS = ModelSettings(longest_seconds=90)
REQUEST = Request("", (SystemBlock("Answer in one word."),), (READ,), (user("Read a.md, please."),), SETTINGS)
TOLD = {"text": "I look.", "tool_calls": [{"name": "Read", "arguments": '{"file_path": "a.md"}'}]}
DONE = {"text": "Empty.", "tool_calls": []}

pytestmark = pytest.mark.timeout(180)


def program(name: str) -> str:
    skip_unless_wanted()
    return str(INSTALLED / name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with hooks that must never run."""
    folder = tmp_path / "client-home"
    (folder / ".claude").mkdir(parents=True)
    hook = {"matcher": "", "hooks": [{"type": "command", "command": f"touch {tmp_path}/hook-ran"}]}
    hooks = {name: [hook] for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    monkeypatch.setenv("HOME", str(folder))
    for name, value in (
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("IS_SANDBOX", "1"),
    ):
        monkeypatch.setenv(name, value)
    return folder


def claude_step(body: Body) -> Outcome:
    """Claude Code asks for structured output with a tool of that name; what it answers depends on what it was told."""
    if "StructuredOutput" not in [tool["name"] for tool in body.get("tools") or ()]:
        return says("Done.")
    told = DONE if r"\"result\":" in json.dumps(body["messages"]) else TOLD
    return Answer((Call("StructuredOutput", told, "toolu_1"),))


async def test_claude_code_calls_tools_takes_results_and_runs_no_hook(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CommandModel("claude", path=program("claude"), folder=str(tmp_path / "work"))
    with ProviderServer([claude_step] * 6) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        request = Request("claude-sonnet-5", REQUEST.system, REQUEST.tools, REQUEST.messages, SETTINGS)
        reply = await model.complete(request)
        [use] = reply.message.tool_uses
        assert (reply.message.text, use.name, dict(use.input)) == ("I look.", "Read", {"file_path": "a.md"})
        assert reply.usage.output > 0
        results = Message("user", (ToolResult(use.id, "nothing"),))
        talk = (*request.messages, reply.message, results)
        final = await model.complete(Request(request.model, request.system, request.tools, talk, SETTINGS))
        assert (final.message.text, final.stop_reason) == ("Empty.", "end_turn")
        first = server.requests[0].raw.decode("utf-8")
    assert "Answer in one word." in first and "### Read" in first and "Read a.md, please." in first
    assert [tool["name"] for tool in json.loads(first)["tools"]] == ["StructuredOutput"], "none of its own tools"
    assert not (tmp_path / "hook-ran").exists()
    assert not list((home / ".claude").glob("projects/*/*.jsonl")), "no session is kept"


# Its own choice and Luna script their tools and have sub-agents, each in its way; GPT-5.5 patches; GPT-5 is unknown.
@pytest.mark.parametrize("name", ["", "gpt-5.6-luna", "gpt-5.5", "gpt-5"])
async def test_codex_is_asked_alone_without_its_tools_hooks_servers_and_sessions(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    codex = program("codex")
    with ProviderServer([says(json.dumps(TOLD))]) as server:
        configure_codex(home, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        model = CommandModel("codex", path=codex, folder=str(tmp_path / "work"))
        reply = await model.complete(Request(name, REQUEST.system, REQUEST.tools, REQUEST.messages, SETTINGS))
        sent = server.requests[0].raw.decode("utf-8")
    [use] = reply.message.tool_uses
    assert (reply.message.text, use.name, dict(use.input)) == ("I look.", "Read", {"file_path": "a.md"})
    assert "Answer in one word." in sent and "You are Codex" not in sent
    assert not list(home.glob(".codex/sessions/**/*.jsonl"))
    assert not (tmp_path / "hook-ran").exists() and not (tmp_path / "server-ran").exists()
    body = json.loads(sent)
    assert not body.get("tools") and {item["type"] for item in body["input"]} == {"message"}
    assert not any(word in sent for word in ("mcp__own", "additional_tools", "spawn_agent", "<multi_agent"))


async def test_codex_says_why_it_failed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codex = program("codex")
    with ProviderServer() as server:
        configure_codex(home, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "another-key")
        model = CommandModel("codex", path=codex, folder=str(tmp_path / "work"))
        with pytest.raises(ModelError) as raised:
            await model.complete(Request("gpt-5.6-luna", messages=REQUEST.messages, settings=SETTINGS))
    assert raised.value.kind == "wrong_key"
    assert "log in" in raised.value.remedy


def configure_codex(home: Path, url: str) -> None:
    """With a hook and a server that must never run."""
    (home / ".codex").mkdir()
    hooks = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    (home / ".codex" / "hooks.json").write_text(json.dumps(hooks), encoding="utf-8")
    config = f"""
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.own]
command = "touch"
args = ["{home.parent}/server-ran"]
"""
    (home / ".codex" / "config.toml").write_text(config, encoding="utf-8")
    os.environ.pop("CODEX_HOME", None)
