"""MemDir: opening, the prompt, the index in the context (S4, S5, P1–P6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import memdir
from memdir.errors import MemdirError, UsageError
from memdir.memdir import open_memory
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.memories import add_memory


def test_opening_touches_nothing_and_starting_creates_the_whole_path(project: Path) -> None:
    """S4."""
    memory = open_memory(project)
    assert not os.path.exists(os.environ["MEMDIR_HOME"])
    memory.start()
    memory.start()
    assert os.path.isdir(memory.place.root)


def test_the_prompt_has_its_eight_parts_and_the_path(project: Path) -> None:
    """P2."""
    text = open_memory(project).prompt()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Memory",
        "## What there is to remember",
        "## What not to save",
        "## How to save",
        "## When to look into memory",
        "## Before you recommend something from memory",
        "## Memory, plan, task list",
    ]
    assert open_memory(project).place.root in text
    assert "asks you to remember" in text and "asks" in text and "forget" in text


def test_the_prompt_stays_the_same_until_it_is_reloaded(project: Path) -> None:
    """P6: a write in mid-session changes no byte of it."""
    memory = open_memory(project)
    before = memory.prompt()
    own = Path(memory.layout.prompts, "behaviour", "types.md")
    own.parent.mkdir(parents=True)
    own.write_text("## What there is to remember\n\nOnly recipes.\n")
    add_memory(memory.store, "Something", kind=None, origin=Origin("cli"))
    assert memory.prompt() == before
    memory.reload()
    assert "Only recipes." in memory.prompt()


def test_the_index_goes_into_the_context_with_its_path(project: Path) -> None:
    """P6."""
    memory = open_memory(project)
    assert memory.index_context() == ""
    add_memory(memory.store, "Something", kind=None, origin=Origin("cli"))
    assert memory.index_context() == (
        f"Contents of {memory.place.index} (the user's memory, kept across conversations):\n\n"
        "- [Something](something.md)\n"
    )


def test_off_means_no_prompt_and_no_index(project: Path) -> None:
    """S5, P1: dispatch gives nothing when off."""
    add_memory(open_memory(project).store, "Something", kind=None, origin=Origin("cli"))
    memory = open_memory(project, environment=Environment({**os.environ, "MEMDIR_DISABLE": "1"}))
    assert memory.prompt() == memory.index_context() == ""


def test_skip_index_mode_has_one_step_and_no_index(project: Path) -> None:
    """S12, P2."""
    memory = open_memory(project, flags={"skipIndex": "true"})
    assert "MEMORY.md" not in memory.prompt()
    assert memory.index_context() == ""


@pytest.mark.parametrize(
    ("scope", "tail"),
    [
        ("user", "home/memory"),
        ("team", "memory/team"),
        ("agent:x", "home/agent-memory/x"),
        ("agent-project:x", "project/.memdir/agent-memory/x"),
        ("agent-local:x", "project/.memdir/agent-memory-local/x"),
    ],
)
def test_every_scope_is_the_same_store_in_another_place(project: Path, scope: str, tail: str) -> None:
    store = open_memory(project).store_for(scope)
    assert store.root.endswith(tail)
    assert add_memory(store, "Something", kind=None, origin=Origin("cli")).is_new


def test_unknown_scopes_and_folders_are_named(project: Path) -> None:
    with pytest.raises(UsageError, match="galaxy"):
        open_memory(project).store_for("galaxy")
    with pytest.raises(MemdirError, match="nowhere"):
        open_memory(project / "nowhere")


def test_the_public_names_are_all_there_and_importing_does_nothing() -> None:
    for name in memdir.__all__:
        assert getattr(memdir, name) is not None
    assert set(memdir.__all__) == set(dir(memdir))
    with pytest.raises(AttributeError):
        _ = memdir.no_such_name
