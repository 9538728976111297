"""What is told to one real client is known to the others, and nothing else changes for them."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.clients.coding_agents import NAMES
from tests.clients.conftest import Desk, texts
from tests.clients.own_settings import FILES, OWN_HOOKS, settings_of
from tests.hooks.agents import EVENTS, wait_for
from tests.provider_server import Recorded

RULE = "Please never mock the database in our tests, we got burned by that last quarter."
QUESTION = "How should I write the tests for the database?"
OFF_TOPIC = "What is the capital of France?"
RECALLED = re.compile(r"Memory \(saved [^)]*\): ")  # how a memory begins that came with a prompt

pytestmark = pytest.mark.timeout(600)


def recalled(requests: list[Recorded]) -> list[str]:
    """The memories that came with prompts, one by one."""
    parts = [RECALLED.split(text)[1:] for request in requests for text in texts(request.body)]
    return [part for found in parts for part in found]


@pytest.mark.parametrize("at", range(len(NAMES)))
def test_what_is_told_to_one_is_known_to_the_next_once_and_where_it_helps(attached: Desk, at: int) -> None:
    """X9, R1, S3."""
    teller, asker = NAMES[at], NAMES[(at + 1) % len(NAMES)]
    attached.asked(teller, RULE)
    wait_for(lambda: attached.memories)  # learned when the client has ended
    [memory] = attached.memories
    requests = attached.asked(asker, QUESTION)
    [shown] = recalled(requests)
    assert memory.name in shown and "never mock the database" in shown
    assert len(shown) < 10_000
    assert not recalled(attached.asked(asker, OFF_TOPIC))
    assert set((attached.home / OWN_HOOKS).read_text().split()) == {teller, asker}, "their own hooks run as before"


TOOLS = {"search", "recall", "remember", "update", "forget", "list", "why"}


def offered(value: object) -> set[str]:
    """The tools of our server that a request names: each by itself, below the server's name, or in words."""
    if isinstance(value, dict):
        inner = (
            {str(tool.get("name")) for tool in value.get("tools", ())} if "memdir" in str(value.get("name")) else set()
        )
        return inner | offered(list(value.values()))
    if isinstance(value, list):
        return {name for one in value for name in offered(one)}
    return set(re.findall(r"memdir_{1,2}([a-z]+)", value)) if isinstance(value, str) else set()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_request_has_the_tools_of_the_server(attached: Desk, name: str) -> None:
    """A server that is ready too late is left out of it. Codex' newest models look their tools up by a script."""
    requests = attached.asked(name, OFF_TOPIC, *(("-m", "gpt-5") if name == "codex" else ()))
    assert any(offered(request.body) >= TOOLS for request in requests), [offered(one.body) for one in requests]


@pytest.mark.parametrize("name", NAMES)
def test_a_long_index_arrives_whole_as_far_as_it_was_cut_by_us(attached: Desk, name: str) -> None:
    """P6: of more than it takes a client shows a part, and not the part that we would choose."""
    attached.memdir("remember", "Deploys are frozen until 2099-12-01")
    wait_for(lambda: attached.memories)
    folder = attached.memories[0].parent
    lines = []
    for number in range(300):
        told = f"The parser of format {number} reads blocks of {number} KiB"
        text = f"---\nname: Parser {number}\ndescription: {told}\ntype: project\n---\n\n{told}.\n"
        (folder / f"parser_{number}.md").write_text(text, encoding="utf-8")
        lines.append(f"- [Parser {number}](parser_{number}.md) — {told}\n")
    with (folder / "MEMORY.md").open("a", encoding="utf-8") as index:
        index.writelines(lines)
    requests = attached.asked(name, OFF_TOPIC)
    [given] = {text for request in requests for text in texts(request.body) if "Contents of " in text}
    listed = re.findall(r"\(parser_(\d+)\.md\)", given)
    assert 20 < len(listed) < 300
    start = given[given.index("# Memory") :]
    assert "Contents of" in start and len(html.unescape(start)) < 10_500, "10,000, and what the client puts around it"
    assert "more" in start[start.rindex("(parser_") :], "it says that there is more"


