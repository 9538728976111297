"""A derived index that was damaged on disk: never an error, never a wrong answer, rebuilt from the files (R3)."""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path

import pytest

from memdir.memdir import MemDir, open_memory
from memdir.recall.selection import LocalSelector
from memdir.search.index_store import BASE_NAME, JOURNAL_NAME, MAX_JOURNAL_SEGMENTS
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user
from tests.conftest import NOW
from tests.search.worlds import BAKERY

TEXT = "---\nname: {0.title}\ndescription: {0.description}\ntype: {0.kind}\n---\n\n{0.description}.\n"
OVEN = "write integration tests for the oven client"
PLACES = 60  # damaged one after the other in each file
FILES = (BASE_NAME, JOURNAL_NAME)


class Bakery:
    """A store with an index in all its parts: the large segment, a journal that was folded and grew again."""

    def __init__(self, folder: Path, encoder: WordEncoder) -> None:
        self.root, self.place = folder / "memory", folder / "index"
        self.encoder = encoder
        self.root.mkdir()
        for one in BAKERY[:4]:
            self.write(one.key, TEXT.format(one))
        selector = self.opened()
        selector.refresh()
        for one in BAKERY[4:]:
            self.write(one.key, TEXT.format(one))
            selector.refresh()
        for number in range(MAX_JOURNAL_SEGMENTS + 2 - len(BAKERY[4:])):  # one change after it was folded
            self.write(f"{number}.md", f"Order number {number} of rye bread.\n")
            selector.refresh()

    def write(self, key: str, text: str) -> None:
        (self.root / key).write_text(text, encoding="utf-8")

    def opened(self) -> LocalSelector:
        return LocalSelector(str(self.root), str(self.place), encoder=self.encoder)

    def answer(self, selector: LocalSelector | None = None) -> list[tuple[str, float]]:
        """What a fresh process would say, with the numbers it says it from."""
        selector = selector or self.opened()
        selector.refresh()
        verdicts = selector.recall(OVEN, now=NOW).decision.verdicts
        return [(verdict.candidate.key, round(verdict.certainty, 9)) for verdict in verdicts]


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return WordEncoder(open_table())


@pytest.fixture
def bakery(tmp_path: Path, encoder: WordEncoder) -> Bakery:
    return Bakery(tmp_path, encoder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("length", [1, 64, 512])
def test_wherever_an_index_is_damaged_the_answer_is_that_of_the_files(bakery: Bakery, name: str, length: int) -> None:
    right = bakery.answer()
    chance = random.Random(f"{name} {length}")
    whole = {one: (bakery.place / one).read_bytes() for one in FILES}
    for _ in range(PLACES):
        for one in FILES:
            (bakery.place / one).write_bytes(whole[one])
        data = bytearray(whole[name])
        at = chance.randrange(max(1, len(data) - length))
        data[at : at + length] = bytes(byte ^ chance.randrange(1, 256) for byte in data[at : at + length])
        (bakery.place / name).write_bytes(data)
        assert bakery.answer() == right, (at, length)
        assert bakery.answer() == right, (at, length)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_index_is_repaired_by_the_first_who_reads_it(bakery: Bakery, name: str) -> None:
    bakery.answer()
    path = bakery.place / name
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\xff" * 100 + data[len(data) // 2 + 100 :])
    bakery.opened().refresh()
    assert bakery.opened().refresh() == 0


def test_an_index_that_is_damaged_while_a_process_holds_it_is_opened_again(bakery: Bakery) -> None:
    right = bakery.answer()
    (bakery.place / BASE_NAME).unlink()
    bakery.answer()  # all cards in the large segment
    selector = bakery.opened()
    assert bakery.answer(selector) == right
    with (bakery.place / BASE_NAME).open("r+b") as file:
        file.seek(200)
        file.write(b"\xff" * 1500)
    os.utime(bakery.place / BASE_NAME, (NOW, NOW))
    assert bakery.answer(selector) == right


def test_an_index_that_is_cut_while_a_process_holds_it_is_opened_again(bakery: Bakery) -> None:
    right = bakery.answer()
    selector = bakery.opened()
    selector.refresh()
    os.truncate(bakery.place / BASE_NAME, 0)  # what is mapped there can no longer be touched at all
    assert bakery.answer(selector) == right


def test_pipes_and_folders_in_place_of_an_index_do_no_harm(bakery: Bakery) -> None:
    right = bakery.answer()
    for name in FILES:
        (bakery.place / name).unlink()
        os.mkfifo(bakery.place / name)
    assert bakery.answer() == right
    assert bakery.answer() == right


def test_a_journal_that_holds_its_segments_twice_changes_no_answer(bakery: Bakery) -> None:
    right = bakery.answer()
    path = bakery.place / JOURNAL_NAME
    path.write_bytes(path.read_bytes() * 2)
    assert path.stat().st_size
    assert bakery.answer() == right


def test_a_journal_far_too_large_is_not_read_and_made_anew(bakery: Bakery) -> None:
    right = bakery.answer()
    path = bakery.place / JOURNAL_NAME
    os.truncate(path, 1 << 30)  # sparse: it takes no room on the disk
    tracemalloc.start()
    try:
        assert bakery.answer() == right
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert path.stat().st_size < 1 << 20
    assert bakery.answer() == right


def test_a_damaged_index_of_conversations_is_rebuilt(project: Path) -> None:
    memory: MemDir = open_memory(project, clock=lambda: NOW)
    talk = Conversation(memory.transcript("0f3a91c2-0000-4000-8000-000000000001"))
    talk.add(user("Lunch with a supplier about flour."))
    talk.transcript.close()
    right = memory.session_search().search("flour", limit=3, now=NOW)
    path = Path(memory.layout.session_index) / BASE_NAME
    for at in range(0, path.stat().st_size, 97):
        data = bytearray(path.read_bytes())
        data[at] ^= 0x55
        path.write_bytes(data)
        assert memory.session_search().search("flour", limit=3, now=NOW) == right
