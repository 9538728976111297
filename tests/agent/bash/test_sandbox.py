"""Which sandbox there is, how it is put together, and that there is no Bash without one (G4)."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memdir.agent.bash import landlock_launcher as launcher
from memdir.agent.bash.bash_tool import run_sandboxed
from memdir.agent.bash.sandbox import (
    ENVIRONMENT,
    Kind,
    NoSandbox,
    filter_program,
    hidden_paths,
    landlock_abi,
    landlock_command,
    probe_command,
    readable_roots,
    sandbox_kind,
    works,
)


def test_the_kind_is_one_that_works() -> None:
    kind = sandbox_kind()
    assert kind in ("bubblewrap", "landlock", None)
    assert kind is None or works(kind)


def test_bubblewrap_is_preferred_where_it_works() -> None:
    if not works("bubblewrap"):
        pytest.skip("bubblewrap does not work on this machine")
    assert sandbox_kind() == "bubblewrap"


def test_temporary_files_in_memory_cost_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    if not works("bubblewrap") or not os.access("/dev/shm", os.W_OK):
        pytest.skip("bubblewrap does not work on this machine, or it has no /dev/shm")
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    assert works("bubblewrap")


def test_without_a_known_processor_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    assert filter_program() is None
    kinds: tuple[Kind, ...] = ("bubblewrap", "landlock")
    for kind in kinds:
        assert not works(kind)
        with pytest.raises(NoSandbox):
            asyncio.run(run_sandboxed("ls", cwd=str(tmp_path), timeout_seconds=5, max_output_bytes=100, kind=kind))


def test_the_probe_tells_of_everything_it_can_do(tmp_path: Path) -> None:
    """Without a sandbox it says so, and leaves nothing behind: what says only `works` is a sandbox."""
    done = subprocess.run(
        ["bash", "-c", probe_command(str(tmp_path))],
        cwd=tmp_path,
        env=dict(ENVIRONMENT),
        capture_output=True,
        text=True,
    )
    told = done.stdout.splitlines()
    assert told[0] == "works"
    assert {"writes .", "reads the caller's environment", "signals the caller", "opens a socket"} <= set(told)
    assert os.listdir(tmp_path) == []


def test_landlock_itself_stops_a_write_without_the_system_call_filter(tmp_path: Path) -> None:
    """The launcher's file rules alone, with a filter that allows everything."""
    if not works("landlock"):
        pytest.skip("Landlock does not work on this machine")
    argv = landlock_command(["/bin/sh", "-c", "cat /etc/passwd >/dev/null && echo read; echo x > written"])
    assert argv is not None
    config = json.loads(argv[-1])
    config["filter"] = "BgAAAAAA/38="  # BPF: return ALLOW
    done = subprocess.run(
        [*argv[:-1], json.dumps(config)],
        cwd=tmp_path,
        env=dict(ENVIRONMENT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "read\n"
    assert done.returncode != 0
    assert os.listdir(tmp_path) == []


def test_the_launcher_runs_nothing_when_a_step_fails(tmp_path: Path) -> None:
    config = {"abi": 99, "filter": "", "readable": [], "writable": [], "argv": ["/bin/sh", "-c", "echo ran"]}
    done = subprocess.run(
        [sys.executable, "-I", "-S", launcher.__file__, json.dumps(config)], capture_output=True, text=True, check=False
    )
    assert done.returncode == launcher.FAILED
    assert "nothing was run" in done.stderr
    assert done.stdout == ""


def test_landlock_version_is_a_number() -> None:
    assert landlock_abi() >= 0


def test_hidden_paths_exist_and_are_resolved() -> None:
    assert all(os.path.realpath(path) == path and os.path.exists(path) for path in hidden_paths())


def test_readable_roots_leave_out_what_is_hidden_and_nothing_else(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    for name in ("open", "home/.ssh", "home/notes"):
        (root / name).mkdir(parents=True)
    (root / "home" / "link").symlink_to(root / "home" / ".ssh")
    hidden = str(root / "home" / ".ssh")
    roots = readable_roots([hidden])
    assert str(root / "open") in roots
    assert str(root / "home" / "notes") in roots
    assert not any(hidden == path or hidden.startswith(path + "/") for path in roots)
    assert str(root / "home" / "link") not in roots
    assert not {"/dev", "/proc"} & set(roots)


def test_the_filter_is_well_formed() -> None:
    program = filter_program()
    if program is None:
        pytest.skip("no system call numbers for this processor")
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096
