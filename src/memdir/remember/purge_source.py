"""What a person means by a source: a session, a page, a member of the team; and whether a sentence comes from it (L2).

A session and a person are told by the history. A page is one among the messages that a memory was taken from: what
comes from it is told by its words, against everything else that was said there.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol
from urllib.parse import unquote, urlsplit

from memdir.disk.safe_path import is_inside
from memdir.errors import MemoryNotFound
from memdir.layout import Layout, is_session_id
from memdir.model.model import Request
from memdir.remember.session_state import SessionState, Unlearned, unlearned_sessions
from memdir.remember.turn import messages_after, texts_in
from memdir.settings import Environment
from memdir.store.history import OUTSIDE
from memdir.store.line_origins import Cause, Causes
from memdir.text.nearness import Sentence
from memdir.text.sentences import sentences_of
from memdir.text.speakers import Speaker, pieces_of
from memdir.transcript.conversation import resume
from memdir.transcript.message import Message, Text, ToolResult, ToolUse
from memdir.transcript.session_list import all_sources, sessions_of
from memdir.transcript.sources.source import SessionRef, TranscriptSource, transcripts_in

KINDS = ("session", "page", "person")
SAID = 0.33  # nearness from which a text says what a sentence says, in other words
LEAD = 0.1  # by which it must be nearer than all others to be the source
SHORTEST_ID = 4  # characters of a session's id that may stand for it
NEAR_MISSES = 5
MAX_SENTENCES = 3000  # of one message's text that are compared
_URL = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)

Verdict = Literal["from", "mixed", "other"]


class SourceTest(Protocol):
    """Whether a sentence comes from what was named: alone, together with something else, or not at all."""

    def verdict(self, sentence: str, causes: Causes) -> Verdict: ...


@dataclass
class Conversations:
    """What was said in the sessions of a project, whichever agent had them; each is read once."""

    sources: Mapping[str, TranscriptSource]
    refs: Mapping[str, SessionRef]
    _known: dict[str, Sequence[Message]] = field(default_factory=dict)

    @staticmethod
    def of(environment: Environment, layout: Layout) -> Conversations:
        sources = all_sources(environment)
        return Conversations(sources, {ref.id: ref for ref in sessions_of(layout, sources)})

    def messages(self, session: str) -> Sequence[Message]:
        """And what its sub-agents said, looked at and wrote, behind it (J2)."""
        if session not in self._known:
            ref = self.refs.get(session)
            self._known[session] = said = list(self.sources[ref.agent].messages(ref)) if ref else []
            chains = sorted(transcripts_in(f"{ref.path.removesuffix('.jsonl')}{os.sep}subagents")) if ref else []
            said += (one for path in chains for one in resume(path, is_sidechain=True).messages if not one.is_meta)
        return self._known[session]


@dataclass(frozen=True)
class PurgeSource:
    """What was named."""

    kind: str  # "session", "page" or "person"
    name: str  # its id, address or name

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def named(wanted: str, known: Collection[tuple[str, str]], conversations: Conversations) -> PurgeSource:
    """The source that somebody means, among those that memories ever came from; MemoryNotFound with what comes near."""
    kind, colon, name = wanted.strip().partition(":")
    kind, name = (kind, name.strip()) if colon and kind in KINDS else ("", wanted.strip())
    if kind == "page" or (not kind and _URL.match(name)):
        return PurgeSource("page", _page(name, known, conversations))
    names = {one: [n for k, n in sorted(known) if k == one] for one in ("session", "person")}
    names["session"] = list(dict.fromkeys((*names["session"], *conversations.refs)))
    found = [PurgeSource(one, n) for one, some in names.items() if kind in ("", one) for n in _fitting(one, name, some)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(f"{one.kind}:{one.name}" for one in found[:NEAR_MISSES])
        raise MemoryNotFound(f"{wanted!r} fits {len(found)} sources: {shown}", remedy="Write one of these")
    raise _unknown(wanted, name, [n for one, some in names.items() if kind in ("", one) for n in some])


def _fitting(kind: str, wanted: str, names: Sequence[str]) -> list[str]:
    folded = wanted.casefold()
    exact = [name for name in names if name == wanted] or [name for name in names if name.casefold() == folded]
    if exact or kind != "session" or len(wanted) < SHORTEST_ID:
        return exact
    return [name for name in names if name.casefold().startswith(folded)]


def _page(wanted: str, known: Collection[tuple[str, str]], conversations: Conversations) -> str:
    sessions = [name for kind, name in sorted(known) if kind == "session"]
    pages = {url for name in sessions for one in conversations.messages(name) for url in _pages_in(one)}
    if not any(_is_page(url, wanted) for url in pages):
        raise _unknown(wanted, wanted, sorted(pages))
    return wanted


def _unknown(wanted: str, name: str, known: Sequence[str]) -> MemoryNotFound:
    near = difflib.get_close_matches(name, known, n=NEAR_MISSES, cutoff=0.5)
    near += [one for one in known if name and name.casefold() in one.casefold() and one not in near]
    told = f"Did you mean {', '.join(near[:NEAR_MISSES])}? " if near else ""
    remedy = f"{told}Name a session (`memdir sessions`), the address of a page, or a member of the team"
    return MemoryNotFound(f"no memory ever came from {wanted!r}", remedy=remedy)


def asked_for(source: PurgeSource, conversations: Conversations, roots: Sequence[str], team: str = "") -> SourceTest:
    """What tells whether a sentence comes from a source; `roots` are where an agent may have written by itself."""
    if source.kind == "page":
        return FromPage(source.name, conversations)
    messages = conversations.messages(source.name) if source.kind == "session" else ()
    return FromOne(source, written_in(messages, roots), team)


def leave_alone(source: PurgeSource, conversations: Conversations, layout: Layout) -> None:
    """Nothing more is learned from what was said in a session that is purged, or from a page that stands there."""
    names = {"session": {source.name}, "page": {*conversations.refs, *unlearned_sessions(layout)}}.get(source.kind, ())
    for name in filter(is_session_id, names):
        state = SessionState.load(name, layout)
        turns = Unlearned(state).turns(Request(""))
        waiting = (message for turn in turns for message in turn.messages)
        messages = [*conversations.messages(name), *waiting]
        if source.kind == "page":  # but from what the user said beside it
            parts = _parted(messages, source.name)
            page = [said for part in parts.values() for said in part.page]
            new = messages_after(messages, state.extract_cursor) if page else ()
            messages = [one for one in new if one.id in parts and parts[one.id].tells_only(page)]
        if messages:
            state.leave_out(messages)


def hear_again(source: str, layout: Layout) -> None:
    """A purge was taken back: what it kept from being learned is learned."""
    kind, _, name = source.partition(" ")
    names = [name] if kind == "session" else os.listdir(layout.project_home) if kind == "page" else []
    for one in filter(is_session_id, names):
        if SessionState.load(one, layout).purged:
            SessionState.load(one, layout).take_in()


@dataclass(frozen=True)
class FromOne:
    """From a session or a person, as the history tells. `written` is what the agent of a session wrote into memories
    with tools of its own: of that the history knows only that somebody did."""

    source: PurgeSource
    written: Collection[str] = ()
    team: str = ""  # a person of the same name in another may be another person

    def verdict(self, sentence: str, causes: Causes) -> Verdict:
        named = (self.source.kind, self.source.name)
        ours = [by for by in causes if by[:2] == named or (sentence in self.written and by[:2] == ("other", OUTSIDE))]
        sure = [by for by in ours if not self.team or by.kind != "person" or by.message in ("", self.team)]
        return "other" if not ours else "from" if len(sure) == len(causes) else "mixed"


def written_in(messages: Sequence[Message], roots: Sequence[str]) -> frozenset[str]:
    """What an agent wrote into these folders in a conversation, sentence by sentence."""
    found: set[str] = set()
    for use in (use for message in messages for use in message.tool_uses):
        texts = list(texts_in(use.input))
        if any(is_inside(text, root) for text in texts if os.path.isabs(text) for root in roots):
            found.update(sentence for text in texts for sentence in sentences_of(text))
            found.update(sentence.partition(": ")[2] for sentence in list(found))  # `description: what it says`
    return frozenset(found)


@dataclass
class FromPage:
    """From a page that somebody looked at, or pasted, in the messages that a memory was taken from."""

    url: str
    conversations: Conversations
    _parts: dict[str, dict[str, _Parted]] = field(default_factory=dict)

    def verdict(self, sentence: str, causes: Causes) -> Verdict:
        parts = {one: self._of(one) for one in causes if one.kind == "session"}
        pages = [said for some in parts.values() for part in some for said in part.page]
        if not pages:
            return "other"
        others = [said for some in parts.values() for part in some for said in part.rest]
        elsewhere = [one for one in causes if not parts.get(one)]
        if not others and not elsewhere:
            return "from"
        asked = Sentence(sentence)
        page, other = _nearest(asked, pages), _nearest(asked, others)
        if page >= SAID and page >= other + LEAD:
            return "mixed" if elsewhere else "from"
        return "other" if other >= max(SAID, page + LEAD) else "mixed"

    def _of(self, cause: Cause) -> list[_Parted]:
        """What was said in the message that a sentence came from; in all of its session where nobody noted which."""
        if cause.name not in self._parts:
            self._parts[cause.name] = _parted(self.conversations.messages(cause.name), self.url)
        known = self._parts[cause.name]
        return ([known[cause.message]] if cause.message in known else []) if cause.message else list(known.values())


@dataclass
class _Parted:
    """A message: what a page says in it, and what it says besides."""

    texts_of_page: list[str] = field(default_factory=list)
    other_texts: list[str] = field(default_factory=list)
    is_own: bool = False  # whether words of the user's own are among them

    @cached_property
    def page(self) -> list[Sentence]:
        return _sentences(self.texts_of_page)

    @cached_property
    def rest(self) -> list[Sentence]:
        return _sentences(self.other_texts)

    def tells_only(self, page: Sequence[Sentence]) -> bool:
        """Whether it is the page, or says what that says in other words, and nothing of the user's own."""
        return not self.is_own and (bool(self.texts_of_page) or any(_nearest(said, page) >= SAID for said in self.rest))


