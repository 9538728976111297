"""The daemon that keeps the sentence model, as the process that it is, asked by hooks as they are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import memdir as package
from memdir.hooks.daemon_client import MAX_MESSAGE_BYTES, MAX_SECONDS, DaemonPlace, ask, chosen, packed
from memdir.hooks.daemon_command import stop
from memdir.layout import Layout
from memdir.memdir import MemDir, open_memory
from memdir.recall.prefetch import open_selector
from memdir.recall.recall import RecallRequest, Shown
from memdir.recall.selection import LocalChooser
from memdir.search import has_sentence_model
from tests.conftest import Ran
from tests.hooks.agents import Agent, answer, context, wait_for
from tests.hooks.conftest import MakeAgent

pytestmark = pytest.mark.skipif(not has_sentence_model(), reason="the extra minilm is not installed")

MEMORIES = {
    "car": ("the vehicle", "My car refuses to turn on when it is cold: call the garage in Bern."),
    "soup": ("onion soup", "The recipe for onion soup needs an hour and a half."),
    "freeze": ("release freeze", "Nothing goes to production on a Friday."),
    "database": ("tests and the database", "Never mock the database in tests; use a real PostgreSQL."),
    "argocd": ("argocd usage", "How to use argocd: run `argocd app sync NAME`, then `argocd app wait NAME`."),
    "review": ("reviews", "Two people look at every change of the billing service."),
    "odd\udcff": ("the invoice printer", "The printer for invoices stands in room 4."),
}
MESSAGES = (
    "automobile will not start in winter, get it repaired",
    "can we ship on Friday?",
    "How should I write the tests for the database?",
    "sync the app with argocd, what are the commands?",
    "where do I get the invoices printed?",
    "thanks!",
    "Bitte weiter mit dem nächsten Schritt \ud83d",
    "",
)


@pytest.fixture
def agent(make_agent: MakeAgent, memdir_command: str, layout: Layout) -> Iterator[Agent]:
    """An agent whose hooks may have a daemon; none is left at the end."""
    found = make_agent("claude")
    del found.environment["MEMDIR_NO_DAEMON"]
    yield found
    daemon(found, "stop")


@pytest.fixture
def memory(agent: Agent, project: Path, monkeypatch: pytest.MonkeyPatch) -> MemDir:
    """The same memory, opened here, with something in it."""
    monkeypatch.delenv("MEMDIR_NO_DAEMON")
    found = open_memory(project.resolve())
    found.start()
    for key, (name, text) in MEMORIES.items():
        root = found.places.of("user").root if key == "review" else found.place.root
        os.makedirs(root, exist_ok=True)
        data = f"---\nname: {name}\ndescription: {text}\ntype: project\n---\n\n{text}\n"
        Path(root, f"{key}.md").write_text(data, encoding="utf-8")
    return found


def daemon(agent: Agent, *words: str) -> dict[str, object]:
    command = [agent.command, "daemon", *words, "--json", "--project", str(agent.project)]
    done = subprocess.run(command, capture_output=True, text=True, env=agent.environment, timeout=100)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def brought_up(agent: Agent, **more: Any) -> dict[str, object]:
    """What the daemon tells of itself that a session's start brings up."""
    command, told = [agent.command, "hook", "claude", "SessionStart"], json.dumps(agent.fields("start"))
    more.setdefault("env", agent.environment)
    subprocess.run(more.pop("command", command), input=told, text=True, check=True, capture_output=True, **more)
    wait_for(lambda: pid_of(agent))
    return daemon(agent, "status")


def pid_of(agent: Agent) -> int:
    return int(str(daemon(agent, "status").get("pid", 0)))


def place_of(memory: MemDir) -> DaemonPlace:
    return DaemonPlace.of(memory)


def spawn(memory: MemDir, agent: Agent, **limits: object) -> subprocess.Popen[bytes]:
    """The daemon as a child of this test, so that its end is seen."""
    place = place_of(memory)
    told = {"folder": place.folder, "socket": place.socket, "stores": [], "waits": False, **limits}
    command = [agent.command, "hook", "--daemon", json.dumps(told)]
    process = subprocess.Popen(command, env=agent.environment, stdin=subprocess.DEVNULL)
    wait_for(lambda: process.poll() is not None or ask(place, {"do": "status"}))
    return process


