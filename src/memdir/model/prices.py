"""What tokens cost by list price: our dated table, and the user's own file before it. Estimates, not bills."""

from __future__ import annotations

import json
import os

from memdir.disk.plain_file import read_plain
from memdir.disk.shipped import shipped_text
from memdir.errors import SettingsError
from memdir.model.model import Usage

TOKENS_PER_PRICE = 1_000_000
_KINDS = ("input", "output", "cache_read", "cache_created")


class Prices:
    """Money a million tokens, by a part of a model's name; the longest part that fits counts."""

    def __init__(self, own_path: str = "") -> None:
        table = json.loads(shipped_text("model/prices.json"))
        self.date: str = table["date"]
        self._models: dict[str, dict[str, float]] = {
            _plain_name(name): price for name, price in {**table["models"], **_own_prices(own_path)}.items()
        }

    def of(self, model: str, usage: Usage) -> float | None:
        """The estimated money for a call; None for a model without a price."""
        name = _plain_name(model)
        fitting = [known for known in self._models if known in name]
        if not fitting:
            return None
        price = self._models[max(fitting, key=len)]
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_created)
        money = sum(count * price.get(kind, price["input"]) for kind, count in zip(_KINDS, counts, strict=True))
        return money / TOKENS_PER_PRICE


def _plain_name(model: str) -> str:
    """`anthropic/claude-opus-4.5` and `us.anthropic.claude-opus-4-5-v1:0` name the same model."""
    return model.lower().replace(".", "-")


MAX_PRICES_BYTES = 1 << 20  # a table written by hand


def _own_prices(path: str) -> dict[str, dict[str, float]]:
    if not path or not os.path.exists(path):
        return {}
    try:
        found = json.loads(read_plain(path, max_bytes=MAX_PRICES_BYTES))
        return {str(name): _own_price(price) for name, price in found.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        told = f"the prices in {path} cannot be read: {error!r}"
        raise SettingsError(told, remedy="See docs/how-to/budget.md for their form") from error


def _own_price(price: dict[str, object]) -> dict[str, float]:
    known = {kind: float(str(price[kind])) for kind in _KINDS if kind in price}
    return {"input": known["input"], "output": known["output"], **known}
