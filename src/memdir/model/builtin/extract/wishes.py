"""Wishes in so many words: "remember that …", "from now on …", "stop …ing". They are kept whatever stands around them.

They are looked for in all languages at once: who mixes languages, or types three words, means what he says.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from memdir.text.language import alternatives, anywhere, clean, meanings_in
from memdir.text.naming import begun_like
from memdir.text.sentences import masked
from memdir.text.words import is_unspaced, strip_accents

MIN_WORDS = 2  # that are left to say what is wished
MIN_UNSPACED = 4  # characters, where words are not set apart
KINDS = ("remember-this", "from-now-on", "stop-doing")
_GAP = r"[\s,;:!.…—–\-\"'“”¡¿，。：！、]*"
_LIST = re.compile(r"[:：](?=\s*(1[.)]|[-–—*•])\s+\S)")
_MARKS = {"1.": r"(?<=[.!?:：\n])\s*\d{1,2}\.\s+", "1)": r"[:：\s]\s*\d{1,2}\)\s+"}  # "am 2. Juni" is no point
_NO_MARK = str.maketrans("łøı", "loi")  # letters of their own, and typed as these


class Wish(NamedTuple):
    """What a clause asks to be kept, and where that begins in it."""

    kind: str  # remember-this, from-now-on, stop-doing
    start: int  # where the wish itself begins
    says: int  # where begins what is to be kept


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """How a wish is opened and said; said without what is wished; led to; tagged; and joined to what is wished."""
    kinds = "|".join(f"(?P<{kind.replace('-', '_')}>{_typed(kind)})" for kind in KINDS)
    remember, this, now, agreed = map(_typed, ("remember-this", "wish-this", "from-now-on", "agreed"))
    ok = f"{alternatives('ok')}|{agreed}"
    alone = f"{alternatives('points-back')}|{alternatives('likewise')}"  # "could you do the same from now on?"
    asked, gap = f"{remember}|{now}", r"(?:[\s,;!.…—–，。！、]|-\s)*"
    opening = rf"{_GAP}(?:(?:{_typed('wish-opens')}){_GAP}){{0,6}}"
    behind = rf"(?:(?:[^\W\d_]{{1,4}}\s+)?(?:{asked}){_GAP})?(?:(?:{this}){_GAP})?"
    that = rf"(?:(?:{_typed('polite')}){gap})?(?:[:：]{gap}|(?:{_typed('wish-that')})\s*)?"
    end = r"(?:(?<=[.!…。！])|[,;，、—–]|\s-)\s*¿?(?:{})\s*[?？]+\s*$"
    patterns = {
        "opening": opening,
        "wish": rf"{opening}(?:{kinds})",
        "bare": rf"{opening}(?:(?:{now}){_GAP})?(?:{remember}){_GAP}(?:(?:{this}){_GAP}){{0,2}}(?:(?:{ok}){_GAP})?",
        "lead": rf"{opening}(?:(?:{asked}){_GAP})?(?:{_typed('wish-leads')}){_GAP}{behind}",
        "asked": rf"{opening}(?P<from_now_on>(?!.*(?:{alone})).*\s)(?:{now})\W*$",
        "tag": rf"(?:[,;.!…—–，、。-]\s*|\s)¿?(?:{ok})\s*[?？]+\s*$",
        "agreed": end.format(agreed),
        "ok": end.format(ok),
        "joint": rf"^(?:\s*(?:{this})\s*[:：])?{gap}{that}",  # "remember | for later, please: | …"
    }
    return re.compile(patterns[name], re.IGNORECASE)


def _typed(meaning: str) -> str:
    """The phrases of a meaning as they are spelt, and as one types them who has no time for accents."""
    spelt = alternatives(meaning)
    return f"{spelt}|{strip_accents(spelt).translate(_NO_MARK)}"


def unopened(text: str) -> str:
    """The text without what opens a wish: "please", "btw", "you should"."""
    return _pattern("opening").sub("", text, count=1)


def untagged(text: str) -> str:
    """A clause without an "ok?" at its end, which asks nothing; behind a rule no "yes?" does either."""
    asks = text.rstrip().endswith(("?", "？"))
    name = "ok" if asks and anywhere("rule-begins").match(unopened(text)) else "agreed"
    return _pattern(name).sub("", text) if asks else text


def is_bare(text: str) -> bool:
    """Whether a clause only asks to remember: "remember that." What it means stands before or behind it."""
    return _pattern("bare").fullmatch(clean(text)) is not None


def is_lead(text: str) -> bool:
    """Whether a clause only leads to what comes: "a few things for the future:"."""
    return _pattern("lead").fullmatch(clean(text)) is not None


def pointed(text: str) -> str:
    """The text with each point of a list to be remembered as a wish of its own, and without an "ok?" at its end."""
    hidden = masked(text := untagged(text))
    lists = list(_LIST.finditer(hidden))
    stops = [*(one.start() for one in lists), len(text)][1:]  # a list of errands may follow
    for found, stop in zip(lists, stops, strict=True):
        head = re.split(r"[.!?…\n]\s*", text[: found.start()])[-1] + ":"
        mark = re.compile(_MARKS.get(found[1], rf"\s{re.escape(found[1])}\s+"))
        marks = [one.span() for one in mark.finditer(hidden, found.start(), stop)]
        is_told = wish_in(head) or "remember" in meanings_in(head)
        if is_told and len(marks) > 1 and not re.match(r"[^.!?？\n]*[?？]", hidden[marks[-1][1] :]):
            ends = (*(start for start, _ in marks[1:]), len(text))
            points = (text[start:end] for (_, start), end in zip(marks, ends, strict=True))
            return "\nRemember: ".join((text[: found.start() + 1], *points))
    return text


def wish_in(text: str) -> Wish | None:
    """The wish that a clause begins with; a question is one only where it is a polite way to ask for it."""
    said = clean(text)
    is_asked = said.rstrip().endswith(("?", "？"))
    found = _pattern("wish").match(said) or (_pattern("asked").match(said) if is_asked else None)
    denied = anywhere("no-wish").search(said)
    if not found or (denied and denied.start() <= found.end() and not said.startswith((":", "："), denied.end())):
        return None
    kind = str(found.lastgroup)
    start = found.start(kind)
    is_polite = anywhere("asks").search(said[:start]) or _pattern("tag").search(said)
    if is_asked and not is_polite:
        return None
    says = start + len(found[kind].split()[0]) if kind == "stop_doing" else found.end(kind)  # "stop | using emojis"
    return Wish(kind.replace("_", "-"), start, says if found.re is _pattern("wish") else start)


def is_said(text: str) -> bool:
    """Whether enough is left to say what is wished."""
    return len(re.findall(r"\w+", text)) >= MIN_WORDS or sum(map(is_unspaced, text)) >= MIN_UNSPACED


def announces(text: str, wish: Wish | None, meanings: Collection[str]) -> bool:
    """Whether what is wished comes next: "one more rule to remember:"; "from now on no mocks:" has said it."""
    is_this = wish.kind == "remember-this" if wish else "remember" in meanings or is_lead(text)
    return is_this and text.rstrip().endswith((":", "："))


def plainly(text: str, wish: Wish) -> str:
    """The clause without what makes a wish polite: "could you please …?", "…, ok?"."""
    said = _pattern("tag").sub("", text[wish.start :]).rstrip("?？ ")
    if wish.kind != "remember-this":
        return said
    told = _pattern("joint").sub("", text[wish.says :][: len(said) - wish.says + wish.start])
    return begun_like(told, text)
