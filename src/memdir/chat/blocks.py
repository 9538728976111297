"""Cuts streaming Markdown into blocks that are complete, each to be rendered once, and the one that is still open: to
render a whole text anew for every token costs seconds."""

from __future__ import annotations

_FENCES = ("```", "~~~")


class Blocks:
    """Takes text as it comes. A block ends at an empty line, or where its code fence is closed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = ""  # the line that is not ended yet
        self._fence = ""

    @property
    def open(self) -> str:
        """What has come of the block that is not complete."""
        return "\n".join((*self._lines, self._rest))

    def take(self, piece: str) -> list[str]:
        """The blocks that this piece completes."""
        *whole, self._rest = (self._rest + piece).split("\n")
        return [block for line in whole for block in self._line(line)]

    def end(self) -> list[str]:
        """What is left, as a block of its own."""
        left, self._lines, self._rest, self._fence = self.open, [], "", ""
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
