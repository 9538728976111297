"""What a person sees: colours and tables in a terminal, plain text in a pipe, no escape that a memory smuggles in."""

from __future__ import annotations

import os
from functools import partialmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from memdir.settings import Environment

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_TYPE_COLOURS = {"user": "magenta", "feedback": "yellow", "project": "green", "reference": "blue"}
MIN_LAST = 20  # columns of a table's last cell that are still worth reading
DEFAULT_WIDTH = 100  # for pipes: nothing is cut there, tables are merely aligned

# Controls, direction marks, lone surrogates, tags: everything a terminal or an eye could be misled by, but the newline.
_ACTING = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"


def clean(text: str, *, keep_newlines: bool = False) -> str:
    """Text with everything that a terminal would act on made visible: escapes, controls, direction marks, halves."""
    if text.isascii() and text.isprintable():
        return text
    import re

    shown = re.sub(_ACTING, lambda match: _visible(match[0]), text)
    return shown if keep_newlines else shown.replace("\n", " ")


def _visible(character: str) -> str:
    if character == "\t":
        return "    "
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's pictures of control characters
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}"


def width_of(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = ("W", "F")
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in wide else 1 for c in text)


def fit(text: str, width: int) -> str:
    """A text cut to a number of columns, an ellipsis where something is missing."""
    if width_of(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += width_of(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def folded(line: str, width: int) -> str:
    """A line as several that fit where they can: no word is broken, and what goes on stands further in."""
    if len(line) <= width and line.isascii():
        return line
    import re
    import textwrap

    if width_of(re.sub(r"\x1b\[\d+m", "", line)) <= width:
        return line
    further = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


class Terminal:
    """Writes to one stream, in colour where the stream is a terminal and nobody objects."""

    def __init__(self, stream: TextIO, environment: Environment) -> None:
        self._stream = stream
        is_terminal = stream.isatty()
        self.colour = environment.colour if environment.colour is not None else is_terminal
        self.width = _columns(environment, stream) if is_terminal or environment.width else None

    def line(self, text: str = "") -> None:
        """Words for people: where the terminal is narrower, their lines end between words."""
        self.verbatim("\n".join([folded(line, self.width) for line in text.split("\n")]) if self.width else text)

    def verbatim(self, text: str) -> None:
        """What somebody may take as it is: a file, a patch, a path, a command, what a program reads."""
        self._stream.write(text + "\n")

    def style(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and text else text

    bold = partialmethod(style, style="bold")
    dim = partialmethod(style, style="dim")
    cyan = partialmethod(style, style="cyan")

    def type_word(self, kind: str) -> str:
        """A memory's type in its colour."""
        return self.style(kind, _TYPE_COLOURS.get(kind, "dim"))

    def highlighted(self, text: str, words: Sequence[str]) -> str:
        """A clean text with the given words marked."""
        if not self.colour or not words:
            return text
        import re

        pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        return re.sub(pattern, lambda match: self.style(match[0], "red"), text, flags=re.IGNORECASE)

    def table(self, rows: Sequence[Sequence[str]], *, headers: Sequence[str], styles: Sequence[str] = ()) -> None:
        """Aligned columns; in a terminal the last one is cut to the width, in a pipe nothing is."""
        cells = [[clean(cell) for cell in row] for row in rows]
        *widths, _ = [max(width_of(row[at]) for row in [list(headers), *cells]) for at in range(len(headers))]
        room = self.width - sum(widths) - 2 * len(widths) if self.width else None
        is_wide, is_aligned = room is None or room >= MIN_LAST, room is None or room >= -2
        if is_aligned:
            named = [header.ljust(width) for header, width in zip(headers, widths, strict=False)]
            self.line(self.dim("  ".join([*named, headers[-1] if is_wide else ""]).rstrip()))
        every = [*styles, *[""] * (len(headers) - len(styles))]
        for *row, last in cells:
            named = [self._styled(cell, style) for cell, style in zip(row, every, strict=False)]
            if is_aligned:
                gaps = [" " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)]
                named = [cell + gap for cell, gap in zip(named, gaps, strict=True)]
            if not is_wide:  # the last cell goes below the others
                self.line("  ".join(named).rstrip() + (f"\n    {self._styled(last, every[-1])}" if last else ""))
                continue
            self.line("  ".join([*named, self._styled(fit(last, room) if room else last, every[-1])]))

    def patch(self, text: str) -> None:
        """A unified diff in colour."""
        for line in clean(text, keep_newlines=True).splitlines():
            head = line[:4]
            if head in ("diff", "inde", "new ", "dele", "--- ", "+++ "):
                self.verbatim(self.bold(line) if head == "diff" else self.dim(line))
            else:
                self.verbatim(self._styled(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")))

    def _styled(self, text: str, style: str) -> str:
        return text if not style else self.type_word(text) if style == "type" else self.style(text, style)


class Progress:
    """One line that is written over while long work goes on, and wiped after it; without a stream, nothing."""

    __slots__ = ("_is_shown", "_stream", "_what")

    def __init__(self, stream: TextIO | None, what: str) -> None:
        self._stream = stream
        self._what = what
        self._is_shown = False

    def __enter__(self) -> Callable[[int, int], None] | None:
        return self._show if self._stream is not None else None

    def __exit__(self, *_: object) -> None:
        if self._stream is not None and self._is_shown:
            rewrite_line("", self._stream)

    def _show(self, done: int, total: int) -> None:
        if self._stream is not None:
            self._is_shown, count = True, f": {done:,} of {total:,}" if total else f": {done:,} …" if done else " …"
            width = os.get_terminal_size(self._stream.fileno()).columns or DEFAULT_WIDTH
            rewrite_line(fit(self._what, width - len(count) - 1) + count, self._stream)  # what wraps stays


def rewrite_line(text: str, stream: TextIO) -> None:
    """Put a text where the cursor's line was."""
    print(f"\r\x1b[2K{text}", end="", file=stream, flush=True)


def _columns(environment: Environment, stream: TextIO) -> int:
    if environment.width.isdigit() and int(environment.width) > 0:
        return int(environment.width)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH
