"""The shipped judge: a small file, read once, that survives packing."""

from __future__ import annotations

import os

import pytest

from memdir.model.builtin.extract import judge as module
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge, pack, shipped, unpack
from memdir.text.language import stems

LARGEST = 2_000_000  # bytes; the package stays small


def test_the_shipped_file_is_small_and_packs_to_the_same_bytes() -> None:
    path = os.path.join(os.path.dirname(module.__file__), "judge.bin")
    with open(path, "rb") as file:
        data = file.read()
    assert len(data) < LARGEST
    assert pack(unpack(data)) == data


def test_probabilities_add_up_and_unknown_features_change_nothing() -> None:
    judge = shipped()
    odds = judge.probabilities(["bias", "c:always", "c:forbid"])
    assert set(odds) == set(CLASSES)
    assert sum(odds.values()) == pytest.approx(1.0)
    assert judge.probabilities(["bias", "c:always", "c:forbid", "w:zzzzzz-never-seen"]) == odds


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="not a judge file"):
        unpack(b"something else")


def test_packing_keeps_every_number() -> None:
    judge = SentenceJudge({7: (1, -2, 3, 0, 0, 127)}, 0.5, {"a": 1.5}, {"b": -2.0}, {"keep": 1.0}, {"stem": 0.25})
    assert unpack(pack(judge)) == judge


def test_the_judge_knows_everyday_words_by_the_stems_that_are_made_today() -> None:
    """A stemmer that changes without the judge makes every common word look like a telling one."""
    everyday = stems("always never please instead project use write tests because before should every")
    assert [stem for stem in everyday if stem not in shipped().familiar] == []
