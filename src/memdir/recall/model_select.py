"""The model selector (R2): one side request over the manifest, told to be choosy; names it made up are dropped.

Whatever goes wrong with it leaves the choice to this machine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memdir.errors import MemdirError, ModelError
from memdir.events import request_refused
from memdir.model.model import Model, ModelSettings, Reply, Request, SystemBlock
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.door import shown, shown_line
from memdir.prompts.listing import keys_by_name, manifest
from memdir.recall.recall import MAX_RECALLED, RecallRequest, Stopped
from memdir.recall.selection import LocalChooser, Selection, is_readable
from memdir.store.scan import Header
from memdir.store.store import MemoryStore
from memdir.transcript.message import Json, user

if TYPE_CHECKING:
    from memdir.events import Sink

MODEL_SECONDS = 6.0  # a side request that takes longer is not worth waiting for
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


class ModelChooser:
    """Lets a model choose among the memories of one store; the local choice serves when there is none in time (R2)."""

    def __init__(
        self,
        local: LocalChooser,
        store: MemoryStore,
        *,
        open_model: Callable[[], Model],
        name: str,
        sink: Sink,
        overrides: str = "",
    ) -> None:
        self.scope = local.scope
        self.root = local.root
        self._local = local
        self._store = store
        self._open_model = open_model
        self._name = name
        self._sink = sink
        self._overrides = overrides

    def choose(self, request: RecallRequest) -> Selection:
        """The model's choice; the local one when it fails, is late or answers something else."""
        try:
            prompt = load_prompt("recall/select.md", overrides=self._overrides)  # the user's own comes first (P8)
            headers = self._headers(request)
            asked = select_request(request.text, headers, prompt, name=self._name, recent_tools=request.recent_tools)
            reply = (request.ask or ask_alone)(self._open_model(), asked, MODEL_SECONDS)
            return Selection(self.scope, selected(reply, headers), "model", prompt_hash=prompt.hash)
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 - a model is a host's own code, and none may cost the turn
            reason = error.kind if isinstance(error, ModelError) else type(error).__name__
            self._sink.emit(request_refused(what="recall by a model", reason=reason))  # an error may quote the request
            selection = self._local.choose(request)
            selection.instead_of_model = _told(error)
            return selection

    def _headers(self, request: RecallRequest) -> list[Header]:
        """What a model may choose from."""
        surfaced = request.shown.keys(self.scope)
        found = self._store.scan().headers
        return [one for one in found if one.key not in surfaced and is_readable(self.root, one.key)]


def ask_alone(model: Model, request: Request, seconds: float) -> Reply:
    """Ask where no loop runs, as a command does: the model is asked once and let go."""

    async def answer() -> Reply:
        try:
            return await asyncio.wait_for(model.complete(request), seconds)
        finally:
            await model.close()

    return asyncio.run(answer())


def select_request(
    query: str, headers: Sequence[Header], prompt: Prompt, *, name: str, recent_tools: Sequence[str] = ()
) -> Request:
    """The side request that asks for the memories the model is certain about."""
    used = ", ".join([shown_line(tool) for tool in recent_tools])
    tools = f"\n\nRecently used tools: {used}" if used else ""
    return Request(
        name,
        (SystemBlock(prompt.render()),),
        messages=(user(f"Message:\n{shown(query)}\n\nMemories:\n{manifest(headers)}{tools}"),),
        settings=ModelSettings(max_tokens=MAX_TOKENS, json_schema=SCHEMA, timeout_seconds=TIMEOUT_SECONDS),
    )


def selected(reply: Reply, headers: Sequence[Header]) -> list[str]:
    """The keys that an answer names. ModelError for an answer that holds no list of names."""
    known = keys_by_name(headers)
    return [known[name] for name in _names(reply.message.text) if name in known][:MAX_RECALLED]


def _told(error: Exception) -> str:
    """Why a model did not choose, in words for the person who asks."""
    if isinstance(error, TimeoutError):
        return f"no answer within {MODEL_SECONDS:g} s"
    return str(error) if isinstance(error, MemdirError) else f"{type(error).__name__}: {error}"


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
