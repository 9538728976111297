"""Three-way merge (S13)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memdir.store.merge import merge_bytes

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\r\n", b"e"]), max_size=8).map(b"".join)


def test_changes_in_different_places_are_both_kept() -> None:
    assert merge_bytes(b"1\n2\n3\n", b"1!\n2\n3\n", b"1\n2\n3\n4\n") == b"1!\n2\n3\n4\n"


def test_changes_of_the_same_line_do_not_merge() -> None:
    assert merge_bytes(b"1\n2\n", b"1a\n2\n", b"1b\n2\n") is None


def test_the_same_change_twice_is_one_change() -> None:
    assert merge_bytes(b"1\n2\n3\n", b"1\nX\n3\n", b"1\nX\n3\n") == b"1\nX\n3\n"


@given(LINES, LINES)
def test_one_side_unchanged_gives_the_other(base: bytes, other: bytes) -> None:
    assert merge_bytes(base, base, other) == other
    assert merge_bytes(base, other, base) == other


@given(LINES, LINES, LINES)
def test_a_merge_does_not_depend_on_who_came_first(base: bytes, ours: bytes, theirs: bytes) -> None:
    assert merge_bytes(base, ours, theirs) == merge_bytes(base, theirs, ours)
