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
    Literals = dict[str, tuple[tuple[str, int], ...]]  # and the numbers of their rows, by what is looked for first

_BLANK = "␣"
_LEADING = "^"
_HEAD = 3  # letters by which the beginning of a run is known
MIN_RUN = 24  # letters, digits, _ and - in a row that every format without a literal has
_OTHER_SIGNS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_-")}
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_ONLY_LETTERS = bytes(code if code < 128 and chr(code).isalpha() else 32 for code in range(256))  # of UTF-8
_OFTEN = " -:"  # signs that most texts hold
_MOST_PLAIN, _LONGEST_PLAIN = 20_000, 24  # words that are remembered, and letters of one


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
def _literals(table: str, *, is_ascii: bool) -> tuple[Literals, Literals]:
    """The literals of a table that a text may hold: those that have two letters and more in a row, by the most that
    they have; and the others, by a sign of theirs that most texts lack, or else by how they begin."""
    by_letters: Literals = {}
    by_sign: Literals = {}
    for number, (_, literals, _, _) in enumerate(_rows(table)):
        for literal in (one for one in literals if one.isascii() or not is_ascii):
            runs = literal.translate(_NO_LETTERS).split() if literal.isascii() else []
            some, name = by_letters, max([run for run in runs if len(run) > 1], key=len, default="")
            if not name:
                sign = min(literal, key=lambda one: (one.isascii(), one.isalpha(), one in _OFTEN), default="")
                some, name = by_sign, literal[:2] if sign in _OFTEN else sign
            some[name] = (*some.get(name, ()), (literal, number))
    return by_letters, by_sign


@cache
def _plain_words() -> set[bytes]:
    """Words that hold no literal: most come again in the next text. Only letters, so that no value stays here whole."""
    return set()


@lru_cache(maxsize=2)
def _telling_letters(text: str) -> list[str]:
    """Those that literals are looked for by, as far as words of a text hold them."""
    plain = _plain_words()
    found = set(text.encode("utf-8", "replace").translate(_ONLY_LETTERS).split()) - plain
    words = b"\n".join(found).decode()
    tables = (_literals(table, is_ascii=True)[0] for table in ("places", "announcers") if found)
    told = [letters for table in tables for letters in table if letters in words]
    if len(plain) > _MOST_PLAIN:
        plain.clear()
    plain.update(
        word for word in found if len(word) <= _LONGEST_PLAIN and not any(one.encode() in word for one in told)
    )
    return told


@cache
def _leading() -> tuple[Numbers, Numbers]:
    """The formats that begin with a literal: by the letters and digits that it begins with where a sign follows
    there, and else by the first three of them. Both stand at the beginning of a run of such, so no text is searched."""
    whole: Numbers = {}
    begun: Numbers = {}
    for number, (_, literals, _, leads) in enumerate(_rows("formats")):
        for literal in literals if leads else ():
            found = compiled("[A-Za-z0-9]+").match(literal)
            run = found.group() if found else ""
            some, name = (begun, run[:_HEAD]) if run == literal else (whole, run)
            some[name] = (*some.get(name, ()), number)
    return whole, begun


@cache
def _inner() -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The formats that do not, and the literals that they hold: nothing, or one somewhere."""
    return tuple((number, literals) for number, (_, literals, _, leads) in enumerate(_rows("formats")) if not leads)


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
    by_letters, by_sign = _literals(table, is_ascii=text.isascii())
    begun = [some for sign, some in by_sign.items() if sign in text]
    begun += [by_letters[letters] for letters in _telling_letters(text) if letters in by_letters]
    return _chosen(table, {number for some in begun for literal, number in some if literal in text})


def tried_formats(text: str) -> list[tuple[str, str]]:
    """Of the formats those that words may hold a match of; there are too many to look for each literal."""
    parted = text.encode("ascii", "replace").decode().translate(_OTHER_SIGNS)  # in ASCII, which is faster
    longest = max(map(len, parted.split()), default=0)
    runs = set(parted.replace("_", " ").replace("-", " ").split())
    whole, begun = _leading()
    may_be_any = longest >= MIN_RUN
    hit = {number for number, some in _inner() if any(one in text if one else may_be_any for one in some)}
    hit.update(*(whole[run] for run in runs & whole.keys()))
    hit.update(*(begun[head] for head in {run[:_HEAD] for run in runs} & begun.keys()))
    return _chosen("formats", hit)


def _chosen(table: str, hit: set[int]) -> list[tuple[str, str]]:
    if not hit:
        return []
    table_rules = rules(table)
    return [(table_rules[number][0], table_rules[number][2]) for number in sorted(hit)]


@cache
def one_of(words: str, form: str = "{}") -> Pattern[str]:
    """A pattern for any word of a list of `words.txt`; in a `form`, where something stands around the word."""
    return compiled(form.format("|".join(_words(words))))
