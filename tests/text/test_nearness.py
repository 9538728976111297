"""Sentences that are compared again and again: what is known of them is kept, within limits."""

from __future__ import annotations

import gc
import weakref

from memdir.text.nearness import sentence_of


def test_a_process_that_runs_all_day_keeps_some_sentences_and_no_pages() -> None:
    assert sentence_of("Deploys are frozen.") is sentence_of("Deploys are frozen.")
    looked_at = [weakref.ref(sentence_of(f"Sentence {number} of the day.")) for number in range(3_000)]
    pages = [weakref.ref(sentence_of(f"Page {number} {'of the log ' * 300}")) for number in range(3)]
    gc.collect()
    assert sum(one() is not None for one in looked_at) <= 1_024
    assert [one() for one in pages] == [None] * 3
