"""Pages against pages: twins become one, and where the newer one says otherwise the older one is corrected (D3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memdir.model.builtin.dream.amend import amended, judge_for, update_label
from memdir.model.builtin.dream.desk import Change, Desk
from memdir.model.builtin.dream.evidence import Evidence, Reader
from memdir.model.builtin.dream.fuse import can_fuse, fused
from memdir.model.builtin.dream.likeness import Pair, Profiles, forbidden, same_words
from memdir.model.builtin.dream.mend_dates import day_of
from memdir.model.builtin.dream.page import Page
from memdir.model.builtin.dream.secrets import find_secrets
from memdir.store.taxonomy import MemoryType
from memdir.store.topic import MAX_MEMORY_BYTES

TWINS = 0.6  # different notes of one project stay below this, two notes of one thing do not
RELATED = 0.33  # enough when the newer page also names the older one's value, or forbids the same thing
SUSPICIOUS = 0.5  # alike enough to tell a person
MIN_SHARED = 3  # words two twins must share at least
MIN_RULE_WEIGHT = 2.5  # "no file", "never use": a common word forbids nothing in particular
MAX_ROUNDS = 6  # merging makes new neighbours; more rounds than this never happened


class Settling:
    """Goes through all pairs of alike pages until nothing is left to settle."""

    def __init__(self, desk: Desk, reader: Reader, now: datetime, undated: frozenset[str]) -> None:
        self._desk = desk
        self._reader = reader
        self._today = now.date()
        self._zone = now.tzinfo
        self._undated = undated  # their open dates are read from their own time: they take no other
        self._profiles = Profiles(reader.lexicon, [])

    def run(self) -> None:
        """Settle everything, until a whole round over all pages changes nothing."""
        for _ in range(MAX_ROUNDS):
            pages = self._desk.open_pages()
            self._profiles = Profiles(self._reader.lexicon, pages)
            if not self._round([page.key for page in pages]):
                return

    def _round(self, keys: list[str]) -> bool:
        merged = False
        pairs = self._profiles.pairs(keys)
        for group in same_words([self._desk.pages[key] for key in keys]):
            pairs = [*(self._profiles.measure(group[0], other) for other in group[1:]), *pairs]
        for pair in pairs:
            left, right = self._desk.where(pair.left), self._desk.where(pair.right)
            if left != right:
                merged = bool(self._settle(self._desk.pages[left], self._desk.pages[right], pair)) or merged
        return merged

    def _settle(self, one: Page, two: Page, pair: Pair) -> str:
        """Merge two pages if that is certain; the key of the one that stays, or empty."""
        if pair.likeness < RELATED or not self._may_meet(one, two):
            return ""
        older, newer = sorted((one, two), key=lambda page: (page.mtime, page.key))
        alike = pair.likeness >= TWINS and (len(pair.shared) >= MIN_SHARED or one.description == two.description)
        kept = self._correct(older, newer, pair, alike=alike)
        if kept or self._desk.pages.get(older.key) is not older:
            return kept
        if not (alike or self._same_rule(one, two)):
            if pair.likeness >= SUSPICIOUS:
                self._desk.doubt([one.key, two.key], "they are alike, but not enough to be merged")
            return ""
        if self._disagree(older, newer):
            self._desk.doubt([one.key, two.key], "they say different things, and it is not certain which one holds")
            return ""
        return self._merge(*self._keeper_first(one, two))

    def _may_meet(self, one: Page, two: Page) -> bool:
        if one.folder != two.folder or not can_fuse(one, two):
            return False
        if one.key in self._undated or two.key in self._undated or not (one.is_plain and two.is_plain):
            return False
        if len(one.data) + len(two.data) > MAX_MEMORY_BYTES:
            return False
        # A secret must not come to stand in a file that did not hold it before.
        return not any(find_secrets(page.data.decode("utf-8", "replace")) for page in (one, two))

    def _same_rule(self, one: Page, two: Page) -> bool:
        """Whether both are rules that forbid the same thing."""
        if {one.kind, two.kind} - {None} != {MemoryType.FEEDBACK}:
            return False
        lexicon, phrases = self._reader.lexicon, self._reader.phrases
        common = forbidden(lexicon, phrases, one.head) & forbidden(lexicon, phrases, two.head)
        return any(self._profiles.weights.of(stem) >= MIN_RULE_WEIGHT for stem in common)

    def _correct(self, older: Page, newer: Page, pair: Pair, *, alike: bool) -> str:
        """Correct the older page by the newer one and merge them."""
        if older.mtime >= newer.mtime:
            return ""
        evidence = self._evidence(newer)
        change = evidence.change
        if not (change.is_change or change.is_outcome or change.is_back):
            return ""
        weights = self._profiles.weights
        judge = judge_for(older, evidence, weights, self._today, related=weights.sum(pair.shared))
        if not (alike or judge.named):
            judge = replace(judge, values_only=True)
        amendment = amended(older, judge, newer.description)
        if amendment is None:
            return ""
        page = Page(older.key, amendment.topic.data, older.mtime)
        data = fused(page, newer, label=update_label(evidence), struck=amendment.leftover)
        reason = f"corrected by {newer.key} ({evidence.day}), which it takes in: {'; '.join(amendment.corrected)}"
        change_set = Change(
            {older.key: data, newer.key: None}, reason, (older.key, newer.key), times={older.key: newer.mtime}
        )
        return self._taken(change_set, older, newer)

    def _disagree(self, older: Page, newer: Page) -> bool:
        """Whether two alike pages have values of one kind that differ, with nothing that says which is right."""
        left = self._reader.values.find(older.description)
        right = self._reader.values.find(newer.description)
        for kind in {value.kind for value in left} & {value.kind for value in right}:
            one = {value.value for value in left if value.kind == kind}
            two = {value.value for value in right if value.kind == kind}
            if one.isdisjoint(two):
                return True
        return False

    def _merge(self, keeper: Page, donor: Page) -> str:
        reason = f"{donor.key} says the same as {keeper.key}: merged, with every sentence that only one of them had"
        contents = {keeper.key: fused(keeper, donor), donor.key: None}
        times = {keeper.key: max(keeper.mtime, donor.mtime)}
        return self._taken(Change(contents, reason, (keeper.key, donor.key), times=times), keeper, donor)

    def _taken(self, change: Change, keeper: Page, donor: Page) -> str:
        if not self._desk.put(change):
            return ""
        self._desk.taken_in(donor.key, keeper.key)
        return keeper.key

    def _evidence(self, page: Page) -> Evidence:
        day = day_of(page.mtime, self._zone)
        main = " ".join(sentence.text for sentence in page.sentences if sentence.label in ("main", "how"))
        text = f"{page.description}. {main}" if main else page.description
        return Evidence(text, page.name, page.mtime, day, (page.key,), self._reader)

    def _keeper_first(self, one: Page, two: Page) -> tuple[Page, Page]:
        """What was there before the night, is typed, longer or older takes the other in."""

        def rank(page: Page) -> tuple[bool, bool, int, float, str]:
            is_new = self._desk.before(page.key) is None
            return is_new, page.kind is None, -len(page.data), page.mtime, page.key

        ranked = sorted((one, two), key=rank)
        return ranked[0], ranked[1]
