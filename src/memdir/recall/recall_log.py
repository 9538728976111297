"""What was injected when (O2), and the cases that a person pinned as a regression test, beside the memories."""

from __future__ import annotations

import os
from contextlib import suppress

from memdir.disk.append import append_bytes
from memdir.disk.atomic import disk_errors
from memdir.disk.plain_file import open_plain
from memdir.errors import DiskError, LockBusy
from memdir.telemetry.jsonl import rotate_if_full, rotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOG_NAME = "recalled.jsonl"
PINS_NAME = "pinned-recalls.jsonl"
MAX_LOG_BYTES = 1_000_000  # about 4,000 messages; then it is rotated, and three old ones are kept
MESSAGE_CHARACTERS = 80  # of a message: enough to know it again
LOOKED_AT = 500  # characters of a message from which those are taken, line breaks and blanks among them


class Injection:
    """Memories that were shown at a moment in a session, for which message, and who chose them."""

    def __init__(self, moment: float, session: str, keys: tuple[str, ...], *, message: str = "", by: str = "") -> None:
        self.time, self.session, self.keys = moment, session, keys
        self.message, self.by = message, by


class Pin:
    """A message and the memories that must come back for it; none means that nothing may.

    `scope` is "team" for a case of the team's directory, which lies inside its project's and shares its state folder.
    """

    def __init__(
        self, query: str, expected: tuple[str, ...], recent_tools: tuple[str, ...] = (), *, scope: str = ""
    ) -> None:
        self.query, self.expected, self.recent_tools, self.scope = query, expected, recent_tools, scope


class RecallLog:
    """The log and the pins of one memory directory, in its state folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def add(self, injection: Injection) -> None:
        """Append it, with the beginning of its message."""
        with suppress(OSError, LockBusy):  # the next one tries again
            rotate_if_full(os.path.join(self._folder, LOG_NAME), max_bytes=MAX_LOG_BYTES)
        shown = {"time": injection.time, "session": injection.session, "keys": injection.keys}
        self._append(LOG_NAME, {**shown, "message": _beginning(injection.message), "by": injection.by})

    def injections(self) -> Iterator[Injection]:
        for line in (line for name in reversed(rotated(LOG_NAME)) for line in self._lines(name)):
            try:
                message, by = str(line.get("message", "")), str(line.get("by", ""))
                shown = float(str(line["time"])), str(line["session"]), _texts(line["keys"])
                yield Injection(*shown, message=message, by=by)
            except (KeyError, ValueError, TypeError):
                continue

    def counts(self) -> dict[str, int]:
        """How often each memory was shown lately; none where that cannot be read."""
        found: dict[str, int] = {}
        with suppress(DiskError):
            for injection in self.injections():
                for key in injection.keys:
                    found[key] = found.get(key, 0) + 1
        return found

    def pin(self, pin: Pin) -> None:
        from memdir.store.secrets import redact

        line = {"query": redact(pin.query), "expected": pin.expected, "recent_tools": pin.recent_tools}
        self._append(PINS_NAME, {**line, "scope": pin.scope} if pin.scope else line)

    def pins(self) -> Iterator[Pin]:
        """Every pinned case; of a message that was pinned twice the newer counts."""
        newest: dict[tuple[str, str], Pin] = {}
        for line in self._lines(PINS_NAME):
            try:
                query, scope = str(line["query"]), str(line.get("scope", ""))
                tools = _texts(line.get("recent_tools", []))
                newest[query, scope] = Pin(query, _texts(line["expected"]), tools, scope=scope)
            except (KeyError, TypeError):
                continue
        yield from newest.values()

    def _append(self, name: str, line: Mapping[str, object]) -> None:
        from memdir.disk.plain_json import encode

        text = encode(line)  # a file name that is no UTF-8 is left to JSON's own escapes
        append_bytes(os.path.join(self._folder, name), text.encode("utf-8", "backslashreplace") + b"\n")

    def _lines(self, name: str) -> Iterator[dict[str, object]]:
        from memdir.disk.plain_json import decode

        path, lines = os.path.join(self._folder, name), list[bytes]()
        with disk_errors("read", path), suppress(FileNotFoundError), open_plain(path, follow=False) as file:
            lines = file.readlines()
        yield from (found for found in map(decode, lines) if isinstance(found, dict))


def _beginning(message: str) -> str:
    """The first words of a message in one line, without secrets."""
    if not message:
        return ""
    from memdir.store.secrets import beginning

    words = " ".join(beginning(message.lstrip(), LOOKED_AT).split())
    return words if len(words) <= MESSAGE_CHARACTERS else words[: MESSAGE_CHARACTERS - 1].rstrip() + "…"


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
