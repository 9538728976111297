"""Google's Gemini API, as its command line client speaks it: `generateContent` and `streamGenerateContent`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.provider_server.dialect import BadRequest, event, output_tokens, pieces, require
from tests.provider_server.prompt_cache import CacheUse, OpenAICache, gemini_prompt
from tests.provider_server.script import Answer, Body, Call, Part, Redacted, Refusal, Thinking, Trouble, Words

PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")
ERRORS: dict[Trouble, tuple[int, str, str]] = {
    "wrong_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "no_credit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing."),
    "unknown_model": (404, "NOT_FOUND", "models/no-such-model is not found for API version v1beta."),
    "context_too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count exceeds the maximum number of tokens allowed.",
    ),
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "server_error": (500, "INTERNAL", "An internal error has occurred."),
    "bad_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
}


def named_in_path(path: str) -> Body:
    """What the other APIs say in the body and this one in the path; nothing for a path of theirs."""
    found = PATH.fullmatch(path.partition("?")[0])
    return {"model": found[1], "stream": found[2] == "streamGenerateContent"} if found else {}


@dataclass
class GeminiApi:
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`."""

    cache: OpenAICache

    def check(self, body: Body) -> None:
        require(body.get("contents"), "contents is not specified")
        waiting = 0
        for content in body["contents"]:
            require(content.get("role", "user") in ("user", "model"), "Please use a valid role: user, model.")
            parts = content.get("parts")
            require(parts, "contents.parts must not be empty")
            answered = sum("functionResponse" in part for part in parts)
            require(answered in (0, waiting), "the number of function response parts must equal the function calls")
            require(not waiting or answered, "a function call turn must be followed by a function response turn")
            waiting = sum("functionCall" in part for part in parts)
        require(not waiting, "the last turn calls functions and has no responses")

    def use_cache(self, body: Body) -> CacheUse:
        return self.cache.use(body, gemini_prompt(body))

    def whole(self, answer: Answer, body: Body, use: CacheUse) -> bytes:
        return json.dumps(_chunk([_part(part) for part in answer.parts], answer, body, use, is_last=True)).encode()

    def events(self, answer: Answer, body: Body, use: CacheUse) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        for part in answer.parts:
            if isinstance(part, Words):
                parts += [{"text": piece} for piece in pieces(part.text)]
            else:
                parts.append(_part(part))
        last = len(parts) - 1
        return [event(_chunk([part], answer, body, use, is_last=at == last)) for at, part in enumerate(parts)]

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"

    def error(self, refusal: Refusal) -> tuple[int, bytes]:
        code, status, message = ERRORS[refusal.trouble]
        told = {"code": refusal.status or code, "message": refusal.message or message, "status": status}
        return refusal.status or code, json.dumps({"error": told}).encode()

    def error_event(self, refusal: Refusal) -> bytes:
        return event(json.loads(self.error(refusal)[1]))


def _chunk(parts: list[dict[str, Any]], answer: Answer, body: Body, use: CacheUse, *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "SAFETY" if answer.is_refusal else "MAX_TOKENS" if answer.is_cut else "STOP"
    output = output_tokens(answer)
    usage = {
        "promptTokenCount": use.total,
        "candidatesTokenCount": output,
        "totalTokenCount": use.total + output,
        "cachedContentTokenCount": use.read,
    }
    head = {"modelVersion": body["model"], "responseId": f"response-{use.total}"}
    return {"candidates": [candidate], "usageMetadata": usage, **head}


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Words(text):
            return {"text": text}
        case Call(name, arguments, call_id):
            if isinstance(arguments, str):
                raise BadRequest("this API never sends arguments that are no object")
            return {"functionCall": {"id": call_id, "name": name, "args": dict(arguments)}}
        case Thinking(text, signature):
            return {"text": text, "thought": True, "thoughtSignature": signature}
        case Redacted(data):
            return {"text": "", "thought": True, "thoughtSignature": data}
