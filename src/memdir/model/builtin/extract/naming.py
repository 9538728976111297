"""Names for a memory: a short title, a specific description for recall to judge by, and a safe file name (S6, S7)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from memdir.model.builtin.extract.wording import shorten
from memdir.text.language import cjk_runs, common_words, fold, stems, tokens
from memdir.text.words import strip_accents

MAX_DESCRIPTION = 150  # an index line stays under about that
MAX_NAME = 60  # fits a list beside a date
MAX_SLUG_WORDS = 5  # enough to tell files apart by eye
TELLING_STEMS = 2  # a clause with fewer topic words is a lead-in ("before anything else:")
_CLAUSES = re.compile(r"(?<=[^\d\s])[,;:](?=\s)|[。；：！？，]|(?<=\w)[.!?](?=\s|$)|\s[—–-]\s")


def describe(lead: str, others: Sequence[str]) -> str:
    """The leading sentence, with more of the rule while there is room."""
    text = lead
    for more in others:
        if len(text) > MAX_DESCRIPTION // 3:
            break
        text = f"{text} {more}"
    return shorten(text.rstrip(".。"), MAX_DESCRIPTION)


def title(lead: str) -> str:
    """The first clause of the leading sentence that names a topic, cut to fit."""
    clauses = [clause.strip() for clause in _CLAUSES.split(lead) if clause.strip()]
    first = next((at for at, clause in enumerate(clauses) if _tells(clause)), 0)
    text = clauses[first] if clauses else lead
    for more in clauses[first + 1 :]:
        if len(text) + len(more) + 2 > MAX_NAME or len(set(stems(text))) > 2 * TELLING_STEMS:
            break
        text = f"{text}, {more}"
    short = shorten(text[:1].upper() + text[1:], MAX_NAME)
    words = short.rstrip(".…,;: ").split(" ")
    while short.endswith("…") and len(words) > 2 and fold(words[-1]) in common_words():
        words.pop()  # a title does not end in "the"
    return " ".join(words)


def _tells(clause: str) -> bool:
    return len(set(stems(clause))) >= TELLING_STEMS or len(cjk_runs(clause)) > 0


def file_name(kind: str, name: str, description: str, taken: set[str]) -> str:
    """A file name of plain letters that is not taken; text without any gets a stable number."""
    words = [strip_accents(word) for word in tokens(fold(name)) if word not in common_words()]
    plain = [word for word in (re.sub(r"[^a-z0-9]", "", word) for word in words) if word]
    slug = "_".join(plain[:MAX_SLUG_WORDS]) or f"note_{zlib.crc32(description.encode()):08x}"
    file, number = f"{kind}_{slug}.md", 2
    while file in taken:
        file, number = f"{kind}_{slug}_{number}.md", number + 1
    return file
