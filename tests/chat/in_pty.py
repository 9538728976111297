"""A chat in a bare pseudo-terminal, drawn by pyte: the same screen where there is no tmux."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyte

from tests.chat.hosts import KEY
from tests.chat.seen import LOOK_SECONDS, Seen

KEYS = {"Enter": "\r", "Escape": "\x1b", "C-c": "\x03", "C-d": "\x04", "C-l": "\x0c", "C-u": "\x15", "F2": "\x1bOQ"}
HISTORY_LINES = 20_000


class Pty(Seen):
    """One program in a terminal of its own."""

    def __init__(self, words: Sequence[str], *, cwd: Path, columns: int = 90, rows: int = 30) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=HISTORY_LINES)
        self._screen.write_process_input = self.put  # what a program asks of its terminal is answered
        self._stream = pyte.ByteStream(self._screen)
        self._pid, self._descriptor = pty.fork()
        if not self._pid:
            os.chdir(cwd)
            kept = {
                **os.environ,
                "ANTHROPIC_API_KEY": KEY,
                "OPENAI_API_KEY": KEY,
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
            }
            os.execve(words[0], list(words), kept)
        self.resize(columns, rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._descriptor)

    def end_by(self, number: signal.Signals) -> None:
        """Send it a signal, and wait until it has ended."""
        os.kill(self._pid, number)
        self.ended()

    def ended(self) -> int:
        """The exit status, once it has ended."""
        while self._take(None):
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._pid = 0
        return status

    def _take(self, seconds: float | None) -> bool:
        """Draw what comes within this time; False when nothing did, or nothing more will."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._descriptor, 1 << 16)
        except OSError:  # how Linux says that it has ended
            return False
        self._stream.feed(data)
        return bool(data)

    @property
    def screen(self) -> str:
        while self._take(LOOK_SECONDS):
            pass
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def all(self) -> str:
        now, width = self.screen, self._screen.columns
        gone = ("".join(line[at].data for at in range(width)).rstrip() for line in self._screen.history.top)
        return "\n".join((*gone, now))

    def keys(self, *names: str) -> None:
        for name in names:
            self.put(KEYS.get(name, name))

    def put(self, text: str) -> None:
        data = text.encode()
        while data:
            if select.select([], [self._descriptor], [], 0)[1]:
                data = data[os.write(self._descriptor, data[:1024]) :]
            else:
                self._take(LOOK_SECONDS)

    def paste(self, text: str) -> None:
        self.put(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
