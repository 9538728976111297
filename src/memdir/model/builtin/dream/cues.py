"""Signs in a sentence: of what kind it is, and what it says has changed, in several languages.

Whether a memory is affected is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.values import Value, values_in

_WORD = r"[^\s,.;:!?()]+(?:[.,:][^\s,.;:!?()]+)*"
_RUN = rf"(?P<{{0}}>{_WORD}(?: {_WORD}){{{{0,4}}}}?)"
_EAST_RUN = r"(?P<{0}>[^\s、。，；]{{1,12}}?)"
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True)
class ToldChange:
    """What a text says about a change: each value or thing that it names as no longer so, with what is now in its
    place, or nothing."""

    text: str
    given_way: Mapping[str, str]

    @cached_property
    def is_change(self) -> bool:
        """It tells of a change at all."""
        return bool(self.given_way) or is_kind("cue", self.text)

    @cached_property
    def matters(self) -> bool:
        """It may bear on what is written down."""
        return self.is_change or is_kind("outcome", self.text) or is_kind("back", self.text)


def change_in(text: str) -> ToldChange:
    """Everything a text says about a change."""
    found: dict[str, str] = {}
    for kind, match in ((sign.kind, match) for sign in _signs() for match in sign.find(text)):
        old = values_in(match["x"])
        if kind == "from-to":
            pairs = [(one, two) for one in old for two in values_in(match["y"]) if one.is_like(two)]
            found |= {one.text: _fitting(one, two) for one, two in pairs[:1] if len(pairs) == 1}
            found |= {} if old else {match["x"]: match["y"]}
        named = [value.text for value in old]
        found = dict.fromkeys(named or [match["x"]] if kind != "old-value" else named, "") | found
    return ToldChange(text, found)


def _fitting(old: Value, new: Value) -> str:
    """The new value with a unit only where the old one is written with one."""
    if old.unit and not new.unit:
        return new.text + old.unit
    return new.text if old.unit else new.text.removesuffix(new.unit)


class _Sign:
    """A pattern around an old value, and the part of it that is quick to look for."""

    def __init__(self, kind: str, pattern: str) -> None:
        self.kind = kind
        run = _EAST_RUN if _EAST.search(pattern) else _RUN
        filled = pattern.replace("{x}", run.format("x")).replace("{y}", run.format("y"))
        self._pattern = re.compile(filled, re.IGNORECASE)
        head, _, tail = pattern.partition("{x}")
        tail = tail.partition("{y}")[0]
        # What stands behind the value, or before it, without the value itself: most texts have neither.
        self._guard = re.compile(tail if tail.strip() and not tail.startswith("(?") else head, re.IGNORECASE)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        if self._guard.search(text):
            yield from self._pattern.finditer(text)


@cache
def _signs() -> list[_Sign]:
    rows = (line.partition("\t") for line in shipped_lines("model/builtin/dream/change_cues.txt"))
    return [_Sign(kind, pattern) for kind, _, pattern in rows]


@cache
def _kinds() -> dict[str, list[str]]:
    """The patterns of each kind of sentence."""
    found: dict[str, list[str]] = {}
    lead = ""
    for line in shipped_lines("model/builtin/dream/sentence_kinds.txt"):
        kind, _, pattern = line.partition("\t")
        if kind == "lead":
            lead = rf"^(?:(?:{pattern})[,:!]?\s+)*"
            continue
        whole = pattern.replace("{lead}", lead) if kind.endswith("*") else rf"(?<!\w)(?:{pattern})(?!\w)"
        found.setdefault(kind.rstrip("*"), []).append(whole)
    return found


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(_kinds()[kind]), re.IGNORECASE)


def is_kind(kind: str, text: str) -> bool:
    """Whether a text holds a phrase of this kind."""
    return _pattern(kind).search(text) is not None
