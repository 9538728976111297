"""Chat without a language model: look the question up in the index, read what fits and the documents that it names,
quote it, and say what this is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from memdir.disk.safe_path import is_key
from memdir.model.builtin.answers import reads, says, text_read
from memdir.model.job import ChatJob
from memdir.model.model import Reply, Request
from memdir.store.topic import Topic
from memdir.text.stems import terms_in
from memdir.transcript.message import Message

MAX_QUOTED = 3  # memories in one answer
INTRODUCTION = "I am memdir's built-in model, not a language model: I can only look things up in your memories."
_NAMED = re.compile(r"(?<!\S)@((?:[\w.-]+/)*[\w.-]+\.md)\b")  # a document of the project, as the chat completes it
NOTHING = "I found nothing there about that. With a model configured (`memdir config list`), you get real answers."


def chat(job: ChatJob | None, request: Request) -> Reply:
    """Read the memories that share words with the question, then quote them."""
    last = next((message for message in reversed(request.messages) if not message.is_meta), None)
    has_said = any(INTRODUCTION in message.text for message in request.messages if message.role == "assistant")
    introduction = () if has_said or (job and job.is_introduced) else (INTRODUCTION,)  # once in a conversation
    if last is not None and last.tool_results:
        asked = {use.id: str(use.input.get("file_path")) for one in request.messages for use in one.tool_uses}
        return says(_quotation(last, asked, introduction))
    lines = _fitting(job, request)[:MAX_QUOTED] if job else []
    named = _NAMED.findall(last.text) if last is not None and job else []
    if any(tool.name == "Read" for tool in request.tools) and (named or lines):
        paths = dict.fromkeys((*named, *(path for path, _ in lines)))
        return reads(list(paths)[:MAX_QUOTED], f"read_{len(request.messages)}")
    if not lines:
        return says(" ".join((*introduction, NOTHING)))
    return says("\n".join([*introduction, "The index says:", *(f"  {line}" for _, line in lines)]))


def _fitting(job: ChatJob, request: Request) -> list[tuple[str, str]]:
    """The memories whose lines of the index share words with the question, the best first, each with its line."""
    asked = [message.text for message in request.messages if message.role == "user" and not message.is_meta]
    wanted = terms_in(job.question or "".join(asked[-1:]))
    shared = {(key, line): len(wanted & terms_in(line)) for key, line in job.lines if is_key(key)}  # none elsewhere
    best = sorted((one for one, count in shared.items() if count), key=lambda one: -shared[one])
    return [(os.path.join(job.directory, key), line) for key, line in best]


def _quotation(message: Message, paths: Mapping[str, str], introduction: tuple[str, ...]) -> str:
    parts = [*introduction, "This is what I found:"]
    found = len(parts)
    for result in message.tool_results:
        if result.is_error:
            parts.append(f"{paths.get(result.tool_use_id, '')}: {result.content.partition(chr(10))[0]}")
        else:
            topic = Topic(text_read(result.content).encode("utf-8", "replace"))
            quoted = "\n".join(f"> {line}" if line else ">" for line in topic.body.strip().splitlines())
            name = topic.name or os.path.basename(paths.get(result.tool_use_id, ""))
            parts.append(f"**{name or 'a memory'}**\n{quoted}")
    return "\n\n".join(parts) if len(parts) > found else " ".join((*introduction, NOTHING))
