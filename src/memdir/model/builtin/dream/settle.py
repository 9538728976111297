"""Pages against pages: what the judge is sure of becomes one page, what it holds for likely becomes a question (D3)."""

from __future__ import annotations

from datetime import datetime

from memdir.model.builtin.dream.date_repair import day_of
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import fused
from memdir.model.builtin.dream.gather import was_said
from memdir.model.builtin.dream.join import evidence_of, may_join, with_news
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.neighbours import Neighbours
from memdir.model.builtin.dream.pair_features import may_be_certain
from memdir.model.builtin.dream.pair_judge import Likelihood, shipped_judge
from memdir.store.secrets import find_secrets

CERTAIN = 0.85  # of pairs about two things by authors the judge never met one in a hundred is above this
CERTAIN_CHANGE = 0.95  # the bar for a change where a name has a word of its own: another of its kind looks just so
WORD_BY_WORD = 1.0  # the bar for what was only said: it has no name of its own and tells less, so a person is asked
LIKELY = 0.2  # and one in five above this: worth a question
SURELY_SAME = 0.8  # of what speaks for one subject: below it the newer page is told as an update, which is always true
MAX_ROUNDS = 6  # merging makes new neighbours; more rounds than this never happened


class Settling:
    """Goes through all pairs of near pages until nothing is left to settle."""

    def __init__(self, desk: Desk, now: datetime, undated: frozenset[str], since: float) -> None:
        self._desk = desk
        self._zone = now.tzinfo
        self._undated = undated  # their open dates are read from their own time: they take no other
        self._since = since  # pages that both are older were settled by an earlier night
        self._judge = shipped_judge()
        self.near = Neighbours()
        for page in desk.open_pages():
            self.near.put(page)

    def run(self) -> None:
        """Rounds until one changes nothing, so that the next night has nothing left to settle."""
        fresh = {page.key for page in self._desk.open_pages() if page.mtime > self._since}
        for _ in range(MAX_ROUNDS):
            pages = {page.key: page for page in self._desk.open_pages()}
            for left, right in list(self.near.pairs(sorted(fresh & pages.keys()))):
                one, two = (self._desk.pages.get(key) for key in (left, right))
                if one and two and self._may_meet(one, two):
                    self._settle(*sorted((one, two), key=lambda page: (page.mtime, page.key)))
            fresh = {page.key for page in self._desk.open_pages() if pages.get(page.key) is not page}
            if not fresh:
                return

    def _settle(self, older: Page, newer: Page) -> None:
        notes = self.near.notes[older.key], self.near.notes[newer.key]
        verdict = self._judge.verdict(*notes)
        has_own_name = any(one.title - other.stems for one, other in (notes, notes[::-1]))
        bar = CERTAIN_CHANGE if has_own_name and verdict.replaces > verdict.same else CERTAIN
        bar = WORD_BY_WORD if was_said(older) or was_said(newer) else bar
        if verdict.one_subject >= bar and may_be_certain(*notes):
            self._join(older, newer, verdict)
        elif verdict.one_subject >= LIKELY:
            self._desk.ask(
                "same" if verdict.same >= verdict.replaces else "replaces", older.key, newer.key, newer.description
            )

    def _may_meet(self, one: Page, two: Page) -> bool:
        return self._undated.isdisjoint((one.key, two.key)) and may_join(one, two)

    def _join(self, older: Page, newer: Page, verdict: Likelihood) -> None:
        """One page of two: the same told once, or the newer as an update of the older."""
        evidence = evidence_of(newer, day_of(newer.mtime, self._zone))
        if verdict.same >= SURELY_SAME * verdict.one_subject and not evidence.change.is_change:
            keeper, donor = self._keeper_first(older, newer)
            reason = f"{donor.key} says the same as {keeper.key}: merged, with every sentence that only one of them had"
            data = fused(keeper, donor)
        else:
            keeper, donor = older, newer
            reason = f"brought up to date by {newer.key} ({evidence.day}), which it takes in"
            data = with_news(older, newer, evidence)
        times = {keeper.key: max(keeper.mtime, donor.mtime)}
        contents, sources = {keeper.key: data, donor.key: None}, (keeper.key, donor.key)
        types = frozenset(str(page.kind) for page in (keeper, donor))  # one page has one type
        self._take(PageChange(contents, reason, sources, types, times), keeper, donor)

    def _take(self, change: PageChange, keeper: Page, donor: Page) -> None:
        if find_secrets(donor.data.decode("utf-8", "replace")):
            # A secret must not come to stand in a file that did not hold it before.
            self._desk.doubt([donor.key], "it seems to hold a secret, so it was not merged into another memory")
        elif self._desk.put(change):
            self.near.drop(donor.key)
            self._desk.taken_in(donor.key, keeper.key)
            self.near.put(self._desk.pages[keeper.key])

    def _keeper_first(self, one: Page, two: Page) -> tuple[Page, Page]:
        """What was there before the night, is typed, longer or older takes the other in."""

        def rank(page: Page) -> tuple[bool, bool, int, float, str]:
            is_new = self._desk.before(page.key) is None
            return is_new, page.kind is None, -len(page.data), page.mtime, page.key

        ranked = sorted((one, two), key=rank)
        return ranked[0], ranked[1]
