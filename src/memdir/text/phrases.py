"""Turns of phrase in many languages, and what they mean: as patterns, and as cues found in a sentence's words.

The phrases themselves are data: `MEANING LANGUAGE: phrase; phrase; stem*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memdir.disk.shipped import shipped_lines
from memdir.text.language import cjk_runs, fold, language, tokens
from memdir.text.words import is_unspaced

MAX_PHRASE_WORDS = 6  # longest phrase in the file; longer windows would only cost time
MIN_PREFIX = 2  # shortest stem before a star
_FILES = ("text/phrases.txt", "text/pastes.txt", "text/answers.txt")

_Meant = dict[str, dict[tuple[str, str], None]]  # what is written to (language, meaning), in order


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
