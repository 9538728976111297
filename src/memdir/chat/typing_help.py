"""Help while one types: commands, files and memories are completed, and what was typed before comes back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory

MAX_OFFERED = 50  # names at once


class TypingHelp(Completer):
    """`/` at the beginning offers commands, `@` files of the project, and a command that takes a memory its names."""

    def __init__(
        self, root: str, commands: Callable[[], Sequence[tuple[str, str]]], names: Callable[[], Sequence[str]]
    ):
        self._root, self._commands, self._names = root, commands, names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        before = document.text_before_cursor
        word = before.split()[-1] if before and not before[-1].isspace() else ""
        if before.startswith("/") and " " not in before:
            for name, told in self._commands():
                if f"/{name}".startswith(before):
                    yield Completion(f"/{name}", -len(before), display_meta=told)
        elif word.startswith("@"):
            yield from self._files(word[1:])
        elif before.startswith(("/forget ", "/memory show ", "/memory edit ")):
            found = [name for name in self._names() if word.lower() in name.lower()]
            yield from (Completion(name, -len(word)) for name in found[:MAX_OFFERED])

    def _files(self, typed: str) -> Iterator[Completion]:
        folder, _, beginning = typed.rpartition("/")
        place = os.path.join(self._root, folder)
        if typed.startswith(("/", "~")) or ".." in typed.split("/"):
            return
        try:
            with os.scandir(place) as found:
                entries = sorted((entry.name, entry.is_dir()) for entry in found if entry.name.startswith(beginning))
        except OSError:
            return
        for name, is_folder in entries[:MAX_OFFERED]:
            if name.isprintable() and (beginning.startswith(".") or not name.startswith(".")):
                yield Completion(f"{name}{'/' if is_folder else ''}", -len(beginning))


class InputHistory(FileHistory):
    """What was typed before, in a file that only its owner reads."""

    def store_string(self, string: str) -> None:
        from memdir.agent import DiskFiles
        from memdir.errors import MemdirError

        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        with suppress(MemdirError):  # a disk that refuses costs the history only
            DiskFiles().append(str(self.filename), f"\n{lines}".encode("utf-8", "replace"))
