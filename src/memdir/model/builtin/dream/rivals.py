"""Values that agree, and values that cannot both be true of one thing."""

from __future__ import annotations

import re

from memdir.model.builtin.dream.values import Value

_LOOSE = ("num", "percent")  # "99.1" and "99.1 %" are one value


def base_kind(kind: str) -> str:
    return re.split("[:@]", kind)[0]


def is_same(one: Value, two: Value) -> bool:
    """Whether two values are the same, a missing unit counting as any unit."""
    if one.value != two.value:
        return False
    left, right = one.kind, two.kind
    return left == right or (
        base_kind(left) in _LOOSE and base_kind(right) in _LOOSE and (left in _LOOSE or right in _LOOSE)
    )


def rivals_of(value: Value, others: tuple[Value, ...] | list[Value]) -> list[Value]:
    """Values of the same kind that differ; none when one of them agrees."""
    same_kind = [other for other in others if other.kind == value.kind]
    if any(other.value == value.value for other in same_kind if other.kind == value.kind):
        return [other for other in same_kind if other.value != value.value] if value.kind == "num" else []
    return same_kind


def loose_rivals_of(value: Value, others: tuple[Value, ...] | list[Value]) -> list[Value]:
    """Numbers without a unit beside one with a unit: "back at 99.7" after "99.1 %"."""
    if base_kind(value.kind) not in _LOOSE:
        return []
    loose = [other for other in others if base_kind(other.kind) == "num" and other.value != value.value]
    return [other for other in loose if other.kind == "num"] if value.kind != "num" else loose


def unit_of(value: Value) -> str:
    match = re.search(r"[\d.,]+(\s*\D+)$", value.text)
    return match[1] if match else ""
