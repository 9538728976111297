"""Wishes in so many words: "remember that …", "from now on …", "stop …ing". They are kept whatever stands around them.

They are looked for in all languages at once: who mixes languages, or types three words, means what he says.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from memdir.text.language import clean
from memdir.text.phrases import alternatives, anywhere
from memdir.text.words import is_unspaced, strip_accents

MIN_WORDS = 2  # that are left to say what is wished
MIN_UNSPACED = 4  # characters, where words are not set apart
KINDS = ("remember-this", "from-now-on", "stop-doing")
_GAP = r"[\s,;:!.…—–\-\"'“”¡¿，。：！、]*"
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


def _typed(meaning: str) -> str:
    """The phrases of a meaning as they are spelt, and as one types them who has no time for accents."""
    spelt = alternatives(meaning)
    return f"{spelt}|{strip_accents(spelt).translate(_NO_MARK)}"


def is_bare(text: str) -> bool:
    """Whether a clause only asks to remember: "remember that." What it means stands before or behind it."""
    return _bare().fullmatch(clean(text)) is not None


def wish_in(text: str) -> Wish | None:
    """The wish that a clause begins with; a question is one only where it is a polite way to ask for it."""
    said = clean(text)
    found = _pattern().match(said)
    if not found or anywhere("no-wish").search(said):
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
    return _tag().sub("", text[wish.start :]).rstrip("?？ ")


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(rf"(?:[,;.!…—–，、。-]\s*|\s)(?:{alternatives('ok')})\s*[?？]+\s*$", re.IGNORECASE)
