"""OpenAI's two APIs: chat completions and responses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.provider_server.dialect import Issued, event, output_tokens, pieces, require, require_name
from tests.provider_server.prompt_cache import CacheUse, OpenAICache, chat_prompt, responses_prompt
from tests.provider_server.script import Answer, Body, Call, Part, Redacted, Refusal, Thinking, Trouble, Words

CREATED = 1_790_000_000
ERRORS: dict[Trouble, tuple[int, str, str, str]] = {
    "wrong_key": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: no***ey."),
    "no_credit": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "unknown_model": (404, "invalid_request_error", "model_not_found", "The model `no-such-model` does not exist."),
    "context_too_long": (400, "invalid_request_error", "context_length_exceeded", "Your input is too long."),
    "rate_limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "overloaded": (503, "server_error", "server_is_overloaded", "The engine is currently overloaded."),
    "server_error": (500, "server_error", "server_error", "The server had an error while processing your request."),
    "bad_request": (400, "invalid_request_error", "", "Invalid value."),
}


class _Errors:
    """Errors look the same in both."""

    def error(self, refusal: Refusal) -> tuple[int, bytes]:
        status, kind, code, message = ERRORS[refusal.trouble]
        told = {"message": refusal.message or message, "type": kind, "param": None, "code": code or None}
        return refusal.status or status, json.dumps({"error": told}).encode()

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"


@dataclass
class ChatApi(_Errors):
    """`POST /v1/chat/completions`."""

    cache: OpenAICache

    def check(self, body: Body) -> None:
        require(body.get("messages"), "messages: must not be empty")
        waiting: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                require(message["tool_call_id"] in waiting, "a tool message must follow the call it answers")
                waiting.remove(message["tool_call_id"])
                continue
            require(not waiting, "an assistant message with 'tool_calls' must be followed by tool messages")
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            for call in message.get("tool_calls") or ():
                require_name(call["function"]["name"])
                json.loads(call["function"]["arguments"])
            require(isinstance(message.get("content"), str | list) or waiting, "content: expected a string, got null")
        require(not waiting, "the last message calls tools and has no results")

    def use_cache(self, body: Body) -> CacheUse:
        return self.cache.use(body, chat_prompt(body))

    def whole(self, answer: Answer, body: Body, use: CacheUse) -> bytes:
        text = "".join(part.text for part in answer.parts if isinstance(part, Words))
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        if answer.has_calls:
            message["tool_calls"] = [_chat_call(part) for part in answer.parts if isinstance(part, Call)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
        head = {"id": f"chatcmpl-{use.total}", "object": "chat.completion", "created": CREATED, "model": body["model"]}
        return json.dumps({**head, "choices": [choice], "usage": _chat_usage(answer, use)}).encode()

    def events(self, answer: Answer, body: Body, use: CacheUse) -> list[bytes]:
        head = {
            "id": f"chatcmpl-{use.total}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": body["model"],
        }

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None})

        found = [chunk({"role": "assistant", "content": ""})]
        for part in answer.parts:
            if isinstance(part, Words):
                found += [chunk({"content": piece}) for piece in pieces(part.text)]
        for index, part in enumerate(part for part in answer.parts if isinstance(part, Call)):
            call = _chat_call(part)
            whole = call["function"]["arguments"]
            start = {**call, "index": index, "function": {"name": part.name, "arguments": ""}}
            found.append(chunk({"tool_calls": [start]}))
            for piece in pieces(whole):
                found.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        found.append(chunk({}, _finish(answer)))
        if (body.get("stream_options") or {}).get("include_usage"):
            found.append(event({**head, "choices": [], "usage": _chat_usage(answer, use)}))
        return [*found, event("[DONE]")]

    def error_event(self, refusal: Refusal) -> bytes:
        return event(json.loads(self.error(refusal)[1]))


def _chat_call(part: Call) -> dict[str, Any]:
    arguments = part.arguments if isinstance(part.arguments, str) else json.dumps(part.arguments)
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _finish(answer: Answer) -> str:
    if answer.is_refusal:
        return "content_filter"
    return "length" if answer.is_cut else "tool_calls" if answer.has_calls else "stop"


def _chat_usage(answer: Answer, use: CacheUse) -> dict[str, Any]:
    details = {"cached_tokens": use.read, "cache_write_tokens": use.created}
    output = output_tokens(answer)
    counts = {"prompt_tokens": use.total, "completion_tokens": output, "total_tokens": use.total + output}
    return {**counts, "prompt_tokens_details": details}


@dataclass
class ResponsesApi(_Errors):
    """`POST /v1/responses`."""

    cache: OpenAICache
    issued: Issued

    def check(self, body: Body) -> None:
        require(body.get("input"), "input: must not be empty")
        called: set[str] = set()
        items = body["input"] if isinstance(body["input"], list) else []
        for item, following in zip(items, [*items[1:], {"role": "user"}], strict=False):
            kind = item.get("type", "message")
            if kind == "function_call":
                require_name(item["name"])
                json.loads(item["arguments"])
                called.add(item["call_id"])
            elif kind == "custom_tool_call":
                called.add(item["call_id"])
            elif kind in ("function_call_output", "custom_tool_call_output"):
                require(item["call_id"] in called, "No tool call found for function call output")
                called.remove(item["call_id"])
            elif kind == "reasoning":
                text = item["summary"][0]["text"] if item.get("summary") else ""
                require((text, item.get("encrypted_content")) in self.issued.signed, "Invalid reasoning item")
                is_followed = following.get("role") != "user" and "output" not in following.get("type", "")
                require(is_followed, "Item of type 'reasoning' was provided without its required following item.")
        require(not called, "No tool output found for function call")

    def use_cache(self, body: Body) -> CacheUse:
        return self.cache.use(body, responses_prompt(body))

    def whole(self, answer: Answer, body: Body, use: CacheUse) -> bytes:
        return json.dumps(self._response(answer, body, use)).encode()

    def events(self, answer: Answer, body: Body, use: CacheUse) -> list[bytes]:
        whole = self._response(answer, body, use)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        plain: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, (part, item) in enumerate(zip(answer.parts, whole["output"], strict=True)):
            plain += _item_events(part, item, index)
        end = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
        plain.append({"type": end, "response": whole})
        return [event({**data, "sequence_number": at}, str(data["type"])) for at, data in enumerate(plain)]

    def error_event(self, refusal: Refusal) -> bytes:
        _, _, code, message = ERRORS[refusal.trouble]
        failure = {"code": code or "server_error", "message": refusal.message or message}
        response = {"id": "resp_0", "object": "response", "status": "failed", "error": failure, "output": []}
        return event({"type": "response.failed", "response": response, "sequence_number": 0}, "response.failed")

    def _response(self, answer: Answer, body: Body, use: CacheUse) -> dict[str, Any]:
        output = [self._item(part, at) for at, part in enumerate(answer.parts)]
        if "reasoning.encrypted_content" not in (body.get("include") or ()):
            output = [{name: value for name, value in item.items() if name != "encrypted_content"} for item in output]
        is_whole = not answer.is_cut and not answer.is_refusal
        reason = "content_filter" if answer.is_refusal else "max_output_tokens"
        return {
            "id": f"resp_{use.total}",
            "object": "response",
            "created_at": CREATED,
            "status": "completed" if is_whole else "incomplete",
            "incomplete_details": None if is_whole else {"reason": reason},
            "error": None,
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": body.get("tools") or [],
            "usage": _response_usage(answer, use),
        }

    def _item(self, part: Part, at: int) -> dict[str, Any]:
        match part:
            case Words(text):
                content = [{"type": "output_text", "text": text, "annotations": []}]
                return {
                    "id": f"msg_{at}",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            case Call(name, arguments, call_id):
                given = arguments if isinstance(arguments, str) else json.dumps(arguments)
                within, _, plain = name.rpartition(":")  # a tool of a namespace, or that takes text, as Codex has some
                if within == "custom":
                    call = {"call_id": call_id, "name": plain, "input": given}
                    return {"id": f"ctc_{at}", "type": "custom_tool_call", "status": "completed", **call}
                call = {"call_id": call_id, "name": plain, "arguments": given} | (
                    {"namespace": within} if within else {}
                )
                return {"id": f"fc_{at}", "type": "function_call", "status": "completed", **call}
            case Thinking(text, signature):
                self.issued.signed.add((text, signature))
                summary = [{"type": "summary_text", "text": text}]
                return {"id": f"rs_{at}", "type": "reasoning", "summary": summary, "encrypted_content": signature}
            case Redacted(data):
                self.issued.signed.add(("", data))
                return {"id": f"rs_{at}", "type": "reasoning", "summary": [], "encrypted_content": data}


def _item_events(part: Part, item: dict[str, Any], index: int) -> list[dict[str, Any]]:
    where = {"item_id": item["id"], "output_index": index}
    found = [{"type": "response.output_item.added", "output_index": index, "item": item}]
    if isinstance(part, Words):
        text = {**where, "content_index": 0, "logprobs": []}
        found += [{"type": "response.output_text.delta", **text, "delta": piece} for piece in pieces(part.text)]
        found.append({"type": "response.output_text.done", **text, "text": part.text})
    elif isinstance(part, Call) and "arguments" in item:
        kind = "response.function_call_arguments.delta"
        found += [{"type": kind, **where, "delta": piece} for piece in pieces(item["arguments"])]
    return [*found, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _response_usage(answer: Answer, use: CacheUse) -> dict[str, Any]:
    output = output_tokens(answer)
    return {
        "input_tokens": use.total,
        "input_tokens_details": {"cached_tokens": use.read, "cache_write_tokens": use.created},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": use.total + output,
    }
