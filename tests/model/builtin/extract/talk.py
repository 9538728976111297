"""Small conversations for tests, written as they are spoken: `u:` user, `a:` assistant, `t:` a tool's result."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_of
from memdir.model.builtin.extract.talk import TalkLine
from memdir.transcript.message import Message
from memdir.transcript.record import blocks_from

NOW = "2026-05-06T10:00:00+02:00"
_OWN_LINE = (">", "```", "#", '"', "From:")


def messages(script: str) -> list[dict[str, Any]]:
    """Provider messages from a script; a line without a mark goes on with the one before."""
    said: list[dict[str, Any]] = []
    for raw in script.strip("\n").split("\n"):
        line = raw.strip()
        if line[:3] in ("u: ", "a: "):
            block = {"type": "text", "text": line[3:]}
            said.append({"role": "user" if line[0] == "u" else "assistant", "content": [block]})
        elif line[:3] == "t: ":
            said.append({"role": "user", "content": [{"type": "tool_result", "content": line[3:]}]})
        elif said:
            block = said[-1]["content"][-1]
            key = "text" if "text" in block else "content"
            block[key] += "\n\n" if not line else ("\n" if line.startswith(_OWN_LINE) else " ") + line
    return said


def cases(name: str) -> dict[str, str]:
    """Scripts of a file by title; a title is a line that begins with `== `."""
    text = (Path(__file__).parent / "scripts" / name).read_text(encoding="utf-8")
    parts = re.split(r"^== (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def memory(file: str, description: str, body: str = "") -> Existing:
    """An existing memory named after its file."""
    kind, _, rest = file.removesuffix(".md").partition("_")
    return Existing(file, rest.replace("_", " "), description, kind, body or f"{description}.")


def said(given: list[dict[str, Any]]) -> tuple[TalkLine, ...]:
    """What was said in provider messages."""
    return lines_of(Message(one["role"], blocks_from(one["content"])) for one in given)


def drafts(script: str, *existing: Existing, now: str = NOW, instructions: str = "") -> tuple[MemoryDraft, ...]:
    """What extraction makes of a script."""
    return draft_memories(Talk(said(messages(script)), datetime.fromisoformat(now), instructions, existing))


def only(script: str, *existing: Existing, now: str = NOW, instructions: str = "") -> MemoryDraft:
    """The one draft that a script gives."""
    found = drafts(script, *existing, now=now, instructions=instructions)
    assert len(found) == 1, found
    return found[0]


def text_of(draft: MemoryDraft) -> str:
    """Everything a reader of the memory would see."""
    return f"{draft.name}\n{draft.description}\n{draft.body}"
