"""The three ways to a provider, each through its official SDK against the test server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memdir.model.anthropic import AnthropicModel
from memdir.model.model import ModelSettings, Request, SystemBlock, ToolSpec
from memdir.model.openai import OpenAIModel
from memdir.transcript.message import Message, user
from tests.provider_server import KEY, ProviderServer

READ = ToolSpec(
    "Read",
    "Read a file.",
    {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
)


@dataclass(frozen=True)
class Provider:
    """One provider and dialect."""

    name: Literal["anthropic", "openai-chat", "openai-responses"]
    model: str

    def open(self, server: ProviderServer, *, key: str = KEY, url: str = "") -> AnthropicModel | OpenAIModel:
        if self.name == "anthropic":
            return AnthropicModel(api_key=key, base_url=url or server.url)
        dialect: Literal["chat", "responses"] = "chat" if self.name == "openai-chat" else "responses"
        return OpenAIModel(api_key=key, base_url=url or f"{server.url}/v1", dialect=dialect)

    def request(self, *messages: Message, settings: ModelSettings | None = None, model: str = "") -> Request:
        return Request(
            model or self.model,
            (SystemBlock("You are helpful.", ends_prefix=True),),
            (READ,),
            messages or (user("Hello!"),),
            settings or ModelSettings(timeout_seconds=20),
        )


ANTHROPIC = Provider("anthropic", "claude-sonnet-5")
CHAT = Provider("openai-chat", "gpt-5.4")
RESPONSES = Provider("openai-responses", "gpt-5.6-luna")
PROVIDERS = (ANTHROPIC, CHAT, RESPONSES)
