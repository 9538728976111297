"""The facts of a text: what cannot be put in other words, such as numbers, dates, names, links and code (D7)."""

from __future__ import annotations

import re
from functools import cache

from memdir.text.date_words import words_by_meaning

_FACT = re.compile(
    r"https?://[^\s)>\]]+"  # links
    r"|`[^`\n]+`"  # code
    r"|#[\w-]{2,}|@[\w.-]{2,}"  # channels and people
    r"|\b\d[\d.,:/-]*\d\b|\b\d\b"  # numbers, dates, times, versions
    r"|\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*"  # names
    r"|\b[\w.-]+/[\w./-]+",  # paths
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n[-*>\s]*|\*\*)([A-Z][a-z]+)\b")
_WHOLE = 4  # letters of a weekday that no other word begins with
_ORDINARY = frozenset(("Why", "How", "The", "This", "That", "When", "Where", "What", "Before"))


@cache
def _weekdays() -> frozenset[str]:
    """A weekday tells a day only to those who know the week: a dream puts the date in its place (D3)."""
    tables = [meanings.items() for meanings in words_by_meaning().values()]
    named = (words for table in tables for meaning, words in table if meaning.startswith("W="))
    return frozenset(word.rstrip("*").capitalize() for words in named for word in words)


def is_weekday(word: str) -> bool:
    """Whether a word, in whatever case and ending, names a day of the week."""
    return any(word.lower().startswith(day.lower()) for day in _weekdays() if len(day) >= _WHOLE)


def facts_in(text: str) -> frozenset[str]:
    """The facts of a text, folded so that spelling differences do not count."""
    first_words = {match[1] for match in _SENTENCE_START.finditer(text)}
    found = {match[0].strip("`.,:;") for match in _FACT.finditer(text)}
    return frozenset(fact.casefold() for fact in found - _ORDINARY - _weekdays() - first_words if fact)


def without_known(facts: frozenset[str], text: str) -> frozenset[str]:
    """Those facts that do not stand in the text."""
    folded = text.casefold()
    return frozenset(fact for fact in facts if fact not in folded)
