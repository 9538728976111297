"""A chat as a person sees it, in whatever terminal: what is on the screen, and keys that are pressed."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tests.chat.hosts import QUIET, chosen
from tests.model.providers import ANTHROPIC, Provider
from tests.provider_server import ProviderServer

SECONDS = 60.0  # until something is shown, on a busy machine
LOOK_SECONDS = 0.05


def chat_words(server: ProviderServer | None, *more: str, provider: Provider = ANTHROPIC) -> list[str]:
    """`memdir chat` with its model at the test server; the built-in model without one."""
    settings = {**QUIET, **(chosen(provider, server) if server else {"model.provider": "builtin"})}
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return [str(Path(sys.executable).with_name("memdir")), "chat", *flags, *more]


class Seen(ABC):
    """A terminal whose screen and scrollback can be read."""

    def __enter__(self) -> Seen:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    @abstractmethod
    def screen(self) -> str:
        """What is on the screen."""

    @property
    @abstractmethod
    def all(self) -> str:
        """The screen and all that was scrolled out of it."""

    @abstractmethod
    def keys(self, *names: str) -> None:
        """Press these, by the names that tmux has for them."""

    @abstractmethod
    def put(self, text: str) -> None:
        """Type it, whatever comes of it."""

    @abstractmethod
    def paste(self, text: str) -> None:
        """As a terminal pastes: in brackets."""

    @abstractmethod
    def resize(self, columns: int, rows: int) -> None: ...

    def wait_for(self, *words: str, gone: bool = False) -> str:
        """Until all of these are on the screen, or none of them is any more."""
        until = time.monotonic() + SECONDS
        while True:
            shown = self.screen
            if all((word in shown) != gone for word in words):
                return shown
            assert time.monotonic() < until, f"{words} {'still' if gone else 'not'} on the screen:\n{shown}"
            time.sleep(LOOK_SECONDS)

    def until(self, holds: Callable[[str], bool]) -> str:
        """Until this holds of the screen and the scrollback: what is live becomes a block a moment later."""
        until = time.monotonic() + SECONDS
        while not holds(found := self.all):
            assert time.monotonic() < until, found
            time.sleep(LOOK_SECONDS)
        return found

    def type(self, text: str) -> None:
        """Type it, and see that it is there."""
        self.put(text)
        self.wait_for(text.strip()[-20:])

    def say(self, text: str) -> None:
        self.type(text)
        self.keys("Enter")

    def wipe(self) -> None:
        """An empty screen, so that what comes now can be told from what was."""
        self.keys("C-l")
        self.wait_for("›")
