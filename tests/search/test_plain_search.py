"""Plain search."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.search.memory_search import plain_search as search


@pytest.fixture
def root(tmp_path: Path) -> str:
    def write(key: str, description: str, body: str) -> None:
        text = f"---\nname: {key}\ndescription: {description}\ntype: project\n---\n\n{body}\n"
        (tmp_path / f"{key}.md").write_text(text, encoding="utf-8")

    write("deploy", "Deploys are frozen", "Nothing goes out before the audit.\nThe pager is with Ann.")
    write("audit", "The audit", "Deploy freeze, deploy rules, deploy everything later.")
    write("straße", "Straßenfest", "Größe zählt, ÄRGER nicht.")
    (tmp_path / "MEMORY.md").write_text("deploy")
    return str(tmp_path)


def test_all_words_must_match_and_titles_weigh_more(root: str) -> None:
    assert [match.key for match in search(root, "deploy")] == ["deploy.md", "audit.md"]
    assert [match.key for match in search(root, "DEPLOY pager")] == ["deploy.md"]
    assert [match.key for match in search(root, "audit freeze")] == ["audit.md"]


def test_where_nothing_holds_all_words_the_most_count(root: str) -> None:
    assert [match.key for match in search(root, "pager ann unicorn")] == ["deploy.md"]


def test_any_script_in_any_case(root: str) -> None:
    assert [match.key for match in search(root, "STRASSE")] == ["straße.md"]
    assert [match.key for match in search(root, "ärger")] == ["straße.md"]


def test_the_line_that_matches_is_shown(root: str) -> None:
    [match] = search(root, "pager")
    assert match.snippet == "The pager is with Ann."


def test_nothing_found_is_nothing(root: str) -> None:
    assert search(root, "unicorn") == []
    assert search(root, "   ") == []


def test_odd_files_do_no_harm(root: str) -> None:
    Path(root, "junk.md").write_bytes(bytes(range(256)) * 300 + b"needle")
    os.mkfifo(Path(root, "fifo.md"))
    Path(root, "link.md").symlink_to("deploy.md")
    assert [match.key for match in search(root, "needle")] == ["junk.md"]
    assert search(root, "deploy", limit=1)[0].key == "deploy.md"
