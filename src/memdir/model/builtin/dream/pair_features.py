"""How two notes compare, as named numbers for the judge: words, names, figures, words of change and directions (D3).

The older note comes first. Everything here only observes; what an observation is worth was learned from pairs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from operator import mul

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.cues import Cues, ToldChange
from memdir.model.builtin.dream.values import Values
from memdir.text.embedding import open_table
from memdir.text.stems import STOP_WORDS, stem, stop_words
from memdir.text.words import split_words, strip_accents

MAX_WORDS = 60  # of a note that are compared: what it is about stands at its beginning
MAX_EVIDENCE = 500  # characters in which a change is told
NEAR = 0.45  # a word as near to another as this says something of the same
ALIKE_LETTERS = 5  # two long words that begin alike are of one family
RARE, COMMON, COMMONNESS = 1.6, 0.15, 30.0  # what a word weighs that nobody knows, that everybody uses, and the slope
FIGURE = 1.2  # what a number weighs
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")
# Observations that told nothing about the pairs of an author whom the judge never met.
_UNTOLD = frozenset(
    f"swapped {what}"
    for what in ("description", "body", "near body", "figures body", "first description", "telling name")
)
_LABEL = re.compile(r"\b(?:[b-df-hj-npqruvwxz]|\d[\w.]*)\b|(?<=[a-z])\d+\b", re.IGNORECASE)  # freezer B, bed 12, v2


class Note:
    """A note, ready to be compared; read once, however many it is held against."""

    def __init__(self, name: str, description: str, body: str, kind: str = "") -> None:
        self.text = f"{name}\n{description}\n{body}"
        self.name_text, self.kind, self.body = name, kind, body
        self.description = description
        self.name_words = _content(name)
        self.description_words = _content(description)
        self.body_words = _content(body)
        self.words = list(dict.fromkeys([*self.name_words, *self.description_words, *self.body_words]))[:MAX_WORDS]
        self.stems = frozenset(map(stem, self.words))

    def repeats(self, claim: str) -> bool:
        """Whether its body says a claim word by word."""
        return claim.strip(" .").casefold() in self.body.casefold()

    def as_type(self, kind: str) -> Note:
        """The same of another type: what is said has none."""
        return Note(self.name_text, self.description, self.body, kind)

    @property
    def all_stems(self) -> frozenset[str]:
        """Those behind the first words, too."""
        return frozenset(map(stem, [*self.name_words, *self.description_words, *self.body_words]))

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(_FIGURE.findall(self.text))

    @cached_property
    def values(self) -> frozenset[tuple[str, str]]:
        found = _values().find(f"{self.description}. {self.body}"[: 2 * MAX_EVIDENCE])
        return frozenset((value.kind.partition(":")[0], value.value) for value in found)

    @cached_property
    def change(self) -> ToldChange:
        return change_in(f"{self.description}. {self.body}"[:MAX_EVIDENCE])

    @cached_property
    def tells(self) -> bool:
        """Whether it has any word of change."""
        return _cues().may_tell(self.text[: 2 * MAX_EVIDENCE])


def compared(older: Note, newer: Note) -> dict[str, float]:
    """Everything that is observed about two notes."""
    found = {"same type": float(older.kind == newer.kind)}
    return found | _shared(older, newer) | _left_over(older, newer) | _swapped(older, newer) | _facts(older, newer)


def change_in(text: str) -> ToldChange:
    """What a text says has changed."""
    return _cues().read(text)


def telling(note: Note) -> dict[str, float]:
    """The stems of a note that name something, and what each weighs."""
    return {stem(word): _weight(word) for word in note.words if stem(word) not in _wording()}


def _shared(older: Note, newer: Note) -> dict[str, float]:
    """How much both say, and how much of each name stands in the other's."""
    mine = telling(older)
    (first, rest), (second, more) = _both_covered(older.name_words, newer.name_words)
    return {
        "direction of bodies": _cosine(older.body_words, newer.body_words),
        "shared weight": math.log1p(sum(mine[word] for word in sorted(mine.keys() & newer.stems))),
        "covered": min(share for share, _ in _both_covered(older.words, newer.words)),
        "covered name": min(first, second),
        "covered name older": first,
        "covered name most": max(first, second),
        "rest name": min(rest, more),
        "rest name most": max(rest, more),
    }


