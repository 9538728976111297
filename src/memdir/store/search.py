"""Plain search: every word of the query in any case, best matches first. Reads the files, needs no index."""

from __future__ import annotations

import os

from memdir.store.scan import OPEN_FLAGS, walk
from memdir.store.topic import MAX_MEMORY_BYTES, Topic

MAX_RESULTS = 20
_TITLE_WEIGHT = 4  # a word in name or description says what the memory is about
_SNIPPET_CHARACTERS = 160


class Match:
    """One memory that fits, with the line that shows why."""

    __slots__ = ("key", "mtime_ns", "score", "snippet", "topic")

    def __init__(self, key: str, score: int, snippet: str, topic: Topic, mtime_ns: int) -> None:
        self.key = key
        self.score = score
        self.snippet = snippet
        self.topic = topic
        self.mtime_ns = mtime_ns


def search(root: str, query: str, *, limit: int = MAX_RESULTS) -> list[Match]:
    """Memories that hold all words of the query; where none does, those that hold the most of them."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    if not words:
        return []
    found: list[tuple[int, str, str, bytes, int]] = []
    most = 1
    for key, entry in walk(root):
        data, mtime_ns = _read(entry.path)
        text = f"{key}\n{data.decode('utf-8', 'replace')}".casefold()
        hits = sum(word in text for word in words)
        if hits >= most:
            most = hits
            found.append((hits, key, text, data, mtime_ns))
    matches = [_match(key, text, data, mtime_ns, words) for hits, key, text, data, mtime_ns in found if hits == most]
    matches.sort(key=lambda match: (-match.score, -match.mtime_ns, match.key))
    return matches[:limit]


def _match(key: str, text: str, data: bytes, mtime_ns: int, words: tuple[str, ...]) -> Match:
    topic = Topic(data)
    title = f"{key} {topic.name} {topic.description}".casefold()
    score = sum(text.count(word) + _TITLE_WEIGHT * (word in title) for word in words)
    return Match(key, score, _snippet(topic, words), topic, mtime_ns)


def _snippet(topic: Topic, words: tuple[str, ...]) -> str:
    """The line of the body that holds the most words."""
    lines = [line.strip() for line in topic.body.splitlines() if line.strip()]
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words), default="")
    if not any(word in best.casefold() for word in words):
        return ""
    first = min((at for word in words if (at := best.casefold().find(word)) >= 0), default=0)
    start = max(0, first - _SNIPPET_CHARACTERS // 2)
    return ("…" if start else "") + best[start : start + _SNIPPET_CHARACTERS]


def _read(path: str) -> tuple[bytes, int]:
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except OSError:
        return b"", 0
    try:
        return os.read(descriptor, MAX_MEMORY_BYTES), os.fstat(descriptor).st_mtime_ns
    except OSError:
        return b"", 0
    finally:
        os.close(descriptor)
