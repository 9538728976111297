"""Whatever a command tries, in the sandbox it changes nothing, reaches nobody, ends in time and leaves nothing (G4)."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
import uuid
from pathlib import Path

import pytest

from memdir.agent.bash.bash_tool import ShellResult, run_sandboxed
from memdir.agent.bash.sandbox import Kind, works
from tests.leaks import nothing_left_behind

from .place import build_place, snapshot

WRITES = [
    "echo x > new.txt",
    "echo x >> a.txt",
    "echo x > /tmp/memdir-sandbox-probe",
    ": > a.txt",
    "touch new.txt",
    "touch -d 2001-01-01 a.txt",
    "mkdir new",
    "rm a.txt",
    "rm -rf src",
    "mv a.txt c.txt",
    "cp a.txt c.txt",
    "ln -s a.txt link",
    "ln a.txt hard",
    "mkfifo pipe",
    "chmod 777 a.txt",
    "chown 1 a.txt",
    "truncate -s 0 a.txt",
    "sed -i s/foo/bar/ a.txt",
    "sort -o a.txt b.txt",
    "git commit -q --allow-empty -m x",
    "git gc -q",
    "find . -name b.txt -delete",
    "dd if=/dev/null of=a.txt",
    f'{shlex.quote(sys.executable)} -c \'open("a.txt", "w")\'',
    f"{shlex.quote(sys.executable)} -c 'import os; os.truncate(\"a.txt\", 0)'",
    f"{shlex.quote(sys.executable)} -c 'import os; os.utime(\"a.txt\", (1, 1))'",
    f'{shlex.quote(sys.executable)} -c \'import os; os.setxattr("a.txt", "user.x", b"1")\'',
    f"{shlex.quote(sys.executable)} -c 'import os; os.close(os.open(\"a.txt\", os.O_RDONLY | os.O_TRUNC))'",
]


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each sandbox in turn; one that does not work here is skipped by name."""
    chosen: Kind = request.param
    if not works(chosen):
        pytest.skip(f"{chosen} does not work on this machine")
    return chosen


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return build_place(tmp_path)


def run(command: str, kind: Kind, cwd: Path, *, seconds: float = 30, max_bytes: int = 10_000) -> ShellResult:
    return asyncio.run(
        run_sandboxed(command, cwd=str(cwd), timeout_seconds=seconds, max_output_bytes=max_bytes, kind=kind)
    )


