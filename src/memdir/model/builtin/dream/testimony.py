"""Statements against pages: what they disprove is brought up to date at the source, the new gets a page (D3, K3).

Worth a page is a dated fact, a decision, a wish; not small talk, not a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from memdir.model.builtin.dream.amend import LaterStatement, is_denied, named_in, restates, shortened, updated
from memdir.model.builtin.dream.cues import is_kind
from memdir.model.builtin.dream.date_repair import resolved
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page, flat
from memdir.model.builtin.dream.pair_features import Note
from memdir.model.builtin.dream.pair_judge import shipped_judge
from memdir.model.builtin.dream.said import Statement
from memdir.model.builtin.dream.settle import Neighbours
from memdir.model.builtin.dream.values import Value, values_in
from memdir.store.log_lines import SAID_ON
from memdir.store.secrets import find_secrets
from memdir.store.topic import MemoryType, Topic, guess_type
from memdir.text.body_text import split
from memdir.text.naming import file_stem, first_words, free_key

NEWS = 0.5  # a change of what a page likely speaks of is worth a page of its own, and then a question
LABELLED = re.compile(r"\s+(Why|How to apply): ")  # as a line of a log tells what a memory has under labels
KNOWN = 0.8  # share of a statement's words that a page must hold to know it already
ENOUGH_LOGGED = 2  # signs that make a log line last: it was already worth writing down once
MAX_SAID_TO_KEEP = 260  # characters: a longer message argues, tells or pastes, and extraction has read it
_NAME = re.compile(r"(?<=[\w,:] )[A-ZÀ-ÖØ-Þ][\w'’.-]*\w|^[A-ZÀ-ÖØ-Þ][\w'’-]+(?= \w+:|:)")
_FULL_DATE = frozenset(("date", "month"))
_SPEAKER = re.compile(r"^[^\s:.;,]+(?: [^\s:.;,]+){0,3}:\s+")  # "Ana from accounts: …"


class Testimony:
    """Takes statements one by one, oldest first."""

    def __init__(self, desk: Desk, near: Neighbours, undated: frozenset[str]) -> None:
        self._desk = desk
        self._pages = near
        self._undated = undated
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
        notes = {page.key: self._pages.notes[page.key] for page in near if page.mtime < evidence.time}
        verdicts = {key: self._judge.verdict(one, evidence.note.as_type(one.kind)) for key, one in notes.items()}
        likely = {key: verdict.one_subject for key, verdict in verdicts.items()}
        if evidence.change.matters and self._update(near, likely, evidence):
            return
        is_named = any(named_in(page, evidence) for page in near)
        is_news = evidence.change.matters and (is_named or max(likely.values(), default=0.0) >= NEWS)
        if (is_news or self._is_worth_keeping(statement, evidence)) and not known_at(near, evidence):
            wish = MemoryType.FEEDBACK if is_kind("wish", evidence.text) else None
            key, data = new_page(self._desk, evidence, statement.kind or wish)
            self._write(key, data, f"said on {evidence.day} and not written down yet", evidence)

    def _is_worth_keeping(self, statement: Statement, evidence: LaterStatement) -> bool:
        if statement.is_log:
            return statement.kind is not None or lasts(evidence.text)
        return is_settled(evidence.text, statement.day)

    def _evidence(self, statement: Statement) -> LaterStatement | None:
        """The statement without requests, with absolute dates; None when nothing is left or a date is open."""
        parts = [statement.text[start:end] for start, end in split(statement.text)]
        text = " ".join(part for part in parts if statement.kind or not is_request(part))
        if not text or (not statement.kind and is_kind("unsure", text)):
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
        if any(flat(evidence.text) in flat(page.says()) and not is_denied(page, evidence) for page in near):
            return True
        meant = [page for page in near if likely.get(page.key, 0.0) >= NEWS and restates(page, evidence)]
        done = [self._put(page, evidence) for page in meant]
        return any(done)

    def _put(self, page: Page, evidence: LaterStatement) -> bool:
        topic = updated(page, evidence, evidence.text)
        lines = ("", f"{evidence.label} {sentence(evidence.text)}", "", topic.body.lstrip("\r\n"))
        data = topic.with_body(topic.line_ending().join(lines)).data
        return self._write(page.key, data, f"brought up to date by what was said on {evidence.day}", evidence)

    def _write(self, key: str, data: bytes, reason: str, evidence: LaterStatement) -> bool:
        times = {} if key in self._undated else {key: evidence.time}
        done = self._desk.put(PageChange({key: data}, reason, evidence.sources, times=times))
        if done:
            self._pages.put(self._desk.pages[key])
        return done


def known_at(near: Iterable[Page], evidence: LaterStatement) -> bool:
    """Whether one page already says it: all its values, and nearly all its words."""
    wanted = {value.value for value in values_in(evidence.text)}
    for page in near:
        stems = Note("", "", page.says()).stems
        held = {value.value for value in values_in(page.says())}
        is_said = wanted <= held and len(evidence.note.stems & stems) >= KNOWN * len(evidence.note.stems)
        if is_said and not is_denied(page, evidence):
            return True
    return False


def new_page(desk: Desk, evidence: LaterStatement, known: MemoryType | None) -> tuple[str, bytes]:
    """A memory of one statement: its words, the day they were said, and a name made of them."""
    kind = known or guess_type(evidence.text)
    if kind is MemoryType.USER and not known:
        kind = MemoryType.PROJECT
    main, *rest = LABELLED.split(evidence.text)
    labelled = "".join(f"\n\n**{label}:** {sentence(text)}" for label, text in zip(rest[::2], rest[1::2], strict=True))
    name = title_of(main)
    body = f"{sentence(main)}{labelled}\n\n{SAID_ON.format(evidence.day.isoformat())}"
    topic = Topic.compose(name=name, description=shortened(main), kind=kind, body=body)
    key = free_key(file_stem(name, kind), lambda key: key in desk.pages or desk.before(key) is not None)
    return key, topic.data


def title_of(text: str) -> str:
    """A title: the first words, without who said it and without trailing small words."""
    words = first_words(_SPEAKER.sub("", text)).split()
    while len(words) > 2 and not Note(words[-1], "", "").words:
        words.pop()
    name = " ".join(words).split(" (")[0].strip(",;:.…—–() ")
    return name[:1].upper() + name[1:]


def is_request(sentence: str) -> bool:
    """Whether a sentence asks, or tells the assistant to do something now."""
    return is_kind("question", sentence) or (is_kind("request", sentence) and not is_kind("wish", sentence))


def is_settled(text: str, said_on: date) -> bool:
    """Whether a spoken sentence states something that was decided or dated, beyond the day it was said."""
    if len(text) > MAX_SAID_TO_KEEP or is_kind("passing", text) or not is_kind("settled", text):
        return False
    found = values_in(text)
    is_dated = any(value.kind in _FULL_DATE and value.value != said_on.isoformat() for value in found)
    return is_dated or (bool(_told_by(found) - {"weekday"}) and _NAME.search(text) is not None)


def lasts(text: str) -> bool:
    """Whether a log line is more than the weather of the day: it has a date, or two of amounts, names, decisions."""
    found = values_in(text)
    signs = (_told_by(found), _NAME.search(text), is_kind("durable", text))
    is_sure = is_kind("wish", text) or any(value.kind in _FULL_DATE for value in found)
    return not is_kind("passing", text) and (is_sure or sum(map(bool, signs)) >= ENOUGH_LOGGED)


def _told_by(values: Iterable[Value]) -> set[str]:
    """The kinds of values that say something even without a date: no mere number."""
    return {value.kind for value in values} - _FULL_DATE - {"num"}
