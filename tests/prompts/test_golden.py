"""Golden renderings: a change of any prompt is a visible change of a file (P8). UPDATE_GOLDEN=1 rewrites them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from memdir.errors import PromptError
from memdir.prompts import compose
from memdir.prompts.compose import load_prompt
from tests.prompts.prompt_files import prompt_names

GOLDEN = Path(__file__).parent / "golden"
HOME = "/home/ann/.memdir/projects/-work-app"
MANIFEST = (
    "- [feedback] testing.md (2026-11-02T09:15:00Z): tests use a real database\n- [user] ann.md (2026-10-01T08:00:00Z)"
)
TEAM = "- [project] freeze.md (2026-11-12T17:00:00Z): no merges until the mobile release is cut"
BASH = load_prompt("extract/bash.md").text.rstrip("\n")
OWN = "/home/ann/.memdir/memory"
OWN_MANIFEST = "- [user] ann.md (2026-10-01T08:00:00Z): new to React"
HELLO = '{"role": "user", "content": [{"text": "Hello!"}]}'
CALL = '{"role": "assistant", "content": [{"call": "c1", "tool": "Read", "arguments": {}}]}'

GUARDED = {
    "file": "feedback_no_force_push.md",
    "guard": "block shell(git push --force)",
    "rule": "Never push with --force.",
    "why": "It threw away a week of work.",
}

VALUES: dict[str, dict[str, str]] = {
    "behaviour.md": {
        "directory": f"{HOME}/memory",
        "own": load_prompt("behaviour/own.md").render(directory=OWN).rstrip(),
    },
    "hooks/behaviour.md": {
        "directory": f"{HOME}/memory",
        "own": load_prompt("behaviour/own.md").render(directory=OWN).rstrip(),
    },
    "behaviour/how_to_save_without_index.md": {},
    "behaviour/no_index.md": {},
    "behaviour/team.md": {"team_directory": f"{HOME}/memory/team"},
    "chat/aside.md": {"question": "Which port is free?"},
    "chat/command.md": {"name": "review", "text": "Review the last commit."},
    "chat/day.md": {"day": "Monday, 2026-11-16"},
    "chat/folder.md": {"folder": "/work/app"},
    "chat/interrupted.md": {},
    "chat/project_command.md": {"name": "review", "text": "> Review the last commit."},
    "chat/pasted.md": {"name": "[pasted text 1: 40 lines]", "text": "A log."},
    "chat/system.md": {},
    "command/answer.md": {"system": "Be brief.", "conversation": HELLO, "schema": '{"type": "object"}'},
    "command/system.md": {},
    "command/turn.md": {
        "system": "Be brief.",
        "tools": '### Read\nRead a text file.\nArguments: {"type": "object"}',
        "conversation": f"{HELLO}\n{CALL}",
    },
    "compact/continued.md": {"summary": "The summary.", "transcript": f"{HOME}/one.jsonl"},
    "compact/keep.md": {"wish": "the numbers"},
    "compact/last_words.md": {"summary": "The summary.", "words": "Which port is free?"},
    "compact/summary.md": {"keep": ""},
    "dream/consolidate.md": {
        "bash": BASH,
        "directory": f"{HOME}/memory",
        "sessions_directory": HOME,
        "sessions": "- one.jsonl\n- two.jsonl",
        "manifest": MANIFEST,
        "index_lines": "200",
        "index_bytes": "25,000",
    },
    "dream/team.md": {},
    "dream/team_kept.md": {},
    "extract/bash.md": {},
    "extract/saved.md": {"paths": f"- {HOME}/memory/testing.md"},
    "extract/nudge.md": {},
    "extract/own.md": {"directory": OWN, "manifest": OWN_MANIFEST},
    "behaviour/own.md": {"directory": OWN},
    "extract/earlier.md": {"times": '- Monday, 2026-03-02 14:05: "The freeze ends on Friday."'},
    "extract/combined.md": {
        "bash": BASH,
        "new_messages": "4",
        "directory": f"{HOME}/memory",
        "manifest": MANIFEST,
        "team_directory": f"{HOME}/memory/team",
        "team_manifest": TEAM,
        "own": "",
    },
    "extract/private.md": {
        "bash": BASH,
        "new_messages": "4",
        "directory": f"{HOME}/memory",
        "manifest": MANIFEST,
        "own": load_prompt("extract/own.md").render(directory=OWN, manifest=OWN_MANIFEST).rstrip(),
    },
    "recall/answer.md": {},
    "recall/select.md": {},
    "hooks/compact.md": {"notes": "# Session Title\nDatabase tests"},
    "hooks/guard_block.md": GUARDED,
    "hooks/guard_warn.md": GUARDED,
    "hooks/guard_unjudged.md": {
        "file": GUARDED["file"],
        "guard": GUARDED["guard"],
        "reason": "it is too long to be read",
    },
    "behaviour/guards.md": {"guards": "- `block shell(git push --force)`: never push with --force"},
    "extract/log.md": {
        "new_messages": "4",
        "log": f"{HOME}/memory/logs/YYYY/MM/YYYY-MM-DD.md",
        "manifest": "(none yet)",
        "bash": BASH,
    },
    "behaviour/how_to_log.md": {},
    "dream/log.md": {"lines": "logs/2026/11/2026-11-14.md:\n- 14:05 [feedback] Never push with --force."},
    "magic_doc/update.md": {
        "path": "/work/app/docs/billing.md",
        "title": "How billing works",
        "instruction": "> Short. One line for each decision.",
        "conversation": "The user said:\n> We use PostgreSQL 17.\n\nThe assistant called Edit /work/app/db.py",
    },
    "session_memory/oversized.md": {
        "total": "13,400",
        "total_tokens": "12,000",
        "sections": '- "Worklog": about 3,100 tokens, 2,000 are allowed',
    },
    "session_memory/template.md": {},
    "session_memory/update.md": {
        "path": f"{HOME}/one/session-memory/summary.md",
        "section_tokens": "2,000",
        "total_tokens": "12,000",
        "reminders": "",
    },
    "subagent/came_with.md": {"name": "reviewer", "text": "You review code."},
    "subagent/definition.md": {"name": "reviewer", "text": "You review code."},
    "subagent/local.md": {"name": "reviewer"},
    "subagent/project.md": {"name": "reviewer"},
    "subagent/snapshot.md": {"folder": "/work/app/.memdir/agent-memory-snapshots/reviewer", "day": "2026-11-16"},
    "subagent/system.md": {},
    "subagent/task.md": {"task": "Review the last commit."},
    "subagent/tool.md": {"agents": "- reviewer: reviews a change before it is committed"},
    "subagent/user.md": {"name": "reviewer"},
}

TOLD_OF_BASH = tuple(name for name, values in VALUES.items() if "bash" in values)
RENDERINGS = {name: (name, values) for name, values in VALUES.items()} | {
    name.replace(".md", "_without_bash.md"): (name, {**VALUES[name], "bash": ""}) for name in TOLD_OF_BASH
}
WITHOUT_INDEX = (
    "behaviour.md",
    "hooks/behaviour.md",
    "dream/consolidate.md",
    "extract/private.md",
    "extract/combined.md",
)


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_golden_rendering(rendering: str) -> None:
    name, values = RENDERINGS[rendering]
    rendered = load_prompt(name).render(**values)
    golden = GOLDEN / rendering
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(rendered, encoding="utf-8")
    assert rendered == golden.read_text(encoding="utf-8")


def test_every_prompt_stands_in_a_golden_rendering() -> None:
    """Whole, or as a part of one; and no rendering is left of a prompt that is gone."""
    texts = {name: Path(compose.FOLDER, name).read_text(encoding="utf-8") for name in prompt_names()}
    covered = set(VALUES)
    for _ in range(compose.MAX_DEPTH):
        covered |= {part for name in covered for part in re.findall(r"\{\{> *([\w/.-]+) *\}\}", texts[name])}
    assert covered == set(texts)
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.md")} == set(RENDERINGS)


@pytest.mark.parametrize("name", VALUES)
def test_a_missing_or_unknown_variable_is_an_error_in_every_prompt(name: str) -> None:
    values = VALUES[name]
    for left_out in values:
        with pytest.raises(PromptError, match=left_out):
            load_prompt(name).render(**{key: value for key, value in values.items() if key != left_out})
    with pytest.raises(PromptError, match="no such variable: surplus"):
        load_prompt(name).render(**values, surplus="x")


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_nothing_of_the_composer_s_own_signs_is_left(rendering: str) -> None:
    rendered = (GOLDEN / rendering).read_text(encoding="utf-8")
    assert "{{" not in rendered and "variables:" not in rendered and "override:" not in rendered


def test_a_fork_without_bash_is_told_nothing_of_a_shell() -> None:
    """No turn is lost on a tool that the gate would refuse."""
    for name in TOLD_OF_BASH:
        rendered = (GOLDEN / name.replace(".md", "_without_bash.md")).read_text(encoding="utf-8")
        assert "Bash" not in rendered and "shell" not in rendered and "command" not in rendered


@pytest.mark.parametrize("name", WITHOUT_INDEX)
def test_where_there_is_no_index_no_prompt_speaks_of_one(name: str) -> None:
    """S12."""
    values = VALUES[name]
    rendered = load_prompt(name, has_index=False).render(**values)
    told = rendered.replace("There is no index here: write topic files only, and leave `MEMORY.md` alone.", "")
    assert "MEMORY.md" not in told and not re.search(r"\bindex\b", told)
    assert load_prompt(name).render(**values) != rendered


def test_a_version_of_the_user_s_uses_the_variables_it_wants(tmp_path: Path) -> None:
    """P8: the dream's prompt is replaceable, by a short one too."""
    (tmp_path / "dream").mkdir()
    (tmp_path / "dream" / "consolidate.md").write_text(
        "Tidy up {{directory}}, {{index_lines}} lines.", encoding="utf-8"
    )
    values = VALUES["dream/consolidate.md"]
    for has_index in (True, False):
        own = load_prompt("dream/consolidate.md", overrides=str(tmp_path), has_index=has_index)
        assert own.render(**values) == f"Tidy up {HOME}/memory, 200 lines."
    with pytest.raises(PromptError, match="no such variable: surplus"):
        own.render(**values, surplus="x")


