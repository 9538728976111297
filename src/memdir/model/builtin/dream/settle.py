"""Pages against pages: those that share telling words are held against each other. What the judge is sure of becomes
one page, what it holds for likely becomes a question (D3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import takewhile

from memdir.model.builtin.dream.amend import brought_up_to_date, is_denied, tells_change
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import can_fuse, fused, is_repeated
from memdir.model.builtin.dream.memory_page import Page, day_of, flat
from memdir.model.builtin.dream.night import Night
from memdir.model.builtin.dream.pair_features import Note, may_be_certain
from memdir.model.builtin.dream.pair_judge import Likelihood, shipped_judge
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.secrets import find_secrets
from memdir.text.words import split_words

CERTAIN = 0.85  # of pairs about two things by authors the judge never met one in a hundred is above this
CERTAIN_OF_KIND = 0.95  # the bar where the newer one has a word of its own for what the older names: one of its kind
WORD_BY_WORD = 1.0  # the bar for what was only said: it has no name of its own and tells less, so a person is asked
LIKELY = 0.2  # and one in five above this: worth a question, as two of one name always are
SURELY_SAME = 0.8  # of what speaks for one subject: below it the newer page is told as an update, which is always true
LEAST_ALIKE = 3  # words that two sentences begin with, of which one may tell another value,
MOST_OTHER = 2  # and words of that value; a word alone before it names too little
MAX_HOLDERS = 30  # a word in more memories than this tells no two of them apart
MAX_NEAR = 6  # memories looked at closely for each one


class Settling:
    """Goes through all pairs of near pages until nothing is left to settle."""

    def __init__(self, desk: Desk, near: Neighbours, night: Night) -> None:
        self._desk = desk
        self._near = near
        self._zone = night.now.tzinfo
        self._since = night.settled_before  # pages that both are older were settled by an earlier night
        self._held: set[tuple[Page, Page]] = set()  # against each other, in this night

    def run(self) -> None:
        """Rounds until one changes nothing, so that the next night has nothing left to settle."""
        fresh = {page.key for page in self._desk.open_pages() if page.mtime > self._since}
        while fresh:
            pages = {page.key: page for page in self._desk.open_pages()}
            for left, right in sorted(self._near.pairs(fresh & pages.keys())):
                one, two = (self._desk.pages.get(key) for key in (left, right))
                if not one or not two or (one, two) in self._held:
                    continue
                self._held.add((one, two))
                if may_join(one, two):
                    self._settle(*sorted((one, two), key=lambda page: (page.mtime, page.key)))
            fresh = {page.key for page in self._desk.open_pages() if pages.get(page.key) is not page}

    def _settle(self, older: Page, newer: Page) -> None:
        notes = self._near.notes[older.key], self._near.notes[newer.key]
        verdict = shipped_judge().verdict(*notes)
        is_of_kind = notes[0].title <= notes[1].stems and not notes[1].title <= notes[0].stems
        bar = CERTAIN_OF_KIND if is_of_kind else CERTAIN
        bar = WORD_BY_WORD if older.was_said or newer.was_said else bar
        if verdict.one_subject >= bar and may_be_certain(*notes):
            self._join(older, newer, verdict)
        elif verdict.one_subject >= LIKELY or flat(older.name) == flat(newer.name) or ends_otherwise(older, newer):
            is_same = verdict.same >= verdict.replaces and not is_denied(older, newer)
            self._desk.ask("same" if is_same else "replaces", older.key, newer.key, newer.description)

    def _join(self, older: Page, newer: Page, verdict: Likelihood) -> None:
        """One page of two: the same in the longer or the older one, or the older brought up to date."""
        is_same = verdict.same >= SURELY_SAME * verdict.one_subject and not tells_change(newer.claims)
        if (is_same and not is_denied(older, newer)) or is_repeated(older, newer) or is_repeated(newer, older):
            keeper, donor = (newer, older) if len(newer.data) > len(older.data) else (older, newer)
            reason = f"{donor.key} says the same as {keeper.key}: merged, with every sentence that only one of them had"
            data = fused(keeper, donor)
        else:
            keeper, donor = older, newer
            day = day_of(newer.mtime, self._zone)
            reason = f"brought up to date by {newer.key} ({day}), which it takes in"
            data = brought_up_to_date(older, newer, day)
        times = {keeper.key: max(keeper.mtime, donor.mtime)}
        contents, sources = {keeper.key: data, donor.key: None}, (keeper.key, donor.key)
        if find_secrets(donor.data.decode("utf-8", "replace")):
            # A secret must not come to stand in a file that did not hold it before.
            self._desk.doubt([donor.key], "it seems to hold a secret, so it was not merged into another memory")
            return
        self._desk.put(PageChange(contents, reason, sources, times))
        self._near.drop(donor.key)
        self._desk.taken_in(donor.key, keeper.key)
        self._near.put(self._desk.pages[keeper.key])


class Neighbours:
    """The memories as notes, and who holds which word."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self.notes: dict[str, Note] = {}
        self._holders: defaultdict[str, list[str]] = defaultdict(list)
        for page in pages:
            self.put(page)

    def put(self, page: Page) -> None:
        """Take a new or changed page in."""
        self.drop(page.key)
        note = self.notes[page.key] = note_of(page)
        for word in note.stems:
            self._holders[word].append(page.key)

    def drop(self, key: str) -> None:
        """A page that is gone."""
        gone = self.notes.pop(key, None)
        for word in gone.stems if gone else ():
            self._holders[word].remove(key)

    def near(self, note: Note, *, but: str = "") -> list[str]:
        """The pages that share most with a note, nearest first."""
        sums: dict[str, float] = {}
        for word, weight in note.telling.items():
            holders = self._holders.get(word, ())
            if len(holders) <= MAX_HOLDERS:
                rare = weight * math.log(2 + len(self.notes) / max(1, len(holders)))
                for key in holders:
                    sums[key] = sums.get(key, 0.0) + rare
        sums.pop(but, None)
        return sorted(sums, key=lambda key: (-sums[key], key))[:MAX_NEAR]

    def pairs(self, keys: Iterable[str]) -> set[tuple[str, str]]:
        """Every pair that one of `keys` forms with a near page."""
        near = ((key, other) for key in keys for other in self.near(self.notes[key], but=key))
        return {(min(pair), max(pair)) for pair in near}


