"""Cuts streaming Markdown into blocks that are complete, each to be rendered once, and the one that is still open: to
render a whole text again for every token costs seconds."""

from __future__ import annotations

from itertools import chain

_FENCES = ("```", "~~~")


class Blocks:
    """Takes text as it comes. A block ends at an empty line, or where its code fence is closed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest: list[str] = []  # the line that is not ended yet, in pieces: putting them together costs each time
        self._fence = ""

    def tail(self, most: int) -> str:
        """The last characters of the block that is not complete."""
        ended = (part for line in reversed(self._lines) for part in ("\n", line))
        found: list[str] = []
        for part in chain(reversed(self._rest), ended):
            found.append(part[-most:])
            most -= len(part)
            if most <= 0:
                break
        return "".join(reversed(found))

    def take(self, piece: str) -> list[str]:
        """The blocks that this piece completes."""
        *whole, rest = piece.split("\n")
        if whole:
            whole[0], self._rest = "".join((*self._rest, whole[0])), []
        self._rest.append(rest)
        return [block for line in whole for block in self._line(line)]

    def end(self) -> list[str]:
        """What is left, as a block of its own."""
        left = "\n".join((*self._lines, "".join(self._rest)))
        self._lines, self._rest, self._fence = [], [], ""
        return [left] if left.strip() else []

    def _line(self, line: str) -> list[str]:
        bare = line.lstrip()
        if self._fence:
            self._lines.append(line)
            if bare.startswith(self._fence) and not bare.strip(self._fence[0] + " "):
                self._fence = ""
                return self._cut()
            return []
        if bare.startswith(_FENCES):
            before = self._cut()
            self._fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            self._lines.append(line)
            return before
        if not bare:
            return self._cut()
        self._lines.append(line)
        return []

    def _cut(self) -> list[str]:
        block, self._lines = "\n".join(self._lines), []
        return [block] if block.strip() else []
