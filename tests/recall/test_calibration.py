"""The learned numbers fit what they are multiplied with."""

from __future__ import annotations

import pytest

from memdir.recall.calibration import load_calibration
from memdir.recall.signals import NAMES
from memdir.search.minilm import SENTENCE_DIMENSIONS
from memdir.text.embedding import DIMENSIONS


@pytest.mark.parametrize(("encoder", "dimensions"), [("words", DIMENSIONS), ("pair", DIMENSIONS + SENTENCE_DIMENSIONS)])
def test_every_signal_and_every_dimension_has_a_weight(encoder: str, dimensions: int) -> None:
    learned = load_calibration(encoder)
    assert len(learned.weights) == len(NAMES)
    assert len(learned.empty_direction) == dimensions
