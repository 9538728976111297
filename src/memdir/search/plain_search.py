"""Plain search: every word of the query in any case, best matches first. Reads the files, needs no index."""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_plain
from memdir.store.scan import MAX_MEMORY_BYTES, walk
from memdir.store.topic import Topic

MAX_RESULTS = 20
_TITLE_WEIGHT = 4  # a word in name or description says what the memory is about
_SNIPPET_CHARACTERS = 160

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Match:
    """One memory that fits, with the line that shows why."""

    __slots__ = ("forms", "key", "mtime_ns", "score", "snippet", "topic")

    def __init__(self, key: str, score: int, snippet: str, topic: Topic, mtime_ns: int) -> None:
        self.forms: tuple[str, ...] = ()  # words of the file that the query means and does not hold
        self.key = key
        self.score = score
        self.snippet = snippet
        self.topic = topic
        self.mtime_ns = mtime_ns

    def holds_all(self, words: tuple[str, ...]) -> bool:
        """Whether every one of these words, case folded, stands in the file or its name."""
        text = (self.key + self.topic.data.decode("utf-8", "replace")).casefold()
        return all(word in text for word in words)

    def show_by(self, words: tuple[str, ...], forms: tuple[str, ...]) -> None:
        """Let the snippet show other forms of the query's words, too."""
        self.forms = forms
        self.snippet = _snippet(self.topic, words + forms)


def search(root: str, query: str, *, limit: int = MAX_RESULTS) -> list[Match]:
    """Memories that hold all words of the query; where none does, those that hold the most of them."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    if not words:
        return []
    count_hits = _counter(words)
    found: list[tuple[int, str, bytes, str]] = []
    most = 1
    for key, entry in walk(root):
        data = _read(entry.path)
        hits = count_hits(key, data)
        if hits >= most:
            most = hits
            found.append((hits, key, data, entry.path))
    matches = [_match(key, data, path, words) for hits, key, data, path in found if hits == most]
    matches.sort(key=lambda match: (-match.score, -match.mtime_ns, match.key))
    return matches[:limit]


def match_in(root: str, key: str, words: tuple[str, ...]) -> Match | None:
    """One memory that somebody else found, as a match; None when it is gone."""
    path = os.path.join(root, key)
    data = _read(path)
    return _match(key, data, path, words) if data else None


def _counter(words: tuple[str, ...]) -> Callable[[str, bytes], int]:
    """Counts the words that a file or its name holds. ASCII is looked for in the bytes: decoding costs more."""
    needles = [word.encode("utf-8", "replace") for word in words]
    is_plain = all(word.isascii() for word in words)

    def count(key: str, data: bytes) -> int:
        if is_plain and data.isascii() and key.isascii():
            lowered = key.encode("ascii").lower() + data.lower()
            return sum([needle in lowered for needle in needles])
        text = (key + data.decode("utf-8", "replace")).casefold()
        return sum([word in text for word in words])

    return count


def _match(key: str, data: bytes, path: str, words: tuple[str, ...]) -> Match:
    topic = Topic(data)
    text = f"{key}\n{data.decode('utf-8', 'replace')}".casefold()
    title = f"{key} {topic.name} {topic.description}".casefold()
    score = sum(text.count(word) + _TITLE_WEIGHT * (word in title) for word in words)
    try:
        mtime_ns = os.stat(path).st_mtime_ns
    except OSError:
        mtime_ns = 0  # deleted since it was read
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


def _read(path: str) -> bytes:
    """A file's text; nothing for what cannot be read or is no memory."""
    try:
        return read_plain(path, max_bytes=MAX_MEMORY_BYTES, follow=False)
    except OSError:
        return b""
