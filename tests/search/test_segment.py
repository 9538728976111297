"""Packed documents: however they came together, the same bytes."""

from __future__ import annotations

import pytest

from memdir.search.document import Document, index_documents
from memdir.search.segment import Segment
from memdir.search.segment_writer import merge, pack
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table

DOCUMENTS = [
    Document(f"{at}.md", title=f"rye {at}", description="oven and flour", body=f"loaf {at} " * at, mtime_ns=at, size=at)
    for at in range(90)  # the longer ones have pairs and parts
]


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return WordEncoder(open_table())


def packed(documents: list[Document], encoder: WordEncoder) -> bytes:
    return pack(index_documents(documents, encoder), encoder.identity, encoder.dimensions)


def test_what_was_packed_in_parts_is_merged_to_the_bytes_of_one(encoder: WordEncoder) -> None:
    parts = [Segment(packed(DOCUMENTS[at : at + 25], encoder)) for at in range(0, len(DOCUMENTS), 25)]
    assert merge(parts) == packed(DOCUMENTS, encoder)


def test_what_is_gone_leaves_no_trace(encoder: WordEncoder) -> None:
    parts = [Segment(packed(DOCUMENTS[:50], encoder)), Segment(packed(DOCUMENTS[50:], encoder))]
    gone = {divmod(at, 50) for at in range(0, len(DOCUMENTS), 3)}
    left = [document for at, document in enumerate(DOCUMENTS) if at % 3]
    assert merge(parts, gone) == packed(left, encoder)
    everything = {(at, number) for at, part in enumerate(parts) for number in range(part.documents)}
    assert merge(parts, everything) == packed([], encoder)
