"""How two notes compare, as named numbers for the judge: words, names, figures, words of change and directions (D3).

The older note comes first. Everything here only observes; what an observation is worth was learned from pairs.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import combinations
from operator import mul

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.memory_page import flat
from memdir.text.body_text import split
from memdir.text.embedding import DIMENSIONS, open_table
from memdir.text.stems import STOP_WORDS, stem, stop_words
from memdir.text.words import split_words, strip_accents

FIRST_WORDS = 8  # of a body: they say what it speaks of
MAX_WORDS = 60  # of a note that are compared: what it is about stands at its beginning
LEAST_WORDS, LEAST_SHARED = 3, 2  # telling words of a note, and of two together: with less nothing is certain
MAX_CLAIM, MAX_TOLD = 400, 40  # characters and words, small ones too, in which it says what it claims
NEAR = 0.45  # a word as near to another as this says something of the same
ALIKE_LETTERS, FAMILY, KIN = 5, 0.8, 3  # long words that begin alike are of one family; those of a stem share three
ONE, SHIFT = 1 << 15, 1 << 31  # the length of a direction, and what keeps a lane of products from being negative
UNIT = ONE * ONE
RARE, COMMON, COMMONNESS = 1.6, 0.15, 30.0  # what a word weighs that nobody knows, that everybody uses, and the slope
FIGURE = 1.2  # what a number weighs
MOST = 3.0  # of whatever is counted: more tells no more
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")
_RUN = re.compile(r"[^\W\d_]+|\d+")
_LABEL = re.compile(r"\b(?:[b-df-hj-npqruvwxz]|\d[\w.]*)\b|(?<=[a-z])\d+\b", re.IGNORECASE)  # freezer B, bed 12, v2

Nearness = dict[str, dict[str, float]]  # of each word of the one note to each of the other


class Note:
    """A note, ready to be compared; read once, however many it is held against, and most are held against none."""

    def __init__(self, name: str, description: str, body: str, kind: str = "") -> None:
        self.text = f"{name}\n{description}\n{body}"
        self.name_text, self.description, self.body, self.kind = name, description, body, kind

    @cached_property
    def name_words(self) -> list[str]:
        return _content(self.name_text)

    @cached_property
    def description_words(self) -> list[str]:
        return _content(self.description)

    @cached_property
    def body_words(self) -> list[str]:
        return _content(self.body)

    @cached_property
    def words(self) -> list[str]:
        return list(dict.fromkeys(_content(self.text)))[:MAX_WORDS]

    @cached_property
    def stems(self) -> frozenset[str]:
        words = set(split_words(self.text))  # of most notes all count, in whatever order
        return frozenset(map(_root, words if len(words) <= MAX_WORDS else self.words)) - {""}

    @cached_property
    def claim(self) -> str:
        return self.body if self.repeats(self.description) else f"{self.description}. {self.body}"

    @cached_property
    def claim_words(self) -> list[str]:
        return _content(self.claim)[:MAX_WORDS]

    @cached_property
    def told(self) -> list[str]:
        return [word.casefold() for word in _RUN.findall(self.claim[:MAX_CLAIM])][:MAX_TOLD]

    def repeats(self, claim: str) -> bool:
        """Whether a sentence of its body is this claim, word by word."""
        wanted = flat(claim)
        return any(flat(self.body[start:end]) == wanted for start, end in split(self.body))

    @cached_property
    def title(self) -> frozenset[str]:
        """What its name names, but for figures."""
        return frozenset(map(stem, (word for word in self.name_words if not word.isdigit()))) - _wording()

    @cached_property
    def telling(self) -> dict[str, float]:
        """The stems that name something, and what each weighs."""
        return {root: _weight(word) for word in self.words if (root := stem(word)) not in _wording()}

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(_FIGURE.findall(self.text))

    @cached_property
    def labels(self) -> frozenset[str]:
        """What tells things of one kind apart in its name: a letter, a number."""
        return frozenset(_LABEL.findall(self.name_text.casefold().replace("_", " ")))


def compared(older: Note, newer: Note) -> dict[str, float]:
    """Everything that is observed about two notes: what both say, what only one names, and what stands in the one where
    the other has something else, in a frame that is the same."""
    words = ((*one.name_words, *one.description_words, *one.words, *one.claim_words) for one in (older, newer))
    near = _nearness(*(tuple(dict.fromkeys(some)) for some in words))
    both, mine = ((older, newer), (newer, older)), older.telling
    covered = _covered(near, older.name_words, newer.name_words)
    names = [_alone(one.name_words, other.stems) for one, other in both]
    heads = [_alone([*one.name_words, *one.description_words], other.stems) for one, other in both]
    figures = [min(MOST, len(one.figures - other.figures)) for one, other in both]
    name, description, body, claim = (_Swaps(older, newer, part) for part in ("name", "description", "body", "claim"))
    told = SequenceMatcher(None, older.told, newer.told, autojunk=False)
    is_swapped = any(kind == "replace" and i2 - i1 == j2 - j1 for kind, i1, i2, j1, j2 in told.get_opcodes())
    return {
        "same type": float(older.kind == newer.kind),
        "shared weight": math.log1p(sum(mine[word] for word in sorted(mine.keys() & newer.stems))),
        "covered": min(_covered(near, older.words, newer.words)),
        "covered name": min(covered),
        "covered name older": covered[0],
        "covered claim": min(_covered(near, older.claim_words, newer.claim_words)),
        "name said by older": _covered(near, older.words, newer.name_words)[1],
        "names equal": float(older.name_words == newer.name_words),
        "alone name none": float(names.count(0.0)),
        "alone head newer": heads[1],
        "alone head both": min(heads),
        "alone first older": _alone(older.body_words[:FIRST_WORDS], newer.stems),
        "labels differ": float(bool(older.labels - newer.labels and newer.labels - older.labels)),
        "figures older": figures[0],
        "figures newer": figures[1],
        "figures both": min(figures),
        "frame name": name.frame,
        "swapped name": min(MOST, len(name.words)),
        "swapped near name": min(MOST, sum(near[one][two] for one, two, _ in name.words)),
        "swapped first name": min(MOST, sum(leads for *_, leads in name.words)),
        "frame description": description.frame,
        "swapped near description": min(MOST, sum(near[one][two] for one, two, _ in description.words)),
        "swapped telling claim": min(MOST, len(claim.telling)),
        "swapped twice": float(
            any(one & two for one, two in combinations((name.telling, description.telling, body.telling), 2))
        ),
        "swapped in the sentence": told.ratio() if is_swapped else 0.0,
    }


def may_be_certain(older: Note, newer: Note) -> bool:
    """Whether nothing forbids to be certain: both name enough, and no one word or order of words sets them apart."""
    if older.text == newer.text:
        return True
    shared = [word for word in older.telling.keys() & newer.telling.keys() if not word.isdigit()]
    is_one_name = bool(older.title) and older.title == newer.title
    if min(len(older.words), len(newer.words)) < LEAST_WORDS or (len(shared) < LEAST_SHARED and not is_one_name):
        return False
    one, two = ([stem(word) for word in note.told] for note in (older, newer))
    if one != two and sorted(one) == sorted(two):
        return False  # "Kim reviews Lee" is not "Lee reviews Kim"
    return not _is_sibling(older, newer)


def _is_sibling(older: Note, newer: Note) -> bool:
    """Whether the newer name is the older one with a word of its own, in place of another one or more: "truck keys"
    after "van keys", "mobile releases" after "releases"."""
    one, two = split_words(older.name_text.replace("_", " ")), split_words(newer.name_text.replace("_", " "))
    swaps = [
        (stem(first), stem(second)) for first, second in zip(one, two, strict=False) if stem(first) != stem(second)
    ]
    if len(one) == len(two) > len(swaps) == 1:
        said = swaps[0][0] in newer.stems, swaps[0][1] in older.stems
        return not (any(said) if older.claim_words == newer.claim_words else all(said))
    return older.title < newer.title and not newer.title <= older.stems


class _Swaps:
    """A part of two notes, the one against the other: how much it has in common, what stands in each other's place, and
    of that what names something and is unknown to the other note."""

    def __init__(self, older: Note, newer: Note, part: str) -> None:
        mine, theirs = getattr(older, f"{part}_words")[:MAX_WORDS], getattr(newer, f"{part}_words")[:MAX_WORDS]
        matcher = SequenceMatcher(None, [*map(stem, mine)], [*map(stem, theirs)], autojunk=False)
        swaps = (
            (one, two, first + second == 0)
            for kind, first, last, second, end in matcher.get_opcodes()
            if kind == "replace"
            for one, two in zip(mine[first:last], theirs[second:end], strict=False)
        )
        self.frame = matcher.ratio()
        self.words = [(one, two, leads) for one, two, leads in swaps if not one.isdigit() and not two.isdigit()]
        pairs = ((stem(one), stem(two)) for one, two, _ in self.words)
        unknown = ((one, two) for one, two in pairs if one not in newer.stems and two not in older.stems)
        self.telling = {(one, two) for one, two in unknown if not {one, two} & _wording()}


@cache
def stops() -> frozenset[str]:
    """Words that name nothing, in all languages."""
    words = STOP_WORDS.union(*stop_words("notes").values())
    return words.union(map(strip_accents, words))


@cache
def _wording() -> frozenset[str]:
    """Stems that name no subject, in all languages."""
    lines = (line.split()[1:] for line in shipped_lines("model/builtin/dream/light_words.txt"))
    return frozenset(stem(part) for words in lines for word in words for part in split_words(word))


@lru_cache(1 << 15)
def _root(word: str) -> str:
    """The stem of a word that may name something; empty for another."""
    is_small = word in stops() or (len(word) == 1 and word.isascii() and not word.isdigit())
    return "" if is_small else stem(word)


def _content(text: str) -> list[str]:
    return [word for word in split_words(text) if _root(word)]


_table = cache(open_table)


@lru_cache(20_000)
def _weight(word: str) -> float:
    """How telling a word is."""
    common = _table().commonness(word)
    return FIGURE if word.isdigit() else max(COMMON, RARE - common / COMMONNESS) if common else RARE


@lru_cache(4_000)
def _direction(word: str) -> array[int]:
    """Where a word points, `ONE` long; an unknown one points nowhere."""
    values = total.values() if (total := _table().document_sum([word])) else [0] * DIMENSIONS
    norm = math.sqrt(sum(map(mul, values, values))) or 1.0
    return array("i", [round(value * ONE / norm) for value in values])


@lru_cache(64)  # a night holds one note against several
def _columns(words: tuple[str, ...]) -> tuple[list[int], int]:
    """The directions of some words side by side, a dimension in one large integer, and what keeps lanes apart."""
    shift = int.from_bytes(array("I", [SHIFT] * len(words)), "little")
    packed = memoryview(b"".join(map(_direction, words))).cast("I")
    dimensions = (int.from_bytes(packed[at::DIMENSIONS], "little") for at in range(DIMENSIONS))
    return [(column ^ shift) - shift for column in dimensions], shift


def _nearness(mine: tuple[str, ...], theirs: tuple[str, ...]) -> Nearness:
    """How near each word of the one is to each of the other: 1 for the same stem. The products of a word's direction
    with all of the other's are lanes of one large integer: ten times quicker than one by one."""
    columns, shift = _columns(theirs)
    kin: dict[str, list[str]] = {}
    for other in theirs:
        kin.setdefault(other[:KIN], []).append(other)
    near: Nearness = {}
    for word in mine:
        lanes = sum(map(mul, _direction(word), columns)) + shift
        products = memoryview(lanes.to_bytes(4 * len(theirs), "little")).cast("I")
        values = [(lane - SHIFT) / UNIT if lane > SHIFT else 0.0 for lane in products]
        row = near[word] = dict(zip(theirs, values, strict=True))
        begun, root = word[:ALIKE_LETTERS], stem(word)
        for other in kin.get(word[:KIN], ()):
            if stem(other) == root:
                row[other] = 1.0
            elif other.startswith(begun) and min(len(word), len(other)) > ALIKE_LETTERS:
                row[other] = max(FAMILY, row[other])
    return near


def _covered(near: Nearness, mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, float]:
    """The share of the one's weight that the other says in near words, and the other way round."""
    rows = [[*map(near[word].__getitem__, theirs)] for word in mine]
    there = [max(row, default=0.0) for row in rows]
    back = map(max, zip(*rows, strict=True)) if rows else [0.0] * len(theirs)
    return _weighed(mine, there), _weighed(theirs, back)


def _weighed(words: Sequence[str], best: Iterable[float]) -> float:
    whole = said = 0.0
    for word, value in zip(words, best, strict=True):
        weight = _weight(word)
        whole, said = whole + weight, said + (weight * value if value >= NEAR else 0.0)
    return said / whole if whole else 0.0


def _alone(words: Sequence[str], others: frozenset[str]) -> float:
    """The weight of the telling words that the other has in no form."""
    begun = {other[:ALIKE_LETTERS] for other in others if len(other) >= ALIKE_LETTERS}
    found = {root: _weight(word) for word in words if not word.isdigit() and (root := stem(word)) not in others}
    return min(
        MOST,
        sum(weight for root, weight in found.items() if root not in _wording() and root[:ALIKE_LETTERS] not in begun),
    )
