"""Wishes in so many words: "remember that …", "from now on …", "stop …ing". They are kept whatever stands around them.

They are looked for in all languages at once: who mixes languages, or types three words, means what he says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memdir.text.date_words import languages_of
from memdir.text.language import alternatives, anywhere, clean, fold, meanings_in
from memdir.text.naming import begun_like
from memdir.text.sentences import masked
from memdir.text.words import is_unspaced, strip_accents

MIN_WORDS = 2  # that are left to say what is wished
MAX_HEAD = 200  # characters before a list that are looked at
MIN_UNSPACED = 4  # characters, where words are not set apart
KINDS = ("remember-this", "from-now-on", "stop-doing")
_GAP = r"[\s,;:!.…—–\-\"'“”¡¿，。：！、]*"
_LIST = re.compile(r"[:：](\s*)(?=(1[.)]|[-–—*•])\s+\S)")
POINT = "• "  # begins each point of a list that is to be remembered
_NO_MARK = str.maketrans("łøı", "loi")  # letters of their own, and typed as these


class Wish(NamedTuple):
    """What a clause asks to be kept, and where that begins in it."""

    kind: str  # remember-this, from-now-on, stop-doing
    start: int  # where the wish itself begins
    says: int  # where begins what is to be kept


@cache
def _pattern() -> re.Pattern[str]:
    kinds = "|".join(f"(?P<{kind.replace('-', '_')}>{_typed(kind)})" for kind in KINDS)
    return re.compile(rf"{_opened()}(?:{kinds})", re.IGNORECASE)


@cache
def _bare() -> re.Pattern[str]:
    only = rf"(?:{_typed('remember-this')}){_GAP}(?:{_typed('wish-this')})?"
    return re.compile(rf"{_opened()}{only}{_GAP}(?:(?:{alternatives('ok')}){_GAP})?", re.IGNORECASE)


def _opened() -> str:
    return rf"{_GAP}(?:(?:{_typed('wish-opens')}){_GAP}){{0,6}}"


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(_opened(), re.IGNORECASE)


def unopened(text: str) -> str:
    """The text without what opens a wish: "please", "btw", "you should"."""
    return _opening().sub("", text, count=1)


def _typed(meaning: str) -> str:
    """The phrases of a meaning as they are spelt, and as one types them who has no time for accents."""
    spelt = alternatives(meaning)
    return f"{spelt}|{strip_accents(spelt).translate(_NO_MARK)}"


def is_bare(text: str) -> bool:
    """Whether a clause only asks to remember: "remember that." What it means stands before or behind it."""
    return _bare().fullmatch(clean(text)) is not None


@cache
def _lead() -> re.Pattern[str]:
    asked = "|".join(map(_typed, KINDS[:2]))
    behind = rf"(?:(?:[^\W\d_]{{1,4}}\s+)?(?:{asked}){_GAP})?(?:(?:{_typed('wish-this')}){_GAP})?"
    return re.compile(rf"{_opened()}(?:(?:{asked}){_GAP})?(?:{_typed('wish-leads')}){_GAP}{behind}", re.IGNORECASE)


def is_lead(text: str) -> bool:
    """Whether a clause only leads to what comes: "a few things for the future:"."""
    return _lead().fullmatch(clean(text)) is not None


def pointed(text: str) -> str:
    """The text with each point of a list that is to be remembered on a line of its own: "remember: 1. … 2. …"."""
    hidden = masked(text)
    for found in _LIST.finditer(hidden):
        head = re.split(r"[.!?…\n]\s*", text[max(0, found.start() - MAX_HEAD) : found.start()])[-1] + ":"
        is_told = wish_in(head) or "remember" in meanings_in(head) or is_lead(head)
        marks = list(_marks(hidden, found)) if is_told else []
        if len(marks) > 1 and not re.match(r"[^.!?？\n]*[?？]", hidden[marks[-1][1] :]):
            ends = (*(start for start, _ in marks[1:]), len(text))
            points = (text[start:end] for (_, start), end in zip(marks, ends, strict=True))
            return f"\n{POINT}".join((text[: found.start(1)], *points))
    return text


def _marks(text: str, first: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Where the marks of a list stand that begins there: at the beginning of lines if the first does; counted on."""
    begins = r"\n[ \t]*" if "\n" in first[1] else r"[:：\s]\s*"
    is_counted, due = first[2][0] == "1", 1
    mark = (r"(\d{1,2})" if is_counted else "") + re.escape(first[2].removeprefix("1"))
    for found in re.compile(rf"{begins}{mark}\s+(?=(\w*))").finditer(text, first.start()):
        is_date = text[found.start() - 1].isalnum() and languages_of(fold(found[found.lastindex or 0]))  # "am 2. Juni"
        if not is_counted or (int(found[1]) == due and not is_date):
            due += 1
            yield found.span()


def wish_in(text: str) -> Wish | None:
    """The wish that a clause begins with; a question is one only where it is a polite way to ask for it."""
    said = clean(text)
    found = _pattern().match(said)
    denied = anywhere("no-wish").search(said)
    if not found or (denied and denied.start() <= found.end() and not said.startswith((":", "："), denied.end())):
        return None
    kind = str(found.lastgroup)
    start = found.start(kind)
    if said.rstrip().endswith(("?", "？")) and not (anywhere("asks").search(said[:start]) or _tag().search(said)):
        return None
    return Wish(kind.replace("_", "-"), start, found.end())


def is_said(text: str) -> bool:
    """Whether enough is left to say what is wished."""
    unspaced = sum(map(is_unspaced, text))
    return len(re.findall(r"\w+", text)) >= MIN_WORDS or unspaced >= MIN_UNSPACED


def announces(text: str, wish: Wish) -> bool:
    """Whether what is wished comes next: "one more rule to remember:"; "from now on no mocks:" has said it."""
    is_head = text.rstrip().endswith((":", "："))
    return is_head and (wish.kind == "remember-this" or not is_said(text[wish.says :]))


def plainly(text: str, wish: Wish) -> str:
    """The clause without what makes a wish polite: "could you please …?", "…, ok?"."""
    said = _tag().sub("", text[wish.start :]).rstrip("?？ ")
    if wish.kind != "remember-this":
        return said
    told = _asked().sub("", text[wish.says :][: len(said) - wish.says + wish.start])
    return begun_like(told, text) if is_said(told) else said


@cache
def _asked() -> re.Pattern[str]:
    """What stands between "remember" and what is to be kept: "that", "for later:"."""
    meant, gap = _typed("wish-this"), r"(?:[\s,;!.…—–，。！、]|-\s)*"
    that = rf"(?:(?:{_typed('polite')}){gap})?(?:[:：]{gap}|(?:{_typed('wish-that')})\s*)?"
    return re.compile(rf"^(?:\s*(?:{meant})\s*[:：])?{gap}{that}", re.IGNORECASE)


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(rf"(?:[,;.!…—–，、。-]\s*|\s)(?:{alternatives('ok')})\s*[?？]+\s*$", re.IGNORECASE)
