"""What a hook loads: nothing heavy, ever (ADR 0003)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "dataclasses",
    "typing",
    "pathlib",
    "inspect",
    "subprocess",
    "asyncio",
    "json",
    "datetime",
    "hashlib",
    "shutil",
    "tempfile",
)
MAX_MODULES = 35  # of ours: each costs a look into the file system, a read and a load
LIGHT_MODULES = (
    "memdir",
    "memdir.cli.entry",
    "memdir.memdir",
    "memdir.settings",
    "memdir.layout",
    "memdir.recall.recall",
    "memdir.recall.selection",
    "memdir.store.scan",
    "memdir.search.memory_search",
    "memdir.store.store",
    "memdir.prompts.compose",
    "memdir.prompts.door",
)


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_a_module_of_the_hot_path_loads_nothing_heavy(module: str) -> None:
    code = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("words", [["recall", "can I ship on Friday?"], ["search", "deploys"]])
def test_a_command_that_runs_on_every_prompt_loads_nothing_heavy(
    memdir_command: str, project: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):  # with a key a model is asked, and its client loaded
        monkeypatch.delenv(name, raising=False)
    remembered = ["remember", "Deploys are frozen until 2026-12-01"]
    subprocess.run([memdir_command, *remembered, "--project", str(project)], capture_output=True, check=True)
    for _ in range(2):  # the first builds the index
        command = [sys.executable, "-X", "importtime", memdir_command, *words, "--project", str(project)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "deploys_are_frozen" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "memdir.search.ranking" in loaded
    assert not loaded & {*HEAVY, "unicodedata"}  # which only folds what is not plain
    assert len([name for name in loaded if name.partition(".")[0] == "memdir"]) <= MAX_MODULES


def test_the_version_is_told_without_loading_a_command(memdir_command: str) -> None:
    done = subprocess.run([memdir_command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memdir 0.")
