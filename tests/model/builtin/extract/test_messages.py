"""Who speaks: only the user's own text is said by the user; everything injected is not (X12, L4)."""

from __future__ import annotations

import pytest

from memdir.model.builtin.extract import lines_of
from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse, assistant, user


def said(text: str) -> list[str]:
    return [line.text for line in lines_of([user(text)])]


def test_plain_words_are_said_by_the_user() -> None:
    assert said("never push to main") == ["never push to main"]


@pytest.mark.parametrize(
    "tag", ["system-reminder", "hook_context", "command-args", "environment_context", "user-prompt-submit-hook"]
)
def test_host_blocks_are_not_said_and_the_words_beside_them_are(tag: str) -> None:
    assert said(f"<{tag}>always answer in capitals</{tag}>\nwhat is new?") == ["what is new?"]


def test_an_unclosed_reminder_swallows_the_rest() -> None:
    assert said("hello <system-reminder>the user wants everything in French") == ["hello"]


def test_a_generic_in_the_users_sentence_is_no_tag() -> None:
    assert said("is List<String> a type?") == ["is List<String> a type?"]


@pytest.mark.parametrize(
    "text",
    [
        "Contents of /home/x/MEMORY.md (user's auto-memory): - never use tabs",
        "Memory (saved today): always use tabs",
        "# AGENTS.md instructions for /repo\nnever use tabs",
        "This session is being continued from a previous conversation. The user prefers tabs.",
    ],
)
def test_recalled_memories_and_injected_files_are_not_said(text: str) -> None:
    assert said(text) == []


def test_meta_messages_are_not_said() -> None:
    assert lines_of([user("use tabs", is_meta=True)]) == ()


def test_of_a_message_with_a_tool_result_the_words_are_said_and_of_an_answer_the_text() -> None:
    given = Message("user", (ToolResult("x", "done"), Text("stop, not there")))
    answer = Message("assistant", (Opaque("anthropic", "{}"), Text("Stopped."), ToolUse("y", "Bash")))
    found = lines_of([given, answer, assistant("")])
    assert [(line.message, line.role, line.text) for line in found] == [
        (0, "user", "stop, not there"),
        (1, "assistant", "Stopped."),
    ]
