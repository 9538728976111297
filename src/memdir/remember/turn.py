"""A finished turn, as the host hands it over, and why nothing was done about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memdir.agent.gate import READING
from memdir.disk.safe_path import is_index
from memdir.model.model import Request
from memdir.model.raw import chained, conversation_of, plain_request
from memdir.store.history import PULLED
from memdir.store.move import UNSHARED
from memdir.store.store import MemoryStore
from memdir.text import body_text
from memdir.text.language import stems
from memdir.text.nearness import is_opposite, kept_in_mind, says_all
from memdir.text.sentences import sentences_of
from memdir.transcript.message import Json, Message, ToolUse

# How hosts put an instruction file into a conversation.
_INSTRUCTIONS = re.compile(
    r"Contents of \S*(?:CLAUDE|AGENTS|GEMINI)\S*\.md[^\n]*:\n(.*?)(?=\nContents of |\Z)", re.DOTALL
)
ECHO_SHARE = 0.75  # of a sentence's words: with a reason beside it, it is more than an echo
MAX_COMMITS = 200  # of one turn that are looked at
_OWN_WORK = ("extract", "dream", "undo", "restore", "doctor", "import", PULLED, "sync", "purge", "move", UNSHARED)
MAX_PATH = 4096  # longer is a text
_COMMANDS = re.compile(r"[|;&\n]")
_WRITTEN_BY = re.compile(r">\s*([^\s<>]+)")
_WRITES = re.compile(r"^\s*(?:sudo )?(?:tee|mv|cp|rm|touch|install|sed -i)\b")


@dataclass(frozen=True)
class FinishedTurn:
    """The request that got the final reply, and that reply. What the request holds is the conversation before it."""

    request: Request
    reply: Message
    is_subagent: bool = False
    tries: int = 0  # to learn from it that failed
    is_past: bool = False  # said earlier: its messages tell when
    ended: float = 0.0  # when the host handed it over; 0 where nobody knows
    earlier: tuple[Message, ...] = ()  # of its calls before, which the provider knows and the request does not hold

    @property
    def messages(self) -> tuple[Message, ...]:
        return chained((*self.earlier, *conversation_of(self.request), self.reply))

    @property
    def sends_only_news(self) -> bool:
        """Whether the request holds no earlier reply: it is the first one, or the provider keeps the conversation."""
        return not any(message.role == "assistant" for message in conversation_of(self.request))

    @property
    def own(self) -> tuple[Message, ...]:
        """The user's last message, and what came of it."""
        return self.messages[last_asked(self.messages) :]

    def of(self, said: Sequence[Message]) -> FinishedTurn:
        """The turn as a fork is shown it: the newest messages are those that count, and nobody reads what was said
        while memory was off. Only then is the request another one than the host's, and its cache not shared."""
        heard = tuple(message for message in said if not message.is_off)
        if heard == self.messages:
            return self
        request = replace(plain_request(self.request), messages=heard[:-1])
        return replace(self, request=request, reply=heard[-1], earlier=())

    def holds(self, other: FinishedTurn) -> bool:
        """Whether all that was said in another turn is a part of this one: a host may send no history, or a window."""
        return _said(other) <= _said(self)


def is_asked(message: Message) -> bool:
    """Whether the user says something in it."""
    return message.role == "user" and not message.is_meta and not message.tool_results


def last_asked(messages: Sequence[Message]) -> int:
    """Where the last message stands in which the user says something; the first where there is none."""
    return max((at for at, message in enumerate(messages) if is_asked(message)), default=0)


def known_as(message: Message) -> str:
    """What tells a message from the others of its conversation."""
    return message.id or repr(message.content)


def _said(turn: FinishedTurn) -> set[str]:
    return {known_as(message) for message in turn.messages if not message.is_meta}


def messages_after(messages: Sequence[Message], cursor: str) -> tuple[Message, ...]:
    """What came after the cursor's message; everything when that message is gone (X4: compaction)."""
    ids = [message.id for message in messages]
    start = len(ids) - ids[::-1].index(cursor) if cursor and cursor in ids else 0
    return tuple(messages[start:])


