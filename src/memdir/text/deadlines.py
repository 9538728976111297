"""Finds the day on which what a text tells of ends or is due, in all our languages, where that day is past (T3).

A date alone is no end: "founded in March 2019" stays true. It is one behind "until" or "by", beside a deadline or a
freeze, or as the last day of a span, and not where the text says itself that it is over. A false alarm teaches people
to overlook the true ones: what is unclear is not told.
"""

from __future__ import annotations

import re
import time
from functools import cache
from itertools import islice

from memdir.disk.shipped import shipped_lines
from memdir.text.words import is_unspaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CHARACTERS = 16_000  # a memory is a page, and a message waits
MAX_READ = 24  # sentences of it with dates that are not written as 2026-03-05: each costs about a millisecond
MAX_SENTENCE = 600  # characters: a longer one is a table or a blob
MAX_DAYS = 12  # of one sentence: more are a calendar
WRAPPED = 50  # characters of a line that may go on in the next one
NEAR = 4  # words behind a date in which the thing that ends may be named

_DAY = r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_ISO = rf"(?<![0-9A-Za-z_-]){_DAY}(?![0-9A-Za-z_-])"
_NUMBERS = r"(?<![\w./-])(20\d\d)[/.](\d\d?)[/.](\d\d?)(?![\w/])"  # 2026/03/05
_GLOSS = rf" \(({_DAY})\)"  # behind a date in words, as memdir writes it out
_MOMENT = rf"({_DAY})[T_]\d\d:?\d\d\S*"
_QUARTER = r"(?<!\w)(?:[QT]([1-4])[ /-]?(20\d\d)|(20\d\d)[ /-]?[QT]([1-4])|([1-4])[TQ][ /-]?(20\d\d))(?!\w)"
_NAMED_MONTH = r"(?<![\w-])(\d{1,2})-([^\W\d_]{3,12})-(20\d\d)(?![\w-])"  # 5-Mar-2026
_STRUCK = r"(?s:~~.*?~~)|(?m:^\*\*Before\b[^*\n]*\*\*.*$)"  # struck out, or told as past
_ITEM = r"\s*(?:[-*•#>|]|\d+[.)]\s|\w+:\s)"
# Between the first and the last day: "1.–5. March", "from the 1st to March 5", "2026-03-01 bis 2026-03-05".
_JOINT = "to|bis|auf|zum|au|al|a|ao|para|tot|naar|do|na|till|til|до|на|по|至|到|から|～|부터"
_NUMBER = r"\d|[一二三四五六七八九十]月|[^\W\d_]+ of [A-Z]"  # the fifth of March
_SPAN = rf"\d\S*\s*(?:[–—~～-]|\.\.|{_JOINT})\s*\S*\d"
_CUES = ("until", "before", "ends", "suffix", "duty-suffix", "shift")
_PART = r"[,，、](?=\s|[^\d\s])|\s[–—]\s(?![\d])|[()（）](?!\d)"
_WORD = rf"{_DAY}|[^\W_]+"
_FIRST = r"(?<![\w.])\d\d?(?:\.|er|st|nd|rd|th|º)?"
_RANGE = rf"(?:{_DAY}\W*(?:[-–—~～/]|{_JOINT})|{_FIRST}(?:[-–—]|\s+(?:{_JOINT})))\W*$"
_MOVED = rf"\b(?:{_JOINT})\s*(?:(?:den|le|el|o|il)\s*)?$"
_DAYS = frozenset(("absolute", "month day", "holiday"))  # kinds of dates that tell their month, in whatever way
_YEAR = r"20\d\d"
_BARE_YEAR = r"(?<![\w.,/-])20[0-4]\d(?=\s*(?:[.,;:)!]|$))(?![.,]\d)"


