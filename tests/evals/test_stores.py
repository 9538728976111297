"""`python -m evals.stores`: small stores in two scopes, counted as the program would show them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from evals.stores import FOLDER, answers_in, authors, parts, read_stores, rows

from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table

WHEN = {"mtime": "2026-01-01T00:00:00Z"}
STORE = {
    "world": "shop",
    "now": "2026-10-05T07:45:00Z",
    "memories": [
        {"file": "freeze.md", "type": "project", "name": "Release freeze", "body": "", "scope": "project", **WHEN}
        | {"description": "No release between 20 December and 6 January, the freeze of the shop"},
        {"file": "tea.md", "type": "user", "name": "Drinks tea", "body": "", "scope": "user", **WHEN}
        | {"description": "Prefers green tea, answers in short lists"},
    ],
    "queries": [
        {"query": "is there a release freeze in december?", "recent_tools": [], "relevant": ["freeze.md"]}
        | {"acceptable": [], "tags": ["lexical"]},
        {"query": "good morning", "recent_tools": [], "relevant": [], "acceptable": []}
        | {"tags": ["empty", "smalltalk", "lang:de"]},
    ],
}


def test_each_fold_has_a_row_for_every_part(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "dev1.jsonl.xz", "wt", encoding="utf-8") as out:
        out.write(json.dumps(STORE) + "\n")
    found = {(fold, part): (count, figures) for fold, _, part, count, figures in rows(tmp_path, which="words")}
    assert found["dev1", "all"][0] == 2
    assert found["dev1", "all"][1]["recall@5"] == 1.0
    assert found["dev1", "other language"][0] == 1
    assert ("dev2", "all") not in found


def test_every_read_author_is_learned_from_and_the_unread_is_not(tmp_path: Path) -> None:
    for fold in ("dev1", "dev3", "unread"):
        with lzma.open(tmp_path / f"{fold}.jsonl.xz", "wt", encoding="utf-8") as out:
            out.write(json.dumps(STORE) + "\n")
    assert authors(tmp_path) == ["dev1", "dev3"]
    assert [fold for fold, _, part, *_ in rows(tmp_path, which="words") if part == "all"] == ["dev1", "dev3", "unread"]


def test_memories_of_both_scopes_may_come() -> None:
    [first, _] = answers_in(STORE, WordEncoder(open_table()))
    assert first[2] == ["freeze.md"]
    asked = {
        **STORE,
        "queries": [{**STORE["queries"][0], "query": "plan the team offsite, with lists of what I prefer for tea"}],
    }
    [answer] = answers_in(asked, WordEncoder(open_table()))
    assert answer[2] == ["tea.md"]


def test_the_read_folds_are_there_and_whole() -> None:
    for fold in ("dev1", "dev2"):
        stores = read_stores(FOLDER, fold)
        assert len(stores) >= 27
        for store in stores:
            files = {memory["file"] for memory in store["memories"]}
            for query in store["queries"]:
                assert files.issuperset([*query["relevant"], *query["acceptable"]])
                assert "all" in parts(store, query)
