"""Kinds of sentences, told by their words: patterns in several languages, kept as data and compiled when needed."""

from __future__ import annotations

import re
from importlib import resources


class Phrases:
    """One pattern a kind."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        text = resources.files(__package__).joinpath("phrases.txt").read_text(encoding="utf-8")
        lead = ""
        for line in text.splitlines():
            kind, _, pattern = line.partition("\t")
            if not pattern or line.startswith("#"):
                continue
            if kind == "lead":
                lead = rf"^(?:(?:{pattern})[,:!]?\s+)*"
                continue
            raw = pattern.replace("{lead}", lead) if kind.endswith("*") else rf"(?<!\w)(?:{pattern})(?!\w)"
            self._lines.setdefault(kind.rstrip("*"), []).append(raw)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def pattern(self, kind: str) -> re.Pattern[str]:
        """The pattern of one kind."""
        known = self._compiled.get(kind)
        if known is None:
            known = self._compiled[kind] = re.compile("|".join(self._lines[kind]), re.IGNORECASE)
        return known

    def has(self, kind: str, text: str) -> bool:
        """Whether `text` holds a phrase of this kind."""
        return self.pattern(kind).search(text) is not None
