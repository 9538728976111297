"""Where a written memory comes from, found by its own words, and whether it may be what it claims to be (X12, L1).

A model's prompt asks for honesty; this is what enforces it, at the moment of writing, whatever model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memdir.remember.lines import Said
from memdir.store.phrases import runs_of, split_words
from memdir.store.taxonomy import MemoryType
from memdir.store.topic import Topic
from memdir.store.trust import Trust

MIN_SHARE = 0.34  # of a memory's content words that make a text its source
BORROWED_SHARE = 0.6  # of its content words in untrusted text, and clearly fewer in the user's: not the user's memory
_PERSONAL = (MemoryType.USER, MemoryType.FEEDBACK)
_ADOPTING = re.compile(
    r"\b(?:from now on|going forward|let'?s (?:do|follow|adopt|keep|go with|stick)|adopt (?:that|this|it)|agreed"
    r"|that'?s (?:our|the|a good) (?:rule|policy|way|convention)|follow (?:that|this|it)"
    r"|make (?:that|this|it) (?:our|the|a) rule|ab jetzt|so machen wir|à partir de maintenant|on fait comme ça"
    r"|desde ahora|de ahora en adelante|a partir de agora|d'ora in poi|vanaf nu|с этого момента)\b"
    r"|以后都|从现在起|今後は|これからは|앞으로",
    re.IGNORECASE,
)
_SHORT = 3  # shorter words carry no content in most languages


@dataclass(frozen=True)
class Lineage:
    """The messages a memory came from, and its trust: the lowest of theirs."""

    messages: tuple[str, ...]
    trust: Trust


def trace(topic: Topic, said: Sequence[Said]) -> Lineage:
    """Find a memory's sources among what was said; what nothing there says was inferred by the assistant."""
    memory = _Words(f"{topic.description}\n{topic.body}")
    shares = [(piece, memory.share_in(piece.text)) for piece in said if piece.text.strip()]
    best = max((share for _, share in shares), default=0.0)
    sources = [piece for piece, share in shares if share >= MIN_SHARE and share >= best / 2]
    if not sources:
        return Lineage((), Trust.ASSISTANT)
    return Lineage(tuple(dict.fromkeys(piece.message_id for piece in sources)), _trust_of(memory, said, sources))


def fault_of_trust(topic: Topic, said: Sequence[Said]) -> str:
    """Why a memory may not be written as it is; empty when it may. Text of tools, files, web or MCP servers cannot
    become a memory about the user or a rule from them, unless the user adopted it in words of their own."""
    if topic.kind not in _PERSONAL or not _Words(f"{topic.description}\n{topic.body}").is_borrowed(said):
        return ""
    if _is_adopted(said):
        return ""
    return f"a {topic.kind} memory must come from the user, and this one comes from a tool, a file or the web"


def _trust_of(memory: _Words, said: Sequence[Said], sources: Sequence[Said]) -> Trust:
    if not memory.is_borrowed(said):
        return max(piece.trust for piece in sources)
    return min((piece.trust for piece in sources if piece.trust.is_low), default=Trust.TOOL)


def _is_adopted(said: Sequence[Said]) -> bool:
    """Whether the user, after text from elsewhere, said that it shall hold from now on."""
    seen_untrusted = False
    for piece in said:
        if piece.trust.is_low:
            seen_untrusted = True
        elif piece.trust == Trust.USER and seen_untrusted and _ADOPTING.search(piece.text):
            return True
    return False


class _Words:
    """A memory's words, compared with other texts."""

    def __init__(self, text: str) -> None:
        words = split_words(text)
        self._content = frozenset(word for word in words if len(word) > _SHORT or not word.isascii())
        self._runs = runs_of(words)

    def share_in(self, text: str) -> float:
        """The share of its content words that stand in a text."""
        if not self._content:
            return 0.0
        return len(self._content & frozenset(split_words(text))) / len(self._content)

    def is_borrowed(self, said: Sequence[Said]) -> bool:
        """Whether its words are those of an untrusted text rather than the user's or the assistant's own."""
        trusted = " ".join(piece.text for piece in said if piece.trust >= Trust.ASSISTANT)
        users = " ".join(piece.text for piece in said if piece.trust == Trust.USER)
        untrusted = [piece.text for piece in said if piece.trust.is_low]
        own = max(self.share_in(users), self.share_in(trusted) * 0.8)
        if max((self.share_in(text) for text in untrusted), default=0.0) >= BORROWED_SHARE and own < BORROWED_SHARE:
            return True
        quoted = self._runs - runs_of(split_words(users))
        return any(quoted & runs_of(split_words(text)) for text in untrusted) and own < BORROWED_SHARE
