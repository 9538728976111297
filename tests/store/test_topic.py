"""Topic files (S6)."""

from __future__ import annotations

import pytest

from memdir.errors import BadMemoryFile
from memdir.store.topic import MemoryType, Topic, guess_type, parse_type, require_valid


def test_a_composed_topic_has_its_fields_in_order_and_its_body() -> None:
    topic = Topic.compose(name="N", description="a: b", kind=MemoryType.FEEDBACK, body="rule\n\n**Why:** x")
    assert topic.data == b'---\nname: N\ndescription: "a: b"\ntype: feedback\n---\n\nrule\n\n**Why:** x\n'
    assert (topic.name, topic.description, topic.kind) == ("N", "a: b", MemoryType.FEEDBACK)


def test_unknown_keys_survive_and_pinned_is_seen() -> None:
    topic = Topic(b"---\nname: a\npinned: true\nmood: [x,\n  y]\n---\nb").with_field("name", "c")
    assert topic.data == b"---\nname: c\npinned: true\nmood: [x,\n  y]\n---\nb"
    assert topic.is_pinned


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"just text", "no frontmatter"),
        (b"---\nname: x\ntext", "never closed"),
        (b"---\nname: x\ndescription: d\ntype: opinion\n---\n", "none of user"),
        (b"---\nname: x\n---\n", "no description"),
        (b"---\ndescription: d\n---\n\0\1", "NUL"),
        (b"---\nname: x\ndescription: d\n---\n", "no text"),
        (b"---\nname: x\ndescription: d\n---\n\n# x\n\n<!-- later -->\n", "no text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(data: bytes, problem: str) -> None:
    assert any(problem in words for words in Topic(data).problems())
    with pytest.raises(BadMemoryFile, match="a.md"):
        require_valid(data, "a.md")


def test_a_missing_type_is_accepted_an_unknown_one_counts_as_none() -> None:
    """S6: old files have no type."""
    assert Topic(b"---\nname: x\ndescription: d\n---\nA fact.\n").problems() == []
    assert parse_type("opinion") is None
    assert parse_type(" Feedback ") is MemoryType.FEEDBACK
    assert parse_type(None) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("See https://grafana.example/d/1", "reference"),
        ("I am a data scientist", "user"),
        ("Never mock the database", "feedback"),
        ("Release branch is cut on 2026-12-01", "project"),
    ],
)
def test_the_type_of_a_typed_sentence_is_guessed(text: str, kind: str) -> None:
    assert guess_type(text) == kind
