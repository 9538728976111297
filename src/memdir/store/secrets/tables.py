"""The tables of the scanner, which are data: `formats.txt`, `places.txt`, `announcers.txt` and `words.txt` beside this
module. Each says at its top how it is read; none is read before a text is searched."""

from __future__ import annotations

from functools import cache, lru_cache

from memdir.disk.shipped import broken, shipped_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    Rule = tuple[str, tuple[str, ...], str]  # kind, literals and pattern
    Numbers = dict[str, tuple[int, ...]]  # of rows
    Literal = tuple[str, bytes, tuple[int, ...]]  # with its bones and the numbers of its rows

_BLANK = "␣"
_COMMON = "zqjxkvbywgpfmucdlhrsinoate.:- "  # signs from rare to common; what is not among them is rarer still
_LEADING = "^"
_HEAD = 3  # letters by which the beginning of a run is known
MIN_RUN = 24  # letters, digits, _ and - in a row that every format without a literal has
_OTHER_SIGNS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_-")}
_RARE = 4  # of these that most texts lack


@lru_cache(maxsize=2_048)
def compiled(pattern: str) -> Pattern[str]:
    """The compiled pattern; `re` is imported only when a text is searched."""
    import re  # here, because a hook that searches no text should not load it (ADR 0003)

    return re.compile(pattern)


@cache
def rules(table: str) -> tuple[Rule, ...]:
    """The rows of `formats`, `places` or `announcers`."""
    return tuple((kind, literals, pattern) for kind, literals, pattern, _ in _rows(table))


@cache
def _rows(table: str) -> tuple[tuple[str, tuple[str, ...], str, bool], ...]:
    """The same, and whether every match of a row begins with a literal of it."""
    found: list[tuple[str, tuple[str, ...], str, bool]] = []
    parts: dict[str, str] = {}  # patterns that others are made of, by their names in angle brackets
    for line in shipped_lines(f"store/secrets/{table}.txt"):
        kind, literals, pattern = line.split(" ", 2)
        for name, part in parts.items():
            pattern = pattern.replace(name, part)
        if kind.startswith("<"):
            parts[kind] = pattern
        else:
            known = "" if literals == "*" else literals.removeprefix(_LEADING).replace(_BLANK, " ")
            found.append((kind, tuple(known.split(",")), pattern, literals.startswith(_LEADING)))
    return tuple(found)


@cache
def _literals(table: str, *, is_ascii: bool, is_leading: bool) -> tuple[tuple[str, tuple[Literal, ...]], ...]:
    """The literals of a table with the numbers of their rows, by a part of each: where that is not in a text, none of
    them has to be looked for, and most texts lack most of those parts."""
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for number, (_, literals, _, leads) in enumerate(_rows(table)):
        for literal in (one for one in literals if one and one.isascii() == is_ascii and leads == is_leading):
            some = found.setdefault(_telling_part(literal), {})
            some[literal] = (*some.get(literal, ()), number)
    return tuple(
        (part, tuple((literal, _bones(literal), numbers) for literal, numbers in some.items()))
        for part, some in found.items()
    )


def _bones(text: str) -> bytes:
    """A text without the commonest letters: a third of it, in which one searches in a third of the time for the same of
    a literal. Where that is not, the literal is not in the text."""
    return text.encode("ascii").translate(None, b"etaoins r\n") if text.isascii() else b""


@cache
def _leading(table: str) -> tuple[Numbers, Numbers]:
    """The rows whose matches begin with a literal: by the letters and digits that it begins with where a sign follows
    there, and else by the first three of them. Both stand at the beginning of a run of such, so no text is searched."""
    whole: Numbers = {}
    begun: Numbers = {}
    for number, (_, literals, _, leads) in enumerate(_rows(table)):
        for literal in literals if leads else ():
            found = compiled("[A-Za-z0-9]+").match(literal)
            run = found.group() if found else ""
            some, name = (begun, run[:_HEAD]) if run == literal else (whole, run)
            some[name] = (*some.get(name, ()), number)
    return whole, begun


@cache
def _without_literal(table: str) -> tuple[int, ...]:
    """The rows that any text may hold a match of."""
    return tuple(number for number, (_, literals, _, _) in enumerate(_rows(table)) if "" in literals)


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
    """Kind and pattern of the rules of a table of which the text holds a literal, and of those without one."""
    hit = _with_literal(table, text, is_leading=False)
    hit.update(_without_literal(table))
    if any(_leading(table)):
        hit |= _with_literal(table, text, is_leading=True)
    return _chosen(table, hit)


def tried_formats(text: str) -> list[tuple[str, str]]:
    """Of the formats those that words may hold a match of; there are too many to look for each literal."""
    parted = _narrow(text).translate(_OTHER_SIGNS)
    longest = max(map(len, parted.split()), default=0)
    runs = set(parted.replace("_", " ").replace("-", " ").split())
    whole, begun = _leading("formats")
    hit = _with_literal("formats", text, is_leading=False)
    hit.update(_without_literal("formats") if longest >= MIN_RUN else ())
    hit.update(*(whole[run] for run in runs & whole.keys()))
    hit.update(*(begun[head] for head in {run[:_HEAD] for run in runs} & begun.keys()))
    return _chosen("formats", hit)


def _narrow(text: str) -> str:
    """In which one searches faster for what is plain."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


def _with_literal(table: str, text: str, *, is_leading: bool) -> set[int]:
    hit: set[int] = set()
    narrow = _narrow(text)
    bones = _bones(narrow)
    for is_ascii, place in ((True, narrow), (False, text)) if narrow is not text else ((True, text),):
        for part, some in _literals(table, is_ascii=is_ascii, is_leading=is_leading):
            if part in place:
                for literal, its_bones, numbers in some:
                    if its_bones in bones and literal in place:
                        hit.update(numbers)
    return hit


def _chosen(table: str, hit: set[int]) -> list[tuple[str, str]]:
    if not hit:
        return []
    table_rules = rules(table)
    return [(table_rules[number][0], table_rules[number][2]) for number in sorted(hit)]


@cache
def one_of(words: str, form: str = "{}") -> Pattern[str]:
    """A pattern for any word of a list of `words.txt`; in a `form`, where something stands around the word."""
    return compiled(form.format("|".join(_words(words))))
