"""A text cut into sentences, in many languages: the one place that knows where one ends. And the facts
of a text: what cannot be put in other words (D7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from memdir.text.date_words import words_by_meaning

_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_LINE = f"[{_BREAKS}]+"
_STOP = r"(?<=[.!?…])[\"'”’»)\]]*(?:\s+|$)|(?<=[。！？])[」』）]*\s*"
# Whatever judges whose words these are cuts at every stop (LINES, CLAUSES): a claim never hides behind "etc.".
LINES = re.compile(rf"{_STOP}|{_LINE}")
CLAUSES = re.compile(rf"{_STOP}|{_LINE}|(?<=；)\s*|;\s+|\s[–—]\s")
# Whatever reads prose knows shortenings, within a line.
STOPS = re.compile(_STOP)  # in a paragraph whose lines may be wrapped
SPEECH = re.compile(rf"{_STOP}|{_LINE}|(?<=[^\W_])\s+[-–—]{{1,2}}\s+(?=\w)")  # "use tabs - they are shorter"
DATED = re.compile(rf"{_STOP}|{_LINE}|(?<=；)\s*|;\s+")  # where dates are read: none ends at the 3. of May
QUOTE = re.compile(
    r"(?:(?<=^)|(?<=[\s(:：,，>]))(?:\"[^\"\n]{1,900}\"|'[^'\n](?:[^'\n]|'(?=\w)){1,900}'(?!\w)|“[^”\n]{1,900}”"
    r"|„[^“”\"\n]{1,900}[“”\"]|«[^»\n]{1,900}»|‘[^’\n](?:[^’\n]|’(?=\w)){1,900}’(?!\w))|「[^」\n]{1,400}」|『[^』\n]{1,400}』",
    re.MULTILINE,
)
_SHORTENED = (
    r"e\.g|i\.e|etc|cf|vs|approx|nr|mr|mrs|ms|dr|prof|st|z\.b|bzw|d\.h|ca|usw|p\.ex|ej|sr|sra|fig|eq|resp|incl"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_NOT_END = re.compile(rf"(?:\b(?:{_SHORTENED})\.|\b(?-i:[A-Z])\.)$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:\b\d{1,2}\.|\.\.\.)$")  # "the 3. of May", as people say it; what is written ends there
_ENDS_LINE = re.compile(_LINE)
_MAY_END = re.compile(rf"[.!?…。！？；;–—{_BREAKS}-]")  # without any of these a text is one sentence
_LONGEST = 8  # characters of a shortening
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


def masked(text: str) -> str:
    """The text with the inside of quotations blanked, so that no sentence is thought to end in one."""
    return QUOTE.sub(lambda found: f"{found[0][0]}{'_' * (len(found[0]) - 2)}{found[0][-1]}", text)


def bounds(text: str, breaks: re.Pattern[str] = LINES) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, with the space behind it; in prose a shortening ends none, a line does."""
    start = 0
    for found in breaks.finditer(text) if _MAY_END.search(text) else ():
        before = text[max(start, found.start() - _LONGEST) : found.start()]
        is_short = breaks in (STOPS, SPEECH, DATED) and _NOT_END.search(before)
        goes_on = is_short or (breaks in (SPEECH, DATED) and _NUMBERED.search(before))
        if found.end() > start and (not goes_on or _ENDS_LINE.search(found[0])):
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def goes_on(before: str) -> bool:
    """Whether a sentence goes on behind a stop: that of a shortening, or of a number that counts."""
    return bool(_NOT_END.search(before[-_LONGEST:]) or _NUMBERED.search(before[-_LONGEST:]))


def sentences_of(text: str, breaks: re.Pattern[str] = CLAUSES) -> list[str]:
    """The sentences of a text, list marks and emphasis left out."""
    found = (text[start:end].strip(f"{_BREAKS} \t*-•#>") for start, end in bounds(text, breaks))
    return [piece for piece in found if re.search(r"\w", piece)]


@cache
def _weekdays() -> frozenset[str]:
    """A weekday tells a day only to those who know the week: a dream puts the date in its place (D3)."""
    tables = [meanings.items() for meanings in words_by_meaning().values()]
    named = (words for table in tables for meaning, words in table if meaning.startswith("W="))
    return frozenset(word.rstrip("*").capitalize() for words in named for word in words)


@lru_cache(1 << 12)  # asked for the same few words, against every day of every language
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
