"""Chat without a language model: look the question up in the index, read what fits, quote it, and say what this is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.disk.safe_path import check_key
from memdir.errors import PathEscape
from memdir.model.model import Reply, Request
from memdir.store.index import Index
from memdir.store.topic import Topic
from memdir.text.stems import terms_in
from memdir.transcript.message import Message, Text, ToolUse

MAX_QUOTED = 3  # memories in one answer
_INDEX = re.compile(r"^Contents of (?P<path>.+?MEMORY\.md) \(.*\):\n\n(?P<text>(?:.|\n)*)", re.MULTILINE)
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
INTRODUCTION = "I am memdir's built-in model, not a language model: I can only look things up in your memories."
NOTHING = "I found nothing there about that. With a model configured (`memdir settings`), you get real answers."


@dataclass(frozen=True)
class _Candidate:
    path: str
    line: str
    score: int


def chat(request: Request) -> Reply:
    """Read the memories that share words with the question, then quote them."""
    last = request.messages[-1] if request.messages else None
    if last is not None and last.tool_results:
        return _says(_quotation(last))
    candidates = sorted(_candidates(request), key=lambda candidate: -candidate.score)[:MAX_QUOTED]
    if not candidates:
        return _says(f"{INTRODUCTION} {NOTHING}")
    if any(tool.name == "Read" for tool in request.tools):
        calls = tuple(ToolUse(f"read_{n}", "Read", {"file_path": c.path}) for n, c in enumerate(candidates))
        return Reply(Message("assistant", calls), "tool_use", model="builtin")
    return _says("\n".join([INTRODUCTION, "The index says:", *(f"  {c.line}" for c in candidates)]))


def _says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")


def _candidates(request: Request) -> Iterator[_Candidate]:
    wanted = terms_in(_question(request))
    for text in _texts(request):
        for match in _INDEX.finditer(text):
            folder = os.path.dirname(match["path"])
            for entry in Index(match["text"].encode("utf-8", "replace")).entries():
                score = len(wanted & terms_in(f"{entry.title} {entry.hook} {entry.key}"))
                if score and _is_memory(entry.key):
                    yield _Candidate(os.path.join(folder, entry.key), entry.render(), score)


def _is_memory(key: str) -> bool:
    """Whether a line of the index names a memory, and not some file elsewhere."""
    try:
        return bool(check_key(key))
    except PathEscape:
        return False


def _question(request: Request) -> str:
    asked = [message.text for message in request.messages if message.role == "user" and not message.is_meta]
    return asked[-1] if asked else ""


def _texts(request: Request) -> Iterator[str]:
    yield from (block.text for block in request.system)
    yield from (message.text for message in request.messages if message.is_meta)


def _quotation(message: Message) -> str:
    parts = [INTRODUCTION, "This is what I found:"]
    for result in message.tool_results:
        if not result.is_error:
            topic = Topic(_NUMBERED.sub("", result.content).encode("utf-8", "replace"))
            quoted = "\n".join(f"> {line}" if line else ">" for line in topic.body.strip().splitlines())
            parts.append(f"**{topic.name or 'a memory'}**\n{quoted}")
    return "\n\n".join(parts) if len(parts) > 2 else f"{INTRODUCTION} {NOTHING}"
