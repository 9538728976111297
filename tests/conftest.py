"""Fixtures every test may use. Each test has an empty home of its own and a clean environment."""

from __future__ import annotations

import gc
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memdir.cli.entry import main
from memdir.events import Event
from memdir.layout import Place
from memdir.store.store import MemoryStore
from tests.in_process import require_agreement

NOW = 1_790_000_000.0  # 2026-09-21, a Monday
IN_MEMORY = "/dev/shm"
MIN_FREE_BYTES = 4 << 30  # there: all tests that run at once take far less
ON_DISK = ("agent", "chat", "clients", "guard")  # below /dev a shell may open nothing
_numbers = itertools.count()
# A busy machine is no fault of a property: how long an example takes to make or to check is judged by benchmarks.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also what the default run leaves out (`make test-slow`)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked slow is left to `make test-slow`; a mark that names variants leaves out only those."""
    if not config.getoption("--slow"):
        left_out = [item for item in items if is_slow(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_slow(item)]


def is_slow(item: pytest.Item) -> bool:
    marks = list(item.iter_markers("slow"))
    variant = item.name.partition("[")[2].rstrip("]")
    return any(not mark.args or any(name in variant for name in mark.args) for mark in marks)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: whoever looks for garbage, as tests of leaks do, need not go through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def room(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the folders of tests are: in memory, if there is enough of it. Nothing depends on a disk being slow, and to
    flush thousands of files is most of what it would do; what is flushed, and when, is tried in tests/faults."""
    if not os.access(IN_MEMORY, os.W_OK | os.X_OK) or _free_bytes(IN_MEMORY) < MIN_FREE_BYTES:
        yield tmp_path_factory.mktemp("room")
        return
    folder = Path(tempfile.mkdtemp(prefix="pytest-", dir=IN_MEMORY))
    yield folder
    if not request.session.testsfailed:
        shutil.rmtree(folder, ignore_errors=True)


def _free_bytes(folder: str) -> int:
    found = os.statvfs(folder)
    return 0 if found.f_flag & os.ST_NOEXEC else found.f_bavail * found.f_frsize


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, room: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the test's own, gone with it unless it failed. Pytest's looks at the folders of all tests before."""
    is_on_disk = request.path.relative_to(Path(__file__).parent).parts[0] in ON_DISK
    folder = (
        tmp_path_factory.getbasetemp() if is_on_disk else room
    ) / f"{request.function.__name__[:20]}{next(_numbers)}"
    folder.mkdir()
    failed = request.session.testsfailed
    yield folder
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the machine that runs the tests reaches them; the home is a folder of the test's own."""
    for name in list(os.environ):
        if name.startswith(
            (
                "MEMDIR_",
                "GIT_",
                "CLAUDE",
                "CODEX_",
                "GEMINI_",
                "QWEN_",
                "OPENCODE",
                "ANTHROPIC_",
                "OPENAI_",
                "FORCE_COLOR",
                "NO_COLOR",
                "CLICOLOR",
                "VISUAL",
                "EDITOR",
                "COLUMNS",
            )
        ):
            monkeypatch.delenv(name)
    for name in ("COLUMNS", "LINES"):
        os.unsetenv(name)  # readline sets them where Python does not see it, and programs started here would obey
    monkeypatch.setenv("HOME", str(tmp_path / "user-home"))
    monkeypatch.setenv("MEMDIR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path.parent))
    monkeypatch.setenv("MEMDIR_NO_DAEMON", "1")  # nothing outlives a test that does not ask for it


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@dataclass
class Events:
    """A sink that keeps what it gets."""

    events: list[Event]

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events]


@pytest.fixture
def events() -> Events:
    return Events([])


class Clock:
    """A clock that stands still until told otherwise."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, events: Events, clock: Clock) -> MemoryStore:
    return MemoryStore(Place(str(tmp_path / "memory")), sink=events, clock=clock)


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def memdir(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs the command line in this process, in the project's folder."""

    def run(*words: str, stdin: str = "", cwd: Path = project) -> Ran:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as exit_:  # argparse leaves this way
            code = exit_.code if isinstance(exit_.code, int) else 1
        printed = capsys.readouterr()
        require_agreement(words, code, printed.out)
        return Ran(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def memdir_command() -> str:
    """The installed `memdir` program."""
    found = shutil.which("memdir", path=str(Path(sys.executable).parent))
    assert found, "memdir is not installed beside this Python: run `make setup`"
    return found


@pytest.fixture
def git() -> Callable[..., str]:
    """Runs the real git with an identity of its own."""

    def run(*arguments: str, cwd: Path) -> str:
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
        return done.stdout

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Callable[..., str]) -> Path:
    """A git repository with one commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "--quiet", cwd=folder)
    (folder / "README").write_text("hello\n", encoding="utf-8")
    git("add", "README", cwd=folder)
    git("commit", "--quiet", "--message=first", cwd=folder)
    return folder
