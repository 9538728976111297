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
    """All: a test for each scenario, process and kind of fault. Sample: one for each scenario and process."""
    if {"who", "kinds"} <= set(metafunc.fixturenames):
        cases = [
            (name, who, kinds)
            for name in SCENARIOS
            for who in KILLS
            for kinds in kinds_for(name, who, thorough=is_thorough(metafunc.config))
        ]
        names = [f"{name}-{who}-{kinds[0] if len(kinds) == 1 else 'mixed'}" for name, who, kinds in cases]
        metafunc.parametrize(("scenario", "who", "kinds"), cases, ids=names, indirect=["scenario"])


def kinds_for(name: str, who: str, *, thorough: bool) -> list[tuple[str, ...]]:
    """The kinds of fault of each test; several kinds take turns."""
    if not thorough:
        return [(*KILLS[who], *trace.ERRORS)]
    errors = [(error,) for error in trace.ERRORS] if name in NAMED else [trace.ERRORS]
    return [*((kill,) for kill in KILLS[who]), *errors]


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
