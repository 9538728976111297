"""Statements against pages: what they disprove is brought up to date at the source, the new gets a page (D3, K3)."""

from __future__ import annotations

from memdir.model.builtin.dream.amend import LaterStatement, named_in, restates, shortened, updated, with_update
from memdir.model.builtin.dream.cues import SentenceKinds
from memdir.model.builtin.dream.date_repair import resolved
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.dream_words import flat
from memdir.model.builtin.dream.gather import known_at, new_page, title_of
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.neighbours import Neighbours
from memdir.model.builtin.dream.pair_features import Note
from memdir.model.builtin.dream.pair_judge import shipped_judge
from memdir.model.builtin.dream.said import Statement
from memdir.model.builtin.dream.values import Values
from memdir.model.builtin.dream.worth import Worth
from memdir.store.secrets import find_secrets
from memdir.store.taxonomy import MemoryType
from memdir.text.body_text import split

NEWS = 0.5  # a change of what a page likely speaks of is worth a page of its own, and then a question


class Testimony:
    """Takes statements one by one, oldest first."""

    def __init__(
        self, desk: Desk, near: Neighbours, undated: frozenset[str], values: Values, kinds: SentenceKinds
    ) -> None:
        self._desk = desk
        self._pages = near
        self._undated = undated
        self._values = values
        self._worth = Worth(kinds, values)
        self._judge = shipped_judge()

    def take(self, statement: Statement) -> None:
        """Bring up to date what it disproves; else keep it if it is worth keeping."""
        if find_secrets(statement.text):
            self._desk.doubt(statement.sources, "a secret was said here; nothing of it was kept")
            return
        evidence = self._evidence(statement)
        if evidence is None:
            return
        near = [page for key in self._pages.near(evidence.note) if not (page := self._desk.pages[key]).fixed]
        likely = {page.key: self._likely(page, evidence) for page in near if page.mtime < evidence.time}
        if evidence.change.matters and self._update(near, likely, evidence):
            return
        is_named = any(named_in(page, evidence) for page in near)
        is_news = evidence.change.matters and (is_named or max(likely.values(), default=0.0) >= NEWS)
        if (is_news or self._is_worth_keeping(statement, evidence)) and not known_at(near, evidence, self._values):
            self._keep(evidence, statement.kind)

    def _is_worth_keeping(self, statement: Statement, evidence: LaterStatement) -> bool:
        if statement.is_log:
            return statement.kind is not None or self._worth.lasts(evidence.text)
        return self._worth.is_settled(evidence.text, statement.day)

    def _evidence(self, statement: Statement) -> LaterStatement | None:
        """The statement without requests, with absolute dates; None when nothing is left or a date is open."""
        parts = [statement.text[start:end] for start, end in split(statement.text)]
        text = " ".join(part for part in parts if statement.kind or not self._worth.is_request(part))
        if not text or (not statement.kind and self._worth.is_unsure(text)):
            return None
        absolute = resolved(text, statement.day)
        if absolute is None:
            self._desk.doubt(statement.sources, f"a date in it is not certain: {shortened(text, 120)}")
            return None
        # Judged as the page that it would become: pages are what the judge knows.
        note = Note(title_of(absolute), shortened(absolute), absolute)
        return LaterStatement(absolute, statement.time, statement.day, statement.sources, note)

    def _update(self, near: list[Page], likely: dict[str, float], evidence: LaterStatement) -> bool:
        """Bring every page up to date whose claim the evidence restates; whether there was one, or one knows it."""
        if any(flat(evidence.text) in flat(page.says()) for page in near):
            return True
        meant = [page for page in near if likely.get(page.key, 0.0) >= NEWS and restates(page, evidence, self._values)]
        done = [self._put(page, evidence) for page in meant]
        return any(done)

    def _likely(self, page: Page, evidence: LaterStatement) -> float:
        mine = self._pages.notes[page.key]
        return self._judge.verdict(mine, evidence.note.as_type(mine.kind)).one_subject

    def _put(self, page: Page, evidence: LaterStatement) -> bool:
        data = with_update(updated(page, evidence, evidence.text), evidence)
        reason = f"brought up to date by what was said on {evidence.day}: {shortened(evidence.text, 80)}"
        times = {} if page.key in self._undated else {page.key: evidence.time}
        return self._write(page.key, data, reason, evidence, times)

    def _keep(self, evidence: LaterStatement, kind: MemoryType | None) -> None:
        reason = f"said on {evidence.day} and not written down yet"
        wish = MemoryType.FEEDBACK if self._worth.is_wish(evidence.text) else None
        key, data = new_page(self._desk, evidence, kind or wish)
        self._write(key, data, reason, evidence, {key: evidence.time})

    def _write(self, key: str, data: bytes, reason: str, evidence: LaterStatement, times: dict[str, float]) -> bool:
        done = self._desk.put(PageChange({key: data}, reason, evidence.sources, times=times))
        if done:
            self._pages.put(self._desk.pages[key])
        return done
