"""How two notes compare, as named numbers for the judge: words, names, figures, meanings, and what was swapped (D3).

The older note comes first. Everything here only observes; what an observation is worth was learned from pairs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.memory_page import flat
from memdir.text.body_text import split
from memdir.text.embedding import open_table
from memdir.text.nearness import Sentence, content_term
from memdir.text.stems import stem
from memdir.text.words import split_words

MAX_WORDS = 60  # of a note that are compared: what it is about stands at its beginning
LEAST_SHARED = 2.0  # weight that two notes have in common: with less nothing is certain,
LEAST_COVERED = 0.2  # nor where it is less of what each of them says
MAX_TOLD = 40  # words, small ones too, in which it says what it claims
RARE, COMMON, COMMONNESS = 1.6, 0.15, 30.0  # what a word weighs that nobody knows, that everybody uses, and the slope
FIGURE = 1.2  # what a number weighs
MOST = 3.0  # of whatever is counted: more tells no more
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")
_DATE = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")  # when, and not what
_LABEL = re.compile(r"\b(?:[b-df-hj-npqruvwxz]|\d[\w.]*)\b|(?<=[a-z])\d+\b", re.IGNORECASE)  # freezer B, bed 12, v2


class Note:
    """A note, ready to be compared; read once, however many it is held against, and most are held against none."""

    def __init__(self, name: str, description: str, body: str, kind: str = "") -> None:
        self.text = f"{name}\n{description}\n{body}"
        self.name_text, self.description, self.body, self.kind = name, description, body, kind

    @cached_property
    def words(self) -> list[str]:
        return list(dict.fromkeys(_content(self.text)))[:MAX_WORDS]

    @cached_property
    def name_words(self) -> list[str]:
        return _content(self.name_text)

    @cached_property
    def claim_words(self) -> list[str]:
        return _content(self.claim)[:MAX_WORDS]

    @cached_property
    def told(self) -> list[str]:
        return split_words(self.claim)[:MAX_TOLD]

    @cached_property
    def stems(self) -> frozenset[str]:
        words = set(split_words(_DATE.sub(" ", self.text)))  # of most notes all count, in whatever order
        return frozenset(map(content_term, words if len(words) <= MAX_WORDS else self.words)) - {""}

    @cached_property
    def claim(self) -> str:
        return self.body if self.repeats(self.description) else f"{self.description}. {self.body}"

    def repeats(self, claim: str) -> bool:
        """Whether a sentence of its body is this claim, word by word."""
        wanted = flat(claim)
        return any(flat(self.body[start:end]) == wanted for start, end in split(self.body))

    @cached_property
    def title(self) -> frozenset[str]:
        """What its name names, but for figures."""
        return _named(self.name_text)

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

    @cached_property
    def meanings(self) -> tuple[Sentence, ...]:
        """All of it, its description, its claim and its name, by what their words mean."""
        return tuple(map(Sentence, (self.text, self.description, self.claim, self.name_text)))


def compared(older: Note, newer: Note) -> dict[str, float]:
    """Everything that is observed about two notes: what both say, what only one names, and what stands in the one where
    the other has something else, in a frame that is the same."""
    both, before, after = ((older, newer), (newer, older)), older.meanings, newer.meanings
    figures = [min(MOST, len(one.figures - other.figures)) for one, other in both]
    name = _Swaps(older, newer, older.name_words, newer.name_words)
    claim = _Swaps(older, newer, older.claim_words, newer.claim_words)
    told = SequenceMatcher(None, older.told, newer.told, autojunk=False)
    is_swapped = any(kind == "replace" and i2 - i1 == j2 - j1 for kind, i1, i2, j1, j2 in told.get_opcodes())
    return {
        "same type": float(older.kind == newer.kind),
        "shared weight": math.log1p(_shared(older, newer)),
        "covered": min(_common(older, newer, "words")),
        "covered claim": min(_common(older, newer, "claim_words")),
        "name said by older": _covered(newer.name_words, older.stems),
        "names without own words": float(sum(one.title <= other.stems for one, other in both)),
        "labels differ": float(bool(older.labels - newer.labels and newer.labels - older.labels)),
        "figures newer": figures[1],
        "figures both": min(figures),
        "frame name": name.frame,
        "swapped name": min(MOST, len(name.words)),
        "swapped telling claim": min(MOST, len({*claim.telling})),
        "swapped twice": float(len({*name.telling, *claim.telling}) < len(name.telling) + len(claim.telling)),
        "swapped in the sentence": told.ratio() if is_swapped else 0.0,
        "near": before[0].meaning(after[0]),
        "near description": before[1].meaning(after[1]),
        "near claim": before[2].meaning(after[2]),
        "name near older": before[0].meaning(after[3]),
    }


def may_be_certain(older: Note, newer: Note) -> bool:
    """Whether nothing forbids to be certain: they have enough in common, and no one word or order of words sets them
    apart."""
    if older.text == newer.text:
        return True
    if _shared(older, newer) < LEAST_SHARED or max(_common(older, newer, "words")) < LEAST_COVERED:
        return False
    one, two = ([stem(word) for word in note.told] for note in (older, newer))
    if one != two and sorted(one) == sorted(two):
        return False  # "Kim reviews Lee" is not "Lee reviews Kim"
    return not _is_sibling(older, newer)


def _is_sibling(older: Note, newer: Note) -> bool:
    """Whether the newer name, or description, is the older one with a word of its own, in place of another one or more:
    "truck keys" after "van keys", "mobile releases" after "releases"."""
    one, two = split_words(older.name_text.replace("_", " ")), split_words(newer.name_text.replace("_", " "))
    swaps = [pair for pair in zip(map(stem, one), map(stem, two), strict=False) if pair[0] != pair[1]]
    if len(one) == len(two) > len(swaps) == 1:
        said = swaps[0][0] in newer.stems, swaps[0][1] in older.stems
        return not (any(said) if older.claim_words == newer.claim_words else all(said))
    heads = (older.title, newer.title), (_named(older.description), _named(newer.description))
    own = newer.title - older.stems
    return any(one < two and not own.isdisjoint(two) for one, two in heads)


class _Swaps:
    """Some words of two notes, the ones against the others: how much they have in common, what stands in each other's
    place, and of that what names something and is unknown to the other note."""

    def __init__(self, older: Note, newer: Note, mine: Sequence[str], theirs: Sequence[str]) -> None:
        one, two = [*map(stem, mine)], [*map(stem, theirs)]
        matcher = SequenceMatcher(None, one, two, autojunk=False)
        swaps = [
            pair
            for kind, first, last, second, end in matcher.get_opcodes()
            if kind == "replace"
            for pair in zip(one[first:last], two[second:end], strict=False)
        ]
        said, said_later = (_wording().union(note.stems) for note in (older, newer))
        self.frame = matcher.ratio()
        self.words = [pair for pair in swaps if not any(map(str.isdigit, pair))]
        self.telling = [(old, new) for old, new in self.words if old not in said_later and new not in said]


@cache
def _wording() -> frozenset[str]:
    """Stems that name no subject, in all languages."""
    lines = (line.split()[1:] for line in shipped_lines("model/builtin/dream/light_words.txt"))
    return frozenset(stem(part) for words in lines for word in words for part in split_words(word))


def _named(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _content(text) if not word.isdigit()) - _wording()


def _content(text: str) -> list[str]:
    return [word for word in split_words(_DATE.sub(" ", text)) if content_term(word)]


_table = cache(open_table)


@lru_cache(20_000)
def _weight(word: str) -> float:
    """How telling a word is."""
    common = _table().commonness(word)
    return FIGURE if word.isdigit() else max(COMMON, RARE - common / COMMONNESS) if common else RARE


def _shared(older: Note, newer: Note) -> float:
    """The weight of what both name."""
    return sum(weight for word, weight in older.telling.items() if word in newer.stems)


def _common(older: Note, newer: Note, part: str) -> list[float]:
    """The share of a part of each note that the other says."""
    return [_covered(getattr(one, part), other.stems) for one, other in ((older, newer), (newer, older))]


def _covered(words: Iterable[str], stems: frozenset[str]) -> float:
    """The share of the weight of some words that a note says."""
    weights = {stem(word): _weight(word) for word in words}
    return sum(weight for root, weight in weights.items() if root in stems) / (sum(weights.values()) or 1.0)
