"""A chat host over the provider test server, with what its person answers and what it told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memdir import Environment, MemDir, open_memory
from memdir.agent import Consent, Permission
from memdir.chat.host import ChatEvent, ChatHost, HostOptions
from memdir.events import Event
from tests.conftest import Clock
from tests.model.providers import Provider
from tests.provider_server import KEY, ProviderServer, says
from tests.provider_server.script import Body, Outcome

QUIET = {"eventLog": "false", "budget.tokensPerDay": "0", "budget.tokensPerProject": "0", "budget.centsPerDay": "0"}
JOBS = ("[memdir job", "The person asks a question beside")


@dataclass
class Person:
    """Answers what is asked, in this order, and then no; keeps what was asked and told."""

    answers: list[Consent] = field(default_factory=list)
    asked: list[Permission] = field(default_factory=list)
    told: list[ChatEvent] = field(default_factory=list)

    async def answer(self, question: Permission) -> Consent:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else "no"

    def heard(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.told if event.name == name]

    @property
    def text(self) -> str:
        return "".join(fields["text"] for fields in self.heard("text"))


@dataclass
class Sunk:
    """Keeps the events of memdir itself."""

    events: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)


def opened(
    project: Path, provider: Provider, server: ProviderServer, *, clock: Clock | None = None, **flags: str
) -> tuple[MemDir, Sunk]:
    """The memory of a project whose model is a provider's, at the test server."""
    sunk = Sunk()
    flags = {**QUIET, **chosen(provider, server), **flags}
    environment = Environment({**os.environ, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY})
    memory = open_memory(project, sink=sunk, environment=environment, flags=flags, clock=clock or time.time)
    return memory, sunk


def chosen(provider: Provider, server: ProviderServer) -> dict[str, str]:
    """The settings that name a provider at the test server."""
    is_anthropic = provider.name == "anthropic"
    return {
        "model.provider": "anthropic" if is_anthropic else "openai",
        "model.name": provider.model,
        "model.baseUrl": server.url if is_anthropic else f"{server.url}/v1",
        "model.api": "responses" if provider.name == "openai-responses" else "chat",
        "recall.selector": "local",
    }


def host_of(memory: MemDir, person: Person | None = None, **options: Any) -> ChatHost:
    person = person or Person()
    return ChatHost(memory, ask=person.answer, listen=person.told.append, options=HostOptions(**options))


def is_fork(body: Body) -> bool:
    """Whether a request is that of something that runs behind the conversation, whichever dialect it is in."""
    told = str(body.get("messages") or body.get("input"))
    return any(job in told for job in JOBS)


Answered = Outcome | Callable[[Body], Outcome]


def script(*answers: Answered, forks: Callable[[Body], Outcome] | None = None) -> Sequence[Callable[[Body], Outcome]]:
    """The conversation gets these answers in turn and then `ok`; what runs behind it gets its own."""
    left = list(answers)

    def step(body: Body) -> Outcome:
        if is_fork(body):
            return forks(body) if forks else says("Nothing to save.")
        answer = left.pop(0) if left else says("ok")
        return answer(body) if callable(answer) else answer

    return [step] * 400
