"""How far a memory is trusted (L1): the order of the classes, and the mark that a file of low trust carries.

Every change's trust is in the history. Only a memory that nobody here vouched for says so in the file itself, in the
field `trust`, so that recall can show it as a quotation and a consolidation cannot launder it (L3).
"""

from __future__ import annotations

from enum import IntEnum

from memdir.disk.safe_path import TEAM_PREFIX
from memdir.store.frontmatter import TRUST_FIELD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.store.scan import Header
    from memdir.store.topic import Topic


_FROM = {"tool": "a tool", "web": "the web", "team": "the team"}
_SAME = {"mcp": "web", "file": "tool", "teammate": "team"}  # other words for what L1 puts into one class


class Trust(IntEnum):
    """A memory has the lowest of what it came from."""

    TEAM = 0
    WEB = 1
    TOOL = 2
    ASSISTANT = 3
    USER = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def is_low(self) -> bool:
        """Neither the user nor the assistant said it."""
        return self <= Trust.TOOL


def _mark_of(memory: Topic | Header) -> str | None:
    """The class that a file names, however it is written, the lowest of several; None for a file without a mark."""
    marks = [value for key, value in memory.fields.items() if key.lower() == TRUST_FIELD]
    words = [mark.partition(" #")[0].strip().strip("\"'").strip().lower() for mark in marks]
    return min([_SAME.get(word, word) for word in words], key=_class_of, default=None)


def _class_of(mark: str) -> Trust:
    """What a mark stands for; one that is no class counts as the lowest."""
    return Trust.__members__.get(mark.upper(), Trust.TEAM)


def has_mark(memory: Topic | Header) -> bool:
    """Whether a file says of itself how far it is trusted."""
    return _mark_of(memory) is not None


def marked_trust(memory: Topic | Header) -> Trust:
    """The trust that a file claims. One without a mark is the user's."""
    mark = _mark_of(memory)
    return Trust.USER if mark is None else _class_of(mark)


def low_source(memory: Topic | Header) -> str:
    """Where a memory comes from that nobody here vouched for; empty for one that somebody did."""
    return _FROM.get(_mark_of(memory) or "", "an unknown source") if marked_trust(memory).is_low else ""


def doubt_of(memory: Topic | Header, key: str = "") -> str:
    """What stands in the place of a description that nobody here vouched for; empty for one that somebody did."""
    source = "the team" if is_of_team("", key) else low_source(memory)
    return f"(from {source}, not verified)" if source else ""


def is_of_team(scope: str, key: str) -> bool:
    """Whether a memory lies in the team's directory, where others write too."""
    return scope == "team" or key.lower().startswith(TEAM_PREFIX)


def is_of_others(scope: str, key: str) -> bool:
    """Whether others write where a memory lies: the team, or whoever wrote the project that a sub-agent's lies in."""
    return is_of_team(scope, key) or scope.partition(":")[0] in ("agent-project", "agent-local")


def trust_in(memory: Topic | Header, scope: str, key: str) -> Trust:
    """The trust of a memory where it lies: what others write, too, has theirs, whatever the file claims."""
    return Trust.TEAM if is_of_others(scope, key) else marked_trust(memory)


def with_trust(topic: Topic, trust: Trust) -> Topic:
    """The same memory, marked if its trust is low. A mark that is there is never raised."""
    lowest = min(trust, marked_trust(topic))
    return topic.with_field(TRUST_FIELD, lowest.word) if lowest.is_low else topic
