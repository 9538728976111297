"""How much is done (`--faults=sample|all`), where the homes are, and what was done in the end."""

from __future__ import annotations

import compileall
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import memdir

from . import trace
from .homes import SCENARIOS, Scenario, prepare

KILLS = {"python": ("SIGKILL",), "git": ("SIGKILL", "KILLALL")}
# These get every error at every call; the others, which do the same things in another order, one error at each in turn.
NAMED = ("create", "edit", "delete", "index", "commit", "import")
_COUNTED = "faults:"  # the properties of a test that are summed up at the end


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", choices=("sample", "all"), default="sample", help="every fault, or some of each kind")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All: a test for each scenario, process and kind of fault. Sample: one for each scenario."""
    if "aims" in metafunc.fixturenames:
        cases = every_case() if is_thorough(metafunc.config) else some_cases()
        names = [f"{name}-{'-'.join((*aims, *kinds)) if len(aims) == 1 else 'sample'}" for name, aims, kinds in cases]
        metafunc.parametrize(("scenario", "aims", "kinds"), cases, ids=names, indirect=["scenario"])


def every_case() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Scenario, whose calls are struck, and with what; several kinds take turns."""
    found = []
    for name in SCENARIOS:
        errors = [(error,) for error in trace.ERRORS] if name in NAMED else [trace.ERRORS]
        for who, kills in KILLS.items():
            found += [(name, (who,), kinds) for kinds in (*((kill,) for kill in kills), *errors)]
    return found


def some_cases() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each scenario begins with another kind, so that a few faults of each are all kinds together."""
    kinds = ("SIGKILL", *trace.ERRORS)
    turns = [number % len(kinds) for number in range(len(SCENARIOS))]
    return [(name, tuple(KILLS), kinds[turn:] + kinds[:turn]) for name, turn in zip(SCENARIOS, turns, strict=True)]


def is_thorough(config: pytest.Config) -> bool:
    return bool(config.getoption("--faults", default="sample") == "all")


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    return is_thorough(request.config)


@pytest.fixture(scope="session")
def workplace() -> Iterator[str]:
    """A folder in memory where there is one: the faults are injected, so nothing depends on the disk being slow."""
    compileall.compile_dir(
        os.path.dirname(memdir.__file__), quiet=2
    )  # else the first runs open more files than later ones
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="memdir-faults-", dir=fast)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def scenarios(workplace: str) -> Callable[[str], Scenario]:
    """Prepared homes by name, each built once."""
    built: dict[str, Scenario] = {}

    def scenario(name: str) -> Scenario:
        if name not in built:
            built[name] = prepare(name, os.path.join(workplace, name))
        return built[name]

    return scenario


@pytest.fixture
def scenario(request: pytest.FixtureRequest, scenarios: Callable[[str], Scenario]) -> Scenario:
    return scenarios(request.param)


@pytest.fixture
def strace() -> None:
    reason = trace.why_not()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Adds to the figures that are printed at the end."""

    def add(what: str, number: int) -> None:
        record_property(_COUNTED + what, number)

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name.startswith(_COUNTED) and getattr(report, "when", "") == "call":
                    totals[name.removeprefix(_COUNTED)] += value
    if totals:
        terminalreporter.section("nothing lost")
        for name, value in sorted(totals.items()):
            terminalreporter.line(f"{value:8,}  {name}")
