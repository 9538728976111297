"""Which pages are about the same thing: candidates from an inverted index, then a measure of containment.

No pair is looked at unless it shares rare words, so the work grows with the pages, not with their pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memdir.model.builtin.dream.page import Page
from memdir.model.builtin.dream.phrases import Phrases
from memdir.model.builtin.dream.words import Lexicon, Weights, flat

MAX_HOLDERS = 40  # a word on more pages than this tells no two of them apart
MAX_QUERY = 14  # the rarest words of a page's head are enough to find its twins
MUTUAL = 0.25  # how much it counts that the smaller page is contained in the larger one as well
MIN_SHARED_WEIGHT = 5.0  # about two rare words: less is chance

_FIGURE = re.compile(r"(?<![\w.:])\d[\d.,]*(?:\s?%|(?![\w:]))")
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

    def __init__(self, lexicon: Lexicon, pages: Iterable[Page]) -> None:
        self._lexicon = lexicon
        self.of: dict[str, Profile] = {}
        self._holders: dict[str, list[str]] = {}
        for page in pages:
            self.put(page)
        self.weights = Weights(lexicon, (profile.whole for profile in self.of.values()))

    def put(self, page: Page) -> None:
        """Take a new or changed page in; the weights stay, so that the order of changes does not matter."""
        before = self.of.get(page.key)
        profile = profile_of(self._lexicon, page)
        for stem in profile.whole if before is None else profile.whole - before.whole:
            self._holders.setdefault(stem, []).append(page.key)
        self.of[page.key] = profile

    def near(self, stems: Iterable[str]) -> dict[str, float]:
        """Pages that share telling words with `stems`, and the weight of what they share."""
        found: dict[str, float] = {}
        holders = self._holders
        rare = [stem for stem in set(stems) if 0 < len(holders.get(stem, ())) <= MAX_HOLDERS]
        rare.sort(key=lambda stem: (-self.weights.of(stem), stem))
        for stem in rare[:MAX_QUERY]:
            weight = self.weights.of(stem)
            for key in holders[stem]:
                found[key] = found.get(key, 0.0) + weight
        return found

    def pairs(self, keys: Iterable[str]) -> list[Pair]:
        """Every pair that one of `keys` forms with another page, most alike first."""
        found: dict[tuple[str, str], Pair] = {}
        for key in keys:
            for other, weight in self.near(self.of[key].head).items():
                if other != key and (weight >= MIN_SHARED_WEIGHT or self._same_name(key, other)):
                    names = (min(key, other), max(key, other))
                    if names not in found:
                        found[names] = self.measure(*names)
        return sorted(found.values(), key=lambda pair: (-pair.likeness, pair.left, pair.right))

    def _same_name(self, one: str, two: str) -> bool:
        """Whether one page is named like the other, with something added: "Shift plan", "Shift plan winter"."""
        left, right = self.of[one].name, self.of[two].name
        return bool(left and right) and (left <= right or right <= left)

    def measure(self, left: str, right: str) -> Pair:
        """How much of either head the other page says: the larger share, and a part of the smaller one."""
        one, two = self.of[left], self.of[right]
        less, more = sorted((self._contained(one.head, two.whole), self._contained(two.head, one.whole)))
        return Pair(left, right, more + MUTUAL * less, one.whole & two.whole)

    def _contained(self, head: frozenset[str], whole: frozenset[str]) -> float:
        total = self.weights.sum(head)
        return self.weights.sum(head & whole) / total if total else 0.0


def profile_of(lexicon: Lexicon, page: Page) -> Profile:
    """The stems of a page, with its figures: four equal numbers are as telling as four equal words."""
    head = page.head
    return Profile(
        frozenset(lexicon.stems(page.name)),
        frozenset(lexicon.stems(head)) | figures(head),
        frozenset(lexicon.stems(page.claims)) | figures(page.claims),
    )


def figures(text: str) -> frozenset[str]:
    """Percentages and numbers of three digits and more; years say too little, dates and times differ between twins."""
    found = (re.sub(r"[\s.,]", "", figure) for figure in _FIGURE.findall(text))
    return frozenset(f"#{figure}" for figure in found if len(figure) >= 3 and not _YEAR.match(figure))


def forbidden(lexicon: Lexicon, phrases: Phrases, text: str) -> frozenset[str]:
    """The stems of what a rule forbids: the first word behind each "no", "never", "without"."""
    matches = phrases.pattern("forbids").finditer(text)
    found = [lexicon.stems(match["after"] or match["before"]) for match in matches]
    return frozenset(stems[0] for stems in found if stems)


def same_words(pages: Iterable[Page]) -> list[list[str]]:
    """Groups of pages whose descriptions are the same words."""
    groups: dict[tuple[str, str], list[str]] = {}
    for page in pages:
        said = flat(page.description)
        if said:
            groups.setdefault((page.folder, said), []).append(page.key)
    return [keys for keys in groups.values() if len(keys) > 1]
