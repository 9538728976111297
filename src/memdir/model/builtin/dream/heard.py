"""What was said in sessions and noted in daily logs becomes memories of its own, where no memory says it yet (D3, K3).

What of it is worth keeping, and in which words, is for extraction to say; how it stands to what is known is settled
like any other memory, only that a remark is never sure (ADR 0071).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby

from memdir.model.builtin.dream.amend import is_denied
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import SAID_ON, Page, day_of
from memdir.model.builtin.dream.night import Night, NightFile, SessionText
from memdir.model.builtin.dream.pair_features import Note
from memdir.model.builtin.dream.settle import Neighbours, note_of
from memdir.model.builtin.extract import MemoryDraft, Talk, TalkLine, draft_memories
from memdir.store.log_lines import lines_in, log_day
from memdir.store.topic import IN_OWN_WORDS, MemoryType, Topic, parse_type
from memdir.text.language import meanings_in
from memdir.text.naming import MAX_DESCRIPTION, file_stem, first_words, free_key
from memdir.text.speakers import own_words
from memdir.text.words import cut_at_word

MAX_LINES = 100  # of a conversation that are looked at together: the time grows with its length and no faster
KNOWN = 0.8  # share of a remark's words that a memory must hold to know it already
_LABELLED = re.compile(r"\s+(Why|How to apply): ")  # as a line of a log tells what a memory has under labels
_SPEAKER = re.compile(r"^[^\s:.;,]+(?: [^\s:.;,]+){0,3}:\s+")  # "Ana from accounts: …"
_RULE = {"always", "forbid"}  # what a rule says, by the lexicon
_FIGURE = re.compile(r"\d")
_TO_A_MODEL = re.compile(
    r"\b(?:AIs?|KI|LLMs?|assistants?|agents?|chatbots?|copilot|claude|gpt|models?|asistentes?|assistenten?|memor(?:y|ies))\b",
    re.IGNORECASE,
)

Remark = tuple[float, tuple[str, ...], Topic]  # when, where it stands, and the memory of it


def take_remarks(desk: Desk, night: Night, near: Neighbours) -> None:
    """Give every remark that no memory says yet a page of its own, oldest first."""
    for time, sources, topic in sorted(_remarks(night), key=lambda one: (*one[:2], one[2].data)):
        key = free_key(file_stem(topic.name, str(topic.kind or "")), lambda key: desk.now(key) is not None)
        page, day = Page(key, topic.data, time), day_of(time, night.now.tzinfo).isoformat()
        if not _is_known(page, (desk.pages[key] for key in near.near(note_of(page)))):
            data = topic.with_body(f"{topic.body.rstrip()}\n\n{SAID_ON.format(day)}\n").data
            desk.put(PageChange({key: data}, f"said on {day} and not written down yet", sources, times={key: time}))
            near.put(desk.pages[key])


def _is_known(remark: Page, pages: Iterable[Page]) -> bool:
    """Whether one memory already says it, or says that it was so: all its figures, and nearly all its words."""
    said = note_of(remark)
    return any(
        said.figures <= note.figures
        and len(said.stems & note.stems) >= KNOWN * len(said.stems)
        and not is_denied(page, remark)
        for page, note in ((page, Note("", "", page.says())) for page in pages)
    )


def _remarks(night: Night) -> Iterator[Remark]:
    zone = night.now.tzinfo
    for session in night.sessions:
        yield from _of_session(session, zone)
    for file in night.files:
        yield from _of_log(file, zone) if log_day(file.key) else ()


def _of_session(session: SessionText, zone: tzinfo | None) -> Iterator[Remark]:
    """What extraction finds in a conversation, day by day: relative dates are meant from the day."""
    lines = [line for line in session.lines if line.kind == "said"]
    days = [day_of(line.time or session.mtime, zone) for line in lines]
    for (day, _), some in groupby(range(len(lines)), key=lambda at: (days[at], at // MAX_LINES)):
        said = [(at, lines[at].role, own_words(lines[at].text)) for at in some]
        for draft in _drafts(tuple(TalkLine(*one) for one in said if one[-1]), day, zone):
            line = lines[draft.message]
            kind = parse_type(draft.type)
            kind = MemoryType.PROJECT if kind is MemoryType.USER else kind  # who the person is stands elsewhere (T1)
            body = draft.body.replace(IN_OWN_WORDS, "").strip()
            topic = Topic.compose(name=draft.name, description=draft.description, kind=kind, body=body)
            yield line.time or session.mtime, tuple(filter(None, (session.id, line.message_id))), topic


def _of_log(log: NightFile, zone: tzinfo | None) -> Iterator[Remark]:
    """The lines of one day that have a type, a rule or a figure, or that extraction would keep. What nobody vouched
    for, or what speaks to a model, stays a line (X12)."""
    day = date.fromisoformat(log_day(log.key))
    for line in lines_in(log.data, log.key):
        if line.trust.is_low or (not line.kind and _TO_A_MODEL.search(line.text)):
            continue
        main, *rest = _LABELLED.split(_SPEAKER.sub("", line.text))
        kind = line.kind or next(
            (parse_type(one.type) for one in _drafts((TalkLine(0, "user", main),), day, zone)), None
        )
        kind = kind or (MemoryType.FEEDBACK if meanings_in(main) >= _RULE else None)
        if kind or _FIGURE.search(line.text):
            hour, minute = map(int, (line.time or "0:0").split(":"))
            time = datetime(day.year, day.month, day.day, hour % 24, minute % 60, tzinfo=zone or UTC).timestamp()
            labelled = (f"**{one}:** {sentence(text)}" for one, text in zip(rest[::2], rest[1::2], strict=True))
            name, told = first_words(main.split(" (")[0]), cut_at_word(main.rstrip("."), MAX_DESCRIPTION)
            body = "\n\n".join((sentence(main), *labelled))
            yield (
                time,
                (log.key,),
                Topic.compose(name=name, description=told, kind=kind or MemoryType.PROJECT, body=body),
            )


def _drafts(lines: tuple[TalkLine, ...], day: date, zone: tzinfo | None) -> tuple[MemoryDraft, ...]:
    return draft_memories(Talk(lines, datetime(day.year, day.month, day.day, 12, tzinfo=zone or UTC), "", ()))