def processes_named(marker: str) -> list[str]:
    """The command lines of live processes that carry the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "cmdline").read_text(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if marker in text:
            found.append(text)
    return found


@pytest.mark.parametrize("command", WRITES)
def test_no_way_of_writing_changes_anything(command: str, kind: Kind, place: Path) -> None:
    before = snapshot(place)
    run(command, kind, place)
    assert snapshot(place) == before
    assert not Path("/tmp/memdir-sandbox-probe").exists()


OPENED = """\
/proc/sys/kernel/core_pattern /proc/sys/kernel/domainname /proc/sys/vm/swappiness /proc/sysrq-trigger /proc/self/comm
/proc/self/oom_score_adj /proc/irq/default_smp_affinity /sys/kernel/mm/ksm/run /sys/fs/cgroup/cgroup.procs /dev/shm/x
/dev/x /tmp/memdir-sandbox-probe /var/tmp/memdir-sandbox-probe /run/memdir-sandbox-probe /dev/mqueue/x /dev/full
/dev/ptmx"""


def test_nothing_can_even_be_opened_for_writing(kind: Kind, place: Path) -> None:
    """Least of all /proc/sys, which root may write without any capability."""
    files = " ".join(OPENED.split())
    result = run(f"for file in {files}; do (: >> $file) 2>/dev/null && echo $file; done; :", kind, place)
    assert result.output == ""


def test_root_of_the_machine_is_nobody_in_bubblewrap(place: Path) -> None:
    if not works("bubblewrap"):
        pytest.skip("bubblewrap does not work on this machine")
    result = run("id -u; grep ^Cap /proc/self/status", "bubblewrap", place)
    user, *capabilities = result.output.splitlines()
    assert user == "65534"
    assert {line.split()[1] for line in capabilities} == {"0000000000000000"}


@pytest.mark.parametrize(
    "code",
    [
        "import resource; resource.prlimit({0}, resource.RLIMIT_NOFILE, (64, 64))",
        "import os; os.setpriority(os.PRIO_PROCESS, {0}, 19)",
        "import os; os.sched_setaffinity({0}, [0])",
        "import os; os.kill({0}, 0)",
        "import os; os.pidfd_open({0}) and os.kill({0}, 0)",
        "import fcntl, os; fcntl.ioctl(os.open('a.txt', os.O_RDONLY), 0x40086602, (0x80).to_bytes(8, 'little'))",
        "import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(16, {0}, 0, 0))",
        "import ctypes; raise SystemExit(ctypes.CDLL(None).unshare(0x10000000))",
        "import ctypes; raise SystemExit(ctypes.CDLL(None).mount(b'proc', b'/mnt', b'proc', 0, None))",
    ],
)
def test_other_processes_and_the_flags_of_files_are_out_of_reach(code: str, kind: Kind, place: Path) -> None:
    result = run(f"{shlex.quote(sys.executable)} -c {shlex.quote(code.format(os.getpid()))}", kind, place)
    assert result.exit_code not in (0, None)


def test_sockets_of_other_programs_are_not_even_seen(place: Path) -> None:
    if not works("bubblewrap"):
        pytest.skip("bubblewrap does not work on this machine")
    assert run("ls -A /run /dev/shm 2>/dev/null | grep -v :", "bubblewrap", place).output.strip() == ""


def test_output_and_exit_code_come_back(kind: Kind, place: Path) -> None:
    result = run("echo out; echo err >&2; exit 3", kind, place)
    assert result == ShellResult(3, "out\nerr\n", truncated=False, timed_out=False)


def test_a_command_killed_by_a_signal_has_a_shell_exit_code(kind: Kind, place: Path) -> None:
    result = run("ulimit -t 1; while :; do :; done", kind, place)
    assert result.exit_code is not None
    assert result.exit_code > 128


def test_reading_works_where_it_should(kind: Kind, place: Path) -> None:
    result = run("wc -l < b.txt; git status --short a.txt; grep -c root /etc/passwd; ls /usr | wc -l", kind, place)
    assert result.exit_code == 0
    assert result.output.splitlines()[:2] == ["39", " M a.txt"]


def test_the_callers_environment_stays_outside(kind: Kind, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = uuid.uuid4().hex
    monkeypatch.setenv("SOME_API_KEY", marker)
    monkeypatch.setenv("GIT_DIR", marker)
    monkeypatch.setenv("BASH_ENV", marker)
    result = run("env; cat /proc/self/environ", kind, place)
    assert "GIT_OPTIONAL_LOCKS=0" in result.output
    assert marker not in result.output


def test_the_environment_of_the_caller_cannot_be_read_from_proc(kind: Kind, place: Path) -> None:
    (place / "link").symlink_to("/proc")
    result = run(f"cat /proc/{os.getpid()}/environ link/{os.getpid()}/environ 2>/dev/null", kind, place)
    was_shown = result.exit_code == 0 or result.output != ""  # not compared in the assert: it would print the secret
    assert not was_shown


def test_there_is_no_network(kind: Kind, place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        result = run(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected", kind, place)
        assert "connected" not in result.output
        with pytest.raises(BlockingIOError):
            server.accept()


def test_local_sockets_cannot_be_reached(kind: Kind, place: Path) -> None:
    """A socket such as a container engine's would be a way out, even of a read-only place."""
    code = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('s'); print('conn' + 'ected')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "s"))
        server.listen()
        result = run(f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}", kind, place)
    assert "connected" not in result.output


def test_root_has_no_powers_left(kind: Kind, place: Path) -> None:
    result = run(f"{shlex.quote(sys.executable)} -c 'import os; os.nice(-5)'", kind, place)
    assert "PermissionError" in result.output


def test_password_hashes_are_hidden_even_from_root(kind: Kind, place: Path) -> None:
    assert ":" not in run("cat /etc/shadow 2>/dev/null", kind, place).output