def request(text: str, **more: object) -> RecallRequest:
    return RecallRequest(text, **more)  # type: ignore[arg-type]


def in_process(memory: MemDir, asked: RecallRequest) -> dict[str, list[str]]:
    """What the sentence model chooses in a conversation."""
    found = {}
    for scope in ("project", "user"):
        place = memory.places.of(scope)
        selector = open_selector(place.root, place.derived)
        assert selector is not None
        found[scope] = LocalChooser(place, scope, selector, clock=memory.clock).choose(asked).keys
    return found


def chosen_by(layout: Layout) -> list[str]:
    """Who chose, by the event of each recall of the project."""
    lines = [json.loads(line) for line in Path(layout.event_log).read_text().splitlines()]
    return [line["chooser"] for line in lines if line.get("event", line.get("name")) == "memory.recall"]


def answered(memory: MemDir, asked: RecallRequest) -> dict[str, list[str]]:
    """The daemon's choice, of whatever machine: one with much else to do answers late, and is asked again."""
    found: dict[str, list[str]] = {}

    def is_there() -> bool:
        found.update({scope: keys for scope, (keys, _) in chosen(memory, asked).items()})
        return len(found) == 2

    wait_for(is_there)
    return found


def test_it_chooses_what_the_sentence_model_would_in_a_conversation(agent: Agent, memory: MemDir) -> None:
    """R3: whatever the message, what was shown before, the tools in use, and the bytes in a file's name."""
    agent.start()
    wait_for(lambda: ask(place_of(memory), {"do": "status"}))
    seen = 0
    for text in MESSAGES:
        for tools, surfaced in (([], []), (["argocd"], ["freeze.md", "odd\udcff.md"])):
            shown = Shown("s")
            for key in surfaced:
                shown.add("project", key, 10)
            asked = request(text, recent_tools=tools, shown=shown)
            found = answered(memory, asked)
            assert found == in_process(memory, asked), (text, tools)
            seen += len(found["project"])
    assert seen >= 4
    assert answered(memory, request(MESSAGES[0]))["project"] == ["car.md"]


def test_a_prompt_finds_by_meaning_once_a_session_has_begun(agent: Agent, memory: MemDir, layout: Layout) -> None:
    assert answer(agent.prompt(MESSAGES[0])) == {}, "no word of it stands there"
    agent.start()
    wait_for(lambda: answered(memory, request(MESSAGES[0])))
    found: list[str] = []

    def is_shown() -> bool:
        found.append(
            context(
                Agent("claude", agent.home, agent.project, agent.command, f"s{len(found)}", agent.environment).prompt(
                    MESSAGES[0]
                )
            )
        )
        return "garage in Bern" in found[-1]

    wait_for(is_shown)
    assert chosen_by(layout)[:1] == ["words"] and chosen_by(layout)[-1] == "sentences"


def test_a_new_memory_is_known_at_once(agent: Agent, memory: MemDir) -> None:
    brought_up(agent)
    answered(memory, request("hello"))
    text = "---\nname: bicycle\ndescription: my bike is in the cellar\ntype: project\n---\n\nIt is in the cellar.\n"
    Path(memory.place.root, "bicycle.md").write_text(text)
    wait_for(lambda: "bicycle.md" in answered(memory, request("where did I leave my bike?"))["project"])


def test_a_daemon_that_was_killed_costs_no_prompt_and_is_followed_by_another(
    agent: Agent, memory: MemDir, layout: Layout
) -> None:
    first = int(str(brought_up(agent)["pid"]))
    os.kill(first, signal.SIGKILL)
    assert "PostgreSQL" in context(agent.prompt(MESSAGES[2])) and chosen_by(layout)[-1] == "words"
    assert stat.S_ISSOCK(os.lstat(place_of(memory).socket).st_mode), "what it left behind"
    agent.start("clear")
    wait_for(lambda: pid_of(agent) not in (0, first))
    answered(memory, request("hello"))


