"""The examples run, and show what they promise."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
from docs.record_pictures import FOLDER, draw_story, walked

from memdir import agent, open_memory
from memdir import model as memdir_model
from memdir import transcript as memdir_transcript
from memdir.agent import DiskFiles, Toolbox, ToolContext, memory_gate, memory_tools, run_agent
from memdir.model import BuiltinModel, Request
from memdir.recall.recall_log import RecallLog
from memdir.transcript import assistant, user
from tests.chat.hosts import is_fork
from tests.chat.test_pictures import words_in
from tests.clients.terminal import Terminal
from tests.conftest import Ran
from tests.provider_server import KEY, ProviderServer, calls, says
from tests.subagents.test_agent_tool import hands_over, scripted
from tests.subagents.test_definitions import define

ROOT = Path(__file__).parent.parent


def run(*arguments: str, environment: Mapping[str, str] | None = None, typed: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        input=typed,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )
    return done.stdout


@pytest.fixture(scope="module")
def coloured_walk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make try` prints for a person who has a key, memories and an attached agent: none of it is touched."""
    own = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"ANTHROPIC_API_KEY": KEY, "MEMDIR_DIRECTORY": str(own / "memories")}.items():
            patched.setenv(name, value)
        patched.setenv("HOME", str(own))
        run("-m", "memdir.cli.entry", "attach", "claude", "--yes")
        before = sorted(own.rglob("*"))
        told = walked()
    assert sorted(own.rglob("*")) == before
    return told


@pytest.fixture(scope="module")
def walk(coloured_walk: str) -> str:
    """The same without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", coloured_walk)


def test_the_walk_shows_real_files_and_real_output(walk: str) -> None:
    out = walk
    for command in ("remember", "list", "show", "search", "log", "diff", "undo", "sessions", "why", "fork", "doctor"):
        assert f"$ memdir {command}" in out
    assert "+**How to apply:** every test that touches storage." in out
    assert "healthy" in out
    assert "\x1b" not in out


def test_without_a_terminal_the_walk_has_no_colours(tmp_path: Path) -> None:
    begun = "import sys, pathlib; from examples.walkthrough import Walk, keep_and_find; "
    out = run("-c", f"{begun}keep_and_find(Walk(pathlib.Path(sys.argv[1])))", str(tmp_path))
    assert "$ memdir search auditors" in out and "Deploys are frozen" in out
    assert "\x1b[" not in out


def test_the_walk_tells_the_whole_story(walk: str) -> None:
    """Said, written down, recalled with its age and what is gone, a contradiction dreamt away, taken back."""
    out = walk
    written = out.split("this was written down:")[1].split("\n# ")[0]
    assert all(words in written for words in ("release_notes", "legacy_import", "2027_02_12")), written
    given = out.split("This is what the model was given")[1].split("\n# ")[0]
    assert "This memory is 11 days old." in given
    assert "Named in it and not in the project any more: src/legacy_import.py." in given
    dreamt = out.split("A dream puts memories in order")[1].split("\n# ")[0]
    assert "-The staging database listens on port 5433. Marek has the password." in dreamt
    assert "+description: The staging database listens on port 6543" in dreamt and "Marek has the password." in dreamt
    assert "listens on port 5433. Marek" in out.split("One command takes it back")[1].split("\n# ")[0]


def test_the_walk_recalls_what_helps_and_nothing_where_nothing_does(walk: str) -> None:
    out = walk
    helped = out.split("The few that clearly help, and why.")[1].split("\n# ")[0]
    assert "\n+ feedback_never_mock_the_database.md" in helped
    assert "\n- project_deploys_are_frozen" in helped
    empty = out.split("nothing, which is as important.")[1].split("\n# ")[0]
    assert "No memory clearly helps with that." in empty


def test_the_message_in_the_readme_brings_back_the_memory_in_the_readme(memdir: Callable[..., Ran]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    remember, recall = (re.findall(rf'^memdir {verb} "(.+?)"', readme, re.MULTILINE) for verb in ("remember", "recall"))
    assert len(remember) == len(recall) == 1
    memdir("remember", *remember)
    assert "+ project_deploys_are_frozen" in memdir("recall", *recall, "--selector", "local").out


def test_the_walk_is_in_colour_where_colour_is_wanted_and_the_story_s_pictures_show_it(
    coloured_walk: str, tmp_path: Path
) -> None:
    told = coloured_walk
    assert "\x1b[33mfeedback\x1b[0m" in told
    page = (ROOT / "docs/how-to/story.md").read_text(encoding="utf-8")
    for made in draw_story(tmp_path, told):
        shown, committed = (as_drawn(path) for path in (made, FOLDER / made.name))
        assert shown == committed, f"{made.name}: python -m docs.record_pictures"
        assert f"(../pictures/{made.name})" in page and "/tmp" not in committed


def test_in_a_terminal_the_walk_then_offers_a_chat(tmp_path: Path) -> None:
    program = "from pathlib import Path; from examples.walkthrough import Walk; import sys; "
    program += "Walk(Path(sys.argv[1])).offer_chat()"
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", program, str(tmp_path)]
    with Terminal(words, cwd=ROOT, environment=environment) as terminal:
        terminal.wait_for("Talk with it yourself?")
        terminal.wait_for("[y/N]")
        terminal.type("y\r")
        terminal.wait_for("memdir chat · builtin")
        terminal.type("\x04")
        terminal.end()


def as_drawn(picture: Path) -> str:
    """The words of a picture, without what differs from walk to walk: days and ids."""
    return re.sub(r"\d{4}-\d\d-\d\d|\b[0-9a-f]{8}\b|\s", "", words_in(picture))


def test_the_embedding_example_keeps_a_memory(project: Path) -> None:
    out = run("examples/embed.py", str(project))
    assert "The staging database is reset" in out


def test_the_recall_example_shows_a_memory_once_in_a_session(project: Path) -> None:
    run("examples/embed.py", str(project))
    settings = Path(os.environ["MEMDIR_HOME"], "settings.json")
    settings.write_text('{"recall": {"encoder": "words", "selector": "local"}}', encoding="utf-8")  # at once
    question = "When is the staging database reset?"
    out = run("examples/recall.py", str(project), "monday", question, "good morning", f"Tell me again: {question}")
    assert out.count("Memory (saved today): ") == 1
    assert "(answered with 1 messages, 0 of them memories)" in out
    assert "(answered with 3 messages, 1 of them memories)" in out
    assert "(answered with 4 messages, 1 of them memories)" in out
    (injection,) = RecallLog(open_memory(project).place.state).injections()
    assert (injection.session, injection.message) == ("monday", question)


def test_the_smallest_host_answers_from_memory_and_forks(project: Path) -> None:
    run("examples/embed.py", str(project))
    out = run("examples/agent.py", str(project), "When is the staging database reset?")
    assert "agent: I am memdir's built-in model" in out
    assert "> The staging database is reset every Monday" in out
    assert "fork: " in out and "cache_hit_percent" in out


WRITTEN = """---
name: Deploys are frozen
description: "Deploys are frozen until December, for the audit"
type: project
---

