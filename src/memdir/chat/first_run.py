"""The first run of a chat: which model may answer. A key that was found, a local server, the built-in one: asked once,
kept in the person's own settings. A key in the environment is an offer, never a choice (ADR 0059)."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from http.client import HTTPException
from typing import TYPE_CHECKING

from memdir.model import DEFAULT_MODELS, offered_providers
from memdir.transcript import one_line

if TYPE_CHECKING:
    from memdir import MemDir

# Where servers of local models listen that speak OpenAI's API: Ollama, LM Studio, llama.cpp, vLLM.
PORTS = (11434, 1234, 8080, 8000)
LOOK_SECONDS = 1.0  # for all of them: it is this machine
MAX_LIST_BYTES = 1 << 20


def model_offers(memory: MemDir, ports: Sequence[int] = PORTS) -> dict[str, dict[str, str]]:
    """What there is to choose from, in words and as settings; nothing where the person has chosen, or there is only
    the built-in model."""
    settings = memory.settings
    if settings.model_provider != "auto" or settings.origins.get("model.provider", "user") != "user":
        return {}
    found = {
        f"{settings.model_name or DEFAULT_MODELS[name]} by {name}{how}": {"model.provider": name}
        for name, how in offered_providers(settings, memory.environment).items()
    }
    threads = ThreadPoolExecutor()
    looks = [threads.submit(_local, port) for port in ports]
    answered = wait(looks, LOOK_SECONDS).done  # one that goes on and on is waited for no longer than one that hangs
    threads.shutdown(wait=False)
    found.update(one for look in looks if look in answered for one in look.result().items())
    own = "the built-in one, on this machine: it looks things up and is no LLM"
    return {own: {"model.provider": "builtin"}, **found} if found else {}


def _local(port: int) -> dict[str, dict[str, str]]:
    """The first model of a server on this machine, if one listens there."""
    url = f"http://127.0.0.1:{port}/v1"
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}/models", None, LOOK_SECONDS) as answer:
            listed = json.loads(answer.read(MAX_LIST_BYTES))["data"]
        name = next(str(one["id"]) for one in listed)
    except (OSError, HTTPException, ValueError, LookupError, TypeError, StopIteration):
        return {}
    chosen = {"model.provider": "openai", "model.baseUrl": f"{url}#no-key", "model.name": name}
    return {f"{one_line(name)[:60]} on this machine, at {url}": chosen}
