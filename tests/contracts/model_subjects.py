"""The models that the contract is run over. Each says the same two things: words, and a call of Read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memdir.agent.tools.file_tools import ReadTool
from memdir.errors import ModelError
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.job import ChatJob
from memdir.model.model import Model, Request, ScriptedModel, SystemBlock
from memdir.model.model import calls as scripted_calls
from memdir.model.model import says as scripted_says
from memdir.transcript.message import Message, Text, user
from tests.model.fake_programs import answer, fake_program
from tests.model.providers import ANTHROPIC, CHAT, RESPONSES, Provider
from tests.provider_server import ProviderServer, Refusal, calls, says

WORDS = "Deploys are frozen until December."
Step = Literal["words", "call", "failure"]


class Subject(ABC):
    """A model that can be told, step by step, what to answer."""

    name: str
    can_fail = True

    @abstractmethod
    def opened(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        """The model, as a generator that cleans up behind it."""

    def request(self) -> Request:
        """A conversation whose index names one memory, and a question about it."""
        job = ChatJob("/m", (("deploys.md", "- [Deploys](deploys.md) — deploys are frozen"),))
        context = Message("user", (Text(f"Contents of /m/MEMORY.md (memory):\n\n{job.lines[0][1]}"),), is_meta=True)
        system = (SystemBlock("Help.", ends_prefix=True),)
        return Request(self.name, system, (ReadTool.spec,), (context, user("Deploys?")), job=job)

    @contextmanager
    def model(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        yield from self.opened(steps, place)


@dataclass
class Http(Subject):
    """A provider through its official SDK."""

    provider: Provider
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.provider.model

    def opened(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        table: dict[Step, object] = {
            "words": says(WORDS),
            "call": calls(("Read", {"file_path": "/m/deploys.md"})),
            "failure": Refusal("rate_limit"),
        }
        with ProviderServer([table[step] for step in steps]) as server:  # type: ignore[misc]
            yield self.provider.open(server)


@dataclass
class Scripted(Subject):
    """The scripted model."""

    name: str = "scripted"

    def opened(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        table: dict[Step, object] = {
            "words": scripted_says(WORDS),
            "call": scripted_calls(("Read", {"file_path": "/m/deploys.md"})),
            "failure": ModelError("no", kind="rate_limit", remedy="Wait"),
        }
        yield ScriptedModel([table[step] for step in steps])  # type: ignore[misc]


@dataclass
class Builtin(Subject):
    """The built-in model: it cannot be told, so its request makes it call Read first and talk then. It never fails."""

    name: str = "builtin"
    can_fail = False

    def opened(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        yield BuiltinModel()


@dataclass
class Command(Subject):
    """The user's own program."""

    name: Literal["claude", "codex"]

    def opened(self, steps: Sequence[Step], place: Path) -> Iterator[Model]:
        table: dict[Step, dict[str, object]] = {
            "words": answer(self.name, WORDS),
            "call": answer(self.name, "", ("Read", {"file_path": "/m/deploys.md"})),
            "failure": {"code": 1, "errors": "rate limit reached"},
        }
        yield fake_program(place, self.name, *(table[step] for step in steps)).model


SUBJECTS: tuple[Callable[[], Subject], ...] = (
    lambda: Http(ANTHROPIC),
    lambda: Http(CHAT),
    lambda: Http(RESPONSES),
    Scripted,
    Builtin,
    lambda: Command("claude"),
    lambda: Command("codex"),
)
NAMES = ("anthropic", "openai-chat", "openai-responses", "scripted", "builtin", "claude", "codex")
