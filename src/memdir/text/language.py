"""The language of a text, and its words as they are looked up in tables of many languages."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache

from memdir.disk.shipped import shipped_lines
from memdir.text.stems import LightStems, stop_words
from memdir.text.words import plain_words

_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "ʼ": "'"})
_ELISION = re.compile(r"^(l|d|j|n|s|t|m|c|qu|jusqu|lorsqu|puisqu|dell|all|un|nell|dall|sull|quell|quest)'(.{2,})$")
_CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"  # slow to compile, and seldom needed
_CYRILLIC = r"[\u0400-\u04ff]"
_UKRAINIAN = r"[іїєґ]"
MIN_LANGUAGE_HITS = 2  # one shared little word is chance, two are a hint
UNKNOWN = "other"  # a language that a text is too short to tell


def clean(text: str) -> str:
    """The text without invisible characters, otherwise as written."""
    return text if text.isascii() else text.translate(_ZERO_WIDTH)


def fold(text: str) -> str:
    """Lower-case compatibility form for looking things up; not for showing."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", clean(text)).translate(_STRAIGHT).casefold().replace("ß", "ss")


def tokens(folded: str) -> list[str]:
    """Words of folded text; elided articles are cut off, runs of Chinese, Japanese and Korean stay whole."""
    words: list[str] = []
    known = _variants()
    for word in plain_words(folded):
        meant = known.get(word, word)
        cut = _ELISION.match(meant) if "'" in meant else None
        words.extend((cut.group(1) + "'", cut.group(2)) if cut else (meant,))
    return words


@cache
def _variants() -> dict[str, str]:
    return dict(line.split() for line in shipped_lines("text/variants.txt"))


def cjk_runs(folded: str) -> list[str]:
    """The stretches of text written without spaces."""
    return [] if folded.isascii() else re.findall(_CJK, folded)


@cache
def small_words() -> dict[str, frozenset[str]]:
    """By language what carries no topic in a conversation."""
    return stop_words("talk")


@cache
def common_words() -> frozenset[str]:
    """The same in all languages together."""
    return frozenset().union(*small_words().values())


@cache
def _stems() -> LightStems:
    return LightStems(common_words())


def stems(text: str) -> list[str]:
    """What a text is about: the stems of its words in order, without the common ones."""
    return _stems().of(clean(text))


@lru_cache(maxsize=4)  # asked at every doubtful word of a text
def language(folded: str) -> str:
    """The likeliest language of the text; English when nothing tells."""
    script = _by_script(folded)
    if script:
        return script
    counts: Counter[str] = Counter()
    for word in tokens(folded):
        if (plain := word.rstrip("'")) in common_words():
            counts.update([name for name, known in small_words().items() if plain in known])
    best = max(counts, key=lambda name: (counts[name], name == "en"), default="en")
    return best if counts[best] >= MIN_LANGUAGE_HITS else "en"


def _by_script(folded: str) -> str:
    if folded.isascii():
        return ""
    runs = "".join(cjk_runs(folded))
    if len(runs) * 3 >= len(folded) - folded.count(" "):
        if any("\uac00" <= char <= "\ud7af" for char in runs):
            return "ko"
        return "ja" if any("\u3040" <= char <= "\u30ff" for char in runs) else "zh" if runs else ""
    if 2 * len(re.findall(_CYRILLIC, folded)) > sum(char.isalpha() for char in folded):
        return "uk" if re.search(_UKRAINIAN, folded) else "ru"
    return ""


def tongue_of(text: str) -> str:
    """The language that a text's small words are of, if only by one; English for plain text without any."""
    folded = fold(text)
    known = language(folded)
    if known != "en" or text.isascii():
        return known
    hits = {name: len(set(tokens(folded)) & words) for name, words in small_words().items()}
    return max(hits, key=lambda name: hits[name]) if any(hits.values()) else UNKNOWN