def test_one_that_hangs_is_not_waited_for_and_can_be_stopped(agent: Agent, memory: MemDir, layout: Layout) -> None:
    process = int(str(brought_up(agent)["pid"]))
    os.kill(process, signal.SIGSTOP)
    before = time.monotonic()
    assert chosen(memory, request(MESSAGES[0])) == {}
    assert time.monotonic() - before < MAX_SECONDS * 3
    assert "PostgreSQL" in context(agent.prompt(MESSAGES[2])) and chosen_by(layout)[-1] == "words"
    agent.start("clear")
    assert daemon(agent, "stop") == {"ok": True, "running": False, "wasRunning": True}
    assert daemon(agent, "stop") == {"ok": True, "running": False, "wasRunning": False}


@pytest.mark.parametrize(
    "manner", ["silent", "dripping", "endless", "garbage", "gone", "other protocol", "wrong types"]
)
def test_whatever_answers_in_its_place_words_choose_in_time(agent: Agent, memory: MemDir, manner: str) -> None:
    """A program of the user's own that is no daemon of ours."""
    place = place_of(memory)
    os.makedirs(place.folder, 0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place.socket)
    os.chmod(place.socket, 0o600)
    listener.listen()
    texts = {
        "garbage": b"\x00\xff{]\n",
        "other protocol": packed({"memdir": 99, "chosen": {"project": {"keys": ["car.md"], "documents": 1}}}),
        "wrong types": packed({"chosen": {"project": {"keys": "car.md", "documents": None}, "user": []}}),
    }

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            if manner in texts:
                connection.sendall(texts[manner])
            while manner in ("silent", "dripping", "endless"):
                try:
                    if manner != "silent":
                        connection.sendall(b" " * (1 if manner == "dripping" else 1 << 20))
                    if not connection.recv(1 << 20, socket.MSG_DONTWAIT):
                        return
                except BlockingIOError:
                    time.sleep(0.005)
                except OSError:
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    before = time.monotonic()
    assert chosen(memory, request(MESSAGES[2])) == {}
    assert time.monotonic() - before < MAX_SECONDS * 4
    listener.close()
    thread.join(10)
    assert not thread.is_alive()
    assert "PostgreSQL" in context(agent.prompt(MESSAGES[2]))
    os.unlink(place.socket)


def test_one_that_is_just_coming_up_is_stopped_too(agent: Agent, memory: MemDir) -> None:
    """It has its lock for a while before anybody can ask it."""
    place = place_of(memory)
    told = {"folder": place.folder, "socket": place.socket, "stores": [], "waits": False}
    with subprocess.Popen([agent.command, "hook", "--daemon", json.dumps(told)], env=agent.environment) as process:
        while not (os.path.exists(place.lock) and os.path.getsize(place.lock)):
            assert process.poll() is None
        assert stop(place)
    assert not stop(place)


def test_of_many_starts_at_once_one_daemon_comes(agent: Agent, memory: MemDir) -> None:
    with ThreadPoolExecutor() as threads:
        told = list(threads.map(lambda _: brought_up(agent), range(4)))
    assert len({one["pid"] for one in told}) == 1
    second = spawn(memory, agent)
    assert second.wait(timeout=60) == 0 and pid_of(agent) == told[0]["pid"]


def test_it_ends_when_nobody_asks_and_the_next_prompt_wakes_it(agent: Agent, memory: MemDir) -> None:
    process, place = spawn(memory, agent, idle_seconds=0.4), place_of(memory)
    assert process.wait(timeout=60) == 0
    assert not os.path.lexists(place.socket) and os.path.exists(place.resting)
    assert "PostgreSQL" in context(agent.prompt(MESSAGES[2]))
    wait_for(lambda: pid_of(agent))
    assert not os.path.exists(place.resting)
    daemon(agent, "stop")
    assert answer(agent.prompt("hello")) == {}
    assert pid_of(agent) == 0, "whoever stopped it wants it stopped"


def test_it_ends_when_it_has_grown_too_large(agent: Agent, memory: MemDir) -> None:
    process = spawn(memory, agent, max_memory_bytes=1 << 20)
    assert process.wait(timeout=60) == 0
    assert not os.path.exists(place_of(memory).resting), "or it would come again with every prompt"


