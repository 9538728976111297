"""Kinds of sentences, told by their words: patterns in several languages, kept as data and compiled when needed."""

from __future__ import annotations

import re

from memdir.disk.shipped import shipped_lines


class SentenceKinds:
    """One pattern a kind."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        self._words: dict[str, list[str]] = {}
        lead = ""
        for line in shipped_lines("model/builtin/dream/sentence_kinds.txt"):
            kind, _, pattern = line.partition("\t")
            if kind == "lead":
                lead = rf"^(?:(?:{pattern})[,:!]?\s+)*"
                continue
            lines = self._lines if kind.endswith("*") else self._words
            lines.setdefault(kind.rstrip("*"), []).append(pattern.replace("{lead}", lead))
        self._compiled: dict[str, re.Pattern[str]] = {}

    def pattern(self, kind: str) -> re.Pattern[str]:
        """The pattern of one kind."""
        known = self._compiled.get(kind)
        if known is None:
            words = self._words.get(kind, [])
            whole = [rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"] if words else []
            known = self._compiled[kind] = re.compile("|".join([*whole, *self._lines.get(kind, [])]), re.IGNORECASE)
        return known

    def has(self, kind: str, text: str) -> bool:
        """Whether `text` holds a phrase of this kind."""
        return self.pattern(kind).search(text) is not None
