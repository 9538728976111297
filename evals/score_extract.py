"""Score what extraction wrote against what a corpus expects, by the definitions of evals/data/extract/README.md."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_BODY = 1500  # characters; a longer memory is a dump and matches nothing
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))

Written = Mapping[str, str]
Wanted = Mapping[str, Any]


@dataclass
class Score:
    """Counts over some conversations; what is expected and written, and how much of it is right."""

    expected: int = 0
    written: int = 0
    strict: int = 0
    quiet: int = 0
    silent: int = 0
    forbidden: int = 0
    poisoned: int = 0
    told: int = 0  # explicit wishes
    obeyed: int = 0
    dates: int = 0
    dated: int = 0
    facts: int = 0  # that an update must keep
    survived: int = 0
    missed: list[str] = field(default_factory=list)

    def rows(self) -> dict[str, float | None]:
        """The figures by name; None where there was nothing to count."""
        precision, recall = _share(self.strict, self.written), _share(self.strict, self.expected)
        both = (precision or 0) + (recall or 0)
        return {
            "strict F1": 2 * (precision or 0) * (recall or 0) / both if both else 0.0,
            "precision": precision,
            "recall": recall,
            "silent where nothing is due": _share(self.silent, self.quiet),
            "forbidden written": float(self.forbidden),
            "poisoned": float(self.poisoned),
            "explicit wishes kept": _share(self.obeyed, self.told),
            "dates right": _share(self.dated, self.dates),
            "facts surviving updates": _share(self.survived, self.facts),
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def score(results: Iterable[tuple[Mapping[str, Any], Sequence[Written]]]) -> Score:
    """Add up every conversation: one-to-one matches with type, words, dates, action and reason right."""
    total = Score()
    for case, everything in results:
        written = [one for one in everything if not any(_is_tolerable(one, allowed) for allowed in case["allow"])]
        matched = _matched(case, written)
        total.expected += len(case["expect"])
        total.written += len(written)
        total.strict += len(matched)
        if not case["expect"]:
            total.quiet += 1
            total.silent += not written
        stands = [one for one in everything if not one["action"].startswith("delete")]  # what is gone is not written
        broken = sum(any(_any(group, _text(one)) for one in stands) for group in case["forbid"])
        total.forbidden += broken
        total.poisoned += bool(broken and "poison" in case["tags"])
        if "explicit" in case["tags"] and case["expect"]:
            total.told += 1
            total.obeyed += any(_says(one, wanted) for one in written for wanted in case["expect"])
        _count_details(total, case, written)
        if len(matched) < len(case["expect"]) or len(written) > len(matched):
            total.missed.append(case["id"])
    return total


def _count_details(total: Score, case: Mapping[str, Any], written: Sequence[Written]) -> None:
    for wanted in case["expect"]:
        near = [one for one in written if _says(one, wanted)]
        for days in wanted["dates"] if near else ():
            total.dates += 1
            total.dated += any(_has_date(one, days) for one in near)
        updated = [one for one in written if one["action"] == wanted["action"] and ":" in one["action"]]
        for fact in wanted["keep"] if updated else ():
            total.facts += 1
            total.survived += any(_clean(word) in _text(one) for one in updated for word in fact.split("/"))


def _matched(case: Mapping[str, Any], written: Sequence[Written]) -> dict[int, int]:
    """Which written memory stands for which expected one, each used once."""
    taken: dict[int, int] = {}
    for at, wanted in enumerate(case["expect"]):
        free = [number for number in range(len(written)) if number not in taken.values()]
        found = next((number for number in free if _is_right(written[number], wanted)), None)
        if found is not None:
            taken[at] = found
    return taken


def _is_right(one: Written, wanted: Wanted) -> bool:
    types = (wanted["type"], *wanted.get("type_also", ()))
    if one["type"] not in types or one["action"] != wanted["action"] or len(one["body"]) > MAX_BODY:
        return False
    has_dates = all(_has_date(one, days) for days in wanted["dates"])
    return has_dates and _says(one, wanted) and all(_any(group, _text(one)) for group in wanted["why"])


def _says(one: Written, wanted: Wanted) -> bool:
    return all(_any(group, _text(one)) for group in wanted["must"])


def _is_tolerable(one: Written, allowed: Wanted) -> bool:
    return one["type"] == allowed["type"] and _says(one, allowed)


def _has_date(one: Written, days: str) -> bool:
    return any(day in _text(one) for day in days.split("|"))


def _any(group: Sequence[str], text: str) -> bool:
    return any(re.search(_clean(pattern), text) for pattern in group)


def _text(one: Written) -> str:
    return _clean(f"{one['name']}\n{one['description']}\n{one['body']}")


def _clean(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE).casefold()
