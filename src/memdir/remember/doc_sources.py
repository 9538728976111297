"""What a conversation tells about magic docs: which files were read in it, and what was said since a doc was last
brought up to date (M1, M2)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.agent.gate import WRITING
from memdir.prompts.door import quoted, shown_line
from memdir.remember.turn import is_asked, last_asked, messages_after
from memdir.store.secrets import redact
from memdir.text.speakers import without_host
from memdir.text.words import cut_at_word

if TYPE_CHECKING:
    from memdir.transcript.message import Json, Message, ToolUse

MAX_SAID = 60_000  # characters of a conversation, about 15,000 tokens: the newest are what a doc lacks
MAX_EARLIER = 6_000  # characters of the turn before those
MAX_MESSAGE = 6_000  # characters of one message: a longer one is a paste
_MARK = "magic doc:"
_READERS = frozenset(("read", "readfile", "view", "viewfile", "openfile", "readtextfile", "readmanyfiles"))
_MARKDOWN = re.compile(r"\.md$", re.IGNORECASE)


def files_read(messages: Sequence[Message]) -> Iterator[tuple[str, bool]]:
    """The Markdown files that an agent read, by whatever tool, and whether what it saw says that it is a magic doc. A
    tool that reads by its name has read what it names; of a command only what it showed tells."""
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    for use in (use for message in messages for use in message.tool_uses if use.name not in WRITING):
        result = results.get(use.id)
        if result is None or result.is_error:
            continue
        is_marked = _MARK in result.content.casefold()
        is_reader = "".join(filter(str.isalpha, use.name.lower())) in _READERS
        if is_marked or is_reader:
            texts = _texts(list(use.input.values()))
            words = texts if is_reader else (word for text in texts for word in _words(text))
            yield from ((path, is_marked) for path in words if _MARKDOWN.search(path))


def _texts(values: Sequence[Json]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and "\0" not in value:
            yield value
        elif isinstance(value, list):
            yield from _texts(value)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that nobody closes
        return command.split()


@dataclass(frozen=True)
class SaidForDoc:
    """What a doc lacks of a conversation, and the turn before it, without which "yes, the second one" says nothing."""

    new: tuple[Message, ...]
    earlier: tuple[Message, ...] = ()

    def quoted(self) -> str:
        """The conversation as a model gets it, quoted whole."""
        before, now = _told(self.earlier, MAX_EARLIER), _told(self.new, MAX_SAID)
        if before:
            now = ["Said before, and known to the document:", *before, "Said since then:", *now]
        return "\n\n".join(now)


def said_since(messages: Sequence[Message], cursor: str) -> SaidForDoc | None:
    """What a doc has not seen of a conversation; None where the user said nothing."""
    heard = [one for one in messages if not one.is_off]
    new = messages_after(heard, cursor)
    before = heard[: len(heard) - len(new)]
    earlier, said = (tuple(one for one in part if not one.is_meta) for part in (before[last_asked(before) :], new))
    has_words = any(is_asked(one) and without_host(one.text).strip() for one in said)
    return SaidForDoc(said, earlier) if has_words else None


def _told(said: Sequence[Message], room: int) -> list[str]:
    """What was said and done, newest last, each piece quoted: words, and calls of tools by what they name. What tools
    gave back is a stranger's, and memories that were recalled are nobody's words: both stay out."""
    told: list[str] = []
    for message in reversed(said):
        words = redact(without_host(message.text)).strip()
        parts = [f"The {message.role} said:\n{quoted(cut_at_word(words, MAX_MESSAGE))}"] if words else []
        parts += [f"The assistant called {shown_line(_call(use), room=300)}" for use in message.tool_uses]
        room -= sum(map(len, parts))
        if room < 0:
            break
        told[:0] = parts
    return told


def _call(use: ToolUse) -> str:
    named = (use.input.get(name) for name in ("file_path", "path", "command", "cmd", "pattern"))
    return redact(f"{use.name} {next((one for one in named if isinstance(one, str)), '')}")