class _Phrases:
    """What a meaning is told by: whole phrases, stems, phrases of scripts without spaces; words of the longest."""

    __slots__ = ("firsts", "longest", "stems", "unspaced", "whole")

    def __init__(self, phrases: Sequence[str]) -> None:
        self.whole = frozenset(phrases)
        self.firsts = frozenset([phrase.partition(" ")[0] for phrase in phrases])
        self.stems = tuple([phrase[:-1] for phrase in phrases if phrase.endswith("*")])
        self.unspaced = tuple([phrase for phrase in phrases if is_unspaced(phrase[0])])
        self.longest = max([phrase.count(" ") + 1 for phrase in phrases])

    def at(self, words: Sequence[str], start: int = 0) -> int:
        """Where a phrase begins among the words; -1 where none does."""
        for at in range(start, len(words)):
            if words[at] in self.firsts and self.begins(words[at : at + self.longest]):
                return at
            if self.stems and words[at].startswith(self.stems):
                return at
        return -1

    def begins(self, words: Sequence[str]) -> bool:
        """Whether the first words are a phrase."""
        return any(" ".join(words[:count]) in self.whole for count in range(1, self.longest + 1))

    def ends(self, words: Sequence[str]) -> bool:
        """Whether the last words are a phrase."""
        return any(" ".join(words[-count:]) in self.whole for count in range(1, self.longest + 1))

    def told(self, text: str, words: Sequence[str]) -> bool:
        """Whether a text, which has these words, holds one of the phrases."""
        return self.at(words) >= 0 or (not text.isascii() and any(phrase in text for phrase in self.unspaced))


@cache
def _phrases() -> dict[str, _Phrases]:
    table: dict[str, list[str]] = {}
    for line in shipped_lines("text/deadlines.txt"):
        head, _, some = line.partition(": ")
        table.setdefault(head.split()[0], []).extend(some.casefold().replace("'", " ").replace("-", " ").split("; "))
    return {meaning: _Phrases(some) for meaning, some in table.items()}


def told_past(text: str, *, written: float, now: float) -> str:
    """Of a text that was written at one moment and is read at another "names 2026-03-05, 255 days past", or nothing."""
    today = _day(now)
    day = past_end(text, written=_day(written), today=today)
    days = round((_noon(today) - _noon(day)) / 86_400) if day else 0
    return f"names {day}, {days} {'day' if days == 1 else 'days'} past" if day else ""


def _noon(day: str) -> float:
    year, month, number = map(int, day.split("-"))
    return time.mktime((year, month, number, 12, 0, 0, 0, 0, -1))


