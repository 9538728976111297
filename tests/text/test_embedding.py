"""The shipped table: small, mapped, and it knows what means the same (R3)."""

from __future__ import annotations

import os

import pytest

from memdir.search.vectors import doc_vector, query_vector
from memdir.text.embedding import TABLE_PATH, Table, open_table
from memdir.text.words import split_words

MAX_TABLE_BYTES = 9_000_000


@pytest.fixture(scope="module")
def table() -> Table:
    return open_table()


def similarity(table: Table, one: str, other: str) -> float:
    asked_sum, held_sum = table.question_sum(split_words(one)), table.document_sum(split_words(other))
    assert asked_sum is not None and held_sum is not None
    asked, held = query_vector(asked_sum), doc_vector(held_sum)
    assert asked is not None and held is not None
    return asked.similarity(held)


def test_the_table_is_small_enough_to_ship() -> None:
    assert os.path.getsize(TABLE_PATH) <= MAX_TABLE_BYTES


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("couch", "sofa", "keyboard"),
        ("delete the file", "remove the document", "weather in spring"),
        ("supprimer le fichier", "delete the file", "purple sky"),
        ("die Datei löschen", "delete the file", "purple sky"),
        ("databse migraton", "database migration", "birthday cake"),
    ],
)
def test_what_means_the_same_is_nearer(table: Table, asked: str, near: str, far: str) -> None:
    assert similarity(table, asked, near) > similarity(table, asked, far) + 0.1


def test_a_text_without_words_has_no_direction(table: Table) -> None:
    assert table.document_sum(split_words("… !!")) is None


def test_a_file_that_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="table"):
        Table(bytes(64))
