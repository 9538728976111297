"""Sentences that are compared again and again: what is known of them is kept, within limits."""

from __future__ import annotations

import gc
import weakref

import pytest

from memdir.text.nearness import are_of_two, sentence_of


def test_a_process_that_runs_all_day_keeps_some_sentences_and_no_pages() -> None:
    assert sentence_of("Deploys are frozen.") is sentence_of("Deploys are frozen.")
    looked_at = [weakref.ref(sentence_of(f"Sentence {number} of the day.")) for number in range(3_000)]
    pages = [weakref.ref(sentence_of(f"Page {number} {'of the log ' * 300}")) for number in range(3)]
    gc.collect()
    assert sum(one() is not None for one in looked_at) <= 1_024
    assert [one() for one in pages] == [None] * 3


@pytest.mark.parametrize(
    ("one", "other", "is_another"),
    [
        ("The contract with Acme ends on 2027-05-01.", "The contract with Globex ends on 2028-07-15.", True),
        ("Das Budget für Marketing beträgt 5000 Euro.", "Das Budget für Reisen beträgt 5000 Euro.", True),
        ("Bob reviews the parser on 1 May.", "Bob reviews the parser on 2 May.", False),
        ("We use MySQL 8 for billing.", "We use PostgreSQL 16 for billing.", False),
        ("Maria owns the release process.", "Tom owns the release process.", False),
        ("Maria owns the release process.", "Tom owns the search process.", True),
    ],
)
def test_two_things_are_told_by_another_name_beside_the_same_number_or_another_one(
    one: str, other: str, is_another: bool
) -> None:
    assert are_of_two(one, other) is is_another is are_of_two(other, one)
