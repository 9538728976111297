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
SHORT_QUESTION = 3  # words: of more, a single one that is shared tells nothing
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
    told = ["The index says:", *(f"  {line}" for _, line in lines)] if lines else [NOTHING]
    return says(("\n" if lines else " ").join((*introduction, *told)))


def _fitting(job: ChatJob, request: Request) -> list[tuple[str, str]]:
    """Memories with their lines of the index: what was recalled, then what shares words with the question."""
    said = [at for at, one in enumerate(request.messages) if one.role == "user" and not one.is_meta][-1:]
    wanted = terms_in(job.question or "".join(request.messages[at].text for at in said))
    recalled = "".join(one.text for at in said for one in request.messages[at + 1 :] if one.is_meta)
    lines = {os.path.join(job.directory, key): line for key, line in job.lines if is_key(key)}  # none elsewhere
    shared = {path: len(wanted & terms_in(line)) + 100 * (path in recalled) for path, line in lines.items()}
    fits = [one for one in lines.items() if shared[one[0]] > (len(wanted) > SHORT_QUESTION)]
    return sorted(fits, key=lambda one: -shared[one[0]])


def _quotation(message: Message, paths: Mapping[str, str], introduction: tuple[str, ...]) -> str:
    parts = [*introduction, "This is what I found:"]
    for result in message.tool_results:
        if result.is_error:
            parts.append(f"{paths.get(result.tool_use_id, '')}: {result.content.partition(chr(10))[0]}")
        else:
            topic = Topic(text_read(result.content).encode("utf-8", "replace"))
            quoted = "\n".join(f"> {line}" if line else ">" for line in topic.body.strip().splitlines())
            name = topic.name or os.path.basename(paths.get(result.tool_use_id, ""))
            parts.append(f"**{name or 'a memory'}**\n{quoted}")
    return "\n\n".join(parts)
