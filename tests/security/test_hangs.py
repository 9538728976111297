"""Nothing that stands where a file should be makes memdir wait, read without end, or fail without words (S15)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.agent.gate import allow_all
from memdir.agent.loop import run_agent
from memdir.cli.entry import EXIT_BUG
from memdir.errors import BadMemoryFile, UsageError
from memdir.layout import Layout
from memdir.memdir import open_memory
from memdir.model.model import Request, ScriptedModel, calls, says
from memdir.store.archive import import_memories
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.transcript.message import user
from tests.agent.boxes import box
from tests.conftest import Ran
from tests.security.obstacles import OBSTACLES, put

Memdir = Callable[..., Ran]

READ = (("list",), ("recall", "how do we deploy?"), ("doctor",))
WRITE = ("remember", "Deploys are frozen until Monday")
# Where a file is looked for, and commands that look for it. {state} stands beside the memory directory.
PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "{home}/settings.json": (("list",), WRITE),
    "{project_home}/settings.json": (("list",), WRITE),
    "{project}/.memdir/settings.json": (("list",), WRITE, ("settings",)),
    "{project}/CLAUDE.md": READ,
    "{project}/AGENTS.md": READ,
    "{project}/.claude/CLAUDE.md": READ,
    "{project}/Makefile": READ,
    "{project}/package.json": READ,
    "{home}/prices.json": (("budget",), ("dream", "--dry-run")),
    "{home}/prompts/behaviour.md": (("prompt",),),
    "{memory}/MEMORY.md": (*READ, WRITE, ("prompt",)),
    "{memory}/topic.md": (
        *READ,
        WRITE,
        ("show", "topic"),
        ("search", "deploy"),
        ("export", "out.zip"),
        ("dream", "--yes"),
    ),
    "{memory}/team/topic.md": (*READ, WRITE),
    "{memory}/logs/2026/11/2026-11-01.md": (("search", "--sessions", "deploy"), ("dream", "--yes")),
    "{memory}/.consolidate-lock": (("dream", "--yes"), ("list",)),
    "{state}/lock": (("list",), WRITE),
    "{state}/identity.json": (("list",), WRITE, ("doctor",)),
    "{state}/recalled.jsonl": (("recall", "deploy"), ("recall", "--log")),
    "{state}/recall/journal": (("recall", "deploy"), ("search", "deploy")),
    "{home}/logs/events.jsonl": (WRITE, ("recall", "deploy")),
    "{home}/logs/ledger.jsonl": (("budget",), ("dream", "--yes")),
    "{project_home}/one.jsonl": (("sessions",), ("sessions", "show", "one"), ("search", "--sessions", "deploy")),
    "{project_home}/one/session-memory/summary.md": (("sessions",),),
    "{project_home}/one/state.json": (("sessions",),),
}


def path_of(pattern: str, project: Path, tmp_path: Path) -> Path:
    layout = Layout(str(tmp_path / "home"), str(project))
    memory = layout.default_memory
    places = {"home": layout.home, "project": str(project), "project_home": layout.project_home}
    return Path(pattern.format(**places, memory=memory, state=f"{memory}.state"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "link to /dev/zero", "folder"])
def test_no_command_waits_for_what_is_no_file(
    kind: str, tmp_path: Path, memdir: Memdir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place in turn, in a store of its own; each command ends, and none with a traceback."""
    for number, (pattern, commands) in enumerate(PLACES.items()):
        own = tmp_path / str(number)
        inner = own / "project"
        inner.mkdir(parents=True)
        monkeypatch.setenv("MEMDIR_HOME", str(own / "home"))
        assert memdir("remember", "We deploy with make deploy", cwd=inner).code == 0
        path = path_of(pattern, inner, own)
        put(kind, path)
        for command in commands:
            ran = memdir(*command, cwd=inner)
            assert ran.code not in (EXIT_BUG, UsageError.exit_code), (pattern, command, ran.err)
        assert os.path.lexists(path), (pattern, "what a person put there stays")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", OBSTACLES)
def test_a_settings_file_that_is_none_is_told(kind: str, project: Path, memdir: Memdir) -> None:
    put(kind, project / ".memdir" / "settings.json")
    assert memdir("remember", "A thing").code == 0
    assert "settings.json" in memdir("doctor").out


