"""One topic file: frontmatter and Markdown, edited without touching a byte that was not asked for (S6); and the
four kinds of memory, a closed set (T1–T4)."""

from __future__ import annotations

from enum import StrEnum

from memdir.errors import BadMemoryFile
from memdir.store.frontmatter import (
    LONG_HEAD_BYTES,
    find_block,
    line_ending_of,
    newline_of,
    read_fields,
    read_unclosed,
    replace_field,
    without_field,
)

IN_OWN_WORDS = "(In the user's own words.)"  # what the built-in model adds below a memory in the first person


class MemoryType(StrEnum):
    """What a memory is about: "user", "feedback", "project" or "reference"."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


_TYPES = {str(kind): kind for kind in MemoryType}


def parse_type(text: str | None) -> MemoryType | None:
    """The type that `text` names, or None: an unknown type counts as none (S6)."""
    return _TYPES.get(text) or _TYPES.get(text.strip().lower()) if text else None


def guess_type(text: str) -> MemoryType:
    """A first guess for a person who typed a memory without saying its kind; the command line shows it."""
    words = f" {text.casefold()} "
    if any(cue in words for cue in ("http://", "https://", " dashboard", " channel", " tracker", " wiki", " runbook")):
        return MemoryType.REFERENCE
    if words.startswith((" i am ", " i'm ", " my ", " i work ", " i have ", " i know ")):
        return MemoryType.USER
    if words.startswith((" use ", " keep ", " write ", " run ", " answer ", " ask ", " stop ", " no ")) or any(
        cue in words
        for cue in (" always ", " never ", " don't ", " do not ", " prefer", " please ", " avoid ", " i like ")
    ):
        return MemoryType.FEEDBACK
    return MemoryType.PROJECT


class Topic:
    """A topic file's bytes with its fields read. `with_...` methods return a new one."""

    __slots__ = ("_body_start", "data", "fields", "has_frontmatter")

    def __init__(self, data: bytes) -> None:
        self.data = data  # the bytes of the file
        block = find_block(data)
        self.has_frontmatter: bool = block is not None  # whether it begins with one
        if block:
            found = read_fields(data[block.start : block.end], newline_of(data))
        else:
            found = read_unclosed(data[:LONG_HEAD_BYTES])
        self.fields: dict[str, str] = found  # the frontmatter
        self._body_start = block.body_start if block else 0

    @staticmethod
    def compose(*, name: str, description: str, kind: MemoryType | None, body: str) -> Topic:
        """A new topic file."""
        fields = {"name": name, "description": description, "type": str(kind or "")}
        data = b"---\n---\n\n" + body.strip("\n").encode("utf-8", "surrogateescape") + b"\n"
        for key, value in fields.items():
            data = replace_field(data, key, value) if value else data
        return Topic(data)

    @property
    def name(self) -> str:
        """Its title, as the frontmatter has it."""
        return self.fields.get("name", "")

    @property
    def description(self) -> str:
        """One line that says what it is about."""
        return self.fields.get("description", "")

    @property
    def kind(self) -> MemoryType | None:
        """What it is about; None where the file does not say."""
        return parse_type(self.fields.get("type"))

    @property
    def is_pinned(self) -> bool:
        """A pinned memory is never changed by the dream (D7)."""
        return self.fields.get("pinned", "").lower() == "true"

    @property
    def body(self) -> str:
        """The Markdown below the frontmatter, line endings as they are, bytes that are not UTF-8 kept as surrogates."""
        return self.data[self._body_start :].decode("utf-8", "surrogateescape")

    @property
    def has_text(self) -> bool:
        """Whether it says something below its title."""
        lines = (line.strip() for line in self.body.splitlines())
        return any(any(map(str.isalnum, line)) and not line.startswith(("#", "<!--")) for line in lines)

    def with_field(self, key: str, value: str) -> Topic:
        """The same file with one frontmatter value set."""
        return self if self.fields.get(key) == value else Topic(replace_field(self.data, key, value))

    def without_field(self, key: str) -> Topic:
        """The same file without a frontmatter value."""
        return Topic(without_field(self.data, key))

    def with_body(self, body: str) -> Topic:
        """The same file with another text below the frontmatter."""
        return Topic(self.data[: self._body_start] + body.encode("utf-8", "surrogateescape"))

    def problems(self) -> list[str]:
        """What keeps this file from being a well-formed memory, in words; empty when nothing does."""
        found = []
        if b"\0" in self.data:
            found.append("it holds NUL bytes: it is not a text file")
        if not self.has_frontmatter:
            opened = self.data.lstrip(b"\xef\xbb\xbf").startswith(b"---")
            found.append("its frontmatter is never closed by a second ---" if opened else "it has no frontmatter")
        else:
            raw_type = self.fields.get("type")
            if raw_type and self.kind is None:
                found.append(f"its type {raw_type!r} is none of user, feedback, project, reference")
            if not self.description:
                found.append("it has no description, which is what recall judges by")
            if not self.has_text:
                found.append("it has no text below its fields")
        return found

    def line_ending(self) -> str:
        return line_ending_of(self.data).decode("ascii")


def require_valid(data: bytes, key: str) -> Topic:
    """The topic in `data`; BadMemoryFile when it must not be saved as a memory."""
    topic = Topic(data)
    problems = topic.problems()
    if problems:
        raise BadMemoryFile(
            f"{key} is not a well-formed memory: {'; '.join(problems)}",
            remedy="It needs name, description and type (user, feedback, project, reference) between two lines of ---",
        )
    return topic
