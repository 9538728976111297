"""The language of a text, its words as they are looked up in tables of many languages, and its turns of phrase: as
patterns, and as cues found in a sentence's words. The phrases are data: `MEANING LANGUAGE: phrase; phrase; stem*`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memdir.disk.shipped import shipped_lines
from memdir.text.stems import LightStems, stop_words
from memdir.text.words import is_unspaced, plain_words

_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "ʼ": "'"})
_ELISION = re.compile(r"^(l|d|j|n|s|t|m|c|qu|jusqu|lorsqu|puisqu|dell|all|un|nell|dall|sull|quell|quest)'(.{2,})$")
_CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"  # slow to compile, and seldom needed
_CYRILLIC = r"[\u0400-\u04ff]"
_UKRAINIAN = r"[іїєґ]"
_NAMES = re.compile(r"\b(?:Al|Ben|Bo|Dan|Ed|Ella|Jen|Kim|Mia|Min|Nada|Nam|Sen|Son|Su|Tom|Ty|Uma)\b")
MIN_LANGUAGE_HITS = 2  # one shared little word is chance, two are a hint
UNKNOWN = "other"  # a language that a text is too short to tell
MAX_PHRASE_WORDS = 6  # longest phrase in the file; longer windows would only cost time
MIN_PREFIX = 2  # shortest stem before a star
_FILES = ("text/phrases.txt", "text/pastes.txt", "text/answers.txt")

_Meant = dict[str, dict[tuple[str, str], None]]  # what is written to (language, meaning), in order


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
    known = _variants()
    words = [known.get(word, word) for word in plain_words(folded)]
    if "'" not in folded and "’" not in folded:
        return words
    cuts = ((word, _ELISION.match(word)) for word in words)
    return [part for word, cut in cuts for part in ((cut[1] + "'", cut[2]) if cut else (word,))]


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
def common_words() -> dict[str, list[str]]:
    """The same in all languages together, each with its languages."""
    words = frozenset().union(*small_words().values())
    return {word: [name for name, known in small_words().items() if word in known] for word in words}


@cache
def _stems(named: frozenset[str]) -> LightStems:
    return LightStems(frozenset(common_words()) - named)


def stems(text: str) -> list[str]:
    """What a text is about: the stems of its words in order, without the common ones."""
    return _stems(names_in(text)).of(clean(text))


def names_in(text: str) -> frozenset[str]:
    """Those who are called like a small word of another language: Tom, who tells something but in Czech."""
    found = _NAMES.findall(text)
    tongue = language(fold(text)) if found else ""
    return frozenset(name.lower() for name in found if tongue not in common_words()[name.lower()])


@lru_cache(maxsize=4)  # asked at every doubtful word of a text
def language(folded: str) -> str:
    """The likeliest language of the text; English when nothing tells."""
    script = _by_script(folded)
    if script:
        return script
    known = common_words()
    counts = Counter(name for word in tokens(folded) for name in known.get(word.rstrip("'"), ()))
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


class Cue(NamedTuple):
    """A meaning found at a word of the sentence."""

    meaning: str
    phrase: str
    at: int


def _read(file: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for line in shipped_lines(file):
        head, _, tail = line.partition(":")
        meaning, language = head.split()
        yield meaning, language, tuple(phrase.strip() for phrase in tail.split(";") if phrase.strip())


@cache
def _table() -> dict[str, dict[str, tuple[str, ...]]]:
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for meaning, tongue, some in (row for file in _FILES for row in _read(file)):
        table.setdefault(meaning, {})[tongue] = some
    return table


@cache
def alternatives(meaning: str, language: str | None = None) -> str:
    """A regular expression for any phrase of the meaning: in one language and English ("own-…" without), or in all."""
    known, also = _table()[meaning], () if meaning.startswith("own-") else ("en",)
    names = known if language is None else [name for name in dict.fromkeys((language, *also)) if name in known]
    phrases = {phrase for name in names for phrase in known[name]}
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    spaced = [phrase for phrase in ordered if not any(map(is_unspaced, phrase))]
    words = [rf"(?<!\w)(?:{'|'.join(map(_escaped, spaced))})"] if spaced else []  # most places of a text begin no word
    return "|".join((*words, *(re.escape(phrase) for phrase in ordered if phrase not in spaced))) or r"(?!)"


@cache
def anywhere(meaning: str, language: str | None = None) -> re.Pattern[str]:
    """Finds a phrase of the meaning anywhere in a text."""
    return re.compile(f"(?:{alternatives(meaning, language)})", re.IGNORECASE)


@cache
def at_end(meaning: str, language: str | None = None) -> re.Pattern[str]:
    """Finds a phrase of the meaning as the last words of a text; an article may follow."""
    phrases = alternatives(meaning, language)
    return re.compile(rf"(?:{phrases})\s*(?:(?:the|la|le|el|o|a|il|de|den|der)\s*)?$", re.IGNORECASE)


def _escaped(phrase: str) -> str:
    written = re.escape(phrase).replace("'", "['’]").replace(r"\*", r"\w*")
    return written if phrase[-1:] in "'." else rf"{written}(?![\w-])"


@cache
def _lexicon() -> tuple[_Meant, frozenset[str], _Meant, dict[str, dict[tuple[str, str], None]]]:
    """Whole phrases, the first words of the longer ones, stems, and by language what is written without spaces."""
    phrases: _Meant = {}
    prefixes: _Meant = {}
    unspaced: dict[str, dict[tuple[str, str], None]] = {}
    for meaning, tongue, some in _read("text/lexicon.txt"):
        for folded in map(fold, some):
            if cjk_runs(folded):
                unspaced.setdefault(tongue, {})[folded, meaning] = None
                continue
            table, key = (prefixes, folded[:-1]) if folded.endswith("*") else (phrases, " ".join(tokens(folded)))
            table.setdefault(key, {})[tongue, meaning] = None
    return phrases, frozenset(phrase.split(" ")[0] for phrase in phrases if " " in phrase), prefixes, unspaced


def meanings_in(text: str) -> frozenset[str]:
    """What the words of a text tell of it, by the lexicon: that something was decided, that it changed."""
    said = fold(text)
    return frozenset(cue.meaning for cue in cues(said, tokens(said), language(said)))


def cues(folded: str, words: list[str], language: str) -> list[Cue]:
    """Every cue in a sentence of that language (English words count everywhere)."""
    phrases, openings, prefixes, unspaced = _lexicon()
    tongues = (language, "en")
    found: list[Cue] = []
    for at, word in enumerate(words):
        longest = MAX_PHRASE_WORDS if word in openings else 1
        written = [(" ".join(words[at : at + length]), phrases) for length in range(1, longest + 1)]
        written += [(word[:length], prefixes) for length in range(MIN_PREFIX, len(word) + 1)]
        for phrase, table in written:
            found.extend(Cue(meaning, phrase, at) for tongue, meaning in table.get(phrase, ()) if tongue in tongues)
    found.extend(Cue(meaning, phrase, 0) for phrase, meaning in unspaced.get(language, ()) if phrase in folded)
    return found
