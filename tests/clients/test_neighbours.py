"""The memories that Claude Code and Qwen Code keep themselves, served where they lie (Q2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memdir.layout import slug_of
from tests.clients.conftest import Desk, texts
from tests.clients.test_one_memory import QUESTION

RULE = "Never mock the database in our tests"
BODY = "the zebra clause applies"

pytestmark = pytest.mark.timeout(600)


def kept_by(desk: Desk, name: str) -> Path:
    """What an agent wrote itself before memdir came."""
    folder = desk.home / f".{name}" / "projects" / slug_of(str(desk.project.resolve())) / "memory"
    folder.mkdir(parents=True)
    head = f"---\nname: Database tests\ndescription: {RULE}\ntype: feedback\n---\n"
    (folder / "db_tests.md").write_text(f"{head}\n{RULE}; {BODY}.\n", encoding="utf-8")
    (folder / "MEMORY.md").write_text(f"- [Database tests](db_tests.md) — {RULE}\n", encoding="utf-8")
    settings = desk.home / ".qwen" / "settings.json"
    settings.write_text(settings.read_text().replace('AutoMemory": false', 'AutoMemory": true'), encoding="utf-8")
    return folder


def answering(desk: Desk, name: str, prompt: str) -> list[str]:
    """All that reaches the model with a prompt, in the request that answers it."""
    requests = desk.asked(name, prompt)
    return max((texts(request.body) for request in requests[:2]), key=lambda found: len(str(found)))


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_a_memory_that_an_agent_keeps_reaches_it_once_and_the_others_too(desk: Desk, name: str) -> None:
    kept_by(desk, name)
    desk.memdir("attach", name, "codex", "--own-memory", "serve", "--yes")
    own = "\n".join(answering(desk, name, QUESTION))
    assert own.count("(db_tests.md) — ") == 1, "one index, by the agent itself"
    assert own.count(BODY) == 1, "one body: recalled by us, or by the agent"
    other = "\n".join(answering(desk, "codex", QUESTION))
    assert other.count("(db_tests.md) — ") == 1 and other.count(BODY) == 1
    [found] = json.loads(desk.memdir("attach", "--status", name, "--json"))["agents"]
    assert (found["own_memory"], found["problems"]) == ("served", [])


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_an_agent_s_memory_that_is_switched_off_says_nothing(desk: Desk, name: str) -> None:
    kept_by(desk, name)
    desk.memdir("attach", name, "--own-memory", "off", "--yes")
    desk.memdir("remember", "Deploys are frozen until 2099-12-01")
    own = "\n".join(answering(desk, name, QUESTION))
    assert BODY not in own and RULE not in own
    assert own.count("Deploys are frozen until") == 1, "the index, by memdir"
