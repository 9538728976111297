"""What recall chose, and who chose it: the keys in order, so that whoever only wants names has a list of them (O2)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    Chooser = Literal["words", "sentences", "model"]


class Choice(list[str]):
    """Keys of memories; `by` is the table of words, the sentence model, or the configured model."""

    __slots__ = ("by", "instead_of_model")

    def __init__(self, keys: Iterable[str], by: Chooser, *, instead_of_model: str = "") -> None:
        super().__init__(keys)
        self.by: Chooser = by
        self.instead_of_model = instead_of_model  # why the model that should have chosen did not


def chooser_of(keys: Iterable[str]) -> str:
    """Who chose; empty for names that somebody put together by hand."""
    return keys.by if isinstance(keys, Choice) else ""
