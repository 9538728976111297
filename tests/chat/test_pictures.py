"""The pictures of docs/how-to/chat.md are recorded by a script from real turns, and fetch nothing from elsewhere."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from docs.record_pictures import FOLDER, SCENES, record

TOLD = {
    "chat-learned": ("From now on, release notes", "Memory saved: feedback_release_notes"),
    "chat-recalled": ("recalled feedback_release_notes", "This is what I found:"),
    "chat-permission": (
        "Change price.py",
        "-    return net * TAX",
        "+    return net * (1 + TAX)",
        "1  yes, once",
        "Fixed:",
    ),
}


def words_in(path: Path) -> str:
    drawn = re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"))
    return html.unescape(" ".join(drawn)).replace("\xa0", " ")


def test_every_picture_is_recorded_and_shows_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "96")
    made = record(tmp_path / "pictures")
    assert [path.stem for path in made] == list(SCENES) == list(TOLD)
    page = (FOLDER.parent / "how-to/chat.md").read_text(encoding="utf-8")
    for path in (*made, *(FOLDER / f"{name}.svg" for name in SCENES)):
        assert all(words in words_in(path) for words in TOLD[path.stem]), words_in(path)
        assert words_in(path) == words_in(FOLDER / path.name), "python -m docs.record_pictures"
        assert "url(http" not in path.read_text(encoding="utf-8") and f"(../pictures/{path.name})" in page
