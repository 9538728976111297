"""What a message asks for, by its own words: nothing, or a memory of some kind (R1-R3)."""

from __future__ import annotations

import pytest

from memdir.errors import MemdirError
from memdir.recall.decide import JUDGED, SUREST, Needs, marks_of, own_words

NEEDS = Needs()
LOG = """
[    3.112044] mmc0: error -110 whilst initialising SD card
[    4.220911] EXT4-fs (mmcblk0p2): unable to read superblock
[    4.221300] VFS: Cannot open root device "PARTUUID=8a3c-02"
[    4.230015] Kernel panic - not syncing: VFS: Unable to mount root fs
"""


def judged(text: str) -> dict[str, float]:
    return dict(zip(JUDGED, NEEDS.of(text), strict=True))


@pytest.mark.parametrize(
    "text", ["good morning!", "lol ok", "thanks, that was it", "what is the difference between a mutex and a semaphore"]
)
def test_small_talk_and_textbook_questions_look_empty(text: str) -> None:
    assert judged(text)["nothing"] > 0


@pytest.mark.parametrize("text", ["commit and push this", "write a reply to the customer", "add a test for the parser"])
def test_work_that_rules_govern_asks_for_rules(text: str) -> None:
    found = judged(text)
    assert found["nothing"] < 0
    assert max(JUDGED[1:], key=lambda kind: found[kind]) == "feedback"


def test_a_question_for_a_place_asks_for_references() -> None:
    found = judged("where do I find the dashboard of the team?")
    assert max(JUDGED[1:], key=lambda kind: found[kind]) == "reference"


def test_of_a_paste_only_the_words_around_it_count() -> None:
    text = f"what does this mean?\n{LOG}\nsend it to the vendor"
    assert own_words(text) == "what does this mean? send it to the vendor"
    assert "superblock" not in marks_of(text)
    assert {"vendor", "mean"} <= marks_of(text).keys()


def test_a_short_message_is_all_the_persons_own() -> None:
    assert own_words("first\nsecond\nthird") == "first\nsecond\nthird"


def test_no_message_is_judged_beyond_what_is_known() -> None:
    assert all(abs(number) <= SUREST for number in NEEDS.of("thanks lol ok cool " * 200))
    assert len(NEEDS.of("")) == len(JUDGED)


def test_a_file_that_was_cut_short_is_told() -> None:
    with pytest.raises(MemdirError, match="cut short"):
        Needs(b"# head\nthanks 1 2 3 4 5\n")
