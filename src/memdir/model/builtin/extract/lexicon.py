"""Finds cues of meaning ("from now on", "suppose", "is due") in a sentence, in many languages at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.extract.topic_words import cjk_runs, fold, tokens

MAX_PHRASE_WORDS = 6  # longest phrase in the file; longer windows would only cost time
MIN_PREFIX = 2  # shortest stem before a star


@dataclass(frozen=True)
class Lexicon:
    """Phrases to (language, meaning): whole phrases, stems of single words; by language, text without spaces."""

    phrases: dict[str, tuple[tuple[str, str], ...]]
    openings: frozenset[str]
    prefixes: dict[str, tuple[tuple[str, str], ...]]
    unspaced: dict[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Cue:
    """A meaning found at a word of the sentence."""

    meaning: str
    phrase: str
    at: int


@cache
def lexicon() -> Lexicon:
    """The shipped lexicon, read once."""
    return parse(shipped_lines("model/builtin/extract/lexicon.txt"))


def parse(lines: Iterable[str]) -> Lexicon:
    """A lexicon from lines `meaning language: phrase; phrase; stem*`."""
    phrases: dict[str, list[tuple[str, str]]] = {}
    prefixes: dict[str, list[tuple[str, str]]] = {}
    unspaced: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        head, colon, tail = line.partition(":")
        if line.startswith("#") or not colon:
            continue
        meaning, language = head.split()
        for phrase in tail.split(";"):
            folded = fold(phrase).strip()
            if cjk_runs(folded):
                unspaced.setdefault(language, []).append((folded, meaning))
            elif folded.endswith("*"):
                prefixes.setdefault(folded[:-1], []).append((language, meaning))
            elif folded:
                phrases.setdefault(" ".join(tokens(folded)), []).append((language, meaning))
    openings = frozenset(phrase.split(" ")[0] for phrase in phrases if " " in phrase)
    return Lexicon(_frozen(phrases), openings, _frozen(prefixes), _frozen(unspaced))


def _frozen(table: dict[str, list[tuple[str, str]]]) -> dict[str, tuple[tuple[str, str], ...]]:
    return {key: tuple(dict.fromkeys(values)) for key, values in table.items()}


def cues(folded: str, words: list[str], language: str) -> list[Cue]:
    """Every cue in a sentence of that language (English words count everywhere)."""
    known = lexicon()
    tongues = (language, "en")
    found: list[Cue] = []
    for at, word in enumerate(words):
        found.extend(Cue(meaning, word, at) for tongue, meaning in known.phrases.get(word, ()) if tongue in tongues)
        if word in known.openings:
            found.extend(_longer(words, at, known, tongues))
        for length in range(MIN_PREFIX, len(word) + 1):
            entries = known.prefixes.get(word[:length], ())
            found.extend(Cue(meaning, word[:length], at) for tongue, meaning in entries if tongue in tongues)
    for phrase, meaning in known.unspaced.get(language, ()):
        if phrase in folded:
            found.append(Cue(meaning, phrase, 0))
    return found


def _longer(words: list[str], at: int, known: Lexicon, tongues: tuple[str, str]) -> Iterable[Cue]:
    for length in range(2, MAX_PHRASE_WORDS + 1):
        phrase = " ".join(words[at : at + length])
        yield from (Cue(meaning, phrase, at) for tongue, meaning in known.phrases.get(phrase, ()) if tongue in tongues)
