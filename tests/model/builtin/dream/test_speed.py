"""What a night costs, in counts: it reads every memory once, and looks closely at what is new only."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from memdir.model.builtin.dream import Night, NightFile, plan_night
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.settle import MAX_HOLDERS, MAX_NEAR, Neighbours

from ....counting import calls_of

NOW = datetime(2026, 6, 15, 6, 0, tzinfo=UTC)
LAST_NIGHT = NOW.timestamp() - 86_400
MEMORIES, NEW = 120, 4


def night() -> Night:
    """Memories that share words, four of them new."""
    chance = random.Random(7)
    words = [f"{one}{two}{three}" for one in ("ka", "lo", "pul") for two in ("mi", "ner") for three in ("dor", "ven")]
    words += [f"{word}{number}x" for word in words for number in "abcdefgh"]
    files = []
    for number in range(MEMORIES):
        text = " ".join(chance.choices(words, k=12)), " ".join(chance.choices(words, k=45))
        data = f"---\nname: memory {number}\ndescription: {text[0]}\ntype: project\n---\n\n{text[1]}\n"
        files.append(NightFile(f"memory_{number}.md", data.encode(), LAST_NIGHT + (60 if number < NEW else -60)))
    return Night(tuple(files), (), NOW, settled_before=LAST_NIGHT)


def test_only_what_is_new_is_held_against_its_neighbours() -> None:
    assert 0 < calls_of("verdict", lambda: plan_night(night())) <= NEW * MAX_NEAR


def test_a_word_that_many_memories_hold_brings_none_near() -> None:
    texts = [f"---\nname: memory\n---\n\nThe gateway of {number}.\n".encode() for number in range(MAX_HOLDERS + 1)]
    near = Neighbours(Page(f"{number}.md", text, LAST_NIGHT) for number, text in enumerate(texts))
    assert near.near(near.notes["0.md"], but="0.md") == []


def test_what_is_held_against_nothing_is_read_for_its_words_alone() -> None:
    assert calls_of("repeats", lambda: plan_night(night())) <= NEW * (1 + 3 * MAX_NEAR) < MEMORIES


def test_a_word_is_cut_to_its_stem_once() -> None:
    plan_night(night())
    assert calls_of("_cut", lambda: plan_night(night())) == 0
