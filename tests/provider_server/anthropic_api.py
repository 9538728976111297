"""Anthropic's Messages API."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.provider_server.dialect import BadRequest, Issued, event, output_tokens, pieces, require, require_name
from tests.provider_server.prompt_cache import MAX_BREAKPOINTS, AnthropicCache, CacheUse, anthropic_blocks
from tests.provider_server.script import Answer, Body, Call, Part, Redacted, Refusal, Thinking, Trouble, Words

ERRORS: dict[Trouble, tuple[int, str, str]] = {
    "wrong_key": (401, "authentication_error", "invalid x-api-key"),
    "no_credit": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    "unknown_model": (404, "not_found_error", "model: no-such-model"),
    "context_too_long": (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    "rate_limit": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server_error": (500, "api_error", "Internal server error"),
    "bad_request": (400, "invalid_request_error", "messages: at least one message is required"),
}


@dataclass
class AnthropicApi:
    """`POST /v1/messages`."""

    cache: AnthropicCache
    issued: Issued

    def check(self, body: Body) -> None:
        require(body.get("max_tokens", 0) > 0, "max_tokens: Field required")
        thinking = body.get("thinking") or {}
        if thinking.get("type") == "enabled":
            require(1024 <= thinking["budget_tokens"] < body["max_tokens"], "max_tokens must exceed budget_tokens")
        names = [tool["name"] for tool in body.get("tools") or ()]
        require(len(names) == len(set(names)), "tools: Tool names must be unique.")
        self._check_messages(body.get("messages") or [])
        marks = sum(bool(block.ttl) for block in anthropic_blocks(body))
        require(marks <= MAX_BREAKPOINTS, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")

    def _check_messages(self, messages: list[dict[str, Any]]) -> None:
        require(messages, "messages: at least one message is required")
        require(messages[0]["role"] == "user", "messages: first message must use the user role")
        waiting: set[str] = set()
        for message in messages:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            require(blocks, "messages: content must not be empty")
            answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            if message["role"] == "user":
                kinds = [block["type"] == "tool_result" for block in blocks]
                require(kinds == sorted(kinds, reverse=True), "`tool_result` blocks must come before any other")
                require(answered == waiting, "`tool_use` ids were found without `tool_result` blocks, or the reverse")
            waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
            for block in blocks:
                self._check_block(block)
        require(not waiting, "the last message calls tools and has no results")

    def _check_block(self, block: dict[str, Any]) -> None:
        if block["type"] == "text":
            require(block["text"].strip(), "text content blocks must contain non-whitespace text")
        elif block["type"] == "thinking":
            require(
                (block["thinking"], block["signature"]) in self.issued.signed, "Invalid `signature` in `thinking` block"
            )
            require("cache_control" not in block, "thinking: cache_control is not allowed")
        elif block["type"] == "redacted_thinking":
            require(block["data"] in self.issued.redacted, "Invalid `data` in `redacted_thinking` block")
        elif block["type"] == "tool_use":
            require_name(block["name"])
            require(re.fullmatch("[a-zA-Z0-9_-]+", block["id"]), "tool_use.id: String should match pattern")
            require(isinstance(block["input"], dict), "tool_use.input: Input should be a valid dictionary")

    def use_cache(self, body: Body) -> CacheUse:
        return self.cache.use(body)

    def whole(self, answer: Answer, body: Body, use: CacheUse) -> bytes:
        content = [self._block(part) for part in answer.parts]
        return json.dumps(
            {**self._head(body, use), **_end(answer), "content": content, "usage": _usage(answer, use)}
        ).encode()

    def events(self, answer: Answer, body: Body, use: CacheUse) -> list[bytes]:
        first, last = {**_usage(answer, use), "output_tokens": 1}, {"output_tokens": output_tokens(answer)}
        used, more = ({} if answer.is_uncounted else {"usage": usage} for usage in (first, last))
        start = {**self._head(body, use), "content": [], "stop_reason": None, "stop_sequence": None, **used}
        found = [event({"type": "message_start", "message": start}, "message_start"), self.keep_alive()]
        for index, part in enumerate(answer.parts):
            block, deltas = self._streamed(part)
            found.append(_indexed("content_block_start", index, content_block=block))
            found += [_indexed("content_block_delta", index, delta=delta) for delta in deltas]
            found.append(_indexed("content_block_stop", index))
        ended = {"type": "message_delta", "delta": _end(answer), **more}
        return [*found, event(ended, "message_delta"), event({"type": "message_stop"}, "message_stop")]

    def keep_alive(self) -> bytes:
        return event({"type": "ping"}, "ping")

    def error(self, refusal: Refusal) -> tuple[int, bytes]:
        status, kind, message = ERRORS[refusal.trouble]
        told = {"type": kind, "message": refusal.message or message}
        return refusal.status or status, json.dumps({"type": "error", "error": told, "request_id": "req_1"}).encode()

    def error_event(self, refusal: Refusal) -> bytes:
        return event(json.loads(self.error(refusal)[1]), "error")

    def _head(self, body: Body, use: CacheUse) -> dict[str, Any]:
        return {"id": f"msg_{use.total}", "type": "message", "role": "assistant", "model": body["model"]}

    def _block(self, part: Part) -> dict[str, Any]:
        match part:
            case Words(text):
                return {"type": "text", "text": text}
            case Call(name, arguments, call_id):
                if isinstance(arguments, str):
                    raise BadRequest("a whole reply cannot carry arguments that are no object")
                return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
            case Thinking(text, signature):
                self.issued.signed.add((text, signature))
                return {"type": "thinking", "thinking": text, "signature": signature}
            case Redacted(data):
                self.issued.redacted.add(data)
                return {"type": "redacted_thinking", "data": data}

    def _streamed(self, part: Part) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """A block as it begins, and what is added to it."""
        match part:
            case Words(text):
                return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(text)]
            case Call(name, arguments, call_id):
                given = arguments if isinstance(arguments, str) else json.dumps(arguments)
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(given)]
                return {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas
            case Thinking(text, signature):
                self.issued.signed.add((text, signature))
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
                signed = {"type": "signature_delta", "signature": signature}
                return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
            case Redacted():
                return self._block(part), []


def _indexed(kind: str, index: int, **more: Any) -> bytes:
    return event({"type": kind, "index": index, **more}, kind)


def _end(answer: Answer) -> dict[str, Any]:
    reason = "max_tokens" if answer.is_cut else "tool_use" if answer.has_calls else "end_turn"
    return {"stop_reason": "refusal" if answer.is_refusal else reason, "stop_sequence": None}


def _usage(answer: Answer, use: CacheUse) -> dict[str, int]:
    return {
        "input_tokens": use.fresh,
        "cache_creation_input_tokens": use.created,
        "cache_read_input_tokens": use.read,
        "output_tokens": output_tokens(answer),
    }
