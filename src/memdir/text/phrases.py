"""Turns of phrase in many languages as patterns; the phrases themselves are data: `MEANING LANGUAGE: phrase; stem*`."""

from __future__ import annotations

import re
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.text.words import is_unspaced


class Phrases:
    """The phrases of one file or several, by meaning and language."""

    def __init__(self, *paths: str) -> None:
        self._table: dict[str, dict[str, tuple[str, ...]]] = {}
        for path in paths:
            for line in shipped_lines(path):
                head, _, tail = line.partition(":")
                meaning, language = head.split()
                some = tuple(phrase.strip() for phrase in tail.split(";") if phrase.strip())
                self._table.setdefault(meaning, {})[language] = some
        self.anywhere = cache(self._anywhere)
        self.at_end = cache(self._at_end)

    def alternatives(self, meaning: str, language: str | None = None) -> str:
        """A regular expression for any phrase of the meaning: in one language and English, or in all."""
        known = self._table[meaning]
        names = known if language is None else [name for name in dict.fromkeys((language, "en")) if name in known]
        phrases = {phrase for name in names for phrase in known[name]}
        ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
        return "|".join(_escaped(phrase) for phrase in ordered) or r"(?!)"

    def _anywhere(self, meaning: str, language: str | None = None) -> re.Pattern[str]:
        """Finds a phrase of the meaning anywhere in a text."""
        return re.compile(f"(?:{self.alternatives(meaning, language)})", re.IGNORECASE)

    def _at_end(self, meaning: str, language: str | None = None) -> re.Pattern[str]:
        """Finds a phrase of the meaning as the last words of a text; an article may follow."""
        phrases = self.alternatives(meaning, language)
        return re.compile(rf"(?:{phrases})\s*(?:(?:the|la|le|el|o|a|il|de|den|der)\s*)?$", re.IGNORECASE)


def _escaped(phrase: str) -> str:
    if any(is_unspaced(char) for char in phrase):
        return re.escape(phrase)
    stem, star = (phrase[:-1], r"\w*") if phrase.endswith("*") else (phrase, "")
    apostrophe = re.escape(stem).replace("'", "['’]")
    return rf"(?<!\w){apostrophe}{star}(?![\w-])" if stem[-1:] not in "'." else rf"(?<!\w){apostrophe}"
