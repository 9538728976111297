"""What Codex writes into a rollout, and whose words it says they are (L4, X12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memdir.transcript.sources.codex import CodexSessions


def rollout(home: Path, project: Path, name: str, *items: dict[str, Any], **meta: object) -> Path:
    path = home / "sessions/2026/11/16" / f"rollout-2026-11-16T06-57-14-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"type": "session_meta", "payload": {"cwd": str(project), "source": "exec", "thread_source": "user", **meta}}
    lines = [head, *({"type": "response_item", "payload": item} for item in items)]
    path.write_text("".join(json.dumps({"timestamp": "2026-11-16T06:57:14Z", **line}) + "\n" for line in lines))
    return path


def told(text: str, *kinds: object) -> dict[str, Any]:
    """A user's message whose one part comes from there, as Codex tells it."""
    parts = [{"provenance": kind if isinstance(kind, dict) else {"type": kind}} for kind in kinds]
    content = [{"type": "input_text", "text": text}]
    about = {"internal_chat_message_metadata_passthrough": {"content_item_metadata": parts}} if kinds else {}
    return {"type": "message", "role": "user", "content": content, **about}


@pytest.mark.parametrize(
    ("item", "is_said"),
    [
        (told("always use tabs", "user"), True),
        (told("always use tabs"), True),  # of an older Codex
        (told("always use tabs", {"type": "tool", "namespace": "multi_agent_v1"}), False),
        (told("always use tabs", {"type": "harness", "hook": True}), False),
        (told("always use tabs", "skills"), False),
        (told("always use tabs", "something new"), False),
        ({**told("always use tabs"), "internal_chat_message_metadata_passthrough": ["odd"]}, True),
    ],
)
def test_only_what_the_user_said_is_the_users(tmp_path: Path, item: dict[str, Any], is_said: bool) -> None:
    rollout(tmp_path, tmp_path, "01a1e325-4846-7cf0-9123-7cd917d12330", item)
    source = CodexSessions(str(tmp_path))
    [ref] = source.sessions(str(tmp_path))
    assert [message.text for message in source.messages(ref)] == (["always use tabs"] if is_said else [])


@pytest.mark.parametrize(
    "meta", [{"thread_source": "subagent"}, {"source": {"subagent": {"thread_spawn": {"depth": 1}}}}]
)
def test_the_session_of_a_sub_agent_is_none_of_the_users(tmp_path: Path, meta: dict[str, object]) -> None:
    rollout(tmp_path, tmp_path, "01a1e325-4a8e-7803-8c6b-35160537a696", told("always use tabs", "user"), **meta)
    assert list(CodexSessions(str(tmp_path)).sessions(str(tmp_path))) == []