@pytest.mark.parametrize("name", NAMES)
def test_detaching_leaves_the_settings_as_they_were(desk: Desk, name: str) -> None:
    """Byte for byte where the client did not write them since, and without a trace of ours where it did."""
    before = settings_of(desk.home, name)
    desk.memdir("attach", name, "--yes")
    given = settings_of(desk.home, name)
    desk.asked(name, "hello")
    used = settings_of(desk.home, name)
    if name != "codex":  # which nobody has told to trust the hooks
        assert "attached" in desk.memdir("attach", "--status", name)
    desk.memdir("detach", name, "--yes")
    after = settings_of(desk.home, name)
    for file in FILES[name]:
        if used[file] == given[file]:
            assert after[file] == before[file]
        else:
            assert b"memdir" not in after[file].replace(str(desk.home).encode(), b"")
            kept = re.findall(rb'//.*|#.*|"somebodysOwnKey"|own-hooks', before[file])
            assert [word for word in kept if word not in after[file]] == []
    assert (desk.home / OWN_HOOKS).read_text().split() == [name]
    assert not recalled(desk.asked(name, "hello again"))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "codex"])
def test_an_agent_that_is_attached_in_a_repository_has_memory_there_and_nowhere_else(desk: Desk, name: str) -> None:
    desk.memdir("attach", name, "--here", "--yes")
    desk.memdir("remember", RULE)
    requests = desk.asked(name, QUESTION)
    [shown] = recalled(requests)
    assert "never mock the database" in shown
    assert any(offered(request.body) >= TOOLS for request in requests)
    assert "attached" in desk.memdir("attach", "--status", name)
    desk.memdir("detach", name, "--yes")
    assert not [
        path
        for path in desk.project.rglob("*")
        if path.is_file() and ".git" not in path.parts and b"memdir" in path.read_bytes()
    ]
    assert not (desk.home / ".gemini/trusted_hooks.json").exists(), "it warned of them once"
    assert not recalled(desk.asked(name, QUESTION))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("trouble", ["uninstalled", "home unwritable", "killed", "not memdir any more"])
def test_the_client_answers_whatever_has_become_of_memdir(attached: Desk, name: str, trouble: str) -> None:
    """S5: the prompt is neither dropped nor repeated."""
    scripts = {"killed": "#!/bin/sh\nkill -9 $$\n", "not memdir any more": "#!/bin/sh\necho usage >&2\nexit 2\n"}
    if trouble == "home unwritable":
        home = attached.home / ".memdir"
        home.rename(attached.home / "away")
        home.write_text("no folder")
    else:
        attached.program.unlink()
    if trouble in scripts:
        attached.program.write_text(scripts[trouble])
        attached.program.chmod(0o755)
    requests = attached.asked(name, QUESTION)
    assert len(requests) <= 2, "one for the answer, one for a title"
    assert not recalled(requests)


RESUMED = {
    "claude": ("--continue",),
    "codex": ("resume", "--last"),
    "gemini": ("--resume", "latest"),
    "qwen": ("--continue",),
    "opencode": ("--continue",),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_session_that_is_resumed_has_each_memory_once(attached: Desk, name: str) -> None:
    attached.memdir("remember", "Never mock the database in our tests")
    wait_for(lambda: attached.memories)
    assert len(recalled(attached.asked(name, QUESTION))) == 1
    resumed = attached.asked(name, f"{QUESTION} Once more, please.", *RESUMED[name])
    asking = [request for request in resumed if recalled([request])]
    assert len(asking) == len(recalled(asking)) == 1
    behaviour = [text for text in texts(asking[0].body) if "Contents of " in text]
    assert len(behaviour) == 1


def test_after_a_compression_that_gemini_decides_on_memory_comes_again_once(desk: Desk) -> None:
    """N7, R1: it tells no hook, and compresses before it sends the prompt that its hook was told of."""
    path = desk.home / ".gemini/settings.json"
    small = '"model": { "compressionThreshold": 0.00001 }, "somebodysOwnKey"'
    path.write_text(path.read_text(encoding="utf-8").replace('"somebodysOwnKey"', small), encoding="utf-8")
    desk.memdir("attach", "gemini", "--yes")
    desk.memdir("remember", "Never mock the database in our tests")
    told = []
    for number in range(3):
        requests = desk.asked("gemini", f"{QUESTION} {number}", *(RESUMED["gemini"] if number else ()))
        found = texts(requests[-1].body)
        told.append(
            (sum("Contents of /" in text and "# Memory" in text for text in found), len(recalled([requests[-1]])))
        )
    assert told == [(1, 1), (0, 0), (1, 1)]


def test_each_client_has_settings_and_events_here() -> None:
    """The short part that needs no client: what is tried covers all of them, and attaching knows no other."""
    assert set(FILES) == set(EVENTS) == set(NAMES)
    package = json.loads((Path(__file__).parent / "package.json").read_text(encoding="utf-8"))
    assert len(package["dependencies"]) == len(NAMES)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["dependencies"].values())
