"""Which pages are about the same thing: candidates from an inverted index, then a measure of containment.

No pair is looked at unless it shares rare words, so the work grows with the pages, not with their pairs.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from memdir.model.builtin.dream.dream_words import DreamWords, Weights
from memdir.model.builtin.dream.memory_page import Page

MAX_HOLDERS = 30  # a word on more pages than this tells no two of them apart
MAX_QUERY = 14  # the rarest words of a page's head are enough to find its duplicates
MUTUAL = 0.25  # how much it counts that the smaller page is contained in the larger one as well
MIN_SHARED_WEIGHT = 5.0  # about two rare words: less is chance
MIN_NAME = 2.5  # weight of a name that can stand for its page
MIN_SHARED_SHARE = 0.26  # of a head's weight: less can make no pair that matters

_DIGIT = re.compile(r"[0-9]")
_FIGURE = re.compile(r"\d[\d.,]*(?:[ \u00a0]?%)?")
_EDGES = " \t\r\n()[]{}<>\"'“”„«»€$£¥%;!?|*_~/=+-–—"  # what may stand right beside a number
_NO_MARKS = {ord(mark): None for mark in " .,\u00a0"}
_YEAR = re.compile(r"(?:19|20)\d\d$")


@dataclass(frozen=True)
class Profile:
    """The telling words of a page: of its name, of its head (name and description), and of all of it."""

    name: frozenset[str]
    head: frozenset[str]
    whole: frozenset[str]


@dataclass(frozen=True)
class Pair:
    """Two pages and how much of one's head the other says."""

    left: str
    right: str
    likeness: float
    shared: frozenset[str]


class Profiles:
    """Profiles of pages, the weights that followed from them at first, and who holds which word."""

    def __init__(self, lexicon: DreamWords, pages: Iterable[Page], known: dict[bytes, Profile]) -> None:
        self._lexicon = lexicon
        self._known = known  # profiles by content, kept over the whole night
        self.of: dict[str, Profile] = {}
        self._totals: dict[str, float] = {}
        self._holders: defaultdict[str, list[str]] = defaultdict(list)
        for page in pages:
            self.put(page)
        self.weights = Weights(lexicon, self._holders, len(self.of))

    def put(self, page: Page) -> None:
        """Take a new or changed page in."""
        before = self.of.get(page.key)
        profile = self._known.get(page.data)
        if profile is None:
            profile = self._known[page.data] = profile_of(self._lexicon, page)
        holders, key = self._holders, page.key
        for stem in profile.whole if before is None else profile.whole - before.whole:
            holders[stem].append(key)
        self.of[key] = profile
        self._totals.pop(key, None)

    def near(self, stems: Iterable[str]) -> dict[str, float]:
        """Pages that share telling words with `stems`, and the weight of what they share."""
        found: dict[str, float] = {}
        for stem in self._rarest(stems):
            weight = self.weights[stem]
            for key in self._holders[stem]:
                found[key] = found.get(key, 0.0) + weight
        return found

    def _rarest(self, stems: Iterable[str]) -> list[str]:
        holders, weights = self._holders, self.weights
        rare = [(-weights[stem], stem) for stem in set(stems) if stem in holders and len(holders[stem]) <= MAX_HOLDERS]
        rare.sort()
        return [stem for _, stem in rare[:MAX_QUERY]]

    def _candidates(self, key: str) -> list[str]:
        """Pages that share enough words with the head of this one to be worth measuring."""
        head = self.of[key].head
        rarest = self._rarest(head)
        if not rarest:
            return []
        weights = self.weights
        enough = max(MIN_SHARED_WEIGHT, MIN_SHARED_SHARE * self._total(key))
        least = math.ceil(enough / weights[rarest[0]])  # so many words at least make up the weight
        shared = Counter(chain.from_iterable([self._holders[stem] for stem in rarest]))
        likely = [other for other, count in shared.items() if count >= least]
        return [other for other in likely if weights.sum(head & self.of[other].whole) >= enough]

    def _total(self, key: str) -> float:
        """The weight of a page's head, added up once."""
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = self.weights.sum(self.of[key].head)
        return total

    def pairs(self, keys: Iterable[str]) -> list[Pair]:
        """Every pair that one of `keys` forms with another page, most alike first."""
        found: dict[tuple[str, str], Pair] = {}
        named = self._by_name()
        for key in keys:
            for other in (*self._candidates(key), *self._namesakes(key, named)):
                names = (key, other) if key < other else (other, key)
                if other != key and names not in found:
                    found[names] = self.measure(*names)
        return sorted(found.values(), key=lambda pair: (-pair.likeness, pair.left, pair.right))

    def _by_name(self) -> dict[str, list[str]]:
        named: dict[str, list[str]] = {}
        for key, profile in self.of.items():
            for stem in profile.name:
                named.setdefault(stem, []).append(key)
        return named

    def _namesakes(self, key: str, named: dict[str, list[str]]) -> list[str]:
        """Pages named like this one, with something added or left out: "Shift plan", "Shift plan winter"."""
        name = self.of[key].name
        if not name or self.weights.sum(name) < MIN_NAME:
            return []
        rarest = min(name, key=lambda stem: (len(named[stem]), stem))
        if len(named[rarest]) > MAX_HOLDERS:
            return []
        return [other for other in named[rarest] if name <= self.of[other].name]

    def measure(self, left: str, right: str) -> Pair:
        """How much of either head the other page says: the larger share, and a part of the smaller one."""
        one, two = self.of[left], self.of[right]
        less, more = sorted((self._contained(left, two.whole), self._contained(right, one.whole)))
        return Pair(left, right, more + MUTUAL * less, one.whole & two.whole)

    def _contained(self, key: str, whole: frozenset[str]) -> float:
        total = self._total(key)
        return self.weights.sum(self.of[key].head & whole) / total if total else 0.0


def profile_of(lexicon: DreamWords, page: Page) -> Profile:
    """The stems of a page, with its figures: four equal numbers are as telling as four equal words."""
    name = frozenset(lexicon.stems(page.name))
    numbers = figures(page.claims)
    head = name.union(lexicon.stems(page.description), figures(page.head) if numbers else ())
    return Profile(name, head, head.union(lexicon.stems_of(page.words), numbers))


def figures(text: str) -> frozenset[str]:
    """Percentages and numbers of three digits and more; years say too little, duplicates differ in dates."""
    found: set[str] = set()
    if _DIGIT.search(text) is None:
        return frozenset()
    for match in _FIGURE.finditer(text):
        figure = match[0].translate(_NO_MARKS)
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if len(figure) >= 3 and not _YEAR.match(figure) and not (before + after).strip(_EDGES):
            found.add(f"#{figure}")
    return frozenset(found)


def same_words(pages: Iterable[Page]) -> list[list[str]]:
    """Groups of pages whose descriptions are the same words."""
    groups: dict[tuple[str, str], list[str]] = {}
    for page in pages:
        said = " ".join(page.description.casefold().split())
        if said:
            groups.setdefault((page.folder, said), []).append(page.key)
    return [keys for keys in groups.values() if len(keys) > 1]
