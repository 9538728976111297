"""The derived index: never required, never wrong for long (ARCHITECTURE rule 4, R3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.recall.selection import LocalSelector
from memdir.search.document import Document, Question
from memdir.search.index_store import (
    BASE_NAME,
    JOURNAL_NAME,
    MAX_JOURNAL_SEGMENTS,
    TOLD_EVERY,
    TOLD_FROM_BYTES,
    IndexStore,
)
from memdir.search.ranking import rank
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table

TEXT = "---\nname: {name}\ndescription: {description}\ntype: feedback\n---\n\n{body}\n"


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return WordEncoder(open_table())


def best(derived: IndexStore, encoder: WordEncoder, text: str) -> str:
    ranking = rank(Question(text, encoder), derived.segments, gone=derived.gone)
    return ranking.candidates[0].key


def write(root: Path, name: str, description: str) -> None:
    root.mkdir(exist_ok=True)
    (root / name).write_text(TEXT.format(name=name, description=description, body="text"), encoding="utf-8")


def test_a_second_process_finds_what_the_first_one_indexed(tmp_path: Path, encoder: WordEncoder) -> None:
    IndexStore(str(tmp_path), encoder).add(
        [Document("a.md", description="zeppelin hangar"), Document("b.md", description="tea")]
    )
    again = IndexStore(str(tmp_path), encoder)
    assert best(again, encoder, "zeppelin") == "a.md"
    assert again.update(again.stamps(), lambda _: None) == 0


@pytest.mark.parametrize("damage", [b"", b"MDSEGM01 and then nothing", os.urandom(4096)])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, encoder: WordEncoder, damage: bytes) -> None:
    root, place = tmp_path / "memory", tmp_path / "index"
    write(root, "a.md", "zeppelin hangar")
    LocalSelector(str(root), str(place), encoder=encoder).refresh()
    (place / BASE_NAME).write_bytes(damage)
    selector = LocalSelector(str(root), str(place), encoder=encoder)
    assert selector.refresh() == 1
    assert selector.search("zeppelin", limit=1) == ["a.md"]


def test_a_cut_off_segment_is_rebuilt(tmp_path: Path, encoder: WordEncoder) -> None:
    IndexStore(str(tmp_path), encoder).add(
        [Document("a.md", description="zeppelin"), Document("b.md", description="tea")]
    )
    base = tmp_path / BASE_NAME
    base.write_bytes(base.read_bytes()[:-100])
    assert IndexStore(str(tmp_path), encoder).segments == []


def test_a_torn_journal_keeps_its_whole_records(tmp_path: Path, encoder: WordEncoder) -> None:
    derived = IndexStore(str(tmp_path), encoder)
    derived.add([Document("a.md", description="tea")])
    derived.add([Document("b.md", description="zeppelin")])
    derived.add([Document("c.md", description="ferry")])
    journal = tmp_path / JOURNAL_NAME
    journal.write_bytes(journal.read_bytes()[:-10])
    again = IndexStore(str(tmp_path), encoder)
    assert set(again.stamps()) == {"a.md", "b.md"}


def test_changed_new_and_deleted_files_are_seen_by_the_next_refresh(tmp_path: Path, encoder: WordEncoder) -> None:
    root = tmp_path / "memory"
    for name, description in (("a.md", "zeppelin hangar"), ("b.md", "tea kettle"), ("c.md", "ferry timetable")):
        write(root, name, description)
    selector = LocalSelector(str(root), str(tmp_path / "index"), encoder=encoder)
    assert selector.refresh() == 3
    write(root, "a.md", "the submarine pen")
    write(root, "d.md", "violin case")
    (root / "c.md").unlink()
    assert selector.refresh() == 2
    assert selector.search("submarine", limit=1) == ["a.md"]
    assert selector.search("violin", limit=1) == ["d.md"]
    assert "c.md" not in selector.search("ferry timetable", limit=10)


def test_many_small_changes_are_folded_together(tmp_path: Path, encoder: WordEncoder) -> None:
    derived = IndexStore(str(tmp_path), encoder)
    derived.add([Document("base.md", description="tea")])
    for number in range(3 * MAX_JOURNAL_SEGMENTS):
        derived.add([Document(f"{number}.md", description=f"zeppelin number {number}", body="x" * number)])
    assert len(derived.segments) <= 1 + MAX_JOURNAL_SEGMENTS
    again = IndexStore(str(tmp_path), encoder)
    assert len(again.stamps()) == 1 + 3 * MAX_JOURNAL_SEGMENTS
    assert best(again, encoder, "zeppelin number 7") == "7.md"


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path, encoder: WordEncoder) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    root = tmp_path / "memory"
    write(root, "a.md", "zeppelin hangar")
    selector = LocalSelector(str(root), str(blocked / "index"), encoder=encoder)
    assert selector.refresh() == 1
    assert selector.search("zeppelin", limit=1) == ["a.md"]


def test_an_empty_directory_recalls_nothing(tmp_path: Path, encoder: WordEncoder) -> None:
    selector = LocalSelector(str(tmp_path / "none"), str(tmp_path / "index"), encoder=encoder)
    assert selector.refresh() == 0
    assert selector.recall("zeppelin", now=1.8e9).keys == []


def test_the_answer_depends_on_the_files_and_not_on_how_often_they_changed(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    root = tmp_path / "memory"

    def weights(place: str) -> dict[str, float]:
        selector = LocalSelector(str(root), str(tmp_path / place), encoder=encoder)
        selector.refresh()
        return selector.recall("zeppelin tea ferry", now=1.8e9).ranking.term_weights

    for edit in range(4):
        for name, description in (("a.md", "zeppelin hangar"), ("b.md", "tea kettle"), ("c.md", "ferry timetable")):
            write(root, name, description + " again" * edit)
            assert weights("old") == weights(f"new {edit} {name}")
    write(root, "d.md", "zeppelin crew")
    weights("old")
    (root / "d.md").unlink()
    assert weights("old") == weights("new")


def test_one_change_in_a_large_store_does_not_write_all_of_it_again(tmp_path: Path, encoder: WordEncoder) -> None:
    derived = IndexStore(str(tmp_path), encoder)
    derived.add([Document(f"{number}.md", description=f"zeppelin number {number}") for number in range(50)])
    before = (tmp_path / BASE_NAME).stat().st_ino
    derived.add([Document("7.md", description="a submarine")])
    assert (tmp_path / BASE_NAME).stat().st_ino == before
    assert best(IndexStore(str(tmp_path), encoder), encoder, "submarine") == "7.md"


def test_what_was_indexed_before_somebody_broke_it_off_is_kept(tmp_path: Path, encoder: WordEncoder) -> None:
    body = "zeppelin hangar " * (TOLD_FROM_BYTES // (16 * 3 * TOLD_EVERY) + 1)
    documents = {
        f"{at}.md": Document(f"{at}.md", body=body, mtime_ns=at, size=len(body)) for at in range(3 * TOLD_EVERY)
    }
    current = {key: (one.mtime_ns, one.size) for key, one in documents.items()}

    def break_off(done: int, total: int) -> None:
        if done == 2 * TOLD_EVERY:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        IndexStore(str(tmp_path), encoder).update(current, documents.get, on_progress=break_off)
    again = IndexStore(str(tmp_path), encoder)
    assert len(again.stamps()) == 2 * TOLD_EVERY
    assert again.update(current, documents.get) == TOLD_EVERY
    assert again.stamps() == current
