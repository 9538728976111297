"""Sentence vectors that an evaluation keeps between runs: the second run prints what the first one did (R3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdir.search import has_sentence_model

TEXTS = ["the vehicle will not start", "a recipe for onion soup"]


@pytest.mark.skipif(not has_sentence_model(), reason="the extra minilm is not installed")
def test_vectors_are_the_same_when_made_and_when_read_again(tmp_path: Path) -> None:
    from evals.sentences import Sentences

    first = Sentences(tmp_path)
    made = first.embed(TEXTS)
    first.save()
    assert Sentences(tmp_path).embed(TEXTS) == made
