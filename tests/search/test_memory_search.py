"""`memdir search` over memories: exact words first, then what recall's ranking puts near (R8)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.search.memory_search import search_memories
from tests.conftest import NOW
from tests.search.worlds import BAKERY

DAY = 86_400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    (folder / "team").mkdir(parents=True)
    for at, one in enumerate(BAKERY):
        text = f"---\nname: {one.title}\ndescription: {one.description}\ntype: {one.kind}\n---\n\nNumber {at}.\n"
        (folder / ("team" if at % 2 else "") / one.key).write_text(text, encoding="utf-8")
    return folder


def keys(root: Path, query: str, limit: int = 5) -> list[str]:
    place = str(root.parent / "index")
    return [match.key for match in search_memories(str(root), place, query, limit=limit, now=NOW)]


def write(root: Path, key: str, text: str, days_old: int) -> None:
    (root / key).write_text(f"---\nname: {key}\ndescription: {text}\ntype: project\n---\n\n{text}.\n", encoding="utf-8")
    os.utime(root / key, (NOW - days_old * DAY,) * 2)


def test_a_part_of_a_word_is_found_as_it_stands(root: Path) -> None:
    assert keys(root, "RAFAN") == ["team/dashboard.md"]


def test_what_holds_every_word_comes_first(root: Path) -> None:
    assert keys(root, "invo warnings")[0] == "invoice_traps.md"


@pytest.mark.parametrize(
    ("query", "key"),
    [("grafna dashbord", "team/dashboard.md"), ("colorblind chart", "colours.md"), ("commiting", "commits.md")],
)
def test_slips_and_other_forms_are_found_by_the_ranking(root: Path, query: str, key: str) -> None:
    assert key in keys(root, query)


def test_what_nothing_is_near_to_is_not_found(root: Path) -> None:
    assert keys(root, "zeppelin hangar") == []


def test_no_more_than_asked_for(root: Path) -> None:
    assert len(keys(root, "number", limit=3)) == 3


@pytest.mark.parametrize(("query", "key"), [("flour lunch nine days ago", "b.md"), ("flour lunch last month", "c.md")])
def test_of_memories_alike_the_one_of_the_named_day_comes_first(root: Path, query: str, key: str) -> None:
    for name, days_old in (("a.md", 1), ("b.md", 9), ("c.md", 30)):
        write(root, name, "Lunch with a supplier about flour", days_old)
    assert keys(root, query)[0] == key
    assert sorted(keys(root, query)[:3]) == ["a.md", "b.md", "c.md"]


def test_the_words_that_name_a_day_need_not_stand_in_a_memory(root: Path) -> None:
    write(root, "said.md", "A customer told us of the queue yesterday", 90)
    for number in range(8):
        write(root, f"deploy_{number}.md", f"Deploy of shop {number} to the cluster", number)
    found = keys(root, "deploy yesterday")
    assert found[0] == "deploy_1.md"
    assert "said.md" not in found
