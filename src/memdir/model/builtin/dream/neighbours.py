"""Which memories may be about the same thing: those that share telling words, found without looking at every pair."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.pair_features import Note, telling

MAX_HOLDERS = 30  # a word in more memories than this tells no two of them apart
MAX_NEAR = 6  # memories looked at closely for each one
MIN_SHARE = 0.1  # of the lighter one's weight: two that share less are about two things


class Neighbours:
    """The memories as notes, and who holds which word."""

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        self._known: dict[bytes, Note] = {}
        self._holders: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def put(self, page: Page) -> Note:
        """Take a new or changed page in."""
        self.drop(page.key)
        note = self._known.get(page.data)
        if note is None:
            note = self._known[page.data] = Note(page.name, page.description, page.claimed_body, str(page.kind or ""))
        self.notes[page.key] = note
        for word in note.stems:
            self._holders[word][page.key] = None
        return note

    def drop(self, key: str) -> None:
        """A page that is gone."""
        gone = self.notes.pop(key, None)
        for word in gone.stems if gone else ():
            self._holders[word].pop(key, None)

    def near(self, note: Note, *, but: str = "") -> list[str]:
        """The pages that share most with a note, nearest first."""
        sums: dict[str, float] = {}
        for word, weight in telling(note).items():
            holders = self._holders.get(word, {})
            if len(holders) <= MAX_HOLDERS:
                rare = weight * math.log(2 + len(self.notes) / max(1, len(holders)))
                for key in holders:
                    sums[key] = sums.get(key, 0.0) + rare
        sums.pop(but, None)
        return sorted(sums, key=lambda key: (-sums[key], key))[:MAX_NEAR]

    def pairs(self, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Every pair that one of `keys` forms with a near page."""
        seen: set[tuple[str, str]] = set()
        for key in keys:
            mine = telling(self.notes[key])
            for other in self.near(self.notes[key], but=key):
                names = (key, other) if key < other else (other, key)
                if names not in seen and _share(mine, telling(self.notes[other])) >= MIN_SHARE:
                    seen.add(names)
                    yield names


def _share(mine: dict[str, float], theirs: dict[str, float]) -> float:
    both = sum(mine[word] for word in mine.keys() & theirs.keys())
    return both / max(0.1, min(sum(mine.values()), sum(theirs.values())))
