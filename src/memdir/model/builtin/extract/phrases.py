"""Patterns built from turns of phrase in many languages; the phrases themselves are data."""

from __future__ import annotations

import os
import re
from functools import cache

from memdir.model.builtin.extract.words import cjk_runs


@cache
def _phrases() -> dict[str, dict[str, tuple[str, ...]]]:
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "phrases.txt"), encoding="utf-8") as lines:
        for line in lines:
            head, colon, tail = line.partition(":")
            if line.startswith("#") or not colon:
                continue
            meaning, language = head.split()
            some = tuple(phrase.strip() for phrase in tail.split(";") if phrase.strip())
            table.setdefault(meaning, {})[language] = some
    return table


def alternatives(meaning: str, language: str | None = None) -> str:
    """A regular expression for any phrase of the meaning: in one language and English, or in all."""
    known = _phrases()[meaning]
    chosen = (
        known if language is None else {name: known[name] for name in dict.fromkeys((language, "en")) if name in known}
    )
    phrases = sorted({phrase for some in chosen.values() for phrase in some}, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(_escaped(phrase) for phrase in phrases) or r"(?!)"


def _escaped(phrase: str) -> str:
    if cjk_runs(phrase):
        return re.escape(phrase)
    stem, star = (phrase[:-1], r"\w*") if phrase.endswith("*") else (phrase, "")
    apostrophe = re.escape(stem).replace("'", "['’]")
    return rf"(?<!\w){apostrophe}{star}(?![\w-])" if stem[-1:] not in "'." else rf"(?<!\w){apostrophe}"


@cache
def anywhere(meaning: str, language: str | None = None) -> re.Pattern[str]:
    """Finds a phrase of the meaning anywhere in a text."""
    return re.compile(f"(?:{alternatives(meaning, language)})", re.IGNORECASE)


@cache
def at_end(meaning: str, language: str | None = None) -> re.Pattern[str]:
    """Finds a phrase of the meaning as the last words of a text; an article may follow."""
    return re.compile(
        rf"(?:{alternatives(meaning, language)})\s*(?:(?:the|la|le|el|o|a|il|de|den|der)\s*)?$", re.IGNORECASE
    )
