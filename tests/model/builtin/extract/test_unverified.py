"""What the job says of a memory that nobody vouched for is not taken for its description (L3)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from memdir.model.builtin.extract_job import answer_extract
from memdir.model.job import ExtractJob, MemoryFolder
from memdir.model.model import Request
from memdir.store.scan import scan
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user

FILE = (
    "---\nname: Release freeze\ndescription: the release freeze ends on 2026-11-20\ntype: project\ntrust: web\n---\n\n"
    "The release freeze ends on 2026-11-20.\n"
)
SAID = (
    "The release freeze does not end on 2026-11-20 any more, it was moved: the release freeze now ends on 2026-12-04."
)


def test_an_update_of_an_unverified_memory_is_made_from_its_text_and_keeps_its_mark(tmp_path: Path) -> None:
    (tmp_path / "release_freeze.md").write_text(FILE, encoding="utf-8")
    folder = MemoryFolder(str(tmp_path), "project", tuple(scan(str(tmp_path)).headers))
    job = ExtractJob(2, (folder,), datetime.fromisoformat("2026-11-16"))
    said = (user(SAID), Message("assistant", (Text("Noted."),)), user("Save what matters.", is_meta=True))
    first = answer_extract(job, Request("builtin", messages=said)).message
    assert [use.name for use in first.tool_uses] == ["Read"], "its name alone says that it may be concerned"
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(FILE.splitlines(), 1))
    read = Message("user", (ToolResult(first.tool_uses[0].id, numbered),))
    second = answer_extract(job, Request("builtin", messages=(*said, first, read))).message
    [use] = second.tool_uses
    assert use.input["file_path"] == str(tmp_path / "release_freeze.md")
    assert "2026-12-04" in str(use.input["content"]) and "trust: web" in str(use.input["content"])
    assert "not verified" not in str(use.input["content"])


def test_what_may_not_change_a_memory_becomes_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "release_freeze.md").write_text(FILE, encoding="utf-8")
    folder = MemoryFolder(str(tmp_path), "project", tuple(scan(str(tmp_path)).headers))
    job = ExtractJob(2, (folder,), datetime.fromisoformat("2026-11-16"))
    said = (user(SAID), Message("assistant", (Text("Noted."),)), user("Save what matters.", is_meta=True))
    place = {"file_path": str(tmp_path / "release_freeze.md")}
    tried = Message("assistant", (ToolUse("write_0", "Write", {**place, "content": "x"}),))
    refused = Message("user", (ToolResult("write_0", "not kept", is_error=True),))
    again = answer_extract(job, Request("builtin", messages=(*said, tried, refused))).message
    [use] = again.tool_uses
    assert use.input["file_path"] != place["file_path"] and "2026-12-04" in str(use.input["content"])
    result = Message("user", (ToolResult(use.id, "not kept", is_error=True),))
    last = answer_extract(job, Request("builtin", messages=(*said, tried, refused, again, result))).message
    assert last.text == "Nothing saved."
