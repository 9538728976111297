"""What its owner may not read: named with the remedy, never taken for gone, and no reason to stop (S9, S14)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdir.layout import Layout
from tests.conftest import Ran

# Root reads everything, unless he lays that right down.
_LAID_DOWN = "-dac_override,-dac_read_search"
_AS_ANYBODY = ("setpriv", f"--inh-caps={_LAID_DOWN}", f"--bounding-set={_LAID_DOWN}") if os.geteuid() == 0 else ()

pytestmark = pytest.mark.skipif(
    bool(_AS_ANYBODY) and shutil.which("setpriv") is None, reason="root reads every file, and there is no setpriv"
)


@pytest.fixture
def tell(memdir_command: str, project: Path) -> Callable[..., Ran]:
    """Runs the command as somebody for whom a closed file is closed."""

    def run(*words: str) -> Ran:
        command = [*_AS_ANYBODY, memdir_command, *words]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def folder(tell: Callable[..., Ran], tmp_path: Path, project: Path) -> Path:
    """Two memories, one in a folder; both in the index and in the history."""
    found = Path(Layout(str(tmp_path / "home"), str(project)).default_memory)
    tell("remember", "The first one", "--name", "first", "--type", "project")
    (found / "f").mkdir(mode=0o700)
    (found / "f" / "z.md").write_text("---\nname: Z\ndescription: deep\ntype: project\n---\n\nDeep.\n")
    (found / "f" / "z.md").chmod(0o600)
    tell("doctor", "--fix")
    assert "f/z.md" in (found / "MEMORY.md").read_text()
    return found


CLOSED = {"a closed folder": ("f", 0o000), "a folder only to list": ("f", 0o400), "a closed file": ("f/z.md", 0o000)}


@pytest.fixture(params=CLOSED.values(), ids=CLOSED.keys())
def closed(request: pytest.FixtureRequest, folder: Path) -> Iterator[Path]:
    name, mode = request.param
    path = folder / name
    before = path.stat().st_mode
    path.chmod(mode)
    yield path
    path.chmod(before & 0o777)


def test_what_is_closed_is_named_and_everything_else_works(
    closed: Path, folder: Path, tell: Callable[..., Ran], tmp_path: Path
) -> None:
    remembered = tell("remember", "The second one", "--name", "second", "--type", "project")
    assert (remembered.code, remembered.err) == (0, "")
    undone = tell("undo")
    assert undone.code == 0 and not (folder / "project_second.md").exists()
    assert "f/" in tell("list").err
    assert [key.startswith("f/") for key in json.loads(tell("list", "--json").out)["leftOut"]] == [True]
    assert "f/" in tell("export", str(tmp_path / "out")).err
    diagnosis = json.loads(tell("doctor", "--fix", "--json").out)
    named = [finding for finding in diagnosis["findings"] if finding["check"] == "unreadable"]
    assert not diagnosis["healthy"]
    assert len(named) == 1 and "chmod" in named[0]["remedy"]
    assert "names no file" not in json.dumps(diagnosis)
    assert "f/z.md" in (folder / "MEMORY.md").read_text(), "its line stays"


def test_what_was_closed_was_never_deleted(folder: Path, tell: Callable[..., Ran]) -> None:
    (folder / "f").chmod(0o000)
    tell("remember", "The second one", "--name", "second", "--type", "project")
    (folder / "f").chmod(0o700)
    changes = [change["file"] for one in json.loads(tell("log", "--json").out)["changes"] for change in one["files"]]
    assert changes.count("f/z.md") == 1, "added once, and nothing since"
    assert tell("doctor").code == 0


@pytest.mark.parametrize("name", ["objects", "refs", "."])
def test_a_closed_history_is_no_damage_and_is_opened_again(name: str, folder: Path, tell: Callable[..., Ran]) -> None:
    closed = Path(f"{folder}.state", "history.git", name)
    closed.chmod(0o000)
    try:
        told = tell("doctor").out
        assert "is damaged" not in told
        tell("doctor", "--fix")
    finally:
        mode = closed.stat().st_mode & 0o777
        closed.chmod(0o700)
    assert mode == 0o700
    assert not list(closed.parent.parent.glob("*.damaged-*"))
    assert tell("undo").code == 0
