"""Who said a line: the user, the assistant, a tool, the host, or whoever wrote what was pasted (X12, L4).

What hosts put into a conversation themselves is known by the tags of `lookalikes.py`; what is pasted is found in
`pastes.py`. Everyone who strips or judges asks here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby

from memdir.text.lookalikes import HOST_PREFIX, HOST_TAGS
from memdir.text.pastes import cut_pastes

# Tags of memories and context that are put in to be read; the others tell what happened.
_READ_ALOUD = ("system-reminder", "hook_context", "user-prompt-submit-hook", "session_context", HOST_PREFIX)
# The same as plain text: how such a block begins.
HOST_OPENINGS = (
    "caveat: the messages below",
    "memory (saved today):",
    "memory (saved yesterday):",
    "[request interrupted",
    "this session is being continued from a previous conversation",
    "# agents.md instructions",
    "# claude.md",
    "as you answer the user's questions, you can use the following context",
)
# How a file or a memory is put in: with its path, what it is in brackets, and a colon.
_HOST_FILE = re.compile(
    r"\s*(?:contents of|memory:) (?:[~./\\]|[a-z]:[/\\])[^\n]*(?:\([^()\n]*\):|:[ \t]*(?:\n|$))", re.IGNORECASE
)
# What a program or another agent said stands in these, and may close them itself: nobody types behind one.
_TOLD = re.compile(
    r"\s*<(?:bash-std|local-command-std|user_shell_command|task-|subagent_notification|team(?:mate)?[-_]|agent-message"
    r"|cross-session-message|coordinator-relay|slack-|fetched-web-content)",
    re.IGNORECASE,
)
# What the user refers to with an @, behind their words, to the end: no mark in a file decides where it ends.
_REFERRED = re.compile(r"^[ \t]*--- Content from (?:referenced files|MCP resource [^\n]*) ---[ \t]*$", re.MULTILINE)
_NAMES = "|".join(sorted((re.escape(tag) for tag in HOST_TAGS), key=len, reverse=True))
_TAG = re.compile(rf"<\s*(?P<closing>/?)\s*(?P<name>{_NAMES}|{HOST_PREFIX}[\w-]+)(?![\w-])[^<>]*>", re.IGNORECASE)


class Speaker(StrEnum):
    """Whose words a piece is."""

    USER = "user"
    REPORTED = "reported"  # the user tells what somebody else said or wants: a fact perhaps, never his own wish
    ASSISTANT = "assistant"
    TOOL = "tool"
    REMINDER = "reminder"  # a recalled memory or other context that the host put in to be read
    NOTICE = "notice"  # the host's report of what happened: a command's output, a task that ended
    PASTE = "paste"  # somebody's words in the user's message
    UNCLEAR = "unclear"  # the user's or pasted: nothing tells

    @property
    def is_host(self) -> bool:
        return self in (Speaker.REMINDER, Speaker.NOTICE)


_WHOSE = {"own": Speaker.USER, "reported": Speaker.REPORTED, "unclear": Speaker.UNCLEAR, "pasted": Speaker.PASTE}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text and whose it is."""

    speaker: Speaker
    text: str


def pieces_of(text: str) -> Iterator[Piece]:
    """A user's message taken apart: their own words, what they pasted, and what the host put in, in order."""
    for speaker, some in groupby(_cut(text), key=lambda piece: piece.speaker):
        joined = "".join(piece.text for piece in some).strip()
        if joined:
            yield Piece(speaker, joined)


@lru_cache(maxsize=256)  # whoever learns from a conversation asks several times
def _cut(text: str) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for piece in _by_host(text):
        found += [piece] if piece.speaker.is_host else [Piece(_WHOSE[of], one) for of, one in cut_pastes(piece.text)]
    return tuple(found)


def without_host(text: str) -> str:
    """The text without what a host put in."""
    return "\n".join(piece.text for piece in _by_host(text) if not piece.speaker.is_host).strip()


def own_words(text: str) -> str:
    """What the user says himself in a message, with what he tells of others."""
    return "".join(piece.text for piece in _cut(text) if piece.speaker in (Speaker.USER, Speaker.REPORTED)).strip()


def is_host(text: str) -> bool:
    """Whether a message holds something and all of it is the host's."""
    return bool(text.strip()) and not without_host(text)


def refers(text: str) -> bool:
    """Whether what was referred to begins in it: all that a message has behind is none of the user's."""
    return _REFERRED.search(text) is not None


def _by_host(text: str) -> Iterator[Piece]:
    """The text cut where the host put something in."""
    put_in = _REFERRED.search(text)
    said = text[: put_in.start()] if put_in else text
    if said.lstrip().lower().startswith(HOST_OPENINGS) or _HOST_FILE.match(said):
        yield Piece(Speaker.REMINDER, said)
    elif _TOLD.match(said):
        yield Piece(Speaker.NOTICE, said)
    else:
        yield from _by_tags(said)
    if put_in:
        yield Piece(Speaker.REMINDER, text[put_in.start() :])


def _by_tags(text: str) -> Iterator[Piece]:
    """The text cut at the host's tags, in any case and spacing, one in another; an unclosed one runs to the end."""
    start, open_tags = 0, []  # type: tuple[int, list[str]]
    tags = list(_TAG.finditer(text))
    last_closed = {tag["name"].lower(): tag.start() for tag in tags if tag["closing"]}
    for tag in tags:
        name = tag["name"].lower()
        if not tag["closing"]:
            # A tag whose name is an everyday word is the host's only where it is closed as well.
            if not open_tags and name.isalpha() and last_closed.get(name, -1) < tag.end():
                continue
            if not open_tags and text[start : tag.start()].strip():
                yield Piece(Speaker.USER, text[start : tag.start()])
            start = start if open_tags else tag.start()
            open_tags.append(name)
        elif start and not open_tags:  # an element that was cut in the middle, right after another of the host's
            yield Piece(_host_of(name), text[start : tag.end()])
            start = tag.end()
        elif name in open_tags:
            del open_tags[len(open_tags) - 1 - open_tags[::-1].index(name) :]  # the innermost of that name
            if not open_tags:
                yield Piece(_host_of(name), text[start : tag.end()])
                start = tag.end()
    if text[start:].strip():
        yield Piece(_host_of(open_tags[0]) if open_tags else Speaker.USER, text[start:])


def _host_of(name: str) -> Speaker:
    return Speaker.REMINDER if name.startswith(_READ_ALOUD) else Speaker.NOTICE
