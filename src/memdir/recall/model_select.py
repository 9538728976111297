"""The model selector (R2): one side request over the manifest, told to be choosy; names it made up are dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memdir.errors import ModelError
from memdir.model.model import Model, ModelSettings, Request, SystemBlock
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.door import shown, shown_line
from memdir.prompts.listing import keys_by_name, manifest
from memdir.store.scan import Header
from memdir.transcript.message import Json, user

MAX_SELECTED = 5
MAX_TOKENS = 256  # a short list of names
MAX_READ = 8_000  # characters of an answer: what is longer was not asked for
TIMEOUT_SECONDS = 10.0
FENCE = "`json \t\r\n"  # around JSON that a model was asked for and dressed up
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_memories"],
    "additionalProperties": False,
}

_DECODER = json.JSONDecoder()


def select_prompt(overrides: str = "") -> Prompt:
    """What the model is told; the user's own version below `overrides` comes first (P8)."""
    return load_prompt("recall/select.md", overrides=overrides)


async def select_by_model(
    query: str,
    headers: Sequence[Header],
    *,
    model: Model,
    name: str,
    recent_tools: Sequence[str] = (),
    prompt: Prompt | None = None,
) -> list[str]:
    """The keys of the memories that the model is certain about. Raises ModelError, also for an answer that
    holds no list of names; the caller falls back."""
    prompt = prompt or select_prompt()
    used = ", ".join([shown_line(tool) for tool in recent_tools])
    tools = f"\n\nRecently used tools: {used}" if used else ""
    request = Request(
        name,
        (SystemBlock(prompt.render()),),
        messages=(user(f"Message:\n{shown(query)}\n\nMemories:\n{manifest(headers)}{tools}"),),
        settings=ModelSettings(max_tokens=MAX_TOKENS, json_schema=SCHEMA, timeout_seconds=TIMEOUT_SECONDS),
    )
    reply = await model.complete(request)
    known = keys_by_name(headers)
    return [known[name] for name in _names(reply.message.text) if name in known][:MAX_SELECTED]


def _names(text: str) -> list[str]:
    """The names in an answer: what was asked for, in prose or a fence too, or a bare list. ModelError without any."""
    found = _found_in(text[:MAX_READ])
    if found is None:
        raise ModelError("the model's answer holds no list of memories", kind="bad_reply")
    return list(dict.fromkeys(name for name in found if isinstance(name, str)))


def _found_in(text: str) -> list[object] | None:
    """The last list that answers the question: a model may think aloud before it."""
    answer: list[object] | None = None
    bare: list[object] | None = None
    at = 0
    while (at := _next_opening(text, at)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict) and isinstance(value.get("selected_memories"), list):
            answer, at = value["selected_memories"], end
        elif isinstance(value, list):
            bare = value if _is_list_of_names(value, beside=text[:at] + text[end:]) else bare
            at = end
        else:
            at += 1  # the answer may be inside
    return bare if answer is None else answer


def _next_opening(text: str, start: int) -> int:
    return min((at for mark in "{[" if (at := text.find(mark, start)) >= 0), default=-1)


def _is_list_of_names(found: list[object], *, beside: str) -> bool:
    """An empty list answers only when it stands alone: in the midst of prose it may be a piece of code."""
    return any(isinstance(item, str) for item in found) if found else not beside.strip(FENCE)
