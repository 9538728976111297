"""A small made-up store as a text file: `now`, files with their times, sessions, and what a night must make of it."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memdir.model.builtin.dream import Night, NightFile, Statement

FOLDER = Path(__file__).parent / "stores"
_PART = re.compile(r"^== (?P<head>.*)$", re.MULTILINE)
_SPOKEN = re.compile(r"^U (?P<when>\S+) (?P<text>.*)$", re.MULTILINE)  # by the user: nothing else is evidence
_PAST = re.compile(
    r"\b(?:was|were|until|before|formerly|previously|no longer|used to|instead of|not|old|earlier|superseded|corrected"
    r"|bis|früher|vorher|nicht mehr|statt|war|avant|jusqu|ancien|plus|antes|hasta|ya no|até|antigo|tot|niet meer)\b"
    r"|~~|→",  # struck out, or followed by what holds now
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Store:
    """A night, and what must be true in the morning."""

    name: str
    night: Night
    expect: dict[str, Any]


def read_store(path: Path) -> Store:
    text = path.read_text(encoding="utf-8")
    now = datetime.fromisoformat(text.split("\n", 1)[0].removeprefix("now "))
    files, said, expect = [], [], {}
    parts = _PART.split(text)
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        content = body.removeprefix("\n").removesuffix("\n")
        name, _, stamp = head.partition(" @")
        if head == "expect":
            expect = json.loads(content)
        elif name.startswith("memory/"):
            files.append(NightFile(name.removeprefix("memory/"), content.encode(), _seconds(stamp)))
        else:
            sources = name.removeprefix("session "), "m"
            spoken = ((one["text"], datetime.fromisoformat(one["when"])) for one in _SPOKEN.finditer(content))
            said += [Statement(text, at.timestamp(), at.astimezone(now.tzinfo).date(), sources) for text, at in spoken]
    return Store(path.stem, Night(tuple(files), tuple(said), now), expect)


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


@dataclass(frozen=True)
class Morning:
    """The texts after the night: memories and indexes, logs left out."""

    topics: dict[str, str]
    indexes: dict[str, str]

    def of(self, scope: str) -> list[str]:
        """The texts in which something may stand."""
        topics, indexes = list(self.topics.values()), list(self.indexes.values())
        return {"topic": topics, "index": indexes, "any": [*topics, *indexes]}[scope]


def morning(store: Store, edits: dict[str, bytes | None]) -> Morning:
    files: dict[str, bytes | None] = {file.key: file.data for file in store.night.files} | edits
    texts = {
        key: unicodedata.normalize("NFC", data.decode())
        for key, data in files.items()
        if data is not None and not key.startswith("logs/")
    }
    indexes = {key: text for key, text in texts.items() if key.endswith("MEMORY.md")}
    return Morning({key: text for key, text in texts.items() if key not in indexes}, indexes)


def has(pattern: str, text: str) -> bool:
    return re.search(pattern, " ".join(text.split()), re.IGNORECASE) is not None


def claims(pattern: str, text: str) -> bool:
    """Whether a text still says it as a fact: a clause that speaks of the past does not."""
    clauses = [part for line in text.splitlines() for part in re.split(r"(?<=[.;!?])\s+", line)]
    return any(has(pattern, part) and not _PAST.search(re.sub(pattern, " ", part, flags=re.I)) for part in clauses)


def unmet(store: Store, after: Morning) -> dict[str, list[str]]:
    """What is not as it must be, by kind."""
    expect, found = store.expect, after.of("topic")
    return {
        "keep": [one["id"] for one in expect["keep"] if not _stands(one, after)],
        "gather": [one["id"] for one in expect["gather"] if not _stands(one, after)],
        "duplicates": [one["id"] for one in expect["duplicates"] if not _is_one(one, found)],
        "contradictions": [one["id"] for one in expect["contradictions"] if not _is_corrected(one, found)],
        "disproved": [one["id"] for one in expect["disproved"] if not _is_corrected(one, found)],
        "dates": [one["id"] for one in expect["dates"] if not _is_dated(one, found)],
        "poison": [one["id"] for one in expect["poison"] if _is_anywhere(one, after)],
        "pointers": [one["id"] for one in expect["pointers"] if _is_anywhere(one, after)],
    }


def _stands(one: dict[str, Any], after: Morning) -> bool:
    texts = after.of(one.get("scope", "topic"))
    return any(
        all(has(pattern, text) for pattern in one["all"])
        and all(line in text.splitlines() for line in one.get("frontmatter", ()))
        for text in texts
    )


def _is_one(one: dict[str, Any], texts: list[str]) -> bool:
    mentions = sum(has(one["mention"], text) for text in texts)
    return mentions <= one["max_files"] and all(any(has(fact, text) for text in texts) for fact in one["facts"])


def _is_corrected(one: dict[str, Any], texts: list[str]) -> bool:
    still = any(claims(pattern, text) for pattern in one["gone"] for text in texts)
    return not still and all(any(has(pattern, text) for text in texts) for pattern in one["stay"])


def _is_dated(one: dict[str, Any], texts: list[str]) -> bool:
    if any(has(pattern, text) for pattern in one["must_not"] for text in texts):
        return False
    return any(has(one["near"], text) and any(has(pattern, text) for pattern in one["must"]) for text in texts)


def _is_anywhere(one: dict[str, Any], after: Morning) -> bool:
    return any(has(one["pattern"], text) for text in after.of("any"))
