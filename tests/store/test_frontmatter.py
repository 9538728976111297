"""Frontmatter is read leniently and rewritten without touching anything else (S6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdir.store.frontmatter import find_block, find_simple_block, newline_of, read_fields, replace_field
from memdir.store.topic import Topic

ENDINGS = (b"\n", b"\r\n", b"\r")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def fields_of(data: bytes) -> dict[str, str]:
    block = find_block(data)
    assert block is not None
    return read_fields(data[block.start : block.end], newline_of(data))


def test_an_unquoted_colon_in_a_description_is_read_whole() -> None:
    data = b"---\nname: Deploys\ndescription: Deploys: never on Friday\ntype: feedback\n---\nbody\n"
    assert fields_of(data)["description"] == "Deploys: never on Friday"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"plain text", "plain text"),
        (b'"quoted: \\"so\\" \\u00e9 \\x41 \\U0001F600"', 'quoted: "so" é A 😀'),
        (b"'it''s'", "it's"),
        (b"see #ops and #123", "see #ops and #123"),
        (b"value # a comment", "value"),
        (b">\n  folded\n  text", "folded text"),
        (b"|\n  line one\n  line two", "line one\nline two"),
        (b"goes on\n  below", "goes on below"),
        (b"\n  nested: mapping", ""),
        (b"", ""),
        (b"caf\xff", "caf\ufffd"),
    ],
)
def test_scalars_of_every_form(written: bytes, read: str) -> None:
    data = b"---\ndescription: " + written + b"\ntype: user\n---\n"
    assert fields_of(data) == {"description": read, "type": "user"}


def test_the_first_of_a_key_that_stands_twice_counts() -> None:
    assert fields_of(b"---\nname: one\nname: two\n---\n") == {"name": "one"}


def test_comments_lists_and_urls_are_no_keys() -> None:
    data = b"---\n# note: this\nname: n\ntags:\n- a: b\n- c\nhttp://x: y\n---\n"
    assert fields_of(data) == {"name": "n", "tags": ""}


@pytest.mark.parametrize(
    "data", [b"", b"text", b"---", b"---\n", b"---\nname: x\n", b"--- x\n---\n", b" ---\nname: x\n---\n"]
)
def test_what_is_not_closed_is_no_frontmatter(data: bytes) -> None:
    assert find_block(data) is None


def test_a_rule_inside_the_body_does_not_close_it_early() -> None:
    data = b"---\nname: x\ndescription: a --- b\n----\n---\nbody\n---\n"
    assert Topic(data).body == "body\n---\n"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_every_line_ending_and_a_byte_order_mark_survive_an_edit(ending: bytes, mark: bytes) -> None:
    lines = [b"---", b"name: old", b"# kept", b"custom: {a: 1}", b"---", b"", "bödy \u2028 end".encode(), b""]
    data = mark + ending.join(lines)
    expected = mark + ending.join([b"---", b"name: new", *lines[2:]])
    assert replace_field(data, "name", "new") == expected


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    data = b"---\ndescription: >\n  a\n  b\n\ntype: user\n---\n"
    assert replace_field(data, "description", "short") == b"---\ndescription: short\n\ntype: user\n---\n"


def test_a_file_without_frontmatter_gets_one_in_front_of_its_text() -> None:
    assert replace_field(b"# Title\r\ntext", "name", "n") == b"---\r\nname: n\r\n---\r\n# Title\r\ntext"


@given(
    value=TEXT,
    body=st.binary(max_size=60),
    ending=st.sampled_from(ENDINGS),
    key=st.sampled_from(["name", "description", "new-key"]),
)
def test_any_value_written_is_read_back(value: str, body: bytes, ending: bytes, key: str) -> None:
    data = ending.join(
        [b"---", b"name: x", b"other: kept # as it is", b"---", body.replace(b"\r", b"").replace(b"\n", b"")]
    )
    changed = replace_field(data, key, value)
    assert fields_of(changed)[key] == value
    assert changed.endswith(data[find_block(data).body_start :])  # type: ignore[union-attr]
    assert b"other: kept # as it is" + ending in changed
    assert replace_field(changed, key, value) == changed


@given(st.binary(max_size=300))
def test_no_bytes_whatever_break_the_parser(data: bytes) -> None:
    topic = Topic(b"---\n" + data)
    topic.problems()
    assert Topic(topic.with_field("name", "n").data).name == "n"
    assert topic.with_body(topic.body).data == topic.data


@given(
    st.lists(
        st.sampled_from(
            [b"---\n", b"--- \n", b"---", b"name: x\n", b"\n", b"\r\n", b"# c\n", b"body", b"\xef\xbb\xbf"]
        ),
        max_size=8,
    )
)
def test_the_fast_reader_agrees_with_the_careful_one(parts: list[bytes]) -> None:
    data = b"".join(parts)
    fast = find_simple_block(data)
    if fast is not None:
        block = find_block(data)
        assert block is not None
        assert data[block.start : block.end] == fast
