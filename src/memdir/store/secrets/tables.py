"""The tables of the scanner, which are data: `formats.txt`, `places.txt`, `announcers.txt` and `words.txt` beside this
module. Each says at its top how it is read; none is read before a text is searched."""

from __future__ import annotations

from functools import cache

from memdir.disk.shipped import shipped_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    Rule = tuple[str, tuple[str, ...], str]  # kind, literals and pattern

_BLANK = "␣"


def compiled(pattern: str) -> Pattern[str]:
    """The compiled pattern. `re` keeps the compiled ones, and is imported only when a text is searched."""
    import re  # here, because a hook that searches no text should not load it (ADR 0003)

    return re.compile(pattern)


@cache
def rules(table: str) -> tuple[Rule, ...]:
    """The rows of `formats`, `places` or `announcers`."""
    found: list[Rule] = []
    parts: dict[str, str] = {}  # patterns that others are made of, by their names in angle brackets
    for line in shipped_lines(f"store/secrets/{table}.txt"):
        kind, literals, pattern = line.split(" ", 2)
        for name, part in parts.items():
            pattern = pattern.replace(name, part)
        if kind.startswith("<"):
            parts[kind] = pattern
        else:
            known = "" if literals == "*" else literals.replace(_BLANK, " ")
            found.append((kind, tuple(known.split(",")), pattern))
    return tuple(found)


def is_one_of(words: str, text: str) -> bool:
    """Whether `text` is a word of this list of `words.txt`."""
    return compiled(alternatives(words)).fullmatch(text) is not None


def alternatives(words: str) -> str:
    """A pattern for any word of a list."""
    return _lists()[words]


@cache
def _lists() -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for line in shipped_lines("store/secrets/words.txt"):
        name, _, words = line.partition(": ")
        found.setdefault(name, []).extend(words.split())
    return {name: "|".join(words).replace(_BLANK, " ") for name, words in found.items()}
