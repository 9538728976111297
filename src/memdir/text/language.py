"""Text to words: folding, tokens, topic stems, and a guess of the language. Knows nothing of memories."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.text.small_words import small_words

_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "ʼ": "'"})
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ELISION = re.compile(r"^(l|d|j|n|s|t|m|c|qu|jusqu|lorsqu|puisqu|dell|all|un|nell|dall|sull|quell|quest)'(.{2,})$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_UKRAINIAN = re.compile(r"[іїєґ]")
STEM_LENGTH = 6  # long enough to keep topics apart, short enough that endings of twelve languages fall off
MIN_LANGUAGE_HITS = 2  # one shared little word is chance, two are a hint


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
    for word in _TOKEN.findall(folded):
        meant = known.get(word, word)
        cut = _ELISION.match(meant) if "'" in meant else None
        words.extend((cut.group(1) + "'", cut.group(2)) if cut else (meant,))
    return words


def cjk_runs(folded: str) -> list[str]:
    """The stretches of text written without spaces."""
    return _CJK.findall(folded)


@cache
def _variants() -> dict[str, str]:
    return dict(line.split() for line in shipped_lines("text/variants.txt"))


@cache
def _all_stop_words() -> frozenset[str]:
    return frozenset().union(*small_words().values())


def language(folded: str) -> str:
    """The likeliest language of the text; English when nothing tells."""
    script = _by_script(folded)
    if script:
        return script
    counts: Counter[str] = Counter()
    for word in tokens(folded):
        for name, known in small_words().items():
            if word.rstrip("'") in known:
                counts[name] += 1
    best = max(counts, key=lambda name: (counts[name], name == "en"), default="en")
    return best if counts[best] >= MIN_LANGUAGE_HITS else "en"


def _by_script(folded: str) -> str:
    runs = "".join(_CJK.findall(folded))
    if len(runs) * 3 >= len(folded) - folded.count(" "):
        if any("\uac00" <= char <= "\ud7af" for char in runs):
            return "ko"
        return "ja" if any("\u3040" <= char <= "\u30ff" for char in runs) else "zh" if runs else ""
    if 2 * len(_CYRILLIC.findall(folded)) > sum(char.isalpha() for char in folded):
        return "uk" if _UKRAINIAN.search(folded) else "ru"
    return ""


def strip_accents(text: str) -> str:
    """Letters without their marks: é becomes e."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def stem(word: str) -> str:
    """A crude, language-blind stem."""
    plain = strip_accents(word) if not word.isascii() else word
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith("ss"):
        plain = plain[:-1]
    if len(plain) > STEM_LENGTH and plain.endswith("ing"):
        plain = plain[:-3]
    return plain[:STEM_LENGTH]


def stems(text: str) -> list[str]:
    """Topic stems of a text in order: no common words; pairs of characters where there are no spaces."""
    folded = fold(text)
    found: list[str] = []
    ignored = _all_stop_words()
    for word in tokens(folded):
        if not word.isascii() and _CJK.search(word):
            found.extend(run[at : at + 2] for run in _CJK.findall(word) for at in range(max(1, len(run) - 1)))
        elif word not in ignored and (len(word) > 2 or any(char.isdigit() for char in word)):
            found.append(stem(word))
    return found


def overlap(left: Iterable[str], right: Iterable[str]) -> int:
    """How many distinct stems two texts share."""
    return len(set(left) & set(right))
