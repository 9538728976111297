"""Directions kept bit by bit still tell near from far (R3)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdir.search.vectors import DOC_BITS, QUERY_BITS, doc_vector, quantised, quantised_sum, query_vector
from memdir.text.embedding import DIMENSIONS, WordSum, open_table
from memdir.text.words import split_words

numbers = st.lists(st.floats(-10, 10, allow_nan=False), min_size=64, max_size=64).filter(
    lambda values: sum(value * value for value in values) > 1
)


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


@given(numbers)
def test_a_direction_is_nearest_to_itself_and_farthest_from_its_opposite(values: list[float]) -> None:
    question, same, opposite = query_vector(values), doc_vector(values), doc_vector([-value for value in values])
    assert question and same and opposite
    assert question.similarity(same) > 0.85
    assert question.similarity(opposite) < -0.85


def test_similarity_is_the_cosine_but_for_a_hair() -> None:
    one = [math.sin(7 * at) for at in range(256)]
    for share in (0.0, 0.3, 0.6, 0.9):
        other = [share * value + (1 - share) * math.cos(3 * at * at) for at, value in enumerate(one)]
        question, kept = query_vector(one), doc_vector(other)
        assert question and kept
        assert question.similarity(kept) == pytest.approx(cosine(one, other), abs=0.03)


def test_nothing_has_no_direction() -> None:
    assert query_vector([0.0] * 64) is None
    assert doc_vector([0.0] * 64) is None


def test_one_number_larger_than_all_others_does_no_harm() -> None:
    values = [0.0] * 255 + [1e9]
    question, kept = query_vector(values), doc_vector(values)
    assert question and kept
    assert question.similarity(kept) == pytest.approx(1.0)


@pytest.mark.parametrize("bits", [DOC_BITS, QUERY_BITS])
@pytest.mark.parametrize("words", ["oven", "rye bread in the oven", "zzkwq " * 900, "a databse migraton " * 40])
def test_a_sum_of_words_is_the_same_all_at_once_and_number_by_number(words: str, bits: int) -> None:
    total = open_table().document_sum(split_words(words))
    assert total is not None
    assert quantised_sum(total, bits) == quantised(total.values(), bits)


def test_a_sum_with_one_number_far_above_the_others_is_cut_and_does_not_spill_over() -> None:
    lanes = [1000] * DIMENSIONS
    lanes[7], lanes[9] = 2**31, 0
    total = WordSum(b"".join([lane.to_bytes(4, "little") for lane in lanes]), 1000)
    assert quantised_sum(total, QUERY_BITS) == quantised(total.values(), QUERY_BITS)
