"""Which models a person may choose from at the first run: a key, a server on this machine, the built-in one (X9)."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from memdir import Environment, open_memory
from memdir.chat.first_run import LOOK_SECONDS, model_offers
from memdir.errors import ModelError
from memdir.model import Request
from memdir.transcript import user
from tests.provider_server import KEY


@contextmanager
def listening(answer: bytes, sent: list[str] | None = None) -> Iterator[int]:
    """A server on this machine that lists its models and answers nothing else; its port. `sent` gets the keys."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(answer)

        def do_POST(self) -> None:
            if sent is not None:
                sent.append(self.headers["Authorization"])
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def closed_port() -> int:
    with listening(b"") as port:
        return port


def without_keys() -> Environment:
    return Environment({name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")})


def test_a_server_on_this_machine_is_offered_by_its_first_model_and_the_choice_is_kept(project: Path) -> None:
    memory = open_memory(project, environment=without_keys())
    assert model_offers(memory, [closed_port()]) == {}, "only the built-in model: there is nothing to ask"
    with listening(json.dumps({"data": [{"id": "qwen3\x1b[2J:8b"}, {"id": "other"}]}).encode()) as port:
        (told, settings), (local, kept) = model_offers(memory, [closed_port(), port]).items()
    assert settings == {"model.provider": "builtin"} and "no LLM" in told
    assert local == f"qwen3:8b on this machine, at http://127.0.0.1:{port}/v1"
    memory.keep_settings(kept)
    again = open_memory(project, environment=without_keys())
    assert (
        again.settings.model_base_url == f"http://127.0.0.1:{port}/v1#no-key"
        and again.settings.model_provider == "openai"
    )
    assert model_offers(again, [port]) == {}, "asked once"


async def test_whoever_listens_on_this_machine_gets_no_key(project: Path) -> None:
    """S2: a port was found, and nobody named who listens there."""
    environment, sent = Environment({**os.environ, "OPENAI_API_KEY": KEY}), list[str]()
    with listening(b'{"data": [{"id": "qwen3"}]}', sent) as port:
        memory = open_memory(project, environment=environment)
        memory.keep_settings(model_offers(memory, [port])[f"qwen3 on this machine, at http://127.0.0.1:{port}/v1"])
        model = open_memory(project, environment=environment).models.for_chat()
        with pytest.raises(ModelError):
            await model.complete(Request("qwen3", messages=(user("Hello."),)))
    assert sent == ["Bearer none"]


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"data": []}', b'{"data": [1]}', b'{"data": {"id": "x"}}'])
def test_what_else_listens_there_is_no_offer(project: Path, answer: bytes) -> None:
    with listening(answer) as port:
        assert model_offers(open_memory(project, environment=without_keys()), [port]) == {}


@pytest.mark.parametrize("header", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-A: ", b"SSH-2.0-Open\r\n"])
def test_what_never_stops_answering_holds_nobody_up_and_hides_no_other(project: Path, header: bytes) -> None:
    memory, over = open_memory(project, environment=without_keys()), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server, listening(b'{"data": [{"id": "qwen3"}]}') as port:

        def drip() -> None:
            with suppress(OSError), server.accept()[0] as caller:
                caller.sendall(header)
                while not over.wait(0.1):
                    caller.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        begun = time.monotonic()
        try:
            offers = model_offers(memory, [server.getsockname()[1], port])
            assert time.monotonic() - begun < LOOK_SECONDS + 5
        finally:
            over.set()
            thread.join()
    assert [name.partition(",")[0] for name in offers] == ["the built-in one", "qwen3 on this machine"]


def test_a_key_is_an_offer_and_what_a_person_chose_is_not_asked_about(project: Path) -> None:
    environment = Environment({**os.environ, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": ""})
    memory = open_memory(project, environment=environment)
    assert list(model_offers(memory, []))[1:] == ["claude-sonnet-5-5 by anthropic with the key in ANTHROPIC_API_KEY"]
    flags = {"model.provider": "builtin"}
    assert model_offers(open_memory(project, environment=environment, flags=flags), []) == {}
