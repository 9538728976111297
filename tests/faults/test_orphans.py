"""What is still running, or still being written, when its parent dies or somebody sweeps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.atomic import TEMPORARY_PREFIX, sweep_temporaries, written_aside

from . import verify
from .homes import Scenario, files_of, run, variables

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("work", ["pack-objects", "prune-packed"])  # all that git writes when a memory is added
def test_a_git_that_outlives_memdir_keeps_the_lock(
    work: str, scenarios: Callable[[str], Scenario], tmp_path: Path
) -> None:
    """memdir is killed while git runs: the next writer waits for that git instead of working beside it (S13)."""
    scenario = scenarios("pack")
    home = scenario.copy(str(tmp_path / "home"))
    reached, go_on = tmp_path / "reached", tmp_path / "go-on"
    os.mkfifo(reached)
    os.mkfifo(go_on)
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(
        f'#!/bin/sh\ncase " $* " in *" {work} "*) echo > {reached}; read line < {go_on};; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    shim.chmod(0o700)
    first = subprocess.Popen(scenario.command(), env=variables(home, str(shim.parent)), stderr=subprocess.DEVNULL)
    reached.read_text()
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.Popen(scenario.command("edit"), env=variables(home), stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(timeout=1.0)
    go_on.write_text("\n")
    assert second.wait(timeout=60) == 0, second.communicate()
    second.communicate()
    files = files_of(scenario.place(home).root)
    assert {path for path in scenario.after if path not in files} == set()
    verify.check_history(scenario, home)
    verify.check_recorded(scenario, home, files)
    verify.check_no_strays(scenario, home)


def test_a_sweep_leaves_alone_what_is_being_written(tmp_path: Path) -> None:
    """Drafts and the identity are written without the directory's lock, while another process may be sweeping."""
    dead = tmp_path / f"{TEMPORARY_PREFIX}dead"
    dead.write_bytes(b"half")
    with written_aside(str(tmp_path), b"whole") as alive:
        assert sweep_temporaries(str(tmp_path)) == 1
        os.replace(alive, tmp_path / "done")
    assert [path.name for path in tmp_path.iterdir()] == ["done"]
    assert (tmp_path / "done").read_bytes() == b"whole"


def test_a_stray_of_the_state_folder_is_gone_after_the_next_start(
    scenarios: Callable[[str], Scenario], tmp_path: Path
) -> None:
    scenario = scenarios("create")
    home = scenario.copy(str(tmp_path / "home"))
    state = Path(scenario.place(home).state)
    (state / "drafts").mkdir(exist_ok=True)
    for folder in (state, state / "drafts"):
        (folder / f"{TEMPORARY_PREFIX}0123").write_bytes(b"half")
    assert run(scenario.command("start"), home).code == 0
    verify.check_no_strays(scenario, home)


def test_recovery_keeps_what_a_person_wrote_over_a_killed_change(scenarios: Callable[[str], Scenario]) -> None:
    """Both of the lines in the index, the person's text in the file, and memdir's own in the history before it."""
    scenario = scenarios("recover_edited")
    index, created = scenario.after["MEMORY.md"], scenario.after["project_release_freeze.md"]
    assert b"(project_release_freeze.md)" in index
    assert b"One more line by hand." in index
    assert created.endswith(b"A person knew more.\n")