def _day(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def past_end(text: str, *, written: str, today: str) -> str:
    """The latest day before today on which something in a text ends or is due; empty where there is none."""
    text, found, left = text[:MAX_CHARACTERS], [""], MAX_READ
    text = re.sub(_STRUCK, " ", text) if "~~" in text or "**Before" in text else text
    for sentence in _sentences(text) if _may_tell(text) else ():
        if not _may_tell(sentence):
            continue
        dated = _with_iso_dates(sentence)
        if left and (not re.search(_ISO, dated) or re.search(_GLOSS, dated)):
            left -= 1
            dated = _read_dates(dated, written)
        days = islice(re.finditer(_ISO, dated), MAX_DAYS)
        ends = [day[0] for day in days if _is_end(dated, day.start(), day.end())]
        if not ends:
            continue
        if max(ends) < today:
            found.append(max(ends))
        elif _phrases()["shift"].told(dated, _split(dated)):
            return ""  # there is a new date for it
    return max(found)


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text, those that go on in the next line whole."""
    from memdir.text.sentences import DATED, bounds

    lines = text.splitlines()
    joined = ""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        goes_on = len(line) >= WRAPPED and after.strip() and not re.match(_ITEM, after)
        joined += f"{line} " if goes_on else f"{line}\n"
    return (joined[start : min(end, start + MAX_SENTENCE)] for start, end in bounds(joined, DATED))


def _may_tell(sentence: str) -> bool:
    """Whether a sentence has a number and a word for an end, or a span: asked before what is expensive."""
    if not (re.search(r"\d", sentence) or "月" in sentence or " of " in sentence) or not re.search(_NUMBER, sentence):
        return False
    words, known = _split(sentence), _phrases()
    return any(known[meaning].told(sentence, words) for meaning in _CUES) or re.search(_SPAN, sentence) is not None


def _split(text: str) -> list[str]:
    return re.findall(_WORD, text.casefold())


def _is_end(sentence: str, start: int, end: int) -> bool:
    """Whether the date at this place is the end of something, as far as its part of the sentence tells."""
    cuts = [(0, 0), *(cut.span() for cut in re.finditer(_PART, sentence)), (len(sentence),) * 2]
    # A part that begins with the date goes on with the one before: "until Friday, 2026-03-05".
    begins = [last for _, last in cuts if last < start and not sentence[last:start].isspace()]
    before = sentence[max(begins, default=0) : start]
    after = sentence[end : min(first for first, _ in cuts if first >= end)]
    part, words, behind = f"{before} {after}", _split(before), _split(after)
    known, around = _phrases(), words + behind
    is_due, is_shifted = known["duty"].told(part, around), known["shift"].told(part, around)
    if _is_bygone(part, words, behind) and not is_due and not is_shifted:
        return False
    names_end = known["ends"].told(part, [*words, *behind[:NEAR]])
    if _is_last_day(before, after, must=is_due or known["none"].told(part, around)):
        return names_end or not known["set"].begins(behind)
    if is_shifted and re.search(_MOVED, before.casefold()):
        return True
    is_headed = known["ends"].told(before, words) or len(words) <= 1
    return names_end and is_headed and not known["event"].told(part, around)


def _is_bygone(part: str, words: list[str], behind: list[str]) -> bool:
    bygone = _phrases()["bygone"]
    at = bygone.at(words)
    while at > 0 and words[at - 1] in _phrases()["present"].whole:
        at = bygone.at(words, at + 1)  # "is used until", "are kept"
    return at >= 0 or bygone.told(part, behind[:NEAR])


def _is_last_day(before: str, after: str, *, must: bool) -> bool:
    """Whether the words right beside a date make it the last day of something."""
    known = _phrases()
    if (
        _stands_last(known["until"], before)
        or re.search(_RANGE, before.casefold())
        or _stands_first(known["suffix"], after)
    ):
        return True
    return must and (_stands_last(known["before"], before) or _stands_first(known["duty-suffix"], after))


def _stands_last(phrases: _Phrases, text: str) -> bool:
    """Whether a text ends with a phrase, or with one and small words."""
    if not text.isascii() and text.rstrip(" :：「").endswith(phrases.unspaced):
        return True
    words, small = _split(text), _phrases()["between"].whole
    while words and not phrases.ends(words) and words[-1] in small:
        words.pop()
    return phrases.ends(words)


def _stands_first(phrases: _Phrases, text: str) -> bool:
    return text.lstrip().startswith(phrases.unspaced) or phrases.begins(_split(text))


def _with_iso_dates(sentence: str) -> str:
    """Dates in figures as 2026-03-05; of a quarter its last day."""
    if re.search(_MOMENT, sentence):
        sentence = re.sub(_MOMENT, r"\1", sentence)
    sentence = re.sub(_NAMED_MONTH, r"\1 \2 \3", sentence)
    sentence = re.sub(_NUMBERS, lambda it: f"{it[1]}-{int(it[2]):02}-{int(it[3]):02}", sentence)
    return re.sub(_QUARTER, _quarter_end, sentence)


def _quarter_end(found: re.Match[str]) -> str:
    quarter, year = found[1] or found[4] or found[5], found[2] or found[3] or found[6]
    return f"{year}-{('03-31', '06-30', '09-30', '12-31')[int(quarter) - 1]}"


def _read_dates(sentence: str, written: str) -> str:
    """The sentence with every date that names its day, month, quarter or year by words as its last day."""
    from datetime import date

    from memdir.text.dates import last_day, may_hold_date, read_any

    try:
        day = date.fromisoformat(written)
    except ValueError:  # a file from before the year 1, or after 9999
        return sentence
    # One language reads a sentence, the one that sees most in it: "1 to November 30" is no Danish "2 November".
    tongues = sorted(may_hold_date(sentence)) or ["en"]
    readings = [read_any(sentence, day, (name,), is_coarse=True) for name in tongues]
    best = max(readings, key=lambda found: sum(span.end - span.start for span in found))
    told = (span for span in best if not span.is_relative or re.match(_GLOSS, sentence[span.end :]))
    spans = [span for span in told if span.is_relative or span.kind in _DAYS or {*span.symbols} & {"M", "Y"}]
    is_yearly = _phrases()["yearly"].told(sentence, _split(sentence))
    year = ""
    for span in reversed(spans):
        if gloss := re.match(_GLOSS, sentence[span.end :]):
            sentence = f"{sentence[: span.start]}{gloss[1]}{sentence[span.end + gloss.end() :]}"
            continue
        end, named = last_day(span).isoformat(), re.search(_YEAR, sentence[span.start : span.end])
        if named:
            year = end[:4]
        elif is_yearly:
            continue
        sentence = f"{sentence[: span.start]}{end if named else (year or end[:4]) + end[4:]}{sentence[span.end :]}"
    return re.sub(_BARE_YEAR, _year_end, sentence)


def _year_end(found: re.Match[str]) -> str:
    is_end = _stands_last(_phrases()["until"], found.string[: found.start()])
    return f"{found[0]}-12-31" if is_end else found[0]