def test_how_large_whoever_started_it_is_does_not_count(agent: Agent, memory: MemDir) -> None:
    ballast = bytearray(600 << 20)
    process = spawn(memory, agent, max_memory_bytes=len(ballast))
    found = daemon(agent, "status")
    assert process.poll() is None and found["pid"] == process.pid and int(str(found["memoryBytes"])) < len(ballast)
    daemon(agent, "stop")
    assert process.wait(timeout=60) == 0


def copied(folder: Path) -> Path:
    """The package in a place of its own, the large files by links."""
    source = Path(package.__file__).parent
    target = folder / "other" / "memdir"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.onnx", "*.bin"))
    for path in [*source.rglob("*.onnx"), *source.rglob("*.bin")]:
        (target / path.relative_to(source)).symlink_to(path)
    return target


def by_copy(agent: Agent, target: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "memdir.cli.entry", "hook", "claude", "SessionStart"]
    environment = {**agent.environment, "PYTHONPATH": str(target.parent)}
    return brought_up(agent, command=command, env=environment, cwd=target.parent)


def test_it_ends_when_memdir_changed(agent: Agent, memory: MemDir, tmp_path: Path) -> None:
    target, place = copied(tmp_path), place_of(memory)
    assert by_copy(agent, target)["running"]
    answered(memory, request("hello"))
    changed = target / "recall" / "decide.py"
    changed.write_text(changed.read_text() + "\n")
    question = {"do": "choose", "text": MESSAGES[0], "tools": [], "now": 0.0, "stores": []}
    wait_for(lambda: "chosen" not in (ask(place, question) or {}) and not os.path.lexists(place.socket))
    assert os.path.exists(place.resting), "the next prompt wakes the new one"
    assert pid_of(agent) == 0


def test_one_of_another_version_is_not_believed_and_gives_way(
    agent: Agent, memory: MemDir, layout: Layout, tmp_path: Path
) -> None:
    target = copied(tmp_path)
    version = target / "version.py"
    version.write_text(version.read_text().replace(package.__version__, "0.0.9"))
    other = by_copy(agent, target)
    assert other["version"] == "0.0.9"
    assert chosen(memory, request(MESSAGES[0])) == {}
    agent.start()
    wait_for(lambda: pid_of(agent) not in (0, other["pid"]))
    assert daemon(agent, "status")["version"] == package.__version__


def test_it_ends_when_its_socket_is_no_longer_its_own(agent: Agent, memory: MemDir) -> None:
    process, place = spawn(memory, agent), place_of(memory)
    moved = f"{place.folder}/moved"
    os.rename(place.socket, moved)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(moved)
    assert process.wait(timeout=60) == 0
    connection.close()


def test_nobody_else_can_reach_it(agent: Agent, memory: MemDir) -> None:
    brought_up(agent, umask=0)
    place = place_of(memory)
    assert stat.S_IMODE(os.lstat(place.socket).st_mode) == 0o600
    assert stat.S_IMODE(os.lstat(place.folder).st_mode) == 0o700


