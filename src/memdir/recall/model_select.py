"""The model selector (R2): one side request over the manifest, told to be choosy; names it made up are dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memdir.model.model import Model, ModelSettings, Request, SystemBlock
from memdir.prompts.compose import Prompt, load_prompt
from memdir.store.scan import Header, manifest
from memdir.transcript.message import Json, user

MAX_SELECTED = 5
MAX_TOKENS = 256  # a short list of names
TIMEOUT_SECONDS = 10.0
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_memories"],
    "additionalProperties": False,
}


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
    """The keys of the memories that the model is certain about. Raises ModelError; the caller falls back."""
    prompt = prompt or select_prompt()
    tools = f"\n\nRecently used tools: {', '.join(recent_tools)}" if recent_tools else ""
    request = Request(
        name,
        (SystemBlock(prompt.render()),),
        messages=(user(f"Message:\n{query}\n\nMemories:\n{manifest(headers)}{tools}"),),
        settings=ModelSettings(max_tokens=MAX_TOKENS, json_schema=SCHEMA, timeout_seconds=TIMEOUT_SECONDS),
    )
    reply = await model.complete(request)
    known = {header.key for header in headers}
    return [key for key in _names(reply.message.text) if key in known][:MAX_SELECTED]


def _names(text: str) -> list[str]:
    """The names in an answer; none where it is not the JSON that was asked for."""
    try:
        found = json.loads(text.strip().removeprefix("```json").removesuffix("```"))
        names = found["selected_memories"]
    except (ValueError, KeyError, TypeError):
        return []
    return list(dict.fromkeys(name for name in names if isinstance(name, str))) if isinstance(names, list) else []
