"""Golden renderings of the prompts of session memory and compaction: UPDATE_GOLDEN=1 rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.prompts.compose import load_prompt

VALUES = {
    "session_memory/template.md": {},
    "session_memory/update.md": {
        "path": "/home/ann/.memdir/projects/-work-app/one/session-memory/summary.md",
        "section_tokens": "2,000",
        "total_tokens": "12,000",
        "reminders": "",
    },
    "session_memory/oversized.md": {
        "total": "13,400",
        "total_tokens": "12,000",
        "sections": '- "Worklog": about 3,100 tokens, 2,000 are allowed',
    },
    "compact/summary.md": {"keep": ""},
    "compact/keep.md": {"wish": "the numbers"},
    "compact/continued.md": {"summary": "The summary.", "transcript": "/home/ann/.memdir/projects/-work-app/one.jsonl"},
}


@pytest.mark.parametrize("name", VALUES)
def test_golden_rendering(name: str) -> None:
    rendered = load_prompt(name).render(**VALUES[name])
    golden = Path(__file__).parent / "golden" / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(rendered, encoding="utf-8")
    assert rendered == golden.read_text(encoding="utf-8")