def saved_below(messages: Sequence[Message], roots: Sequence[str], cwd: str) -> tuple[str, ...]:
    """The files in a memory directory that the main agent itself wrote in these messages, with whatever tool; a write
    that failed, or that nobody answered, does not count (X3)."""
    done = {result.tool_use_id for message in messages for result in message.tool_results if not result.is_error}
    uses = (use for message in messages for use in message.tool_uses if use.id in done and use.name not in READING)
    inside = [os.path.realpath(root) + os.sep for root in roots]
    found: dict[str, None] = {}
    for path in (path for use in uses for path in _paths_in(use)):
        real = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
        if real.startswith(tuple(inside)):
            found[real] = None
    return tuple(found)


def written_since(stores: Sequence[MemoryStore], moment: float) -> tuple[str, ...] | None:
    """The files that somebody else than memdir's own work wrote into memory directories since a moment, whatever tool
    it was: a patch, a shell, MCP. None without git, which looks back."""
    found: dict[str, None] = {}
    for store in stores:
        if not store.record_outside_changes() or not store.history.is_readable:
            return None
        for commit in store.history.log(limit=MAX_COMMITS):
            if commit.time < int(moment):
                break
            if commit.source not in _OWN_WORK:
                paths = [
                    os.path.join(store.place.base, one.path)
                    for one in commit.files
                    if one.after and not is_index(one.path)
                ]
                new = [path for path in paths if not commit.is_beginning or _changed_at(path) >= int(moment)]
                found.update(dict.fromkeys(map(os.path.realpath, new)))
    return tuple(found)


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _paths_in(use: ToolUse) -> Iterator[str]:
    """What a call may have written to: any path that it names; in a command what stands behind a word that writes."""
    for name, value in use.input.items():
        if not isinstance(value, str) or "\0" in value:
            continue
        if name == "command":
            commands = _COMMANDS.split(value.replace("'", "").replace('"', ""))
            yield from (path for part in commands for path in _WRITTEN_BY.findall(part))
            yield from (path for part in commands if _WRITES.search(part) for path in part.split())
        elif len(value) < MAX_PATH and "\n" not in value:
            yield value


def texts_in(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Every text in the arguments of a tool."""
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from texts_in(one)


def has_more_than(messages: Sequence[Message], saved: str) -> bool:
    """Whether the user said something else than what was saved of it: a sentence that none which was saved says all of,
    or one without a word of its own. Where that is in doubt a fork that is told costs less than a rule."""
    known = [one.text for one in body_text.sentences(saved) if one.label != "before"]
    told = (message.text for message in messages if message.role == "user" and not message.is_meta)
    sentences = (text for words in told for text in sentences_of(kept_in_mind(words)))
    return any(not any(says_all(one, text) for one in known) for text in sentences)  # "Do it." says what was put to him


def instructions_in(request: Request) -> str:
    """What instruction files say that the host put before or into the conversation: nobody need remember that."""
    plain = plain_request(request)
    texts = [block.text for block in plain.system] + [message.text for message in plain.messages if message.is_meta]
    return "\n".join(match[1] for text in texts for match in _INSTRUCTIONS.finditer(text))


def echoes_in(files: Iterable[str], messages: Sequence[Message]) -> str:
    """The sentences of instruction files that already say what the user said, and not its opposite (Q2). Only those:
    of a long file the rest would speak against anything."""
    told = (message.text for message in messages if message.role == "user" and not message.is_meta)
    asked = [(text, set(stems(text))) for words in told for text in sentences_of(words)]
    found = []
    for line in (line for text in files for line in sentences_of(text)):
        known = set(stems(line))
        near = (text for text, terms in asked if len(terms) > 1 and len(terms & known) >= ECHO_SHARE * len(terms))
        if any(not is_opposite(text, line) for text in near):
            found.append(line)
    return "\n".join(found)


@dataclass(frozen=True)
class Skipped:
    """Nothing was run, and why."""

    reason: str  # in a word or two, as in "nothing_new"
