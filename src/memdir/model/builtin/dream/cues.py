"""Signs in a text that something changed: the old value it names, the new one, and from when.

Owns reading such sentences in several languages. Whether a memory is affected is decided elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from memdir.model.builtin.dream.prose import split
from memdir.model.builtin.dream.values import Value, Values

_WORD = r"[^\s,.;:!?()]+(?:[.,:][^\s,.;:!?()]+)*"
_RUN = rf"(?P<{{0}}>{_WORD}(?: {_WORD}){{{{0,4}}}}?)"
_EAST_RUN = r"(?P<{0}>[^\s、。，；]{{1,12}}?)"


_SIGNS = ("cue", "moved", "outcome", "back", "mention")


@dataclass(frozen=True)
class Change:
    """What a text says about a change."""

    old: tuple[Value, ...]  # values it names as no longer so
    old_words: tuple[str, ...]  # the same for things that are no values: names of tools, places, methods
    pairs: tuple[tuple[Value, Value], ...]  # old and new named together
    word_pairs: tuple[tuple[str, str], ...]
    is_change: bool
    is_moved: bool
    is_outcome: bool
    is_back: bool
    is_mention: bool


class Cues:
    """The patterns, compiled once."""

    def __init__(self, values: Values) -> None:
        self._values = values
        table: dict[str, list[str]] = {}
        text = resources.files(__package__).joinpath("change_cues.txt").read_text(encoding="utf-8")
        for line in text.splitlines():
            kind, _, pattern = line.partition("\t")
            if pattern and not line.startswith("#"):
                table.setdefault(kind, []).append(pattern)
        self._from_to = [_compiled(pattern) for pattern in table["from-to"]]
        self._old = [_compiled(pattern) for pattern in table["old"]]
        self._old_values = [_compiled(pattern) for pattern in table["old-value"]]
        self._signs = {kind: re.compile("|".join(table[kind]), re.IGNORECASE) for kind in _SIGNS}

    def read(self, text: str) -> Change:
        """Everything `text` says about a change."""
        old: list[Value] = []
        words: list[str] = []
        pairs: list[tuple[Value, Value]] = []
        word_pairs: list[tuple[str, str]] = []
        for pattern in self._from_to:
            for match in pattern.finditer(text):
                known = len(words)
                self._collect(match, old, words)
                pairs += _paired(self._values.find(match["x"]), self._values.find(match["y"]))
                word_pairs += [(word, match["y"]) for word in words[known:]]
        for pattern in self._old:
            for match in pattern.finditer(text):
                self._collect(match, old, words)
        for pattern in self._old_values:
            old += [value for match in pattern.finditer(text) for value in self._values.find(match["x"])]
        old = [self._with_unit(value, text) for value in old]
        return Change(
            old=tuple({(value.kind, value.value): value for value in old}.values()),
            old_words=tuple(dict.fromkeys(words)),
            pairs=tuple(pairs),
            word_pairs=tuple(word_pairs),
            is_change=bool(old or words or self._signs["cue"].search(text)),
            is_moved=bool(self._signs["moved"].search(text)),
            is_outcome=bool(self._signs["outcome"].search(text)),
            is_back=bool(self._signs["back"].search(text)),
            is_mention=bool(self._signs["mention"].search(text)),
        )

    def _with_unit(self, value: Value, text: str) -> Value:
        """ "10 seconds, not 30": a bare old number has the unit of the one amount in its sentence."""
        if value.kind != "num":
            return value
        at = text.find(value.text)
        sentence = next((text[start:end] for start, end in split(text) if start <= at < end), text)
        kinds = {other.kind for other in self._values.find(sentence) if other.kind.startswith("num:")}
        return Value(kinds.pop(), value.value, value.start, value.end, value.text) if len(kinds) == 1 else value

    def _collect(self, match: re.Match[str], old: list[Value], words: list[str]) -> None:
        found = self._values.find(match["x"])
        old += found
        if not found:
            words.append(match["x"])


def _compiled(pattern: str) -> re.Pattern[str]:
    run = _EAST_RUN if re.search("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", pattern) else _RUN
    filled = pattern.replace("{x}", run.format("x")).replace("{y}", run.format("y"))
    return re.compile(filled, re.IGNORECASE)


def _paired(old: list[Value], new: list[Value]) -> list[tuple[Value, Value]]:
    same = [(before, after) for before in old for after in new if before.kind.split(":")[0] == after.kind.split(":")[0]]
    return same if len(same) == 1 else []
