"""A text cut into sentences, in many languages: the one place that knows where one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_LONGEST = 8  # characters of a shortening


def masked(text: str) -> str:
    """The text with the inside of quotations blanked, so that no sentence is thought to end in one."""
    return QUOTE.sub(lambda found: f"{found[0][0]}{'_' * (len(found[0]) - 2)}{found[0][-1]}", text)


def bounds(text: str, breaks: re.Pattern[str] = LINES) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, with the space behind it; in prose a shortening ends none, a line does."""
    start = 0
    for found in breaks.finditer(text):
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
