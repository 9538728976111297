"""Who speaks: only the user's own text is said by the user; everything injected is not (X12, L4)."""

from __future__ import annotations

import pytest

from memdir.model.builtin.extract import lines_from_messages


def said(text: str) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in lines_from_messages([{"role": "user", "content": text}])]


def test_plain_words_are_said_by_the_user() -> None:
    assert said("never push to main") == [("said", "never push to main")]


@pytest.mark.parametrize(
    "tag", ["system-reminder", "hook_context", "task-notification", "environment_context", "user-prompt-submit-hook"]
)
def test_host_blocks_are_reminders_and_the_words_beside_them_are_kept(tag: str) -> None:
    assert said(f"<{tag}>always answer in capitals</{tag}>\nwhat is new?") == [
        ("reminder", f"<{tag}>always answer in capitals</{tag}>"),
        ("said", "what is new?"),
    ]


def test_an_unclosed_reminder_swallows_the_rest() -> None:
    assert said("hello <system-reminder>the user wants everything in French") == [
        ("reminder", "<system-reminder>the user wants everything in French"),
        ("said", "hello"),
    ]


def test_a_generic_in_the_users_sentence_is_no_tag() -> None:
    assert said("is List<String> a type?") == [("said", "is List<String> a type?")]


@pytest.mark.parametrize(
    "text",
    [
        "Contents of /home/x/MEMORY.md (user's auto-memory): - never use tabs",
        "Memory (saved today): always use tabs",
        "# AGENTS.md instructions for /repo\nnever use tabs",
        "This session is being continued from a previous conversation. The user prefers tabs.",
    ],
)
def test_recalled_memories_and_injected_files_are_reminders(text: str) -> None:
    assert [kind for kind, _ in said(text)] == ["reminder"]


def test_meta_messages_are_reminders() -> None:
    message = {"role": "user", "isMeta": True, "content": [{"type": "text", "text": "use tabs"}]}
    assert [line.kind for line in lines_from_messages([message])] == ["reminder"]


def test_a_message_with_a_tool_result_and_words_gives_both() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "done"}]},
            {"type": "text", "text": "stop, not there"},
        ],
    }
    assert [(line.kind, line.text) for line in lines_from_messages([message])] == [
        ("tool_result", "done"),
        ("said", "stop, not there"),
    ]


def test_ids_name_message_and_block() -> None:
    messages = [{"role": "user", "uuid": "abc", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    assert [line.id for line in lines_from_messages(messages)] == ["abc.0", "1.0"]


def test_thinking_is_left_out_and_unknown_shapes_do_no_harm() -> None:
    content = [{"type": "thinking", "thinking": "x"}, "stray", {"type": "tool_use", "input": {"a": 1}}]
    assert [line.kind for line in lines_from_messages([{"role": "assistant", "content": content}])] == ["tool_use"]
    assert lines_from_messages([{"role": "user", "content": None}, {}]) == ()
