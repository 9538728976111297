"""Searches files line by line, as ripgrep does: for Grep where ripgrep is not installed or cannot read a pattern.

A program of its own that takes the few options Grep uses and prints what ripgrep prints, so that a pattern that never
ends can be stopped. It needs nothing but the standard library and is run by its path, in Python's isolated mode.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

STDIN = "-"
_BROKEN = dict.fromkeys(range(0xDC80, 0xDD00), "\n")  # bytes that are no text, which ripgrep's . does not match


def main(arguments: list[str]) -> int:
    """`[--ignore-case] [--count] [--max-count=1] --regexp=PATTERN -- PATH…`; exit status 1 when nothing matched."""
    at = arguments.index("--")
    options, paths = arguments[:at], arguments[at + 1 :]
    text = next(option.removeprefix("--regexp=") for option in options if option.startswith("--regexp="))
    pattern = re.compile(text, re.IGNORECASE if "--ignore-case" in options else 0)
    has_found = False
    for path in paths:
        found = _search(pattern, path, only_first="--max-count=1" in options)
        lines = [f"{sum(1 for _ in found)}".encode()] if "--count" in options else found
        for line in lines:
            if line != b"0":
                has_found = True
                sys.stdout.buffer.write(os.fsencode(path) + b"\0" + line + b"\n")
    return 0 if has_found else 1


def _search(pattern: re.Pattern[str], path: str, *, only_first: bool) -> Iterator[bytes]:
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except OSError:
        return
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
        if pattern.search(line.decode("utf-8", "surrogateescape").translate(_BROKEN)):
            yield f"{number}:".encode() + line
            if only_first:
                return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