@pytest.mark.parametrize("how", ["open to others", "in an open folder", "a link", "a folder that is a link", "a file"])
def test_what_is_not_ours_alone_is_not_asked(agent: Agent, memory: MemDir, tmp_path: Path, how: str) -> None:
    place = place_of(memory)
    process = spawn(memory, agent)
    answered(memory, request("hello"))
    aside = tmp_path / "aside"
    if how == "open to others":
        os.chmod(place.socket, 0o620)
    elif how == "in an open folder":
        os.chmod(place.folder, 0o770)
    elif how == "a folder that is a link":
        os.rename(place.folder, aside)
        os.symlink(aside, place.folder)
    else:
        os.rename(place.socket, aside)
        if how == "a link":
            os.symlink(aside, place.socket)
        else:
            Path(place.socket).write_text("x")
            os.chmod(place.socket, 0o600)
    assert ask(place, {"do": "status"}) is None
    assert chosen(memory, request(MESSAGES[2])) == {}
    assert "PostgreSQL" in context(agent.prompt(MESSAGES[2]))
    process.kill()
    process.wait()


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="takes the rights of another user")
def test_neither_a_strangers_socket_nor_a_stranger_is_trusted(agent: Agent, memory: MemDir) -> None:
    brought_up(agent)
    place = place_of(memory)
    os.chmod(place.folder, 0o755)
    os.chmod(place.socket, 0o666)
    code = (
        "import os, socket; os.setgroups([]); os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
        's.connect(\'socket\'); s.sendall(b\'{"memdir": 1, "do": "status"}\\n\'); print(s.recv(100))'
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place.folder, capture_output=True, text=True, timeout=60)
    assert done.stdout in ("b''\n", "") and "Permission" not in done.stderr, "it came in, and was sent away"
    os.chmod(place.folder, 0o700)
    os.chmod(place.socket, 0o600)
    daemon(agent, "stop")
    code = (
        "import os, socket; s = socket.socket(socket.AF_UNIX); s.bind('socket'); os.chmod('socket', 0o600);"
        "os.setuid(65534); s.listen(); print('ready', flush=True); c, _ = s.accept(); print(c.recv(9))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=place.folder, stdout=subprocess.PIPE, text=True
    ) as stranger:
        assert stranger.stdout is not None and stranger.stdout.readline() == "ready\n"
        assert ask(place, {"do": "status"}) is None
        assert stranger.stdout.read() == "b''\n", "nothing of the message reached it"
    os.chown(place.socket, 65534, 65534)
    assert ask(place, {"do": "status"}) is None


