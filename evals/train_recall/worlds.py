"""The labelled training worlds, and which world each fold holds out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDS = 6
FIELDS = ("q", "d", "f")  # the messages; name and description; the whole memory

World = dict[str, Any]


def read_worlds(folder: Path) -> list[World]:
    """All worlds of a folder of JSON files, in the order of their file names."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def folds_of(worlds: list[World]) -> list[list[World]]:
    return [worlds[at::FOLDS] for at in range(FOLDS)]


def texts(world: World, field: str) -> list[str]:
    """The texts of one field, in order."""
    if field == "q":
        return [query["query"] for query in world["queries"]]
    heads = [f"{memory['name']}. {memory['description']}" for memory in world["memories"]]
    if field == "d":
        return heads
    return [f"{head}. {memory['body']}" for head, memory in zip(heads, world["memories"], strict=True)]


def labels(world: World) -> tuple[list[list[float]], list[list[float]]]:
    """Two matrices, messages by memories: what is relevant, and what counts (acceptable memories do not)."""
    place = {memory["file"]: at for at, memory in enumerate(world["memories"])}
    relevant, counts = [], []
    for query in world["queries"]:
        row, mask = [0.0] * len(place), [1.0] * len(place)
        for name in query["acceptable"]:
            mask[place[name]] = 0.0
        for name in query["relevant"]:
            row[place[name]] = mask[place[name]] = 1.0
        relevant.append(row)
        counts.append(mask)
    return relevant, counts
