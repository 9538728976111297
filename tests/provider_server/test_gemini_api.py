"""The server speaks Gemini's API as its command line client expects it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.provider_server import KEY, ProviderServer, Refusal, calls, says

ASKED = [{"role": "user", "parts": [{"text": "hello"}]}]


def post(server: ProviderServer, method: str, contents: list[dict[str, Any]], key: str = KEY) -> str:
    url = f"{server.url}/v1beta/models/gemini-2.5-flash:{method}"
    data = json.dumps({"contents": contents}).encode()
    headers = {"x-goog-api-key": key, "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=20) as answer:
        return str(answer.read().decode())


def test_an_answer_comes_whole_or_in_events() -> None:
    words = "Hello to you, whoever you are."
    with ProviderServer([says(words), says(words), calls(("read", {"path": "a"}))]) as server:
        whole = json.loads(post(server, "generateContent", ASKED))
        events = post(server, "streamGenerateContent?alt=sse", ASKED).split("\n\n")[:-1]
        called = json.loads(post(server, "generateContent", ASKED))
        assert server.requests[0].body["model"] == "gemini-2.5-flash"
    assert whole["candidates"][0]["content"]["parts"] == [{"text": words}]
    assert whole["usageMetadata"]["totalTokenCount"] > 0
    chunks = [json.loads(event.removeprefix("data: "))["candidates"][0] for event in events]
    assert "".join(chunk["content"]["parts"][0]["text"] for chunk in chunks) == words
    assert [chunk.get("finishReason") for chunk in chunks] == [*[None] * (len(chunks) - 1), "STOP"]
    [part] = called["candidates"][0]["content"]["parts"]
    assert part["functionCall"] == {"id": "call_0", "name": "read", "args": {"path": "a"}}


def test_it_refuses_what_the_provider_refuses() -> None:
    use = {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]}
    with ProviderServer([Refusal("overloaded")]) as server:
        for contents, key, code in (
            (ASKED, KEY, 503),
            (ASKED, "another", 400),
            ([], KEY, 400),
            ([*ASKED, use], KEY, 400),
            ([*ASKED, use, *ASKED], KEY, 400),
            ([{"role": "assistant", "parts": [{"text": "hello"}]}], KEY, 400),
        ):
            with pytest.raises(urllib.error.HTTPError) as raised:
                post(server, "generateContent", contents, key)
            assert raised.value.code == code
            assert json.loads(raised.value.read())["error"]["code"] == code
            raised.value.close()