def test_clients_that_say_nothing_or_nonsense_hurt_nobody(agent: Agent, memory: MemDir) -> None:
    process, place = spawn(memory, agent), place_of(memory)
    endless = {"do": "choose", "text": "a", "tools": [], "now": 4711.0}
    nonsense = (
        b"\n", b"null\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b'{"do": "choose"}\n', b'{"do": 7}\n', b"[" * 99_999 + b"\n",
        packed({"do": "choose", "text": 5, "tools": 1, "now": "x", "stores": [{"scope": []}]}),
        packed({**endless, "stores": [{"scope": "s", "root": "/", "surfaced": []}]}).replace(b"4711.0", b"1e400"),
        packed({"do": "warm", "stores": "x"}),
        b"x" * (MAX_MESSAGE_BYTES + (1 << 17)),
    )  # fmt: skip
    for data in nonsense:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(place.socket)
            try:
                client.sendall(data)
            except OSError:
                assert len(data) > MAX_MESSAGE_BYTES
    silent = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for client in silent:
        client.setblocking(False)
        client.connect_ex(place.socket)
    answered(memory, request("hello"))
    for client in silent:
        client.close()
    assert process.poll() is None
    assert ask(place, {"do": "stop"}, seconds=5.0) is not None
    assert process.wait(timeout=60) == 0


def test_no_word_of_a_message_stays_behind(agent: Agent, memory: MemDir, layout: Layout) -> None:
    process = spawn(memory, agent)
    assert answered(memory, request("why will my zyxwomobile not start?")) is not None
    assert ask(place_of(memory), {"do": "stop"}, seconds=5.0) is not None
    assert process.wait(timeout=60) == 0
    for path in Path(layout.home).rglob("*"):
        assert not path.is_file() or b"zyxwomobile" not in path.read_bytes(), path


def test_a_home_with_a_long_path_has_its_socket_elsewhere(agent: Agent, tmp_path: Path, project: Path) -> None:
    home, runtime = tmp_path / ("h" * 90), Path(f"/tmp/r{os.getpid()}")
    runtime.mkdir(0o700)
    agent.environment |= {"MEMDIR_HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    try:
        told = brought_up(agent)
        [folder] = runtime.iterdir()
        assert told["socket"] == f"{folder}/socket" and told["running"]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert pid_of(agent) == told["pid"]
        daemon(agent, "stop")
        folder.rmdir()
        (tmp_path / "strange").mkdir(0o700)
        folder.symlink_to(tmp_path / "strange")
        process = subprocess.run(
            [agent.command, "hook", "--daemon", json.dumps({"folder": f"{home}/memdir-daemon", "socket": told["socket"],
                                                            "stores": [], "waits": False})],
            env=agent.environment, timeout=60,
        )  # fmt: skip
        assert process.returncode == 0 and list((tmp_path / "strange").iterdir()) == []
    finally:
        shutil.rmtree(runtime)


@pytest.mark.parametrize("why", ["without the extra", "words are chosen", "turned off"])
def test_where_it_is_not_wanted_nothing_is_tried(
    agent: Agent, memory: MemDir, layout: Layout, why: str, memdir: Callable[..., Ran]
) -> None:
    command = [agent.command]
    if why == "without the extra":
        command = [sys.executable, "-S", "-m", "memdir.cli.entry"]
        agent.environment["PYTHONPATH"] = str(Path(package.__file__).parent.parent)
    elif why == "turned off":
        agent.environment["MEMDIR_NO_DAEMON"] = "1"
    else:
        memdir("config", "set", "recall.encoder", "words")
    os.makedirs(layout.daemon, 0o700)
    with socket.socket(socket.AF_UNIX) as listener:  # whoever looks for a daemon would ask here first
        listener.bind(place_of(memory).socket)
        os.chmod(place_of(memory).socket, 0o600)
        listener.listen()
        listener.setblocking(False)
        told = json.dumps(agent.fields("start"))
        words = [*command, "hook", "claude", "SessionStart"]
        done = subprocess.run(words, input=told, env=agent.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "additionalContext" in done.stdout
        if why != "without the extra":
            assert "PostgreSQL" in context(agent.prompt(MESSAGES[2]))
        with pytest.raises(BlockingIOError):
            listener.accept()
    shutil.rmtree(layout.daemon)
    if why == "without the extra":
        words = [*command, "daemon", "status", "--project", str(agent.project)]
        done = subprocess.run(words, env=agent.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "memdir[minilm]" in done.stdout


def test_a_prompt_that_it_answers_loads_neither_index_nor_ranking(agent: Agent, memory: MemDir) -> None:
    """ADR 0003."""
    brought_up(agent)
    answered(memory, request("hello"))
    words = [sys.executable, "-X", "importtime", agent.command, "hook", "claude", "UserPromptSubmit"]
    loaded: set[str] = set()

    def is_answered() -> bool:
        told = json.dumps({**agent.fields("prompt"), "prompt": "Please go on."})
        done = subprocess.run(words, input=told, capture_output=True, text=True, env=agent.environment, check=True)
        loaded.clear()
        loaded.update(line.rpartition("|")[2].strip() for line in done.stderr.splitlines())
        return "memdir.recall.selection" not in loaded

    wait_for(is_answered)
    assert "memdir.hooks.daemon_client" in loaded
    assert not [name for name in loaded if name.startswith(("memdir.search", "memdir.text", "memdir.hooks.daemon."))]
    assert loaded & {"socket", "threading", "selectors", "struct", "json", "re"} == set()


def test_the_daemon_ends_with_the_last_agent_that_is_detached(agent: Agent, memory: MemDir) -> None:
    def memdir(*words: str) -> subprocess.CompletedProcess[str]:
        command = [agent.command, *words, "--project", str(agent.project)]
        return subprocess.run(command, env=agent.environment, capture_output=True, text=True, check=True, timeout=100)

    memdir("attach", "claude", "codex", "--yes")
    process = spawn(memory, agent)
    memdir("detach", "codex", "--yes")
    assert process.poll() is None
    memdir("detach", "claude", "--yes", "--dry-run")
    assert process.poll() is None
    memdir("detach", "claude", "--yes")
    assert process.wait(timeout=30) == 0


def test_the_doctor_tells_of_a_daemon_that_does_not_answer(agent: Agent, memory: MemDir) -> None:
    def told() -> list[dict[str, str]]:
        command = [agent.command, "doctor", "--json", "--project", str(agent.project)]
        done = subprocess.run(command, env=agent.environment, capture_output=True, text=True, timeout=100)
        return [one for one in json.loads(done.stdout)["findings"] if one["check"] == "daemon"]

    assert told() == []
    process = spawn(memory, agent)
    assert told() == []
    os.kill(process.pid, signal.SIGSTOP)
    try:
        [finding] = told()
        assert finding["severity"] == "warning" and "memdir daemon stop" in finding["remedy"]
    finally:
        os.kill(process.pid, signal.SIGCONT)
        daemon(agent, "stop")
        process.wait(timeout=30)
