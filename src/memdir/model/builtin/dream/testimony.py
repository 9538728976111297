"""Statements against pages: what was disproved is corrected at the source, what is new finds its page (D3, K3)."""

from __future__ import annotations

from datetime import datetime

from memdir.model.builtin.dream.amend import amended, shortened, with_update
from memdir.model.builtin.dream.correct import CorrectionJudge
from memdir.model.builtin.dream.date_repair import resolved
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.dream_words import flat
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.gather import known_at, new_page
from memdir.model.builtin.dream.later_statement import LaterStatement, Reader
from memdir.model.builtin.dream.page_pairs import figures
from memdir.model.builtin.dream.said import Statement
from memdir.model.builtin.dream.settle import Settling
from memdir.model.builtin.dream.worth import Worth
from memdir.store.secrets import find_secrets
from memdir.text.body_text import split

MAX_PAGES = 8  # pages weighed for one statement, nearest first


class Testimony:
    """Takes statements one by one, oldest first."""

    def __init__(self, desk: Desk, reader: Reader, now: datetime, undated: frozenset[str], settling: Settling) -> None:
        self._desk = desk
        self._reader = reader
        self._now = now
        self._undated = undated
        self._worth = Worth(reader.phrases, reader.values)
        self._profiles = settling.once()
        self._subjects = settling.subjects

    def take(self, statement: Statement) -> None:
        """Correct what it disproves; else keep it if it is worth keeping."""
        if find_secrets(statement.text):
            self._desk.doubt(statement.sources, "a secret was said here; nothing of it was kept")
            return
        evidence = self._evidence(statement)
        if evidence is None:
            return
        if self._correct(evidence):
            return
        if not self._is_worth_keeping(statement, evidence):
            return
        if evidence.change.is_mention or known_at(self._desk, evidence, self._near(evidence)):
            return
        self._keep(evidence)

    def _is_worth_keeping(self, statement: Statement, evidence: LaterStatement) -> bool:
        if statement.is_log:
            return self._worth.lasts(evidence.text)
        return self._worth.is_settled(evidence.text, statement.day)

    def _evidence(self, statement: Statement) -> LaterStatement | None:
        """The statement without requests, with absolute dates; None when nothing is left or a date is open."""
        parts = [statement.text[start:end] for start, end in split(statement.text)]
        text = " ".join(part for part in parts if not self._worth.is_request(part))
        if not text or self._worth.is_unsure(text):
            return None
        absolute = resolved(text, statement.day)
        if absolute is None:
            self._desk.doubt(statement.sources, f"a date in it is not certain: {shortened(text, 120)}")
            return None
        return LaterStatement(absolute, "", statement.time, statement.day, statement.sources, self._reader)

    def _near(self, evidence: LaterStatement) -> list[tuple[str, float]]:
        found = self._profiles.near(evidence.stems | figures(evidence.text))
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [(key, weight) for key, weight in ranked[:MAX_PAGES] if key in self._desk.pages]

    def _correct(self, evidence: LaterStatement) -> bool:
        """Correct every page that the evidence contradicts; whether there was one."""
        if not evidence.change.matters:
            return False
        done = False
        said = sentence(evidence.text)
        for key, _ in self._near(evidence):
            page = self._desk.pages[key]
            judge = CorrectionJudge(page, evidence, self._subjects, self._profiles.weights, self._now.date())
            if page.fixed or flat(evidence.text) in flat(page.says()):
                done = done or flat(evidence.text) in flat(page.says())
                continue
            if page.mtime >= evidence.time:
                continue
            amendment = amended(page, judge, evidence.text)
            if amendment is None:
                continue
            data = with_update(amendment, evidence, said)
            reason = f"corrected by what was said on {evidence.day}: {'; '.join(amendment.corrected)}"
            times = {} if key in self._undated else {key: evidence.time}
            done = self._put(key, data, reason, evidence, times) or done
        return done

    def _put(self, key: str, data: bytes, reason: str, evidence: LaterStatement, times: dict[str, float]) -> bool:
        done = self._desk.put(PageChange({key: data}, reason, evidence.sources, times=times))
        if done:
            self._profiles.put(self._desk.pages[key])
        return done

    def _keep(self, evidence: LaterStatement) -> None:
        reason = f"said on {evidence.day} and not written down yet"
        key, data = new_page(self._desk, evidence, is_wish=self._worth.is_wish(evidence.text))
        self._put(key, data, reason, evidence, {key: evidence.time})
