"""What recall chose, who chose it and, where a model should have and did not, why (O2)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Chooser = Literal["words", "sentences", "model", ""]  # nobody: names that a host put together


class Choice:
    """The memories that were chosen: by the table of words, by the sentence model beside it, or by a model."""

    __slots__ = ("by", "instead_of_model", "keys", "prompt_hash")

    def __init__(self, keys: list[str], by: Chooser, *, prompt_hash: str = "") -> None:
        self.keys = keys
        self.by: Chooser = by
        self.prompt_hash = prompt_hash  # what a model was told
        self.instead_of_model = ""  # why the model that should have chosen did not
