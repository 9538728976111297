"""A chat in a real terminal: tmux, whose screen and scrollback can be read as a person sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.chat.hosts import KEY
from tests.chat.seen import Seen

NO_TMUX = "" if shutil.which("tmux") else "tmux is not installed, so the chat is not tried in a real terminal"


class Tmux(Seen):
    """One program in a tmux of its own."""

    def __init__(self, words: Sequence[str], *, cwd: Path, columns: int = 90, rows: int = 30) -> None:
        self._folder = tempfile.mkdtemp(prefix="memdir-tmux-")
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        kept = {**os.environ, **keys, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def all(self) -> str:
        """The screen and all that was scrolled out of it; wrapped lines joined."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def keys(self, *names: str) -> None:
        self._tmux("send-keys", *names)

    def put(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        path = Path(self._folder, "pasted")
        path.write_text(text, encoding="utf-8")
        self._tmux("load-buffer", str(path))
        self._tmux("paste-buffer", "-p")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))
