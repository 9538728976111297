"""The shipped judge: a text that a person can review, read once, the same when it is written again."""

from __future__ import annotations

import pytest
from evals.train_extract import written

from memdir.disk.shipped import shipped_lines, shipped_text
from memdir.model.builtin.extract.judge import CLASSES, FILE, SentenceJudge, read, shipped
from memdir.text.language import stems

LARGEST = 2_000_000  # bytes; the package stays small


def test_the_shipped_file_is_small_and_is_written_the_same_again() -> None:
    assert len(shipped_text(FILE)) < LARGEST
    assert list(written(shipped())) == shipped_lines(FILE)


def test_probabilities_add_up_and_unknown_features_change_nothing() -> None:
    judge, words = shipped(), ["always", "never"]
    odds = judge.probabilities(["bias", "c:always", "c:forbid"], words)
    assert set(odds) == set(CLASSES)
    assert sum(odds.values()) == pytest.approx(1.0)
    assert judge.probabilities(["bias", "c:always", "c:forbid", "w:zzzzzz-never-seen"], words) == odds


def test_what_the_words_mean_counts_where_no_feature_is_known() -> None:
    judge = shipped()
    assert judge.probabilities(["bias"], ["physician"]) != judge.probabilities(["bias"], ["gradle"])


def test_a_message_in_which_nothing_is_due_makes_each_of_its_clauses_less_likely() -> None:
    judge = SentenceJudge({"w:a": (0, 0, 0, 0, 0, 0, -4), "w:b": (0, 1, 0, 0, 0, 0, 0)}, (), 0.5, {})
    doubted = judge.probabilities(["w:b"], [], judge.due(["w:a", "w:b", "w:a"]))
    assert judge.due(["w:a", "w:a"]) == -2 and doubted["N"] > judge.probabilities(["w:b"], [])["N"]


def test_writing_keeps_every_number() -> None:
    judge = SentenceJudge({"w:a b": (1, -2, 3, 0, 0, 127, 5)}, ((1, 2, 3, 4, 5, 6),), 0.5, {"stem": 0.25})
    assert read(written(judge)) == judge


def test_the_judge_knows_everyday_words_by_the_stems_that_are_made_today() -> None:
    """A stemmer that changes without the judge makes every common word look like a telling one."""
    everyday = stems("always never please instead project use write tests because before should every")
    assert [stem for stem in everyday if stem not in shipped().familiar] == []
