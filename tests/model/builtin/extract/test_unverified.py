"""What a manifest says in the place of a description is not taken for one (L3)."""

from __future__ import annotations

from memdir.model.builtin.extract_job import answer_extract
from memdir.model.model import Request
from memdir.prompts.compose import load_prompt
from memdir.transcript.message import Message, Text, ToolResult, user

LISTED = "- [project] release_freeze.md (2026-11-02T09:15:00Z): (from the web, not verified)"
FILE = (
    "---\nname: Release freeze\ndescription: the release freeze ends on 2026-11-20\ntype: project\ntrust: web\n---\n\n"
    "The release freeze ends on 2026-11-20.\n"
)
SAID = (
    "The release freeze does not end on 2026-11-20 any more, it was moved: the release freeze now ends on 2026-12-04."
)


def test_an_update_of_an_unverified_memory_does_not_take_the_note_for_what_it_said() -> None:
    job = load_prompt("extract/private.md").render(bash="", new_messages="2", directory="/m", manifest=LISTED)
    said = (
        user(SAID),
        Message("assistant", (Text("Noted."),)),
        user(f"{job}\nNow it is Monday, 2026-11-16.\n", is_meta=True),
    )
    first = answer_extract(Request("builtin", messages=said)).message
    assert [use.name for use in first.tool_uses] == ["Read"], "its name alone says that it may be concerned"
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(FILE.splitlines(), 1))
    read = Message("user", (ToolResult(first.tool_uses[0].id, numbered),))
    second = answer_extract(Request("builtin", messages=(*said, first, read))).message
    [use] = second.tool_uses
    assert use.input["file_path"] == "/m/release_freeze.md"
    assert "2026-12-04" in str(use.input["content"]) and "trust: web" in str(use.input["content"])
    assert "not verified" not in str(use.input["content"])
