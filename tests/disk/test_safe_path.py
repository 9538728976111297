"""Paths from outside (E3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdir.disk.safe_path import check_key, is_inside, resolve_key
from memdir.errors import PathEscape

HARMLESS = (
    "api.md",
    "team/backend/db.md",
    "build+test (2).md",
    "foo..bar.md",
    "v1.2/changes.md",
    "MEMORY_2.md",
    "nullable.md",
    "console.md",
    "été/école.md",
    "設計メモ.md",
    "データdesign.md",
    "हिन्दी.md",
    "คำแนะนำ.md",
    "деплой_api.md",
    "a" * 252 + ".md",
    "١٢٣.md",
)
HOSTILE = (
    ("../x.md", "dot"),
    ("a/../../x.md", "dot"),
    ("/etc/x.md", "absolute"),
    ("a//b.md", "empty"),
    ("a\\b.md", r"'\\\\'"),
    ("C:x.md", "':'"),
    ("%2e%2e%2fx.md", "'%'"),
    ("x\0.md", "x00"),
    ("x\x1b[31m.md", "x1b"),
    ("．．/x.md", "normalised"),
    ("ﬁle.md", "normalised"),
    ("e\u0301.md", "normalised"),
    ("a\u0338b.md", "0338"),
    ("a\u200bb.md", "200b"),
    *((f"deploy{unseen}.md", f"{ord(unseen):04x}") for unseen in "\u034f\ufe0f\u180b\u17b4\u115f\U000e0100"),
    ("MEMORY\u034f.md", "034f"),
    ("team\ufe0f/x.md", "fe0f"),
    ("\u0301.md", "0301"),
    ("a/\u0903x.md", "0903"),
    ("x\udfff.md", "surrogate"),
    ("mеmory.md", "mixes alphabets"),
    ("con.md", "device"),
    ("lpt1.txt.md", "device"),
    ("MEMORY.md", "index"),
    ("Memory .md", "index"),
    ("sub/memory.md", "index"),
    ("CLAUDE.md", "instructions"),
    ("sub/agents.md", "instructions"),
    ("x.MD", "end in"),
    ("x.txt", "end in"),
    (".md", "dot"),
    (".git/config.md", "dot"),
    ("-rf.md", "dash"),
    (" x.md", "space"),
    ("dir /x.md", "space"),
    ("a/x.md.", "ends with a dot"),
    ("__proto__.md", "magic"),
    ("a" * 253 + ".md", "255 bytes"),
    ("d/" * 17 + "x.md", "folders deep"),
    ("d/" * 600 + "x.md", "1024 bytes"),
    (b"x.md", "not text"),
    (None, "not text"),
    (7, "not text"),
)


@pytest.mark.parametrize("key", HARMLESS)
def test_an_honest_name_of_any_script_is_taken(key: str, tmp_path: Path) -> None:
    assert resolve_key(str(tmp_path), key) == str(tmp_path / key)


@pytest.mark.parametrize(("key", "reason"), HOSTILE)
def test_a_hostile_name_is_refused_with_its_reason(key: object, reason: str, tmp_path: Path) -> None:
    with pytest.raises(PathEscape, match=reason):
        resolve_key(str(tmp_path), key)


def test_the_index_is_a_key_only_where_it_is_asked_for(tmp_path: Path) -> None:
    assert check_key("MEMORY.md", index_allowed=True) == "MEMORY.md"
    with pytest.raises(PathEscape):
        check_key("memory.MD", index_allowed=True)


def test_links_that_lead_out_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    root, outside = tmp_path / "memory", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "victim.md").write_text("x")
    (tmp_path / "memory-evil").mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "victim.md")
    (root / "dangling.md").symlink_to(outside / "new.md")
    (root / "loop").symlink_to("loop")
    (root / "sibling").symlink_to("../memory-evil")
    for key in ("folder/x.md", "folder/new/x.md", "file.md", "dangling.md", "loop/x.md", "sibling/x.md"):
        with pytest.raises(PathEscape, match="link"):
            resolve_key(str(root), key)


def test_a_link_that_stays_inside_leads_to_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    assert resolve_key(str(tmp_path), "alias/x.md") == str(tmp_path / "real" / "x.md")


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "one.md").write_text("x")
    os.link(tmp_path / "one.md", tmp_path / "two.md")
    for key, reason in (
        ("fifo.md", "plain file"),
        ("folder.md", "plain file"),
        ("two.md", "hard link"),
        ("one.md/x.md", "folder"),
    ):
        with pytest.raises(PathEscape, match=reason):
            resolve_key(str(tmp_path), key)


def test_inside_is_judged_by_whole_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert is_inside(str(tmp_path / "a" / "x"), str(tmp_path / "a"))
    assert not is_inside(str(tmp_path / "ab" / "x"), str(tmp_path / "a"))
    assert not is_inside(str(tmp_path / "a"), str(tmp_path / "a"))


@given(st.text(max_size=60))
def test_whatever_is_taken_stays_below_the_root(key: str) -> None:
    try:
        checked = check_key(key)
    except PathEscape:
        return
    path = os.path.normpath(os.path.join("/root", checked))
    assert path.startswith("/root/")
    assert path.endswith(".md")
    assert checked.isprintable()
