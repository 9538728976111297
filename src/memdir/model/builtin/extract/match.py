"""Which existing memory a text is about, and whether the instruction file already says it.

Overlap of topic stems, weighted by how much a stem says: rare in general, and rare among the memories.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.model.builtin.extract.conversation import Conversation, Existing
from memdir.model.builtin.extract.judge import Judge
from memdir.model.builtin.extract.words import stems

if TYPE_CHECKING:
    from memdir.model.builtin.extract.candidates import Candidate

MAX_OVERLAP = 6.0  # more shared words than that say nothing more


@dataclass(frozen=True)
class Shelf:
    """The memories that exist and the instruction file, ready to be compared with."""

    memories: tuple[Existing, ...]
    topics: tuple[frozenset[str], ...]
    headlines: tuple[frozenset[str], ...]
    weights: Mapping[str, float]
    instructions: frozenset[str]

    def shared(self, topic: Iterable[str], number: int) -> float:
        """How much of a memory's topic a text shares, telling stems counting more."""
        return min(MAX_OVERLAP, sum(self.weights[stem] for stem in set(topic) & self.topics[number]))

    def covered(self, topic: Iterable[str], number: int) -> float:
        """The share of a memory's headline that a text mentions."""
        headline = self.headlines[number]
        whole = sum(self.weights[stem] for stem in headline)
        return sum(self.weights[stem] for stem in set(topic) & headline) / whole if whole else 0.0

    def instructed(self, topic: Sequence[str]) -> int:
        """How much of a text the instruction file already says, in four steps."""
        distinct = set(topic)
        share = len(distinct & self.instructions) / len(distinct) if distinct else 0.0
        return 0 if share == 0 else 1 if share < 0.25 else 2 if share < 0.5 else 3


def shelve(existing: Sequence[Existing], instructions: str, familiar: Mapping[str, float]) -> Shelf:
    """Prepare the memories for comparison."""
    headlines = tuple(frozenset(stems(f"{one.name} {one.description}")) for one in existing)
    topics = tuple(headline | frozenset(stems(one.body)) for one, headline in zip(existing, headlines, strict=True))
    counts = Counter(stem for topic in topics for stem in topic)
    total = max(1, len(topics))
    weights = {
        stem: (1.0 - familiar.get(stem, 0.0)) * (1.0 - 0.7 * math.log(count) / math.log(1 + total))
        for stem, count in counts.items()
    }
    return Shelf(tuple(existing), topics, headlines, weights, frozenset(stems(instructions)))


def best_match(
    conversation: Conversation, candidate: Candidate, shelf: Shelf, judge: Judge
) -> tuple[Existing | None, float]:
    """The memory that a candidate changes (None when it is new) and the log-odds that it is the one."""
    rows = match_features(conversation, candidate, shelf)
    if not rows:
        return None, -MAX_OVERLAP
    odds = [sum(judge.matching.get(name, 0.0) * value for name, value in row.items()) for row in rows]
    best = max(range(len(odds)), key=lambda number: odds[number])
    return (shelf.memories[best] if odds[best] > 0 else None), odds[best]


def match_features(conversation: Conversation, candidate: Candidate, shelf: Shelf) -> list[dict[str, float]]:
    """What speaks for each memory being the one that is meant."""
    turn = candidate.turn
    core = [stem for one in candidate.core for stem in stems(one.seen.sentence.text)]
    whole = stems(turn.line.text) if candidate.alone else candidate.topic
    before = stems(turn.before)
    asked = stems(
        " ".join(line.text for line in conversation.lines[: turn.index] if line.role == "user" and line.kind == "said")
    )
    changes = any("change" in one.seen.meanings for one in candidate.core)
    noted = any(name == "asst:noted" for seen in turn.seen for name in seen.features)
    crowd = math.log(1 + len(shelf.memories))
    rows: list[dict[str, float]] = []
    for number, memory in enumerate(shelf.memories):
        near, turned, said, earlier = (shelf.shared(topic, number) for topic in (core, whole, before, asked))
        count = len(shelf.topics[number] & {*whole, *before, *asked})
        rows.append(
            {
                "bias": 1.0,
                "crowd": crowd,
                "core": near,
                "turn": turned,
                "before": said,
                "asked": earlier,
                "covered": shelf.covered((*whole, *before, *asked), number),
                "covered by core": shelf.covered(core, number),
                f"shared {min(count, 4)}": 1.0,
                "type": float(memory.type == candidate.type),
                "type and topic": float(memory.type == candidate.type) * min(turned + said + earlier, 2.0),
                "change and topic": float(changes) * min(turned + said, 2.0),
                "noted and topic": float(noted) * min(said, 2.0),
            }
        )
    for at, row in enumerate(rows):
        rest = [other["turn"] + other["before"] for number, other in enumerate(rows) if number != at]
        row["lead"] = max(-2.0, min(2.0, row["turn"] + row["before"] - max(rest, default=0.0)))
    return rows