def _left_over(older: Note, newer: Note) -> dict[str, float]:
    """What only one of them names, in its name and in its head."""
    found = {"name said by newer": _covered(older.name_words, newer.words)[0]}
    found["name said by older"] = _covered(newer.name_words, older.words)[0]
    heads = [*older.name_words, *older.description_words], [*newer.name_words, *newer.description_words]
    for part, mine, theirs in (("name", older.name_words, newer.name_words), ("head", *heads)):
        alone, other = _alone(mine, newer.stems), _alone(theirs, older.stems)
        found |= {f"alone {part} older": alone, f"alone {part} newer": other}
        found |= {f"alone {part} both": min(alone, other), f"alone {part} none": float(not alone) + float(not other)}
    found["name narrower"] = float({*map(stem, newer.name_words)} < {*map(stem, older.name_words)})
    labels, others = _labels(older.name_text), _labels(newer.name_text)
    return found | {"labels differ": float(bool(labels - others and others - labels))}


def _swapped(older: Note, newer: Note) -> dict[str, float]:
    """What stands in the one where the other has something else, in a frame that is the same."""
    found: dict[str, float] = {}
    seen: list[frozenset[tuple[str, str]]] = []
    parts = (
        ("name", older.name_words, newer.name_words),
        ("description", older.description_words, newer.description_words),
        ("body", older.body_words[:MAX_WORDS], newer.body_words[:MAX_WORDS]),
    )
    for part, mine, theirs in parts:
        left, right = [stem(word) for word in mine], [stem(word) for word in theirs]
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        swaps = [
            (one, two, first + second == 0)
            for kind, first, last, second, end in matcher.get_opcodes()
            if kind == "replace"
            for one, two in zip(mine[first:last], theirs[second:end], strict=False)
        ]
        words = [(one, two, leads) for one, two, leads in swaps if not one.isdigit() and not two.isdigit()]
        found[f"frame {part}"] = matcher.ratio()
        found[f"swapped {part}"] = min(3.0, len(words))
        found[f"swapped figures {part}"] = min(3.0, sum(one.isdigit() and two.isdigit() for one, two, _ in swaps))
        found[f"swapped near {part}"] = min(3.0, sum(_near(one, two) for one, two, _ in words))
        found[f"swapped first {part}"] = min(3.0, sum(leads for *_, leads in words))
        pairs = ((stem(one), stem(two)) for one, two, _ in words)
        telling = ((one, two) for one, two in pairs if one not in newer.stems and two not in older.stems)
        seen.append(frozenset((one, two) for one, two in telling if not {one, two} & _wording()))
        found[f"swapped telling {part}"] = min(3.0, len(seen[-1]))
    name, description, body = seen
    found["swapped twice"] = float(bool(name & body or name & description or description & body))
    return {name: value for name, value in found.items() if name not in _UNTOLD}


def _facts(older: Note, newer: Note) -> dict[str, float]:
    """Figures and values of each, and what the newer one says has changed."""
    figures = min(3.0, len(older.figures - newer.figures)), min(3.0, len(newer.figures - older.figures))
    kinds = {kind for kind, _ in older.values - newer.values} & {kind for kind, _ in newer.values - older.values}
    held = {value for _, value in older.values}
    return {
        "figures older": figures[0],
        "figures newer": figures[1],
        "figures both": min(figures),
        "rival values": float(bool(kinds)),
        "values shared": min(3.0, len(older.values & newer.values)),
        "older tells": float(older.tells),
        "newer says changed": float(newer.change.is_change),
        "another old value": float(any(value.value not in held for value in newer.change.old)),
        "not newer": float(not _small("not").isdisjoint(split_words(newer.text))),
    }


