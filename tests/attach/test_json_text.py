"""Settings of others are edited as text: what is not ours stays, byte for byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdir.attach.json_text import JsonText
from memdir.errors import BadMemoryFile

HOOK = {"hooks": [{"type": "command", "command": "/bin/memdir hook claude Stop || true", "timeout": 10}]}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{\n  "a": 1\n}\n',
        '{\n\t"a": [1, 2],\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}\n',
        '{\r\n    "a": 1, // one\r\n    "hooks": {"Stop": [{"x": 1}]} /* two */\r\n}\r\n',
        '\ufeff{\n  // first\n  "hooks": {\n    "Stop": [\n      {"x": 1} // theirs\n    ] // list\n  }\n}',
        '{\n  "hooks": {\n    "Other": [{}]\n  }\n}',
        '{\n  "a": 1,\n  "hooks": {"Stop": [{"x": 1}, ], }, // last\n}\n',
        '{\n  "hooks": {\n    "Stop": [\n      {"x": 1},\n    ],\n  },\n}\n',
    ],
)
def test_what_was_added_is_cut_out_again_and_nothing_else_moves(text: str) -> None:
    before = JsonText(text)
    with_ours = before.with_item(["hooks", "Stop"], HOOK).with_member(["mcpServers"], "memdir", {"command": "m"})
    assert with_ours.get("hooks", "Stop")[-1] == HOOK
    assert with_ours.get("mcpServers", "memdir") == {"command": "m"}
    for comment in ("// one", "/* two */", "// first", "// theirs", "// list", "// last"):
        assert with_ours.text.count(comment) == text.count(comment)
    after = with_ours
    for path in after.paths(lambda path, value: value in (HOOK, {"command": "m"})):
        after = after.without(path)
    for path in (["hooks", "Stop"], ["hooks"], ["mcpServers"]):
        if not after.get(*path) and before.get(*path) is None:
            after = after.without(path)
    assert after.text == text


def test_an_empty_file_becomes_an_object() -> None:
    for text in ("", "\n", "{}"):
        assert JsonText(text).with_member([], "a", {"b": []}).value == {"a": {"b": []}}
    assert JsonText("{}").with_member([], "a", 1).text == '{\n  "a": 1\n}'


def test_a_member_is_replaced_in_its_place() -> None:
    text = '{\n  "a": 1, // one\n  "b": {"c": 2}\n}\n'
    assert JsonText(text).with_member([], "a", 5).text == text.replace("1,", "5,")
    assert JsonText(text).with_member(["b"], "c", 9).text == text.replace("2", "9")


def test_a_value_in_the_middle_goes_with_its_comma() -> None:
    text = JsonText('{"a": [1, 2, 3], "b": {"x": 1, "y": 2}}')
    assert text.without(["a", 1]).text == '{"a": [1, 3], "b": {"x": 1, "y": 2}}'
    assert text.without(["b", "x"]).text == '{"a": [1, 2, 3], "b": {"y": 2}}'
    assert text.without(["a", 0]).without(["a", 0]).without(["a", 0]).get("a") == []
    assert text.without(["nothing", 4]).text == text.text


@pytest.mark.parametrize("text", ["{", '{"a"}', "[1 2]", '{"a": 1} x', "{'a': 1}", '{"a": "\n"}', "[" * 5000, "{/* }"])
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(BadMemoryFile, match="no JSON"):
        JsonText(text, "settings.json")


def test_something_else_where_a_list_should_be_is_refused() -> None:
    with pytest.raises(BadMemoryFile, match="hooks.Stop is not a list"):
        JsonText('{"hooks": {"Stop": {}}}').with_item(["hooks", "Stop"], HOOK)
    with pytest.raises(BadMemoryFile, match="hooks is not an object"):
        JsonText('{"hooks": []}').with_item(["hooks", "Stop"], HOOK)


def test_comments_and_a_last_comma_are_noticed() -> None:
    assert JsonText("{} // x").has_comments and not JsonText("{}").has_comments
    assert JsonText('{"a": "// no"}').has_comments is False
    assert JsonText("[1,]").has_trailing_comma and not JsonText("[1]").has_trailing_comma


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(value=st.dictionaries(st.text(), values), indent=st.sampled_from([None, 1, 2, 4, "\t"]), seed=st.integers())
def test_any_json_is_read_and_edited_as_python_would(value: dict[str, Any], indent: Any, seed: int) -> None:
    text = JsonText(json.dumps(value, indent=indent, ensure_ascii=bool(seed % 2)))
    assert text.value == value
    key = "new" if "new" not in value else "newer"
    added = text.with_member([], key, {"x": [1, {"y": 2}]})
    assert json.loads(added.text) == {**value, key: {"x": [1, {"y": 2}]}}
    assert added.without([key]).text == text.text or not value
    if value:
        gone = random.Random(seed).choice(sorted(value))
        assert json.loads(text.without([gone]).text) == {k: v for k, v in value.items() if k != gone}


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {"Stop": [{"x": 1} // mine\n]}}',
        '{"hooks": {"Stop": [{"x": 1}, // mine  \r\n  ]}}',
        '{"hooks": {"Stop": [{"x": 1} /* a */ // mine\n]}} // end',
        '{"hooks": {"Stop": [ // mine\n]}}',
        '{"hooks": {"Stop": [{"x": 1},\n// mine\n{"y": 2} // mine\n// mine\n]}}',
        '{"a": 1 // mine\n}',
        '{"a": 1, // mine\n// "hooks": {"Stop": []}\n}',
        '{"a": "// no comment"}',
        '{"a": 1 // "mine", [ {\n, "mcpServers": {} // mine\n}',
    ],
)
def test_ours_never_becomes_part_of_a_comment(text: str) -> None:
    before = JsonText(text)
    theirs = before.get("hooks", "Stop") or []
    after = before.with_item(["hooks", "Stop"], HOOK).with_item(["hooks", "Stop"], HOOK)
    after = after.with_member(["mcpServers"], "memdir", {"command": "m"})
    assert after.get("hooks", "Stop") == [*theirs, HOOK, HOOK]
    assert after.get("mcpServers", "memdir") == {"command": "m"}
    assert after.text.count("mine") == text.count("mine")
    for path in after.paths(lambda path, value: value in (HOOK, {"command": "m"})):
        after = after.without(path)
    assert (after.get("hooks", "Stop"), after.get("mcpServers")) == (theirs, {})
    assert after.text.count("mine") == text.count("mine")


def test_the_last_goes_without_the_bracket_behind_it() -> None:
    assert JsonText('{"a": [1 // mine\n, 2]}').without(["a", 1]).value == {"a": [1]}
    assert JsonText('{"a": [ // mine\n 2]}').without(["a", 0]).value == {"a": []}


def test_an_edit_that_would_say_something_else_is_refused() -> None:
    twice = JsonText('{"a": {"b": 1}, "a": {"b": 2}}')
    with pytest.raises(BadMemoryFile, match="without harm"):
        twice.without(["a"])