@pytest.mark.slow("landlock")
@pytest.mark.parametrize(
    "command",
    [
        "sleep {0}",
        "sleep {0} | sleep {0}",
        "sleep {0} & sleep {0}",
        "bash -c 'sleep {0}; :' & wait",
        "trap '' TERM INT HUP; sleep {0}; :",
        "setsid sleep {0}; sleep {0}",
    ],
)
def test_time_out_kills_the_whole_group(command: str, kind: Kind, place: Path) -> None:
    marker = f"98765.{uuid.uuid4().int % 10**9}"
    result = run(command.format(marker), kind, place, seconds=0.5)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert processes_named(marker) == []


def test_a_process_left_in_the_background_does_not_stay(kind: Kind, place: Path) -> None:
    marker = f"98765.{uuid.uuid4().int % 10**9}"
    result = run(f"sleep {marker} & echo done", kind, place)
    assert (result.exit_code, result.output, result.timed_out) == (0, "done\n", False)
    assert processes_named(marker) == []


def test_cancelling_kills_the_command(kind: Kind, place: Path) -> None:
    marker = f"98765.{uuid.uuid4().int % 10**9}"

    async def cancel_when_running() -> None:
        command = f"sleep {marker}"
        task = asyncio.ensure_future(
            run_sandboxed(command, cwd=str(place), timeout_seconds=60, max_output_bytes=100, kind=kind)
        )
        while not processes_named(marker):
            await asyncio.sleep(0)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_when_running())
    assert processes_named(marker) == []


def test_output_stops_at_the_limit(kind: Kind, place: Path) -> None:
    result = run("yes ä", kind, place, max_bytes=1000)
    assert (result.exit_code, result.truncated, result.timed_out) == (None, True, False)
    assert len(result.output.encode()) <= 1000
    assert "\ufffd" not in result.output


def test_output_of_exactly_the_limit_is_whole(kind: Kind, place: Path) -> None:
    result = run("printf %1000s x", kind, place, max_bytes=1000)
    assert (result.exit_code, result.truncated, len(result.output)) == (0, False, 1000)


def test_output_that_is_not_text_is_replaced(kind: Kind, place: Path) -> None:
    assert run("printf 'a\\377b'", kind, place).output == "a\ufffdb"


def test_nothing_leaks_over_many_runs(kind: Kind, place: Path) -> None:
    async def one(at: int) -> None:
        command = ("echo hi", "sleep 97531", "yes")[at % 3]
        await run_sandboxed(command, cwd=str(place), timeout_seconds=0.3, max_output_bytes=100, kind=kind)

    async def many() -> None:
        for _ in range(3):
            await asyncio.gather(*(one(at) for at in range(6)))

    asyncio.run(one(0))
    with nothing_left_behind():
        asyncio.run(many())


def test_a_command_with_shell_quotes_arrives_unchanged(kind: Kind, place: Path) -> None:
    assert run("""echo 'a b' "c$(echo d)" '$1'""", kind, place).output == "a b cd $1\n"


@pytest.mark.parametrize("setting", ["core.fsmonitor", "core.pager", "diff.external", "core.hooksPath", "gpg.program"])
def test_a_hostile_repository_cannot_make_git_change_anything(setting: str, kind: Kind, place: Path) -> None:
    evil = place / "evil.sh"
    evil.write_text("#!/bin/sh\ntouch pwned /tmp/memdir-sandbox-probe\n", encoding="utf-8")
    evil.chmod(0o755)
    with (place / ".git" / "config").open("a", encoding="utf-8") as config:
        section, key = setting.split(".")
        config.write(f"[{section}]\n\t{key} = {evil}\n")
    before = snapshot(place)
    run("git status; git diff; git log -p; git show", kind, place)
    assert snapshot(place) == before
    assert not Path("/tmp/memdir-sandbox-probe").exists()


def test_programs_a_repository_names_for_watching_files_are_not_even_started(kind: Kind, place: Path) -> None:
    evil = place / "evil.sh"
    evil.write_text("#!/bin/sh\necho started >&2\n", encoding="utf-8")
    evil.chmod(0o755)
    with (place / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n")
    result = run("git status --short && git log --oneline", kind, place)
    assert result.exit_code == 0
    assert "started" not in result.output
