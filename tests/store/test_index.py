"""The index: edited line by line (S7), cut on load (S8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdir.store.index import MAX_BYTES, MAX_ENTRY_CHARACTERS, MAX_LINES, Entry, Index, load_index

ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
KEYS = st.sampled_from(["a.md", "b c.md", "team/d.md", "f(1).md", "é.md"])
LINES = st.one_of(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=30),
    st.builds(lambda key, hook: Entry(key, "Title", hook).render(), KEYS, st.text(max_size=20)),
)


def test_a_line_is_read_in_all_the_forms_people_write() -> None:
    index = Index(
        b"# Memories\n"
        b"- [One](one.md) \xe2\x80\x94 a hook\n"
        b"* [Two](./two.md): colon\n"
        b"+ [Three [3]](<th ree.md>) - dash\n"
        b"  - [Four](sub/four%20x.md)\n"
        b"- [Web](https://example.org/x.md) \xe2\x80\x94 no memory\n"
        b"- [Other](five.txt)\n"
        b"- plain line\n"
    )
    found = [(entry.key, entry.title, entry.hook) for entry in index.entries()]
    assert found == [
        ("one.md", "One", "a hook"),
        ("two.md", "Two", "colon"),
        ("th ree.md", "Three [3]", "dash"),
        ("sub/four x.md", "Four", ""),
    ]


def test_a_new_line_comes_first_and_everything_else_stays() -> None:
    """What is newest must survive a truncation: the most common complaint about other systems."""
    before = b"# Mine\n\nSome words.\n- [Old](old.md) \xe2\x80\x94 x\n\nEnd\n"
    after = Index(before).with_entries([Entry("new.md", "New", "hook")]).data
    assert after == b"# Mine\n\nSome words.\n- [New](new.md) \xe2\x80\x94 hook\n- [Old](old.md) \xe2\x80\x94 x\n\nEnd\n"


def test_a_known_line_is_replaced_in_its_place() -> None:
    before = b"- [A](a.md)\r\n- [B](b.md) - old\r\nlast"
    assert (
        Index(before).with_entries([Entry("b.md", "B", "new")]).data
        == "- [A](a.md)\r\n- [B](b.md) — new\r\nlast".encode()
    )


def test_a_first_line_in_an_index_without_entries_or_newline() -> None:
    assert Index(b"words").with_entries([Entry("a.md", "A", "")]).data == b"words\n- [A](a.md)\n"
    assert Index(b"").with_entries([Entry("a.md", "A", "")]).data == b"- [A](a.md)\n"


def test_removing_takes_only_the_lines_of_that_memory() -> None:
    before = b"x\n- [A](a.md)\n- [B](b.md)\n- [A again](a.md)\n"
    assert Index(before).without(["a.md"]).data == b"x\n- [B](b.md)\n"
    assert Index(before).without(["zzz.md"]).data == before


def test_repair_gives_each_memory_one_line_and_keeps_what_it_does_not_understand() -> None:
    before = b"# T\n- [A](a.md)\n- [Gone](gone.md)\n- [A twice](a.md)\nwords\n"
    after = Index(before).repaired([Entry("a.md", "A", ""), Entry("n.md", "N", "new")], holds_unread=lambda _: False)
    assert after.data == "# T\n- [N](n.md) — new\n- [A](a.md)\nwords\n".encode()


def test_a_line_is_cut_at_a_word_to_the_length_of_a_catalogue_line() -> None:
    line = Entry("a.md", "Title", "word " * 100).render()
    assert len(line) <= MAX_ENTRY_CHARACTERS
    assert line.endswith("word…")
    assert "\n" not in Entry("a.md", "a\nb", "c\r\nd").render()


@given(lines=st.lists(LINES, max_size=12), ending=ENDINGS, key=KEYS, hook=st.text(max_size=30))
def test_edits_touch_only_their_own_line(lines: list[str], ending: str, key: str, hook: str) -> None:
    data = ending.join(lines).encode("utf-8", "replace")
    index = Index(data)
    assert b"".join(index._lines) == data
    added = index.with_entries([Entry(key, "T", hook)])
    assert key in added.keys()
    assert added.keys() == index.keys() | {key}
    others = [
        line for line, entry in zip(index._lines, index._entries, strict=True) if not (entry and entry.key == key)
    ]
    kept = [line for line, entry in zip(added._lines, added._entries, strict=True) if not (entry and entry.key == key)]
    assert [line.strip(b"\r\n") for line in kept] == [line.strip(b"\r\n") for line in others]
    assert key not in added.without([key]).keys()


@given(st.text(max_size=400), st.integers(1, 400), ENDINGS)
def test_a_loaded_index_is_within_both_limits_and_says_when_it_was_cut(text: str, times: int, ending: str) -> None:
    data = ((text + ending) * times).encode("utf-8", "replace")
    loaded = load_index(data)
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert loaded.line_count == len(lines) - (lines[-1] == b"")
    assert loaded.size_bytes == len(data)
    assert loaded.lines_cut == (loaded.line_count > MAX_LINES)
    body, warned, warning = loaded.text.partition("> WARNING")
    assert bool(warned) == (loaded.lines_cut or loaded.bytes_cut)
    assert len(body.rstrip("\r\n").encode()) <= MAX_BYTES
    assert data.decode("utf-8").startswith(body.rstrip("\r\n"))
    assert ("200" in warning) == loaded.lines_cut
    assert ("25,000" in warning) == loaded.bytes_cut


@pytest.mark.parametrize("shift", range(4))
def test_one_endless_line_is_never_cut_inside_a_character(shift: int) -> None:
    data = b"x" * shift + "😀".encode() * 10_000
    loaded = load_index(data)
    kept = loaded.text.split("\n\n> WARNING")[0]
    assert "\ufffd" not in kept
    assert MAX_BYTES - 3 <= len(kept.encode()) <= MAX_BYTES


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdefgh"), max_size=8))
def test_many_lines_at_once_are_as_if_they_came_one_by_one(present: list[str], coming: list[str]) -> None:
    index = Index("".join(f"- [{name}]({name}.md)\n" for name in dict.fromkeys(present)).encode())
    entries = [Entry(f"{name}.md", name, str(number)) for number, name in enumerate(coming)]
    one_by_one = index
    for entry in entries:
        one_by_one = one_by_one.with_entries([entry])
    assert index.with_entries(entries).data == one_by_one.data