def note_of(page: Page) -> Note:
    """A page as the judge reads it: without what it tells as past."""
    return Note(page.name, page.description, page.claimed_body, str(page.kind or ""))


def ends_otherwise(one: Page, two: Page) -> bool:
    """Whether both are a single sentence and the same up to the last word or two, as a person types a fact again with
    another value: "The standup is at 9:30", "The standup is at 10:00"."""
    texts = [page.claiming[0].text if len(page.claiming) == 1 else "" for page in (one, two)]
    mine, theirs = map(split_words, texts)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False)))
    return shared >= LEAST_ALIKE and 0 < len(mine) - shared <= MOST_OTHER and 0 < len(theirs) - shared <= MOST_OTHER


def may_join(one: Page, two: Page) -> bool:
    """Whether nothing but their meaning could keep them apart: place, fields, layout, size."""
    if one.folder != two.folder or one.is_fixed or two.is_fixed or not can_fuse(one, two):
        return False
    return one.is_plain and two.is_plain and len(one.data) + len(two.data) <= MAX_MEMORY_BYTES


def joined(older: tuple[str, bytes, float], newer: tuple[str, bytes, float], *, is_update: bool) -> bytes | None:
    """The file of both, each given by its name, text and time, as a person decided; None where they may not become
    one."""
    mine, theirs = Page(*older), Page(*newer)
    if not may_join(mine, theirs) or find_secrets(newer[1].decode("utf-8", "replace")):
        return None
    return brought_up_to_date(mine, theirs, day_of(theirs.mtime, None)) if is_update else fused(mine, theirs)
