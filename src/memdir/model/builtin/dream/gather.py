"""Facts that no page holds yet: whether one is known already, and the page it gets when it is not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memdir.model.builtin.dream.amend import LaterStatement, shortened
from memdir.model.builtin.dream.desk import Desk
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.pair_features import Note
from memdir.model.builtin.dream.values import Values
from memdir.store.taxonomy import MemoryType, guess_type
from memdir.store.topic import Topic
from memdir.text.naming import file_stem, first_words, free_key

_SAID = re.compile(r"[^\r\n]+\r?\n\r?\nSaid on \d{4}-\d{2}-\d{2}\.")
LABELLED = re.compile(r"\s+(Why|How to apply): ")  # as a line of a log tells what a memory has under labels
KNOWN = 0.8  # share of a statement's words that a page must hold to know it already


def known_at(near: Iterable[Page], evidence: LaterStatement, values: Values) -> bool:
    """Whether one page already says it: all its values, and nearly all its words."""
    wanted = {value.value for value in values.find(evidence.text)}
    for page in near:
        stems = Note("", "", page.says()).stems
        held = {value.value for value in values.find(page.says())}
        if wanted <= held and len(evidence.note.stems & stems) >= KNOWN * len(evidence.note.stems):
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
    body = f"{sentence(main)}{labelled}\n\nSaid on {evidence.day.isoformat()}."
    topic = Topic.compose(name=name, description=shortened(main), kind=kind, body=body)
    key = free_key(file_stem(name, kind), lambda key: key in desk.pages or desk.before(key) is not None)
    return key, topic.data


def was_said(page: Page) -> bool:
    """Whether a page holds one statement and nothing else, as `new_page` writes it."""
    return _SAID.fullmatch(page.body.strip()) is not None


def title_of(text: str) -> str:
    """A title: the first words, without who said it and without trailing small words."""
    speaker = re.match(r"[^:.;,]{2,40}:\s+", text)
    rest = text[speaker.end() :] if speaker and len(speaker[0].split()) <= 4 else text
    words = first_words(rest).split()
    while len(words) > 2 and not Note(words[-1], "", "").words:
        words.pop()
    name = " ".join(words).split(" (")[0].strip(",;:.…—–() ")
    return name[:1].upper() + name[1:]
