"""How far a memory is trusted (L1): the order of the classes, and the mark that a file of low trust carries.

Every change's trust is in the history. Only a memory that nobody here vouched for says so in the file itself, in the
field `trust`, so that recall can show it as a quotation and a consolidation cannot launder it (L3).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memdir.store.topic import Topic

FIELD = "trust"


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


def marked_trust(topic: Topic) -> Trust:
    """The trust that a file claims; one without a mark is the user's."""
    word = topic.fields.get(FIELD, "").strip().upper()
    return Trust[word] if word in Trust.__members__ else Trust.USER


def with_trust(topic: Topic, trust: Trust) -> Topic:
    """The same memory, marked if its trust is low. A mark that is there is never raised."""
    lowest = min(trust, marked_trust(topic))
    return topic.with_field(FIELD, lowest.word) if lowest.is_low else topic
