"""Pages against pages: duplicates become one, and where the newer says otherwise the older is corrected (D3)."""

from __future__ import annotations

from datetime import datetime

from memdir.model.builtin.dream.amend import amended, update_label
from memdir.model.builtin.dream.correct import CorrectionJudge
from memdir.model.builtin.dream.date_repair import day_of
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import can_fuse, fused
from memdir.model.builtin.dream.later_statement import LaterStatement, Reader
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.page_pairs import Pair, Profile, Profiles, same_words
from memdir.model.builtin.dream.subject import Subjects
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.secrets import find_secrets

DUPLICATES = 0.6  # different notes of one project stay below this, two notes of one thing do not
RELATED = 0.33  # enough when the newer page also corrects the older one
SUSPICIOUS = 0.5  # alike enough to tell a person
MIN_SHARED = 3  # words that two duplicates share at least
MAX_EVIDENCE = 400  # characters of a page that are read as evidence: a change is told at the beginning
SMALL_STORE = 500  # pages that can all be looked at again in no time
MAX_LOOKED_AT = 1000  # characters in which a page's evidence surely stands
MAX_ROUNDS = 6  # merging makes new neighbours; more rounds than this never happened


class Settling:
    """Goes through all pairs of alike pages until nothing is left to settle."""

    def __init__(self, desk: Desk, reader: Reader, now: datetime, undated: frozenset[str]) -> None:
        self._desk = desk
        self.subjects = Subjects(reader.lexicon, reader.values)
        self._reader = reader
        self._today = now.date()
        self._zone = now.tzinfo
        self._undated = undated  # their open dates are read from their own time: they take no other
        self._known: dict[bytes, Profile] = {}
        self._read: dict[bytes, LaterStatement] = {}
        self._news: dict[bytes, bool] = {}
        self._settled_at = -1
        self._seen: dict[str, Page] = {}
        self._profiles = Profiles(reader.lexicon, [], self._known)

    def once(self) -> Profiles:
        """One round over all pages; the profiles of what is left."""
        pages = self._desk.open_pages()
        self._settled_at = self._desk.changes
        self._profiles = Profiles(self._reader.lexicon, pages, self._known)
        self._seen = {page.key: page for page in pages}
        self._round(pages)
        return self._profiles

    def run(self) -> None:
        """Rounds until one changes nothing, so that the next night has nothing left to settle.

        In a large store a few changes move no weight, and only what changed since is looked at again.
        """
        for _ in range(MAX_ROUNDS):
            if self._settled_at == self._desk.changes:
                return
            if len(self._desk.pages) <= SMALL_STORE:
                self.once()
                continue
            self._settled_at = self._desk.changes
            fresh = [page for page in self._desk.open_pages() if self._seen.get(page.key) is not page]
            self._seen.update({page.key: page for page in fresh})
            for page in fresh:
                self._profiles.put(page)
            self._round(fresh)

    def _round(self, pages: list[Page]) -> None:
        pairs = self._profiles.pairs([page.key for page in pages])
        for group in same_words(pages):
            pairs = [*(self._profiles.measure(group[0], other) for other in group[1:]), *pairs]
        for pair in pairs:
            one, two = (self._desk.pages.get(self._desk.where(key)) for key in (pair.left, pair.right))
            if one and two and one is not two:
                self._settle(one, two, pair)

    def _settle(self, one: Page, two: Page, pair: Pair) -> None:
        """Merge two pages if that is certain."""
        if pair.likeness < RELATED or not self._may_meet(one, two):
            return
        older, newer = sorted((one, two), key=lambda page: (page.mtime, page.key))
        alike = pair.likeness >= DUPLICATES and (len(pair.shared) >= MIN_SHARED or one.description == two.description)
        if self._correct(older, newer):
            return
        if not alike:
            if pair.likeness >= SUSPICIOUS:
                self._desk.doubt([one.key, two.key], "they are alike, but not enough to be merged")
        elif not self.subjects.may_merge(one, two) or self._tells_of_change(newer):
            self._desk.doubt([one.key, two.key], "they are alike, but may be about two things or say two things of one")
        else:
            self._merge(*self._keeper_first(one, two))

    def _may_meet(self, one: Page, two: Page) -> bool:
        if one.folder != two.folder or not can_fuse(one, two):
            return False
        if one.key in self._undated or two.key in self._undated or not (one.is_plain and two.is_plain):
            return False
        return len(one.data) + len(two.data) <= MAX_MEMORY_BYTES

    def _correct(self, older: Page, newer: Page) -> bool:
        """Correct the older page by the newer one and merge them; whether there was something to correct."""
        if older.mtime >= newer.mtime or not self._may_tell(newer):
            return False
        evidence = self._evidence(newer)
        if not evidence.change.matters:
            return False
        weights = self._profiles.weights
        judge = CorrectionJudge(older, evidence, self.subjects, weights, self._today)
        amendment = amended(older, judge, newer.description)
        if amendment is None:
            return False
        page = Page(older.key, amendment.topic.data, older.mtime)
        data = fused(page, newer, label=update_label(evidence))
        reason = f"corrected by {newer.key} ({evidence.day}), which it takes in: {'; '.join(amendment.corrected)}"
        change_set = PageChange(
            {older.key: data, newer.key: None}, reason, (older.key, newer.key), times={older.key: newer.mtime}
        )
        self._taken(change_set, older, newer)
        return True

    def _may_tell(self, page: Page) -> bool:
        known = self._news.get(page.data)
        if known is None:
            known = self._news[page.data] = self._reader.cues.may_tell(page.claims[:MAX_LOOKED_AT])
        return known

    def _tells_of_change(self, newer: Page) -> bool:
        """Whether the newer page tells of a change that was not found in the other: then they are not the same."""
        return self._may_tell(newer) and self._evidence(newer).change.is_change

    def _merge(self, keeper: Page, donor: Page) -> None:
        reason = f"{donor.key} says the same as {keeper.key}: merged, with every sentence that only one of them had"
        contents = {keeper.key: fused(keeper, donor), donor.key: None}
        times = {keeper.key: max(keeper.mtime, donor.mtime)}
        self._taken(PageChange(contents, reason, (keeper.key, donor.key), times=times), keeper, donor)

    def _taken(self, change: PageChange, keeper: Page, donor: Page) -> None:
        if find_secrets(donor.data.decode("utf-8", "replace")):
            # A secret must not come to stand in a file that did not hold it before.
            self._desk.doubt([donor.key], "it seems to hold a secret, so it was not merged into another memory")
        elif self._desk.put(change):
            self._desk.taken_in(donor.key, keeper.key)
            self._profiles.put(self._desk.pages[keeper.key])

    def _evidence(self, page: Page) -> LaterStatement:
        """What a page says, read as evidence; read once, however many pages it is held against."""
        known = self._read.get(page.data)
        if known is None or known.time != page.mtime:
            known = self._read[page.data] = self._fresh_evidence(page)
        return known

    def _fresh_evidence(self, page: Page) -> LaterStatement:
        day = day_of(page.mtime, self._zone)
        main = " ".join(sentence.text for sentence in page.sentences if sentence.label in ("main", "how"))
        text = f"{page.description}. {main}"[:MAX_EVIDENCE] if main else page.description
        return LaterStatement(text, page.name, page.mtime, day, (page.key,), self._reader)

    def _keeper_first(self, one: Page, two: Page) -> tuple[Page, Page]:
        """What was there before the night, is typed, longer or older takes the other in."""

        def rank(page: Page) -> tuple[bool, bool, int, float, str]:
            is_new = self._desk.before(page.key) is None
            return is_new, page.kind is None, -len(page.data), page.mtime, page.key

        ranked = sorted((one, two), key=rank)
        return ranked[0], ranked[1]