def _sentences(texts: Sequence[str]) -> list[Sentence]:
    return [Sentence(one) for text in texts for one in sentences_of(text)[:MAX_SENTENCES]]


def _nearest(asked: Sentence, told: Sequence[Sentence]) -> float:
    near = (max(asked.nearness(one, is_translated=translated) for translated in (False, True)) for one in told)
    return max(near, default=0.0)


def _parted(messages: Sequence[Message], url: str) -> dict[str, _Parted]:
    """Every message of a conversation that says something, parted by whether a page says it."""
    asked_for: set[str] = set()
    found: dict[str, _Parted] = {}
    for message in messages:
        part = _Parted()
        for block in message.content:
            match block:
                case ToolUse(tool_id):
                    asked_for |= {tool_id} if any(_names(text, url) for text in texts_in(block.input)) else set()
                case ToolResult(tool_id, content):
                    paragraphs = [content] if tool_id in asked_for else content.split("\n\n")
                    for one in paragraphs:  # a list of results has a paragraph for each page
                        is_page = tool_id in asked_for or _names(one, url)
                        (part.texts_of_page if is_page else part.other_texts).append(one)
                case Text(text):
                    is_named = message.role == "user" and _names(text, url)
                    for piece in pieces_of(text):
                        is_page = is_named and piece.speaker is not Speaker.USER
                        part.is_own |= message.role == "user" and piece.speaker is Speaker.USER
                        (part.texts_of_page if is_page else part.other_texts).append(piece.text)
                case _:
                    continue
        if part.texts_of_page or part.other_texts:
            found[message.id] = part
    return found


def _names(text: str, url: str) -> bool:
    return any(_is_page(found, url) for found in _URL.findall(text))


def _pages_in(message: Message) -> set[str]:
    called = (text for use in message.tool_uses for text in texts_in(use.input))
    texts = (message.text, *(result.content for result in message.tool_results), *called)
    return {_plain(url) for text in texts for url in _URL.findall(text)}


def _is_page(url: str, wanted: str) -> bool:
    """Whether an address is the one that is wanted; one without a path means all of a site."""
    found, asked = _plain(url), _plain(wanted)
    return found == asked or ("/" not in asked.partition("://")[2] and found.startswith(f"{asked}/"))


def _plain(url: str) -> str:
    """An address without what leads to the same page: a fragment, a slash at the end, capitals of the host, `www.`."""
    text = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(text.rstrip(".,;:!?)]}*_"))
        host = (parts.hostname or "").removeprefix("www.") + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return text
    query = f"?{parts.query}" if parts.query else ""
    return f"https://{host}{unquote(parts.path).rstrip('/')}{query}"
