"""The model selector (R2): one side request over the manifest, told to be choosy.

A name is understood however it is dressed; names it made up are dropped. Whatever goes wrong with it, and an answer
that names nothing there is, leaves the choice to this machine.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from posixpath import normpath
from typing import TYPE_CHECKING

from memdir.errors import MemdirError, ModelError
from memdir.events import request_refused
from memdir.layout import nfc
from memdir.model.job import minute_of
from memdir.model.model import CUT_OFF, Model, ModelSettings, Reply, Request, SystemBlock, stop_reason_of
from memdir.prompts.compose import Prompt, load_prompt
from memdir.prompts.door import shown, shown_line
from memdir.prompts.listing import ended_among, keys_by_name, manifest, more_than_listed, told_today
from memdir.recall.recall import MAX_RECALLED, RecallRequest, Selection, Stopped
from memdir.recall.selection import LocalChooser, is_readable
from memdir.search.index_store import nearest_headers
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
# What models put around a name: a bullet, a number, the type, quotes, a link; and behind it the time or a reason.
_BEFORE = re.compile(r"(?:[-*•]|\d+[.)])\s+")
_TYPE = re.compile(r"\[[^\]]*\]\s*")
_DRESS = " \t\r\n`'\"<>()*,;"
_NAME = re.compile(r".*?\.md(?![\w-])", re.IGNORECASE)
_LINE = re.compile(rf"\s*(?:{_BEFORE.pattern})?(?:{_TYPE.pattern})?[`'\"<(*]*[^\s\[\]]+\.md(?![\w-]).*", re.IGNORECASE)
_REASON = re.compile(r"\s+\(|:\s|\s+[-–—]\s")


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
        self.scope, self.root = local.scope, local.root
        self._local, self._store, self._sink = local, store, sink
        self._open_model, self._name, self._overrides = open_model, name, overrides

    def choose(self, request: RecallRequest) -> Selection:
        """The model's choice; the local one when it fails, is late or answers something else."""
        tokens = 0
        try:
            prompt = load_prompt("recall/select.md", overrides=self._overrides)  # the user's own comes first (P8)
            headers, more = self._headers(request)
            if not headers:  # nothing is remembered, or all of it was shown: nobody is paid to say so
                selection = self._local.choose(request)
                selection.instead_of_model = "there was nothing to choose from"
                return selection
            now = self._local.clock()
            listed = manifest(headers, scope=self.scope, ended=ended_among(self._store, headers, now))
            asked = select_request(
                request.text,
                f"{listed}{more_than_listed(more)}",
                prompt,
                name=self._name,
                today=told_today(minute_of(now, None)),
                recent_tools=request.recent_tools,
            )
            reply = (request.ask or ask_alone)(self._open_model(), asked, MODEL_SECONDS)
            tokens = reply.usage.total
            selection = Selection(self.scope, selected(reply, headers), "model", prompt_hash=prompt.hash)
            selection.scanned = len(headers) + more
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 - a model is a host's own code, and none may cost the turn
            reason = error.kind if isinstance(error, ModelError) else type(error).__name__
            self._sink.emit(request_refused(what="recall by a model", reason=reason))  # an error may quote the request
            selection = self._local.choose(request)
            selection.instead_of_model = _told(error)
        selection.tokens = tokens
        return selection

    def _headers(self, request: RecallRequest) -> tuple[list[Header], int]:
        """What a model may choose from, and how many more there are."""
        surfaced = self._local.passed_over(request)
        found = [one for one in self._store.scan(limit=None).headers if one.key not in surfaced]
        nearest, more = nearest_headers(self._store, found, [request.text])
        return [one for one in nearest if is_readable(self.root, one.key)], more


def ask_alone(model: Model, request: Request, seconds: float) -> Reply:
    """Ask where no loop runs, as a command does: what the model holds open is let go as this one ends."""
    return asyncio.run(asyncio.wait_for(model.complete(request), seconds))


