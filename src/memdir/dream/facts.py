"""What a store knows, as a list of things that cannot be put in other words: numbers, dates, names, links, code.

Used to see whether a consolidation loses something. It is coarse on purpose: a sentence may be reworded, a date may not
vanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memdir.store.topic import Topic

_FACT = re.compile(
    r"https?://[^\s)>\]]+"  # links
    r"|`[^`\n]+`"  # code
    r"|#[\w-]{2,}|@[\w.-]{2,}"  # channels and people
    r"|\b\d[\d.,:/-]*\d\b|\b\d\b"  # numbers, dates, times, versions
    r"|\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*"  # names
    r"|\b[\w.-]+/[\w./-]+",  # paths
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n[-*>\s]*|\*\*)([A-Z][a-z]+)\b")
_FRAME = frozenset(("Why", "How", "The", "This", "That", "When", "Where", "What", "How to apply"))
# A weekday tells a day only to those who know the week: a dream puts the date in its place (D3).
_WEEKDAYS = frozenset(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"))


def facts_of(data: bytes) -> frozenset[str]:
    """The facts of one memory, folded so that spelling differences do not count."""
    topic = Topic(data)
    text = f"{topic.description}\n{topic.body}"
    starts = {match[1] for match in _SENTENCE_START.finditer(text)}
    found = set()
    for match in _FACT.finditer(text):
        fact = match[0].strip("`.,:;")
        is_ordinary = fact in _FRAME or fact in _WEEKDAYS or (fact in starts and fact.isalpha())
        if fact and not is_ordinary:
            found.add(fact.casefold())
    return frozenset(found)


def all_facts(texts: Iterable[bytes]) -> frozenset[str]:
    """The facts of several memories together."""
    return frozenset().union(*(facts_of(data) for data in texts))


def missing_from(facts: Iterable[str], texts: Iterable[bytes]) -> frozenset[str]:
    """Those facts that stand in none of the texts."""
    text = "\n".join(data.decode("utf-8", "replace") for data in texts).casefold()
    return frozenset(fact for fact in facts if fact not in text)
