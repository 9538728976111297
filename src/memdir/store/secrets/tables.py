"""The tables of the scanner, which are data: `formats.txt`, `places.txt`, `announcers.txt` and `words.txt` beside this
module. Each says at its top how it is read; none is read before a text is searched."""

from __future__ import annotations

from functools import cache

from memdir.disk.shipped import broken, shipped_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    Rule = tuple[str, tuple[str, ...], str]  # kind, literals and pattern

_BLANK = "␣"
_COMMON = "zqjxkvbywgpfmucdlhrsinoate.:- "  # signs from rare to common; what is not among them is rarer still
_RARE = 4  # of these that most texts lack


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


@cache
def _literals(table: str, *, is_ascii: bool) -> tuple[tuple[str, tuple[tuple[str, tuple[int, ...]], ...]], ...]:
    """The literals of a table with the numbers of their rows, by a part of each: where that is not in a text, none of
    them has to be looked for, and most texts lack most of those parts. `is_ascii`: only those that such a text can
    hold."""
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for number, (_, literals, _) in enumerate(rules(table)):
        for literal in (one for one in literals if one.isascii() or not is_ascii):
            some = found.setdefault(_telling_part(literal), {})
            some[literal] = (*some.get(literal, ()), number)
    return tuple((part, tuple(some.items())) for part, some in found.items())


def _telling_part(literal: str) -> str:
    """Its rarest character, or where that is a common one what it shares with others that texts seldom hold."""
    rarest = min(literal, key=_COMMON.rfind, default="")
    shared = (part for part in _words("shared") if part in literal)
    return rarest if _COMMON.rfind(rarest) < _RARE else next(shared, rarest)


@cache
def _words(name: str) -> tuple[str, ...]:
    """A list of `words.txt`."""
    lists = [line.partition(": ") for line in shipped_lines("store/secrets/words.txt")]
    known = tuple(word.replace(_BLANK, " ") for one, _, some in lists if one == name for word in some.split())
    if not known:  # it would find nothing, or a placeholder everywhere
        raise broken("store/secrets/words.txt", f"damaged ({name})")
    return known


def tried(table: str, text: str) -> list[tuple[str, str]]:
    """Kind and pattern of the rules of a table of which the text holds a literal."""
    hit: set[int] = set()
    for part, some in _literals(table, is_ascii=text.isascii()):
        if part in text:
            for literal, numbers in some:
                if literal in text:
                    hit.update(numbers)
    if not hit:
        return []
    table_rules = rules(table)
    return [(table_rules[number][0], table_rules[number][2]) for number in sorted(hit)]


@cache
def one_of(words: str, form: str = "{}") -> Pattern[str]:
    """A pattern for any word of a list of `words.txt`; in a `form`, where something stands around the word."""
    return compiled(form.format("|".join(_words(words))))
