"""`memdir search` over memories: exact words first, then what recall's ranking puts near (R8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdir.recall.memory_search import search_memories
from tests.recall.worlds import BAKERY


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
    return [match.key for match in search_memories(str(root), place, query, limit=limit)]


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
