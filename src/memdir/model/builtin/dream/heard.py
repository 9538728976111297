"""What was said in sessions and noted in daily logs becomes memories of its own, where no memory says it yet (D3, K3).

What of it is worth keeping, and in which words, is for extraction to say; how it stands to what is known is settled
like any other memory, only that a remark is never sure (ADR 0071).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby

from memdir.model.builtin.dream.amend import is_denied
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import SAID_ON, Page, day_of
from memdir.model.builtin.dream.night import Night, NightFile, SessionText
from memdir.model.builtin.dream.settle import Neighbours, note_of
from memdir.model.builtin.extract import MemoryDraft, Talk, TalkLine, draft_memories, lines_of
from memdir.store.log_lines import LogLine, lines_in, log_day
from memdir.store.topic import IN_OWN_WORDS, MemoryType, Topic, parse_type
from memdir.text.language import meanings_in
from memdir.text.naming import MAX_DESCRIPTION, file_stem, first_words, free_key
from memdir.text.words import cut_at_word
from memdir.transcript.message import Message, Text

KNOWN = 0.8  # share of a remark's words that a memory must hold to know it already
_LABELLED = re.compile(r"\s+(Why|How to apply): ")  # as a line of a log tells what a memory has under labels
_SPEAKER = re.compile(r"^[^\s:.;,]+(?: [^\s:.;,]+){0,3}:\s+")  # "Ana from accounts: …"
_RULE = {"always", "forbid"}  # what a rule says, by the lexicon
_FIGURE = re.compile(r"\d")
_TO_A_MODEL = re.compile(
    r"\b(?:AIs?|KI|LLMs?|assistants?|agents?|chatbots?|copilot|claude|gpt|models?|asistentes?|assistenten?|memor(?:y|ies))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Remark:
    """A memory of something that was said, when, and where it stands."""

    topic: Topic
    time: float
    day: date
    sources: tuple[str, ...]


def take_remarks(desk: Desk, night: Night, near: Neighbours) -> None:
    """Give every remark that no memory says yet a page of its own, oldest first."""
    for one in sorted(_remarks(night), key=lambda one: (one.time, one.sources, one.topic.data)):
        topic, day = one.topic, one.day.isoformat()
        data = topic.with_body(f"{topic.body.rstrip()}\n\n{SAID_ON.format(day)}\n").data
        stem = file_stem(topic.name, str(topic.kind or ""))
        key = free_key(stem, lambda key: key in desk.pages or desk.before(key) is not None)
        page = Page(key, data, one.time)
        if not _is_known(page, (desk.pages[key] for key in near.near(note_of(page)))):
            desk.put(
                PageChange({key: data}, f"said on {day} and not written down yet", one.sources, times={key: one.time})
            )
            near.put(desk.pages[key])


def _is_known(remark: Page, pages: Iterable[Page]) -> bool:
    """Whether one memory already says it: all its figures, and nearly all its words."""
    said = note_of(remark)
    held = ((page, note_of(page)) for page in pages)
    return any(
        said.figures <= note.figures
        and len(said.stems & note.stems) >= KNOWN * len(said.stems)
        and not is_denied(page, remark)
        for page, note in held
    )


def _remarks(night: Night) -> Iterator[Remark]:
    zone = night.now.tzinfo
    for session in night.sessions:
        yield from _of_session(session, zone)
    for file in night.files:
        yield from _of_log(file, zone) if log_day(file.key) else ()


def _of_session(session: SessionText, zone: tzinfo | None) -> Iterator[Remark]:
    """What extraction finds in a conversation, day by day: relative dates are meant from the day."""
    for day, some in groupby(session.lines, key=lambda line: day_of(line.time or session.mtime, zone)):
        lines = [line for line in some if line.kind == "said"]
        messages = [Message(line.role, (Text(line.text),)) for line in lines]
        for draft in _drafts(lines_of(messages), day, zone):
            said = lines[draft.message]
            sources = tuple(filter(None, (session.id, said.message_id)))
            yield Remark(_topic(draft), said.time or session.mtime, day, sources)


def _of_log(log: NightFile, zone: tzinfo | None) -> Iterator[Remark]:
    """The lines of one day that have a type, a rule or a figure, or that extraction would keep. What nobody vouched
    for, or what speaks to a model, stays a line (X12)."""
    day = date.fromisoformat(log_day(log.key))
    for line in lines_in(log.data, log.key):
        if line.trust.is_low or (not line.kind and _TO_A_MODEL.search(line.text)):
            continue
        said = TalkLine(0, "user", _SPEAKER.sub("", line.text))
        kind = line.kind or next((parse_type(draft.type) for draft in _drafts((said,), day, zone)), None)
        kind = kind or (MemoryType.FEEDBACK if meanings_in(said.text) >= _RULE else None)
        if kind or _FIGURE.search(line.text):
            hour, minute = map(int, (line.time or "0:0").split(":"))
            time = datetime(day.year, day.month, day.day, hour % 24, minute % 60, tzinfo=zone or UTC).timestamp()
            yield Remark(_logged(line, kind or MemoryType.PROJECT), time, day, (log.key,))


def _drafts(lines: tuple[TalkLine, ...], day: date, zone: tzinfo | None) -> tuple[MemoryDraft, ...]:
    return draft_memories(Talk(lines, datetime(day.year, day.month, day.day, 12, tzinfo=zone or UTC), "", ()))


def _topic(draft: MemoryDraft) -> Topic:
    kind = parse_type(draft.type)
    kind = MemoryType.PROJECT if kind is MemoryType.USER else kind  # who the person is stands elsewhere (T1)
    body = draft.body.replace(IN_OWN_WORDS, "").strip()
    return Topic.compose(name=draft.name, description=draft.description, kind=kind, body=body)


def _logged(line: LogLine, kind: MemoryType) -> Topic:
    main, *rest = _LABELLED.split(line.text)
    labelled = "".join(f"\n\n**{label}:** {sentence(text)}" for label, text in zip(rest[::2], rest[1::2], strict=True))
    name, description = (
        first_words(_SPEAKER.sub("", main).split(" (")[0]),
        cut_at_word(main.rstrip("."), MAX_DESCRIPTION),
    )
    return Topic.compose(name=name, description=description, kind=kind, body=f"{sentence(main)}{labelled}")
