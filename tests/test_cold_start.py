"""What a hook loads: nothing heavy, ever (ADR 0003)."""

from __future__ import annotations

import subprocess
import sys

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
LIGHT_MODULES = (
    "memdir",
    "memdir.cli.entry",
    "memdir.memdir",
    "memdir.settings",
    "memdir.layout",
    "memdir.store.scan",
    "memdir.store.search",
    "memdir.store.store",
    "memdir.prompts.compose",
)


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_a_module_of_the_hot_path_loads_nothing_heavy(module: str) -> None:
    code = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & set(HEAVY)


def test_the_version_is_told_without_loading_a_command(memdir_command: str) -> None:
    done = subprocess.run([memdir_command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memdir 0.")