@pytest.mark.timeout(30)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
async def test_no_tool_blocks_the_event_loop(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    (tmp_path / "kernel").symlink_to("/proc/kmsg")
    paths = ("/proc/kmsg", "/dev/stdin", "/dev/tty", "/dev/zero", "/proc/self/mem", "/proc/self/pagemap", "/proc")
    named = [*paths, *(str(tmp_path / name) for name in ("fifo", "link", "kernel"))]
    reads = [("Read", {"file_path": path}) for path in named]
    greps = [("Grep", {"pattern": "x", "path": path}) for path in named if path != "/proc"]
    writes = [("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}) for path in named]
    model = ScriptedModel([calls(*reads), calls(*greps), calls(*writes), says("Done.")])
    started = time.monotonic()
    request = Request("scripted", messages=(user("Go."),))
    run = await run_agent(request, model, box(tmp_path), allow_all, max_turns=5)
    assert run.ending == "done"
    assert time.monotonic() - started < 15
    assert all(result.is_error for at, result in enumerate(run.messages[1].tool_results) if named[at] != "/dev/stdin")
    assert all("Nothing matches" in result.content or result.is_error for result in run.messages[3].tool_results)


SPARSE = 3 << 30


def sparse(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"---\nname: huge\ndescription: deploy\ntype: project\n---\n\ndeploy\n")
    os.truncate(path, SPARSE)


@pytest.mark.timeout(60)
def test_a_file_of_three_gigabytes_costs_milliseconds(project: Path, tmp_path: Path, memdir: Memdir) -> None:
    assert memdir("remember", "We deploy with make deploy").code == 0
    memory = Path(Layout(str(tmp_path / "home"), str(project)).default_memory)
    for name in ("huge.md", "team/huge.md", "film.mp4", "logs/2026/11/2026-11-01.md", "logs/notes.md"):
        sparse(memory / name)
    commands = (
        ("list",),
        ("recall", "how do we deploy?"),
        ("search", "deploy"),
        ("remember", "Another thing"),
        ("log",),
        ("diff",),
        ("undo",),
        ("doctor",),
        ("dream", "--yes"),
        ("export", str(tmp_path / "out.zip")),
        ("show", "huge"),
        ("forget", "huge.md"),
    )
    for command in commands:
        started = time.perf_counter()
        ran = memdir(*command)
        assert ran.code not in (EXIT_BUG, UsageError.exit_code), (command, ran.err)
        assert time.perf_counter() - started < 3, command  # reading one of them takes several times as long
    assert (memory / "huge.md").stat().st_size == SPARSE, "it is left as it is"
    history = memory.with_name("memory.state") / "history.git"
    assert sum(path.stat().st_size for path in history.rglob("*") if path.is_file()) < 1 << 20
    told = memdir("doctor").out
    assert all(name in told for name in ("huge.md", "team/huge.md", "film.mp4", "logs/2026/11/2026-11-01.md"))


@pytest.mark.timeout(60)
def test_a_settings_file_of_three_gigabytes_is_an_error_in_words(tmp_path: Path, memdir: Memdir) -> None:
    sparse(tmp_path / "home" / "settings.json")
    ran = memdir("list")
    assert ran.code == 3
    assert "3,221,225,472 bytes" in ran.err


def test_what_is_larger_than_a_memory_is_neither_written_nor_taken_in(store: MemoryStore, tmp_path: Path) -> None:
    store.ensure()
    with (
        pytest.raises(BadMemoryFile, match="at most 1,048,576"),
        store.changing(Origin("cli"), "a book") as change,
    ):
        change.write("book.md", b"x" * ((1 << 20) + 1))
    sparse(tmp_path / "in" / "huge.md")
    (tmp_path / "in" / "small.md").write_bytes(b"---\nname: small\ndescription: s\n---\n\nSmall.\n")
    result = import_memories(store, str(tmp_path / "in"), origin=Origin("import"))
    assert result.added == ["small.md"]
    assert "at most 1,048,576" in result.refused["huge.md"]


@pytest.mark.timeout(30)
def test_a_transcript_that_is_a_fifo_is_not_written_to(project: Path) -> None:
    memory = open_memory(project)
    memory.start()
    put("fifo", Path(memory.layout.session("one")))
    with pytest.raises(Exception, match="no plain file"):
        memory.transcript("one").append(b"{}\n")
