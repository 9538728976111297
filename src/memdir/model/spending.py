"""Sums of the ledger: what background work used, by day, job, project or model (B2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from memdir.model.ledger import Spent
from memdir.model.model import Usage


@dataclass(frozen=True)
class Sum:
    """What several calls used together. `unpriced` counts the calls of models that have no price."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """What counts against a cap."""
        return self.usage.prompt + self.usage.output

    def with_call(self, spent: Spent) -> Sum:
        return Sum(
            self.calls + 1,
            self.failed + bool(spent.failure),
            self.usage + spent.usage,
            self.money + (spent.money or 0.0),
            self.unpriced + (spent.money is None),
        )


def sums(spents: Iterable[Spent], key: Callable[[Spent], str]) -> dict[str, Sum]:
    """The sums of each group, the largest first."""
    found: dict[str, Sum] = {}
    for spent in spents:
        name = key(spent)
        found[name] = found.get(name, Sum()).with_call(spent)
    return dict(sorted(found.items(), key=lambda item: (-item[1].tokens, item[0])))


def day_of(moment: float) -> str:
    """The day of a moment in local time, as caps count it."""
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()
