"""The labelled texts to learn from, and which of them each fold holds out.

A *world* is a memory directory with messages; most messages have one relevant memory, many have none. A *pool* is what
one person, pair or team said or noted, with questions. Both are JSON files; a folder may hold either.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDS = 4
FIELDS = ("q", "d", "f")  # what is asked; name and description; the whole memory or document

Source = dict[str, Any]


@dataclass(frozen=True)
class Lesson:
    """Questions by documents: what is relevant, and what counts (merely acceptable memories do not)."""

    name: str
    texts: dict[str, list[str]]
    relevant: list[list[float]]
    counts: list[list[float]]
    source: Source = field(repr=False)

    @property
    def is_world(self) -> bool:
        return "memories" in self.source


def read_lessons(folders: list[Path]) -> list[Lesson]:
    """All worlds, then all pools, each in the order of their file names."""
    sources = [
        json.loads(path.read_text(encoding="utf-8")) for folder in folders for path in sorted(folder.glob("*.json"))
    ]
    lessons = [_world(source) if "memories" in source else _pool(source) for source in sources]
    return sorted(lessons, key=lambda lesson: not lesson.is_world)


def folds_of(lessons: list[Lesson]) -> list[list[Lesson]]:
    """Worlds and pools dealt out in turn, so that every fold has its share of both."""
    worlds, pools = ([one for one in lessons if one.is_world is is_world] for is_world in (True, False))
    return [worlds[at::FOLDS] + pools[at::FOLDS] for at in range(FOLDS)]


def _world(source: Source) -> Lesson:
    memories = source["memories"]
    heads = [f"{memory['name']}. {memory['description']}" for memory in memories]
    wholes = [f"{head}. {memory['body']}" for head, memory in zip(heads, memories, strict=True)]
    asked = [query["query"] for query in source["queries"]]
    names = [memory["file"] for memory in memories]
    matrices = _matrices(source["queries"], names)
    return Lesson(source["world"], {"q": asked, "d": heads, "f": wholes}, *matrices, source)


def _pool(source: Source) -> Lesson:
    texts = [document["text"] for document in source["documents"]]
    asked = [query["query"] for query in source["queries"]]
    matrices = _matrices(source["queries"], [document["id"] for document in source["documents"]])
    return Lesson(source["pool"], {"q": asked, "f": texts}, *matrices, source)


def _matrices(queries: list[Source], names: list[str]) -> tuple[list[list[float]], list[list[float]]]:
    place = {name: at for at, name in enumerate(names)}
    relevant, counts = [], []
    for query in queries:
        row, mask = [0.0] * len(place), [1.0] * len(place)
        for name in query.get("acceptable", []):
            mask[place[name]] = 0.0
        for name in query["relevant"]:
            row[place[name]] = mask[place[name]] = 1.0
        relevant.append(row)
        counts.append(mask)
    return relevant, counts
