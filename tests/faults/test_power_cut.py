"""Power cuts after every system call, on a model of a disk that keeps as little as it may (S13)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from . import powercut, verify
from .homes import SCENARIOS, Scenario, run
from .trial import Trials

SAMPLE = 2  # power cuts of each scenario in the default run

pytestmark = pytest.mark.faults


@pytest.mark.usefixtures("strace")
@pytest.mark.slow(
    "pack",
    "overwrite",
    "many",
    "index",
    "first",
    "recover_edited",
    "import",
    "commit",
    "delete",
    "undo",
    "recover",
    "edit",
)
@pytest.mark.parametrize("scenario", SCENARIOS, indirect=True)
def test_no_power_cut_loses_anything(
    scenario: Scenario, thorough: bool, tmp_path: Path, count: Callable[[str, int], None]
) -> None:
    """S13: whatever of the unflushed survives, old or new, and the next start repairs the rest."""
    home = scenario.copy(os.path.join(scenario.folder, f"cut-{os.getpid()}"))
    trace = str(tmp_path / "trace")
    packs = scenario.name == "many"  # git's fast-import reads back the pack that it writes
    ended = run(powercut.recording(trace, scenario.command(), with_reads=packs), home)
    assert ended.code == 0, ended.err
    real = powercut.tree_of(home)
    shutil.rmtree(home)
    scenario.copy(home)
    states = list(powercut.crash_states(home, trace))
    assert powercut.replayed(home, trace) == real, "the model is not what happened"
    for survivors, tree in powercut.kept(home, trace):
        assert _memories(tree, os.path.relpath(scenario.place(home).root, home)) == dict(scenario.after), survivors
    if not thorough:
        states = [states[len(states) * number // SAMPLE] for number in range(SAMPLE)]
    trials = Trials(scenario)
    for line, survivors, tree in states:
        shutil.rmtree(home)
        powercut.restore(tree, home, before=scenario.home)
        try:
            trials.judge(home)
        except verify.Broken as error:
            trials.failures.append(f"{survivors} after {line[:200]}: {error}")
    shutil.rmtree(home)
    count("homes as a power cut would leave them", len(states))
    assert not trials.failures, "\n".join(trials.failures)


def _memories(tree: powercut.Tree, root: str) -> dict[str, bytes]:
    """The files of the memory directory that a person would see; what is done is still there after a power cut."""
    files = {path.removeprefix(f"{root}/"): data for path, data in tree.items() if path.startswith(f"{root}/")}
    return {
        path: data for path, data in files.items() if data is not None and not os.path.basename(path).startswith(".")
    }


def cut(home: Path, *calls: str) -> dict[str, powercut.Tree]:
    """What is left after these calls, by what survives."""
    disk = powercut.Disk(str(home))
    for call in calls:
        disk.apply(f"7 {call}")
    return {survivors: disk.left(survivors) for survivors in powercut.SURVIVORS}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "f").write_bytes(b"old")
    return tmp_path


def test_the_model_empties_a_file_that_was_never_flushed(home: Path) -> None:
    """FACTS 4: no fsync, power cut: a file of no bytes."""
    left = cut(
        home,
        f'openat(AT_FDCWD</>, "{home}/t", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<{home}/t>',
        f'write(3<{home}/t>, "new", 3) = 3',
        f'rename("{home}/t", "{home}/f") = 0',
    )
    assert left == {"durable": {"f": b"old"}, "names": {"f": b""}, "removals": {"f": b"old"}, "additions": {"f": b""}}


def test_the_model_forgets_a_name_whose_folder_was_not_flushed(home: Path) -> None:
    """FACTS 4: no folder fsync: the old content."""
    calls = [
        f'openat(AT_FDCWD</>, "{home}/t", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<{home}/t>',
        f'write(3<{home}/t>, "new", 3) = 3',
        f"fsync(3<{home}/t>) = 0",
        f'rename("{home}/t", "{home}/f") = 0',
        f'openat(AT_FDCWD</>, "{home}", O_RDONLY|O_CLOEXEC) = 3<{home}>',
        f"fsync(3<{home}>) = 0",
    ]
    assert cut(home, *calls[:-1])["durable"] == {"f": b"old"}
    assert cut(home, *calls[:-1])["names"] == {"f": b"new"}
    assert {tuple(tree.items()) for tree in cut(home, *calls).values()} == {(("f", b"new"),)}


def test_the_model_loses_a_deletion_or_a_creation_as_it_likes(home: Path) -> None:
    left = cut(home, f'unlink("{home}/f") = 0', f'mkdir("{home}/d", 0700) = 0')
    assert left == {
        "durable": {"f": b"old"},
        "names": {"d": None},
        "removals": {},
        "additions": {"f": b"old", "d": None},
    }
