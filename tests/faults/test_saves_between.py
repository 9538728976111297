"""memdir held still after each of its system calls, and a person saves the file it is about to change (S13, S14)."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from memdir.errors import EditConflict

from . import operate, verify
from .homes import Scenario, files_of, run
from .pause import paused_after
from .trace import PYTHON, Call, calls_of

LINE = b"\nA person's last line.\n"
INDEX = "MEMORY.md"
# scenario, the file the person saves, and by what memdir's own change of that file is known
CASES = [
    ("create", INDEX, operate.CREATED),
    ("edit", operate.EDITED, operate.NEW_DESCRIPTION),
    ("edit", INDEX, operate.NEW_DESCRIPTION),
    ("overwrite", operate.EDITED, "Overwritten"),
    ("delete", operate.DELETED, ""),
    ("delete", INDEX, ""),
    ("index", INDEX, operate.EDITED),
    ("undo", operate.EDITED, ""),
]
TOLD_TO_REPLACE = (
    ("overwrite", operate.EDITED),
    ("delete", operate.DELETED),
)  # whatever is there: it is in the history

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("strace")]


def renamed(path: str, data: bytes) -> Callable[[], None]:
    Path(path + "~").write_bytes(data)
    os.replace(path + "~", path)
    return lambda: None


def in_place(path: str, data: bytes) -> Callable[[], None]:
    Path(path).write_bytes(data)
    return lambda: None


def half_now_half_later(path: str, data: bytes) -> Callable[[], None]:
    """The file is cut and half written; the rest comes when memdir has moved on."""
    file = Path(path).open("wb")  # noqa: SIM115  # closed later, which is the point
    file.write(data[: len(data) // 2])
    file.flush()
    return lambda: _finish(file, path, data[len(data) // 2 :])


def opened_now_written_later(path: str, data: bytes) -> Callable[[], None]:
    """The file is open, and as it was; everything comes when memdir has moved on."""
    file = Path(path).open("r+b" if os.path.exists(path) else "wb")  # noqa: SIM115
    return lambda: _finish(file, path, data)


def _finish(file: BinaryIO, path: str, rest: bytes) -> None:
    deadline = time.monotonic() + 0.3  # for moments at which memdir does not touch the file any more
    while time.monotonic() < deadline and _is_there(file, path):
        time.sleep(0.001)
    file.write(rest)
    file.truncate()  # as editors do: what it held may have been longer
    file.close()


def _is_there(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


SAVES = (renamed, in_place, half_now_half_later, opened_now_written_later)


@pytest.mark.parametrize(("scenario", "name", "mark"), CASES, indirect=["scenario"])
@pytest.mark.slow
def test_a_save_at_any_moment_is_kept(
    scenario: Scenario, name: str, mark: str, thorough: bool, count: Callable[[str, int], None]
) -> None:
    home = os.path.join(scenario.folder, f"between-{os.getpid()}")
    calls = [call for call in calls_of(scenario, scenario.copy(home)) if call.process == PYTHON]
    shutil.rmtree(home)
    moments = [(call, save) for call in calls for save in SAVES]
    if not thorough:
        inside = [moment for moment in moments if "/memory/" in moment[0].path]
        turn = [case[:2] for case in CASES].index((scenario.name, name))  # another way to save in each case
        moments = [inside[(len(inside) // 2 + turn) % len(inside)]]
    broken = []
    for call, save in moments:
        try:
            _save_between(scenario, scenario.copy(home), name, mark, call, save)
        except verify.Broken as error:
            broken.append(f"{save.__name__} after {call}: {error}")
        finally:
            shutil.rmtree(home)
    count("saves by a person between two calls of memdir", len(moments))
    assert not broken, "\n".join(broken)


def _save_between(
    scenario: Scenario,
    home: str,
    name: str,
    mark: str,
    call: Call,
    save: Callable[[str, bytes], Callable[[], None]],
) -> None:
    root = scenario.place(home).root
    path = os.path.join(root, name)
    text = scenario.before[name] + LINE  # what the person's editor had loaded, and a line more
    with paused_after(scenario, home, call) as paused:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        finishing = threading.Thread(target=save(path, text))
        finishing.start()
    finishing.join()
    ended = paused.ended
    verify.require(ended.code in (0, EditConflict.exit_code), f"it ended with {ended.code}: {ended.err}")
    again = run(scenario.command("commit"), home)
    verify.require(again.code == 0, again.err)
    files = files_of(root)
    kept = verify.held(scenario, home) | {verify.blob_id(data) for data in files.values()}
    verify.require(verify.blob_id(text) in kept, "the person's text is neither on disk nor in the history")
    if (scenario.name, name) not in TOLD_TO_REPLACE:
        verify.require(LINE.strip() in files.get(name, b""), "the person's line is no longer on disk")
    if mark and ended.code == 0:
        found = verify.git(scenario, home, "log", "--oneline", f"-S{mark}", "--", name).stdout
        verify.require(found, "success was claimed, but memdir's own change is nowhere")
    verify.check_no_strays(scenario, home)
    verify.check_history(scenario, home)
