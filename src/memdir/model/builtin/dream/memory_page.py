"""One memory on the desk: its text, when it was written, and whether the dream may touch it (D7).

A page is never changed; the desk puts a new one in its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from functools import cached_property

from memdir.disk.safe_path import TEAM_PREFIX, is_key
from memdir.store.guard import GUARD_FIELD
from memdir.store.log_lines import SAID_ON
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.topic import Topic
from memdir.text.body_text import BodySentence, sentences

_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`´„“”‚‘’«»‹›*~_|…。、，；：！？（）「」『』【】"  # punctuation around a token
_LAID_OUT = re.compile(r"\t|\r|^[ ]+\S|\S {2,}|^\s*[|>]|```|~~~|^\S*[;|]\S*[;|]\S", re.MULTILINE)
_DAY = SAID_ON.format(r"\d{4}-\d{2}-\d{2}")  # shared by all that a night writes of one day
_PAST = re.compile(rf"~~[^~]*~~|^(?:\*\*|__)Before\b[^*_\n]*(?:\*\*|__).*$|^{_DAY}$", re.MULTILINE)  # told as past
_SAID = re.compile(rf"[^\r\n]+\r?\n\r?\n{_DAY}")


class Page(Topic):
    """A topic file and what can be read off it. Treat it as frozen."""

    def __init__(self, key: str, data: bytes, mtime: float) -> None:
        super().__init__(data)
        self.key = key
        self.mtime = mtime
        # `team/` for what is shared, empty for what is private: nothing moves between the two.
        self.folder = TEAM_PREFIX if key.startswith(TEAM_PREFIX) else ""

    @cached_property
    def sentences(self) -> list[BodySentence]:
        return sentences(self.body)

    @cached_property
    def claiming(self) -> list[BodySentence]:
        """The sentences that claim something: no reason, nothing dated or past."""
        return [one for one in self.sentences if one.label in ("main", "how")]

    def retold(self, tell: Callable[[str], str]) -> str:
        """The body with each of its sentences told anew."""
        return spliced(self.body, ((one.start, one.end, tell(one.text)) for one in self.sentences))

    @property
    def is_listed(self) -> bool:
        """Whether an index may name it, by the rules of the scan: a memory's name, and text."""
        return (self.has_frontmatter or b"\0" not in self.data) and is_key(self.key)

    @cached_property
    def is_fixed(self) -> bool:
        """Whether it must stay as it is: pinned, guarded, no well-formed memory, or nothing that may be one."""
        is_kept = self.is_pinned or GUARD_FIELD in self.fields
        is_odd = not is_key(self.key) or len(self.data) > MAX_MEMORY_BYTES or not self.name or bool(self.problems())
        return is_kept or is_odd or self.data.decode(errors="ignore").encode() != self.data  # no UTF-8

    @cached_property
    def is_plain(self) -> bool:
        """Whether the body is ordinary prose that a paragraph more does no harm: no table, code, verse or layout."""
        return _LAID_OUT.search(self.body) is None

    @property
    def was_said(self) -> bool:
        """Whether it holds one statement and nothing else, as a night writes it."""
        return _SAID.fullmatch(self.body.strip()) is not None

    @cached_property
    def claims(self) -> str:
        """All text without what is struck out or told as past: what the page itself says."""
        return _PAST.sub(" ", self.says())

    @cached_property
    def claimed_body(self) -> str:
        """The body without what is struck out or told as past."""
        return _PAST.sub(" ", self.body)

    def says(self) -> str:
        """All text, for a search of literal words."""
        return f"{self.name}\n{self.description}\n{self.body}"


def spliced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """A text with other words in some places of it, in order. Each piece is looked at once, however many there are."""
    pieces, done = list[str](), 0
    for start, end, words in parts:
        pieces += (text[done:start], words)
        done = end
    return "".join([*pieces, text[done:]])


def tokens(text: str) -> list[str]:
    """Every run of text between spaces without the punctuation around it, in lower case: what must not get lost."""
    chunks = unicodedata.normalize("NFC", text).split()
    return [core for chunk in chunks if (core := chunk.strip(_EDGE).casefold())]


def flat(text: str) -> str:
    """Text for literal comparison: no case, no markup, no punctuation at word edges, single spaces."""
    return " ".join(tokens(text))


def day_of(mtime: float, zone: tzinfo | None) -> date:
    """The day a file was written, in the person's own time zone."""
    try:
        return datetime.fromtimestamp(mtime, zone).date()
    except (OverflowError, ValueError, OSError):
        return date(1970, 1, 1)
