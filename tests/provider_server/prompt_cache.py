"""Prompt caching as the providers document it, with a simple count of tokens and a clock that tests can move."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.provider_server.script import Body

BYTES_PER_TOKEN = 4
MAX_BREAKPOINTS = 4
LOOK_BACK_BLOCKS = 20  # the breakpoint's own block is the first of them
ANTHROPIC_SECONDS = {"5m": 300.0, "1h": 3600.0}
OPENAI_SECONDS = 600.0
OPENAI_MINIMUM = 1024
OPENAI_STEP = 128


@dataclass(frozen=True)
class CacheUse:
    """How the tokens of one prompt were served. `fresh` is what was neither read nor written."""

    total: int
    read: int
    created: int

    @property
    def fresh(self) -> int:
        return self.total - self.read - self.created


def tokens_of(data: bytes) -> int:
    return -(-len(data) // BYTES_PER_TOKEN)


def exact(value: Any) -> bytes:
    """A value's JSON, keys in the order they were sent in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


# Anthropic ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """One cacheable piece of a prompt, and the breakpoint on it ("" for none)."""

    data: bytes
    ttl: str
    level: bytes = b""  # what changes its meaning and is no content


def anthropic_minimum(model: str) -> int:
    if any(name in model for name in ("haiku-4-5", "opus-4-5", "opus-4-6")):
        return 4096
    return 512 if any(name in model for name in ("opus-5", "fable-5", "mythos-5")) else 1024


def anthropic_blocks(body: Body) -> list[Block]:
    """The prompt in its order: tools, system, messages. Breakpoints are no content."""
    blocks = [_block(b"tool", tool) for tool in body.get("tools") or ()]
    system = body.get("system") or ()
    parts = [{"type": "text", "text": system}] if isinstance(system, str) else system
    blocks += [_block(b"system", part) for part in parts]
    # These change how the messages are read, not what comes before them.
    level = exact([body.get("thinking"), body.get("tool_choice"), body.get("output_config")])
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [_block(level + message["role"].encode(), part) for part in parts]
    if body.get("cache_control") and blocks and not blocks[-1].ttl:
        blocks[-1] = replace(blocks[-1], ttl=body["cache_control"].get("ttl", "5m"))
    return blocks


def _block(where: bytes, part: dict[str, Any]) -> Block:
    mark = part.get("cache_control")
    content = {key: value for key, value in part.items() if key != "cache_control"}
    return Block(exact(content), mark.get("ttl", "5m") if mark else "", where)


@dataclass
class AnthropicCache:
    """Prefixes that were written at breakpoints, until they expire; reading one keeps it alive."""

    clock: Callable[[], float]
    _expires: dict[bytes, tuple[float, float]] = field(default_factory=dict)

    def use(self, body: Body) -> CacheUse:
        """Serve one prompt: what a breakpoint can see of it is read, the rest up to the last breakpoint is written."""
        blocks = anthropic_blocks(body)
        keys, sizes = _prefixes(str(body["model"]), blocks)
        marked = [at for at, block in enumerate(blocks) if block.ttl]
        read_to = self._longest_known(keys, marked)
        minimum = anthropic_minimum(str(body["model"]))
        for at in marked:
            if sizes[at] >= minimum:
                seconds = ANTHROPIC_SECONDS[blocks[at].ttl]
                self._expires[keys[at]] = (self.clock() + seconds, seconds)
        written_to = max((at for at in marked if sizes[at] >= minimum), default=-1)
        read = sizes[read_to] if read_to >= 0 else 0
        created = max(0, sizes[written_to] - read) if written_to >= 0 else 0
        return CacheUse(sizes[-1] if sizes else 0, read, created)

    def _longest_known(self, keys: list[bytes], marked: list[int]) -> int:
        for mark in reversed(marked):
            for at in range(mark, max(-1, mark - LOOK_BACK_BLOCKS), -1):
                expires, seconds = self._expires.get(keys[at], (0.0, 0.0))
                if expires > self.clock():
                    self._expires[keys[at]] = (self.clock() + seconds, seconds)
                    return at
        return -1


def _prefixes(model: str, blocks: list[Block]) -> tuple[list[bytes], list[int]]:
    """For each block, the digest and the size of the prompt up to its end."""
    digest = hashlib.sha256(model.encode())
    keys, sizes, size = [], [], 0
    for block in blocks:
        digest.update(b"%d %d " % (len(block.level), len(block.data)) + block.level + block.data)
        keys.append(digest.digest())
        size += tokens_of(block.data)
        sizes.append(size)
    return keys, sizes


# OpenAI -------------------------------------------------------------------------------------------------------------


def chat_prompt(body: Body) -> bytes:
    """A chat prompt in its order: the schema of the answer, tools, messages."""
    first = [body.get("response_format"), body.get("tools")]
    return b"\n".join(exact(value) for value in (*first, *body["messages"]))


def responses_prompt(body: Body) -> bytes:
    """A responses prompt in its order; a plain text means the same as one message with it."""
    sent = body["input"]
    items = [{"role": "user", "content": sent}] if isinstance(sent, str) else sent
    first = [body.get("text"), body.get("tools"), body.get("instructions")]
    return b"\n".join(exact(value) for value in (*first, *(_spelled_out(item) for item in items)))


def gemini_prompt(body: Body) -> bytes:
    """A prompt of Gemini's in its order: it caches the beginnings of prompts as OpenAI does."""
    first = [body.get("tools"), body.get("systemInstruction")]
    return b"\n".join(exact(value) for value in (*first, *body["contents"]))


def _spelled_out(item: dict[str, Any]) -> dict[str, Any]:
    if isinstance(item.get("content"), str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        return {**item, "content": [{"type": kind, "text": item["content"]}]}
    return item


@dataclass
class OpenAICache:
    """Whole prompts of the last minutes; the longest beginning they share with a new one is read, in steps."""

    clock: Callable[[], float]
    _prompts: dict[tuple[str, str], list[tuple[float, bytes]]] = field(default_factory=dict)

    def use(self, body: Body, prompt: bytes) -> CacheUse:
        where = (str(body["model"]), str(body.get("prompt_cache_key", "")))
        known = [(time, old) for time, old in self._prompts.get(where, []) if time + OPENAI_SECONDS > self.clock()]
        shared = max((_shared_bytes(old, prompt) for _, old in known), default=0)
        total = tokens_of(prompt)
        read = _in_steps(shared // BYTES_PER_TOKEN)
        self._prompts[where] = [*known, (self.clock(), prompt)]
        created = _in_steps(total) - read if charges_for_writing(str(body["model"])) else 0
        return CacheUse(total, read, created)


def _shared_bytes(one: bytes, other: bytes) -> int:
    """How long two texts are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _in_steps(tokens: int) -> int:
    return tokens // OPENAI_STEP * OPENAI_STEP if tokens >= OPENAI_MINIMUM else 0


def charges_for_writing(model: str) -> bool:
    """Models from GPT-5.6 on say what they wrote, and charge for it."""
    return model.startswith(("gpt-5.6", "gpt-6"))