@cache
def _values() -> Values:
    return Values()


@cache
def _cues() -> Cues:
    from memdir.model.builtin.dream.cues import SentenceKinds

    return Cues(_values(), SentenceKinds())


@cache
def _stops() -> frozenset[str]:
    words = STOP_WORDS.union(*stop_words("notes").values())
    return words.union(map(strip_accents, words))


@cache
def _small(kind: str) -> frozenset[str]:
    """The words of one kind, or of several, in all languages."""
    lines = (line.split() for line in shipped_lines("model/builtin/dream/light_words.txt"))
    return frozenset(
        part for line in lines if line[1] in kind.split() for word in line[2:] for part in split_words(word)
    )


@cache
def _wording() -> frozenset[str]:
    """Stems that name no subject."""
    return frozenset(map(stem, _small("wording measure of at says told")))


def _content(text: str) -> list[str]:
    words = split_words(text)
    return [word for word in words if word not in _stops() and (len(word) > 1 or word.isdigit() or not word.isascii())]


def _labels(name: str) -> frozenset[str]:
    """What tells things of one kind apart: a letter, a number."""
    return frozenset(_LABEL.findall(name.casefold().replace("_", " ")))


_table = cache(open_table)


@lru_cache(20_000)
def _weight(word: str) -> float:
    """How telling a word is."""
    common = _table().commonness(word)
    return FIGURE if word.isdigit() else max(COMMON, RARE - common / COMMONNESS) if common else RARE


@lru_cache(4_000)
def _direction(word: str) -> list[float] | None:
    total = _table().document_sum([word])
    values = total.values() if total else []
    norm = math.sqrt(sum(map(mul, values, values)))
    return [value / norm for value in values] if norm else None


@lru_cache(100_000)
def _near(one: str, two: str) -> float:
    """How near two words are: 1 for the same stem."""
    if stem(one) == stem(two):
        return 1.0
    family = 0.8 if min(len(one), len(two)) > ALIKE_LETTERS and one[:ALIKE_LETTERS] == two[:ALIKE_LETTERS] else 0.0
    left, right = _direction(one), _direction(two)
    return max(family, float(sum(map(mul, left, right)))) if left and right else family


def _cosine(mine: Sequence[str], theirs: Sequence[str]) -> float:
    left, right = _table().document_sum(list(mine)), _table().document_sum(list(theirs))
    if left is None or right is None:
        return 0.0
    one, two = left.values(), right.values()
    length = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, two, two)) + 1.0)
    return float(sum(map(mul, one, two)) / length)


def _covered(mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, float]:
    """The share of the one's weight that the other says in near words, and the heaviest word that it does not."""
    whole = said = rest = 0.0
    for word in mine:
        weight, near = _weight(word), max((_near(word, other) for other in theirs), default=0.0)
        near = near if near >= NEAR else 0.0
        whole, said, rest = whole + weight, said + weight * near, max(rest, weight * (1.0 - near))
    return (said / whole if whole else 0.0), rest


def _both_covered(mine: Sequence[str], theirs: Sequence[str]) -> tuple[tuple[float, float], tuple[float, float]]:
    return _covered(mine, theirs), _covered(theirs, mine)


def _alone(words: Sequence[str], others: frozenset[str]) -> float:
    """The weight of the telling words that the other has in no form."""
    begun = {other[:ALIKE_LETTERS] for other in others if len(other) >= ALIKE_LETTERS}
    found = {
        stem(word): _weight(word)
        for word in words
        if not word.isdigit() and stem(word) not in others and stem(word) not in _wording()
    }
    return min(3.0, sum(weight for one, weight in found.items() if one[:ALIKE_LETTERS] not in begun))
