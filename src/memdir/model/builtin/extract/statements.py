"""What the user says in his own words, sentence by sentence; whose words they are was found before (X12)."""

from __future__ import annotations

from dataclasses import dataclass

from memdir.text.language import clean
from memdir.text.sentences import SPEECH, bounds, masked

MIN_PROSE_SHARE = 0.5  # of a line's visible characters that are letters or spaces; below it is data


@dataclass(frozen=True)
class SaidSentence:
    """One sentence of the user."""

    text: str
    line: int
    number: int
    total: int


def sentences(text: str, line: int) -> tuple[SaidSentence, ...]:
    """The user's own sentences in one said line, in order."""
    said = clean(text)
    pieces = (said[start:end].strip() for start, end in bounds(masked(said), SPEECH))
    kept = [piece for piece in pieces if _is_prose(piece)]
    return tuple(SaidSentence(piece, line, at, len(kept)) for at, piece in enumerate(kept))


def _is_prose(piece: str) -> bool:
    visible = [char for char in piece if not char.isspace()]
    letters = sum(char.isalpha() for char in visible)
    return letters >= 1 and letters >= MIN_PROSE_SHARE * len(visible)
