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
    Literals = tuple[tuple[str, str, int], ...]  # what is looked for first, the literal, and the number of its row

_BLANK = "␣"
_LEADING = "^"
_HEAD = 3  # letters by which the beginning of a run is known
MIN_RUN = 24  # letters, digits, _ and - in a row that every format without a literal has
_OTHER_SIGNS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_-")}
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_IN_WORDS = ("places", "announcers")  # tables whose literals are mostly words
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
def _literals(table: str) -> tuple[Literals, Literals]:
    """The literals of a table: those that have two letters and more in a row, with the most that they have; and the
    others with one character of theirs, which most texts lack."""
    by_letters: list[tuple[str, str, int]] = []
    by_sign: list[tuple[str, str, int]] = []
    for number, (_, literals, _, _) in enumerate(_rows(table)):
        for literal in literals:
            runs = literal.translate(_NO_LETTERS).split() if literal.isascii() else []
            letters = max([run for run in runs if len(run) > 1], key=len, default="")
            sign = max(literal, key=lambda one: (not one.isascii(), not one.isalpha(), one), default="")
            (by_letters if letters else by_sign).append((letters or sign, literal, number))
    return tuple(by_letters), tuple(by_sign)


@cache
def _plain_words() -> set[str]:
    """Words that hold no literal: most come again in the next text. Only letters, so that no value stays here whole."""
    return set()


@lru_cache(maxsize=2)
def _telling_words(text: str) -> str:
    """The words of a text that may hold a literal in letters."""
    plain = _plain_words()
    found = set(_narrow(text).translate(_NO_LETTERS).split()) - plain
    all_of_them = "\n".join(found)
    known = {letters for table in _IN_WORDS for letters, _, _ in _literals(table)[0] if letters in all_of_them}
    new = {word for word in found if len(word) <= _LONGEST_PLAIN and not any(letters in word for letters in known)}
    if len(plain) > _MOST_PLAIN:
        plain.clear()
    plain |= new
    return "\n".join(found - new)


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
    words = _telling_words(text) if table in _IN_WORDS else text
    by_letters, by_sign = _literals(table)
    hit = {number for sign, literal, number in by_sign if sign in text and literal in text}
    if words:
        hit.update(number for letters, literal, number in by_letters if letters in words and literal in text)
    return _chosen(table, hit)


def tried_formats(text: str) -> list[tuple[str, str]]:
    """Of the formats those that words may hold a match of; there are too many to look for each literal."""
    parted = _narrow(text).translate(_OTHER_SIGNS)
    longest = max(map(len, parted.split()), default=0)
    runs = set(parted.replace("_", " ").replace("-", " ").split())
    whole, begun = _leading()
    may_be_any = longest >= MIN_RUN
    hit = {number for number, some in _inner() if any(one in text if one else may_be_any for one in some)}
    hit.update(*(whole[run] for run in runs & whole.keys()))
    hit.update(*(begun[head] for head in {run[:_HEAD] for run in runs} & begun.keys()))
    return _chosen("formats", hit)


def _narrow(text: str) -> str:
    """In which one searches faster for what is plain."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


def _chosen(table: str, hit: set[int]) -> list[tuple[str, str]]:
    if not hit:
        return []
    table_rules = rules(table)
    return [(table_rules[number][0], table_rules[number][2]) for number in sorted(hit)]


@cache
def one_of(words: str, form: str = "{}") -> Pattern[str]:
    """A pattern for any word of a list of `words.txt`; in a `form`, where something stands around the word."""
    return compiled(form.format("|".join(_words(words))))