Deploys are frozen until December, for the audit.
"""


def test_a_host_with_requests_of_its_own_gets_memories_and_is_learned_from(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its list of tools is empty, so the fork is a request of its own: a shared one could not write."""
    memory = open_memory(project)
    memory.add("The staging database is reset every Monday at 06:00 UTC.")
    path = Path(memory.place.root, "project_deploys_are_frozen.md")
    steps = [
        says('{"selected_memories": []}'),
        says("Understood."),
        calls(("Write", {"file_path": str(path), "content": WRITTEN})),
        says("Kept."),
    ]
    with ProviderServer(steps) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        settings = Path(os.environ["MEMDIR_HOME"], "settings.json")
        settings.write_text(json.dumps({"model": {"provider": "anthropic", "baseUrl": server.url}}), encoding="utf-8")
        out = run("examples/own_requests.py", str(project), "Deploys are frozen until December, for the audit.")
        asked, host, forked, _ = server.requests
    assert "host: Understood." in out
    assert "project_deploys_are_frozen.md" in out
    assert "tools" not in host.body
    assert "Write" in [tool["name"] for tool in forked.body["tools"]]
    assert asked.body["model"] == forked.body["model"] == "claude-sonnet-5-5"


def test_a_chat_of_one_s_own_asks_hands_over_takes_commands_and_goes_on(
    project: Path, memdir: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By public names alone: the model chosen and kept, a write asked about, a guard that holds, a sub-agent, a command
    that is a file, the conversation resumed, and nothing on the screen but text."""
    home = Path(os.environ["MEMDIR_HOME"])
    define(home / "agents", "name: reviewer\ndescription: reviews changes")
    (home / "commands").mkdir()
    (home / "commands/ship.md").write_text("Write what ships $ARGUMENTS.", encoding="utf-8")
    memdir("remember", "Leave the lock file alone, it is made by the tool", "--type", "feedback")
    assert memdir("guard", "add", "lock", "block write(*.lock)").code == 0
    written = [("Write", {"file_path": name, "content": "Friday"}) for name in ("notes.txt", "uv.lock")]
    told = [calls(*written), hands_over(), says("Done\x1b[2J."), says("Still here.")]
    with ProviderServer(scripted(told, [says("Looks good.")])) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        settings = {"model": {"baseUrl": server.url}, "recall": {"selector": "local", "encoder": "words"}}
        (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        out = run("examples/chat.py", str(project), typed="anthropic\n/ship on Friday\nonce\n")
        again = run("examples/chat.py", str(project), "latest", typed="Are you there?\n")
        bodies = [one.body for one in server.requests if not is_fork(one.body)]
    assert "+Friday" in out and "Create notes.txt?" in out and out.rstrip().endswith("Done.")
    assert "\x1b" not in out and again == "Still here.\n"
    assert (project / "notes.txt").exists() and not (project / "uv.lock").exists()
    assert "Write what ships on Friday." in str(bodies[0]) and "it is made by the tool" in str(bodies[1])
    assert "Looks good." in str(bodies[3]) and "Write what ships on Friday." in str(bodies[4])
    assert json.loads((home / "settings.json").read_text(encoding="utf-8"))["model"]["provider"] == "anthropic"


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_program_in_the_readme_is_well_typed(tmp_path: Path) -> None:
    (program,) = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    (tmp_path / "readme.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", str(tmp_path / "readme.py")]  # strict, and with what `make check` knows
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert (ROOT / "src/memdir/py.typed").is_file(), "else nobody's checker believes our types"


DOORS = (agent, memdir_model, memdir_transcript)
SNIPPETS = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in sorted(ROOT.glob("docs/**/*.md"))
    if page.name not in ("api.md", "package-description.md")  # signatures; README, whose program runs by itself
    for number, code in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("code", SNIPPETS)
async def test_every_snippet_of_the_pages_runs(code: str, project: Path) -> None:
    """With what its page speaks of: an open memory, a session, a request and its reply."""
    flags = {"recall.encoder": "words", "model.provider": "builtin"}
    memory = open_memory(project, flags=flags)
    key = memory.add("Deploys are frozen until December.").memory.key
    arguments = {"model": "m", "messages": [{"role": "user", "content": "Can I ship?"}]}
    response = {"role": "assistant", "content": [{"type": "text", "text": "No."}]}
    request = Request("builtin", messages=(user("Can I ship?", message_id="m1"),))
    reply = assistant("No.", message_id="m2")
    tools = Toolbox(memory_tools(), ToolContext(str(project), DiskFiles()))
    gate, model = memory_gate([memory.place.root], cwd=str(project)), BuiltinModel()
    run = await run_agent(request, model, tools, gate, max_turns=2)
    is_of_hosts = "RawCall" in code
    given = {
        **{name: getattr(module, name) for module in DOORS for name in module.__all__},
        "memory": memory,
        "text": "Can I ship?",
        "messages": [],
        "system": (),
        "request": request,
        "reply": reply,
        "open_memory": lambda _: memory,
        "project": str(project),
        "model": model,
        "gate": gate,
        "run": run,
        "key": key,
        "session": memory.session("beside"),
        "session_id": "monday",
        "recent": [],
        "job": agent.Job("Go.", 2),
        "tools": agent.ForkTools(model, tools, gate) if is_of_hosts else tools,
        "arguments": arguments,
        "response": SimpleNamespace(content=response["content"]),
        "drafts": agent.Workspace([memory.store]),
        "ask_your_model": lambda _: asyncio.sleep(0),
        "now": datetime.now(UTC),
        "instructions": "",
        "existing": (),
        "memory_directory": memory.place.root,
        "index_folder": memory.place.derived,
    }
    compiled = compile(code, "snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = FunctionType(compiled, given)()
    if compiled.co_flags & inspect.CO_COROUTINE:
        await found
    await memory.close()


def test_the_program_in_the_readme_runs(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one in the README, word by word, against a provider on this machine."""
    (program,) = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    script = tmp_path / "readme.py"
    script.write_text(program.replace("path/to/project", str(project)), encoding="utf-8")
    with ProviderServer([says("Not before December.")]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        settings = Path(os.environ["MEMDIR_HOME"], "settings.json")
        settings.parent.mkdir(parents=True)
        settings.write_text('{"model": {"provider": "builtin"}, "recall": {"encoder": "words"}}', encoding="utf-8")
        out = run(str(script))
        (host,) = server.requests
    assert "Not before December." in out
    assert "# Memory" in host.body["system"]
    assert len(program.splitlines()) <= 21
