"""What was said in sessions and noted in daily logs: what no page says yet gets a page of its own (D3, K3).

Worth a page is a dated fact, a decision, a wish; not small talk, not a request. Tool output, pages, pasted text and
anything that addresses an assistant's memory is not somebody speaking (X12): it is left out here, before anything else
looks at it. How such a page stands to the others is settled like that of any page, only that it is never sure
(ADR 0071).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, tzinfo
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.amend import is_denied, tells_change
from memdir.model.builtin.dream.date_repair import dated
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.night import Night, NightFile, Statement
from memdir.model.builtin.dream.pair_features import Note
from memdir.model.builtin.dream.pair_judge import shipped_judge
from memdir.model.builtin.dream.settle import Neighbours, note_of
from memdir.model.builtin.extract.wishes import unopened
from memdir.store.log_lines import SAID_ON, lines_in, log_day
from memdir.store.secrets import find_secrets
from memdir.store.topic import MemoryType, Topic, guess_type
from memdir.text.body_text import split
from memdir.text.language import anywhere, cues, fold, language, meanings_in, tokens
from memdir.text.naming import MAX_DESCRIPTION, file_stem, first_words, free_key, plainly
from memdir.text.nearness import called_off, named_alone
from memdir.text.speakers import own_words
from memdir.text.words import cut_at_word

MAX_SAID = 600  # characters: a longer message argues, tells or pastes, and extraction has read it
NEWS = 0.5  # a change of what a page likely speaks of is worth a page of its own, and then a question
KNOWN = 0.8  # share of a statement's words that a page must hold to know it already
ENOUGH, ENOUGH_LOGGED = 3, 2  # signs that a statement lasts; a log line was already worth writing down once
# What the words of a statement tell of it, by the lexicon: that it is wished, that it is only likely.
_WISHED = frozenset(("durable", "want"))
_UNSURE = frozenset(("rumour", "suppose", "undecided"))
LABELLED = re.compile(r"\s+(Why|How to apply): ")  # as a line of a log tells what a memory has under labels
_NAME = re.compile(r"(?<=[\w,:] )[A-ZÀ-ÖØ-Þ][\w'’.-]*\w|^[A-ZÀ-ÖØ-Þ][\w'’-]+(?= \w+:|:)")
_DATE = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")
_FIGURE = re.compile(r"\d")
_SPEAKER = re.compile(r"^[^\s:.;,]+(?: [^\s:.;,]+){0,3}:\s+")  # "Ana from accounts: …"


def take_statements(desk: Desk, night: Night, near: Neighbours) -> None:
    """Give everything that was said and is worth it a page, oldest first."""
    said = (replace(one, text=own_words(one.text)) for one in night.said)
    found = [replace(one, text=" ".join(one.text.split())) for one in said if 0 < len(one.text) <= MAX_SAID]
    found += [one for file in night.files if log_day(file.key) for one in _of_log(file, night.now.tzinfo)]
    for statement in sorted(found, key=lambda item: (item.time, item.sources)):  # of one minute, as it stands there
        if find_secrets(statement.text):
            desk.doubt(statement.sources, "a secret was said here; nothing of it was kept")
        elif statement.is_log and (named := called_off(statement.text)):
            _forget(desk, near, statement, named)
        elif not _passed_on().search(statement.text) and (text := _without_requests(statement)):
            _take(desk, near, statement, text)


def _of_log(log: NightFile, zone: tzinfo | None) -> Iterator[Statement]:
    """The lines of one day. What nobody vouched for stays a line."""
    day = date.fromisoformat(log_day(log.key))
    for line in lines_in(log.data, log.key):
        if not line.trust.is_low:
            yield Statement(line.text, line.moment(zone or UTC), day, (log.key,), is_log=True, kind=line.kind)


@cache
def _passed_on() -> re.Pattern[str]:
    """Markup, what addresses an assistant's memory, and what stands elsewhere: it is not somebody speaking."""
    return re.compile("|".join(shipped_lines("model/builtin/dream/planted.txt")), re.IGNORECASE)


def _forget(desk: Desk, near: Neighbours, statement: Statement, named: str) -> None:
    """Take away the page that the user wants forgotten, and clearly means."""
    pages, reason = desk.open_pages(), f"to be forgotten, as was said on {statement.day}"
    held = [note_of(page).stems for page in pages]
    for at in named_alone(Note("", "", named).telling, held, held):
        desk.put(PageChange({pages[at].key: None}, reason, statement.sources))
        near.drop(pages[at].key)


