"""Facts that no page holds yet: whether one is known already, and the page it gets when it is not."""

from __future__ import annotations

import re

from memdir.model.builtin.dream.amend import shortened
from memdir.model.builtin.dream.desk import Desk
from memdir.model.builtin.dream.dream_words import DreamWords
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.later_statement import LaterStatement
from memdir.store.taxonomy import MemoryType, guess_type
from memdir.store.topic import Topic
from memdir.text.naming import file_stem, first_words, free_key

KNOWN = 0.8  # share of a statement's words that a page must hold to know it already


def known_at(desk: Desk, evidence: LaterStatement, near: list[tuple[str, float]]) -> bool:
    """Whether one page already says it: all its values, and nearly all its words."""
    lexicon, values = evidence.reader.lexicon, evidence.reader.values
    wanted = {value.value for value in evidence.values}
    for key, _ in near:
        text = desk.pages[key].says()
        stems = frozenset(lexicon.stems(text))
        held = {value.value for value in values.find(text)}
        if wanted <= held and len(evidence.stems & stems) >= KNOWN * len(evidence.stems):
            return True
    return False


def new_page(desk: Desk, evidence: LaterStatement, *, is_wish: bool) -> tuple[str, bytes]:
    """A memory of one statement: its words, the day they were said, and a name made of them."""
    kind = MemoryType.FEEDBACK if is_wish else guess_type(evidence.text)
    if kind is MemoryType.USER:
        kind = MemoryType.PROJECT
    name = _name(evidence.text, evidence.reader.lexicon)
    body = f"{sentence(evidence.text)}\n\nSaid on {evidence.day.isoformat()}."
    topic = Topic.compose(name=name, description=shortened(evidence.text), kind=kind, body=body)
    key = free_key(file_stem(name, kind), lambda key: key in desk.pages or desk.before(key) is not None)
    return key, topic.data


def _name(text: str, lexicon: DreamWords) -> str:
    """A title: the first words, without who said it and without trailing small words."""
    speaker = re.match(r"[^:.;,]{2,40}:\s+", text)
    rest = text[speaker.end() :] if speaker and len(speaker[0].split()) <= 4 else text
    words = first_words(rest).split()
    while len(words) > 2 and not lexicon.stems(words[-1]) and not any(c.isdigit() for c in words[-1]):
        words.pop()
    name = " ".join(words).split(" (")[0].strip(",;:.…—–() ")
    return name[:1].upper() + name[1:]
