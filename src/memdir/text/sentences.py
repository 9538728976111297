"""A text cut into sentences, in many languages: the one place that knows where one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STOP = r"(?<=[.!?…])[\"'”’»)\]]*(?:\s+|$)|(?<=[。！？])[」』）]*\s*"
STOPS = re.compile(_STOP)  # in a paragraph whose lines may be wrapped
LINES = re.compile(rf"{_STOP}|\n+")
SPEECH = re.compile(rf"{_STOP}|\n+|(?<=[^\W_])\s+[-–—]{{1,2}}\s+(?=\w)")  # "use tabs - they are shorter"
CLAUSES = re.compile(rf"{_STOP}|\n+|(?<=；)\s*|;\s+|\s[–—]\s")
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
_LONGEST = 8  # characters of a shortening


def masked(text: str) -> str:
    """The text with the inside of quotations blanked, so that no sentence is thought to end in one."""
    return QUOTE.sub(lambda found: f"{found[0][0]}{'_' * (len(found[0]) - 2)}{found[0][-1]}", text)


def bounds(text: str, breaks: re.Pattern[str] = LINES) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, with the space behind it; a shortening ends none."""
    start = 0
    for found in breaks.finditer(text):
        before = text[max(start, found.start() - _LONGEST) : found.start()]
        is_end = not _NOT_END.search(before) and not (breaks is SPEECH and _NUMBERED.search(before))
        if found.end() > start and is_end:
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def sentences_of(text: str, breaks: re.Pattern[str] = CLAUSES) -> list[str]:
    """The sentences of a text, list marks and emphasis left out."""
    found = (text[start:end].strip("\r\n \t*-•#>") for start, end in bounds(text, breaks))
    return [piece for piece in found if re.search(r"\w", piece)]