def _without_requests(statement: Statement) -> str:
    """What it states; nothing where that is only likely."""
    parts = [statement.text[start:end] for start, end in split(statement.text)]
    text = " ".join(part for part in parts if statement.kind or not is_request(part))
    return "" if not statement.kind and _UNSURE & meanings_in(text) else text


def _take(desk: Desk, near: Neighbours, statement: Statement, text: str) -> None:
    """A page of its own, unless a page knows it, it is not worth one, or a date in it is open."""
    kind = statement.kind or (MemoryType.FEEDBACK if _is_rule(text) else guess_type(text))
    topic, told = dated(Page("", topic_of(statement, text, kind).data, statement.time), statement.day)
    if not all(item.absolute for item in told):
        desk.doubt(statement.sources, f"a date in it is not certain: {topic.description}")
        return
    key = free_key(file_stem(topic.name, kind), lambda key: desk.now(key) is not None)
    page = Page(key, topic.data, statement.time)
    others = [desk.pages[one] for one in near.near(note_of(page))]
    if (is_worth_keeping(statement, page.claimed_body) or _is_news(page, others)) and not _is_known(page, others):
        reason = f"said on {statement.day} and not written down yet"
        desk.put(PageChange({key: page.data}, reason, statement.sources, times={key: statement.time}))
        near.put(desk.pages[key])


def _is_news(page: Page, others: Iterable[Page]) -> bool:
    """Whether it tells of a change of what a page likely speaks of."""
    if not tells_change(page.claimed_body):
        return False
    judge, note = shipped_judge(), note_of(page)
    return any(judge.verdict(note_of(one), note).one_subject >= NEWS for one in others)


def _is_known(page: Page, others: Iterable[Page]) -> bool:
    """Whether one page already says it: all its figures, and nearly all its words."""
    said, notes = note_of(page), ((other, Note("", "", other.says())) for other in others)
    return any(
        said.figures <= note.figures
        and len(said.stems & note.stems) >= KNOWN * len(said.stems)
        and not is_denied(other, page)
        for other, note in notes
    )


def topic_of(statement: Statement, text: str, kind: MemoryType) -> Topic:
    """A memory of one statement: its words, the day they were said, and a name made of them."""
    main, *rest = LABELLED.split(text)
    labelled = "".join(f"\n\n**{label}:** {sentence(told)}" for label, told in zip(rest[::2], rest[1::2], strict=True))
    body = f"{sentence(main)}{labelled}\n\n{SAID_ON.format(statement.day.isoformat())}"
    description = cut_at_word(" ".join(main.split()).rstrip("."), MAX_DESCRIPTION)
    return Topic.compose(name=title_of(main), description=description, kind=kind, body=body)


def title_of(text: str) -> str:
    """A title: the first words, without who said it."""
    name = first_words(_SPEAKER.sub("", text)).partition(" (")[0]
    return name[:1].upper() + name[1:]


def is_request(sentence: str) -> bool:
    """Whether a sentence asks, or tells the assistant to do something now."""
    said = fold(plainly(sentence))
    first = {cue.meaning for cue in cues(said, tokens(said), language(said)) if not cue.at}
    return sentence.rstrip().endswith(("?", "？")) or ("request" in first and not _is_rule(sentence))


def is_worth_keeping(statement: Statement, text: str) -> bool:
    """Whether it states something that was decided or dated, beyond the day it was said; of a log line, whether it is
    more than the weather of the day."""
    is_dated = any(day != statement.day.isoformat() or statement.is_log for day in _DATE.findall(text))
    signs = (_FIGURE.search(_DATE.sub("", text)), _NAME.search(text.strip()), tells_change(text))
    if is_dated or sum(map(bool, signs)) >= (ENOUGH_LOGGED if statement.is_log else ENOUGH):
        return True
    return statement.is_log and (statement.kind is not None or _is_rule(text))


def _is_rule(text: str) -> bool:
    """Whether it says how things are to be done from now on; "nothing special" says no more than that all is well."""
    meant = meanings_in(text)
    return meant >= {"always", "forbid"} or bool(meant & _WISHED or anywhere("rule-begins").match(unopened(text)))
