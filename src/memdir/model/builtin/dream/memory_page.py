"""One memory on the desk: its text, when it was written, and whether the dream may touch it (D7).

A page is never changed; the desk puts a new one in its place.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, tzinfo
from functools import cached_property

from memdir.disk.safe_path import TEAM_PREFIX, is_index, is_key
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


class Page:
    """A topic file and what can be read off it. Treat it as frozen."""

    def __init__(self, key: str, data: bytes, mtime: float) -> None:
        self.key = key
        self.data = data
        self.mtime = mtime
        self.topic = Topic(data)
        self.name = self.topic.name
        self.description = self.topic.description
        self.kind = self.topic.kind
        # `team/` for what is shared, empty for what is private: nothing moves between the two.
        self.folder = TEAM_PREFIX if key.startswith(TEAM_PREFIX) else ""

    @cached_property
    def body(self) -> str:
        return self.topic.body

    @cached_property
    def sentences(self) -> list[BodySentence]:
        return sentences(self.body)

    @cached_property
    def claiming(self) -> list[BodySentence]:
        """The sentences that claim something: no reason, nothing dated or past."""
        return [one for one in self.sentences if one.label in ("main", "how")]

    @property
    def is_listed(self) -> bool:
        """Whether an index may name it, by the rules of the scan: a memory's name, and text."""
        is_text = self.topic.has_frontmatter or b"\0" not in self.data
        return is_text and is_key(self.key)

    @cached_property
    def fixed(self) -> str:
        """Why this page must stay as it is, in words; empty when it may be changed."""
        if self.topic.is_pinned:
            return "it is pinned"
        if GUARD_FIELD in self.topic.fields:
            return "it carries a guard"
        problems = self.topic.problems()
        if problems:
            return problems[0]
        if not self.name:
            return "it has no name"
        if len(self.data) > MAX_MEMORY_BYTES:
            return "it is larger than a memory"
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return "it is not UTF-8"
        return "" if is_key(self.key) else "its name is unusual"

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
        return _without_past(self.says())

    @cached_property
    def claimed_body(self) -> str:
        """The body without what is struck out or told as past."""
        return _without_past(self.body)

    def says(self) -> str:
        """All text, for a search of literal words."""
        return f"{self.name}\n{self.description}\n{self.body}"


def _without_past(text: str) -> str:
    return _PAST.sub(" ", text) if any(sign in text for sign in ("~~", "Before", SAID_ON[:5])) else text


def is_topic(key: str) -> bool:
    """Whether this file is a memory: no index, no log, nothing hidden."""
    parts = key.split("/")
    return (
        key.endswith(".md") and not is_index(key) and parts[0] != "logs" and not any(part[:1] == "." for part in parts)
    )


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