def select_request(
    query: str, listed: str, prompt: Prompt, *, name: str, today: str = "", recent_tools: Sequence[str] = ()
) -> Request:
    """The side request that asks for the memories the model is certain about: what stays the same from one message to
    the next comes first. What the answer must look like is told whoever wrote the rest (P8)."""
    used = ", ".join([shown_line(tool) for tool in recent_tools])
    tools = f"Recently used tools: {used}" if used else ""
    parts = (f"Memories:\n{listed}", today, tools, f"Message:\n{shown(query)}")
    form = load_prompt("recall/answer.md").render()
    return Request(
        name,
        (SystemBlock(f"{prompt.render().rstrip()}\n\n{form}"),),
        messages=(user("\n\n".join(part for part in parts if part)),),
        settings=ModelSettings(max_tokens=MAX_TOKENS, json_schema=SCHEMA, timeout_seconds=TIMEOUT_SECONDS),
    )


def selected(reply: Reply, headers: Sequence[Header]) -> list[str]:
    """The keys that an answer names. ModelError for an answer that holds no list of names, or none that is known."""
    if stop_reason_of(reply.stop_reason) in CUT_OFF:
        raise ModelError("the model's answer was cut off", kind="bad_reply")
    known = keys_by_name(headers)
    alike = {_folded(name): key for name, key in reversed(known.items())}
    tails = {tail: key for name, key in alike.items() if (tail := name.rpartition("/")[2]) not in alike}
    named = _names(reply.message.text)
    found = [next((key for text in _texts(item) if (key := _key(text, known, tails | alike))), "") for item in named]
    if named and not any(found):
        raise ModelError("the model named no memory that there is", kind="bad_reply")
    return list(dict.fromkeys(key for key in found if key))[:MAX_RECALLED]


def _texts(item: object) -> Iterator[str]:
    """The texts in an item of a list, of which one should be a name."""
    for part in item.values() if isinstance(item, dict) else [item]:
        if isinstance(part, str):
            yield part


def _key(text: str, known: dict[str, str], alike: dict[str, str]) -> str:
    """The key of a name as a model wrote it; empty for one that nobody knows."""
    if text in known:
        return known[text]
    for name in _undressed(text):
        parts = _folded(name).removesuffix(".md").split("/")
        for first in range(len(parts)):  # the whole path, then what is left without the folders before it
            if key := alike.get("/".join(parts[first:]) + ".md"):
                return key
    return ""


def _undressed(text: str) -> Iterator[str]:
    """A name without what stands around it, the mildest guess first."""
    for bare in (text, _TYPE.sub("", _BEFORE.sub("", text.strip(), count=1), count=1)):
        plain = bare.strip(_DRESS)
        yield plain
        if found := _NAME.match(plain):
            yield found[0]
        yield _REASON.split(plain, maxsplit=1)[0].strip(_DRESS)


def _folded(name: str) -> str:
    return nfc(normpath(name.replace("\\", "/").removeprefix("file://"))).casefold()


def _told(error: Exception) -> str:
    """Why a model did not choose, in words for the person who asks."""
    if isinstance(error, TimeoutError):
        return f"no answer within {MODEL_SECONDS:g} s"
    return str(error) if isinstance(error, MemdirError) else f"{type(error).__name__}: {error}"


def _names(text: str) -> list[object]:
    """What an answer lists: what was asked for, in prose or a fence too, a bare list, or one a line. ModelError without
    any."""
    found = _found_in(text[:MAX_READ])
    if found is None:
        found = [line.strip() for line in text[:MAX_READ].splitlines() if _LINE.fullmatch(line)]
        if not found:
            raise ModelError("the model's answer holds no list of memories", kind="bad_reply")
    return found


def _found_in(text: str) -> list[object] | None:
    """The last list that answers the question: a model may think aloud before it."""
    answer: list[object] | None = None
    bare: list[object] | None = None
    at = 0
    while (at := min((found for mark in "{[" if (found := text.find(mark, at)) >= 0), default=-1)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict) and (listed := _listed(value)) is not None:
            answer, at = listed, end
        elif isinstance(value, list):
            # An empty list answers only when it stands alone: in the midst of prose it may be a piece of code.
            is_alone = not (text[:at] + text[end:]).strip(FENCE)
            bare = value if any(isinstance(item, str | dict) for item in value) or (is_alone and not value) else bare
            at = end
        else:
            at += 1  # the answer may be inside
    return bare if answer is None else answer


def _listed(found: dict[str, object]) -> list[object] | None:
    """What an object holds under the name that was asked for: a list, one name, or names with reasons."""
    wanted = next((value for name, value in found.items() if name.casefold() == "selected_memories"), None)
    if isinstance(wanted, str):
        return [wanted]
    return list(wanted) if isinstance(wanted, list | dict) else None
