"""What every transcript source promises (ARCHITECTURE: TranscriptSource), on sessions that the real clients wrote.

The recorded ones are small sessions of Claude Code 2.1.197 and Codex 0.166.0, with long texts of the clients cut out.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memdir.layout import Layout, slug_of
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.sources.claude_code import ClaudeCodeSessions
from memdir.transcript.sources.codex import CodexSessions
from memdir.transcript.sources.source import OwnSessions, TranscriptSource
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock

RECORDED = Path(__file__).parent / "recorded"
RULE = "Never mock the database in tests."
HOST_TEXT = ("<environment_context>", "AGENTS.md instructions", "<local-command", "This session is being continued")


@dataclass(frozen=True)
class Case:
    """A source, and a project of which it has one session."""

    source: TranscriptSource
    project: Path


def own(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    layout = Layout(str(folder / "home"), str(project))
    transcript = Transcript(layout.session("one"), session_id="one", cwd=str(project), clock=clock)
    talk = Conversation(transcript)
    talk.add(user("<system-reminder>Contents of MEMORY.md</system-reminder>", is_meta=True))
    talk.add(user(f"{RULE} Please read two files first."))
    talk.add(
        Message("assistant", (Text("I read."), ToolUse("a", "Read", {"file_path": "x"}), ToolUse("b", "Read", {})))
    )
    talk.add(Message("user", (ToolResult("a", "1\tdef add"), ToolResult("b", "1\t# App"))))
    talk.add(Message("assistant", (Text("Done."),)))
    talk.compact(user("This session is being continued."), talk.messages[-1:], {"trigger": "manual"})
    talk.add(user("What did we do?"))
    transcript.close()
    return Case(OwnSessions(str(folder / "home")), project)


def claude_code(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "claude"
    shutil.copytree(RECORDED / "claude" / "projects" / "-home-ann-app", home / "projects" / slug_of(str(project)))
    return Case(ClaudeCodeSessions(str(home)), project)


def codex(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "codex"
    shutil.copytree(RECORDED / "codex", home)
    for path in home.rglob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace("/home/ann/app", str(project)), encoding="utf-8")
    return Case(CodexSessions(str(home)), project)


@pytest.fixture(params=[own, claude_code, codex])
def case(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Case:
    build: Callable[[Path, Clock], Case] = request.param
    return build(tmp_path.resolve(), clock)


def test_it_finds_the_sessions_of_a_project_and_of_no_other(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    assert Path(ref.path).stat().st_size == ref.size
    assert ref.id and ref.agent
    other = case.project.parent / "other"
    other.mkdir()
    assert list(case.source.sessions(str(other))) == []


def test_it_tells_what_was_said_called_and_answered_in_order(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    assert messages[0].role == "user"
    assert messages[0].text.startswith(RULE)
    assert messages[-1].role in ("user", "assistant")
    called: list[str] = []
    for message in messages:
        called += [use.id for use in message.tool_uses]
        assert all(result.tool_use_id in called for result in message.tool_results)
    answered = [result for message in messages for result in message.tool_results]
    assert len(answered) == len(called) > 0
    assert any("def add" in result.content for result in answered)


def test_it_leaves_out_what_the_host_put_in_and_what_sub_agents_said(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    for message in case.source.messages(ref):
        assert not message.is_meta
        assert not any(words in message.text for words in HOST_TEXT)
        assert "Count the files here." not in message.text


def test_ids_are_unique_and_the_same_at_every_reading(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    first, second = ([message.id for message in case.source.messages(ref)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)
    assert all(first)


def test_since_gives_what_came_after_a_message_and_all_when_it_is_gone(case: Case) -> None:
    """X4."""
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    for at, message in enumerate(messages):
        assert list(case.source.messages(ref, since=message.id)) == messages[at + 1 :]
    assert list(case.source.messages(ref, since="no-such-message")) == messages
    assert list(case.source.messages(ref, since="")) == messages


@pytest.mark.parametrize(
    "junk", [b'{"half', b"\0" * 4096, b"\xff\xfe\n", b"[1]\nnull\n{}\n", b'{"type":"response_item"}\n']
)
def test_damage_and_unknown_lines_cost_nothing_else(case: Case, junk: bytes) -> None:
    """J3."""
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    path = Path(ref.path)
    path.write_bytes(path.read_bytes() + junk)
    [again] = case.source.sessions(str(case.project))
    assert list(case.source.messages(again)) == messages


def test_a_session_that_is_gone_reads_as_empty(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    Path(ref.path).unlink()
    assert list(case.source.messages(ref)) == []
    assert list(case.source.messages(ref, since="x")) == []
    assert list(case.source.sessions(str(case.project))) == []


def test_a_home_that_does_not_exist_has_no_sessions(tmp_path: Path) -> None:
    for source in (OwnSessions, ClaudeCodeSessions, CodexSessions):
        assert list(source(str(tmp_path / "nowhere")).sessions(str(tmp_path))) == []
