"""Signs in a text that something changed: the old value it names, the new one, and from when.

Owns reading such sentences in several languages. Whether a memory is affected is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.values import Value, Values

_WORD = r"[^\s,.;:!?()]+(?:[.,:][^\s,.;:!?()]+)*"
_RUN = rf"(?P<{{0}}>{_WORD}(?: {_WORD}){{{{0,4}}}}?)"
_EAST_RUN = r"(?P<{0}>[^\s、。，；]{{1,12}}?)"
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True)
class ToldChange:
    """What a text says about a change. The signs are looked for when they are asked for."""

    text: str
    old: tuple[Value, ...]  # values it names as no longer so
    old_words: tuple[str, ...]  # the same for things that are no values: names of tools, places, methods
    pairs: tuple[tuple[Value, Value], ...]  # old and new named together
    word_pairs: tuple[tuple[str, str], ...]
    phrases: SentenceKinds

    @cached_property
    def is_change(self) -> bool:
        """It tells of a change at all."""
        return bool(self.old or self.old_words or self.phrases.has("cue", self.text))

    @cached_property
    def matters(self) -> bool:
        """It may bear on what is written down."""
        return self.is_change or any(self.phrases.has(kind, self.text) for kind in ("outcome", "back"))


class Cues:
    """The patterns, compiled once."""

    def __init__(self, values: Values, phrases: SentenceKinds) -> None:
        self._values = values
        self._phrases = phrases
        table: dict[str, list[str]] = {}
        for line in shipped_lines("model/builtin/dream/change_cues.txt"):
            kind, _, pattern = line.partition("\t")
            table.setdefault(kind, []).append(pattern)
        self._from_to = [_Sign(pattern) for pattern in table["from-to"]]
        self._old = [_Sign(pattern) for pattern in table["old"]]
        self._old_values = [_Sign(pattern) for pattern in table["old-value"]]
        guards = [sign.guard for sign in (*self._from_to, *self._old, *self._old_values)]
        self._any_guard = re.compile("|".join(f"(?:{guard})" for guard in guards), re.IGNORECASE)

    def read(self, text: str) -> ToldChange:
        """Everything `text` says about a change."""
        old: list[Value] = []
        words: list[str] = []
        pairs: list[tuple[Value, Value]] = []
        word_pairs: list[tuple[str, str]] = []
        if not self._any_guard.search(text):
            return ToldChange(text, (), (), (), (), self._phrases)
        for match in _found(self._from_to, text):
            known = len(words)
            self._collect(match, old, words)
            pairs += _paired(self._values.find(match["x"]), self._values.find(match["y"]))
            word_pairs += [(word, match["y"]) for word in words[known:]]
        for match in _found(self._old, text):
            self._collect(match, old, words)
        for match in _found(self._old_values, text):
            old += self._values.find(match["x"])
        return ToldChange(
            text=text,
            old=tuple({(value.kind, value.value): value for value in old}.values()),
            old_words=tuple(dict.fromkeys(words)),
            pairs=tuple(pairs),
            word_pairs=tuple(word_pairs),
            phrases=self._phrases,
        )

    def _collect(self, match: re.Match[str], old: list[Value], words: list[str]) -> None:
        found = self._values.find(match["x"])
        old += found
        if not found:
            words.append(match["x"])


class _Sign:
    """A pattern around an old value, and the part of it that is quick to look for."""

    def __init__(self, pattern: str) -> None:
        run = _EAST_RUN if _EAST.search(pattern) else _RUN
        filled = pattern.replace("{x}", run.format("x")).replace("{y}", run.format("y"))
        self._pattern = re.compile(filled, re.IGNORECASE)
        head, _, tail = pattern.partition("{x}")
        tail = tail.partition("{y}")[0]
        # What stands behind the value, or before it, without the value itself: most texts have neither.
        self.guard = tail if tail.strip() and not tail.startswith("(?") else head
        self._quick = re.compile(self.guard, re.IGNORECASE)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        if self._quick.search(text):
            yield from self._pattern.finditer(text)


def _found(signs: list[_Sign], text: str) -> list[re.Match[str]]:
    return [match for sign in signs for match in sign.find(text)]


def _paired(old: list[Value], new: list[Value]) -> list[tuple[Value, Value]]:
    same = [(before, after) for before in old for after in new if before.kind.split(":")[0] == after.kind.split(":")[0]]
    return same if len(same) == 1 else []


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
