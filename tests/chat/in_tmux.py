"""A chat in a real terminal: tmux, whose screen and scrollback can be read as a person sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from tests.chat.hosts import KEY, QUIET, chosen
from tests.model.providers import ANTHROPIC
from tests.provider_server import ProviderServer

SECONDS = 60.0  # until something is shown, on a busy machine
LOOK_SECONDS = 0.05
NO_TMUX = "" if shutil.which("tmux") else "tmux is not installed, so the chat is not tried in a real terminal"


def chat_words(server: ProviderServer | None, *more: str) -> list[str]:
    """`memdir chat` with its model at the test server; the built-in model without one."""
    settings = {**QUIET, **(chosen(ANTHROPIC, server) if server else {"model.provider": "builtin"})}
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return [str(Path(sys.executable).with_name("memdir")), "chat", *flags, *more]


class Tmux:
    """One program in a tmux of its own."""

    def __init__(self, words: Sequence[str], *, cwd: Path, columns: int = 90, rows: int = 30) -> None:
        self._folder = tempfile.mkdtemp(prefix="memdir-tmux-")
        kept = {**os.environ, "ANTHROPIC_API_KEY": KEY, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        script = Path(self._folder, "run.sh")
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        script.write_text(
            f"cd '{cwd}'\necho '$ memdir chat'\n{quoted}\necho \"ended with $?\"\nexec cat\n", encoding="utf-8"
        )
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("new-session", "-d", *size, "sh", str(script), environment=kept)

    def _tmux(self, *words: str, environment: dict[str, str] | None = None) -> str:
        program = ["tmux", "-S", os.path.join(self._folder, "socket"), "-f", "/dev/null", *words]
        done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    def __enter__(self) -> Tmux:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def screen(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p")

    @property
    def all(self) -> str:
        """The screen and all that was scrolled out of it; wrapped lines joined."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

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

    def keys(self, *names: str) -> None:
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Type it, and see that it is there."""
        self._tmux("send-keys", "-l", text)
        self.wait_for(text.strip()[-20:])

    def say(self, text: str) -> None:
        self.type(text)
        self.keys("Enter")

    def paste(self, text: str) -> None:
        """As a terminal pastes: in brackets."""
        path = Path(self._folder, "pasted")
        path.write_text(text, encoding="utf-8")
        self._tmux("load-buffer", str(path))
        self._tmux("paste-buffer", "-p")

    def wipe(self) -> None:
        """An empty screen, so that what comes now can be told from what was."""
        self.keys("C-l")
        self.wait_for("›")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))