OPEN_TO_USERS = {
    "behaviour/types.md",
    "hooks/types.md",  # by the same file
    "compact/summary.md",
    "dream/consolidate.md",
    "recall/select.md",
    "session_memory/template.md",
    "session_memory/update.md",
}


def test_users_may_replace_these_and_no_others(tmp_path: Path) -> None:
    """P8: what keeps a fork harmless or its answer readable by us is not theirs to change."""
    for name in prompt_names():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("MINE", encoding="utf-8")
    replaced = {name for name in prompt_names() if load_prompt(name, overrides=str(tmp_path)).text == "MINE"}
    assert replaced == OPEN_TO_USERS


@pytest.mark.parametrize("name", sorted(OPEN_TO_USERS & VALUES.keys()))
def test_a_user_s_own_version_may_do_without_what_ours_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("Do it my way.\n", encoding="utf-8")
    prompt = load_prompt(name, overrides=str(tmp_path))
    assert prompt.render(**VALUES[name]) == "Do it my way.\n"
    with pytest.raises(PromptError, match="no such variable: surplus"):
        prompt.render(**VALUES[name], surplus="x")


@pytest.mark.parametrize("name", WITHOUT_INDEX)
def test_a_replaced_part_is_used_wherever_it_stands(name: str, tmp_path: Path) -> None:
    (tmp_path / "behaviour").mkdir()
    (tmp_path / "behaviour" / "types.md").write_text("## My own types\n", encoding="utf-8")
    ours, own = load_prompt(name), load_prompt(name, overrides=str(tmp_path))
    rendered = own.render(**VALUES[name])
    assert "## My own types" in rendered and "## What there is to remember" not in rendered
    assert own.hash != ours.hash, "the events of the run tell that it was another prompt"
