"""Magic docs behind attached coding agents: the worker sees in their transcripts what they read (M1, M2)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir.hooks.work_queue import WorkQueue
from memdir.layout import Layout
from tests.conftest import Ran
from tests.hooks.agents import Agent, message, stamp
from tests.hooks.conftest import MakeAgent

HEAD = "# MAGIC DOC: Billing\n_Short._\n"
SAID = "We decided to use PostgreSQL 17 for the billing service because of the audit rules."
LINE = "- We decided to use PostgreSQL 17 for the billing service. Why: Because of the audit rules.\n"


def reading(agent: Agent, path: Path) -> list[dict[str, Any]]:
    """A turn in which the agent reads a file, as its client writes it down."""
    if agent.host == "codex":
        call = {"type": "function_call", "call_id": "c1", "name": "shell"}
        words = json.dumps({"command": ["bash", "-lc", f"sed -n 1,200p {path.relative_to(agent.project)}"]})
        output = {"type": "function_call_output", "call_id": "c1", "output": path.read_text()}
        items = [{**call, "arguments": words}, output]
        return [{"timestamp": stamp(), "type": "response_item", "payload": item} for item in items]
    common = {"isSidechain": False, "timestamp": stamp(), "sessionId": agent.session, "cwd": str(agent.project)}
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": str(path)}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"1\t{path.read_text()}"}
    asked = {"type": "assistant", "uuid": "r1", "parentUuid": "a0", "message": {"role": "assistant", "content": [use]}}
    given = {"type": "user", "uuid": "r2", "parentUuid": "r1", "message": {"role": "user", "content": [result]}}
    done = {"role": "assistant", "content": [{"type": "text", "text": "I have read it."}]}
    last = {"type": "assistant", "uuid": "a2", "parentUuid": "r2", "message": done}
    return [{**common, **record} for record in (asked, given, last)]


def work(agent: Agent, layout: Layout) -> None:
    WorkQueue(layout).add(agent.transcript.stem)
    command = [agent.command, "hook", "--work", str(agent.project)]
    done = subprocess.run(command, capture_output=True, env=agent.environment, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def worktree(project: Path, tmp_path: Path, git: Callable[..., str]) -> Path:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(*who, "commit", "-q", "--allow-empty", "-m", "first", cwd=project)
    tree = tmp_path.resolve() / "tree"
    git("worktree", "add", "-q", str(tree), cwd=project)
    return tree


@pytest.mark.parametrize("host", ["claude", "codex"])
@pytest.mark.slow("codex")
def test_what_an_attached_agent_read_is_kept_up_to_date_behind_it(
    host: str, make_agent: MakeAgent, layout: Layout, project: Path, memdir: Callable[..., Ran]
) -> None:
    agent = make_agent(host)
    doc = project.resolve() / "billing.md"
    doc.write_text(HEAD)
    Path(layout.home).mkdir(parents=True)
    Path(layout.user_settings).write_text('{"magicDocs": true}')
    agent.prompt("Look at billing.md.")
    agent.say("Look at billing.md.")
    with agent.transcript.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in reading(agent, doc))
    agent.prompt(SAID)
    agent.say(SAID)
    work(agent, layout)
    assert doc.read_text() == f"{HEAD}\n## Decisions\n\n{LINE}"
    events = [json.loads(line) for line in Path(layout.event_log).read_text().splitlines()]
    assert [one["file"] for one in events if one["event"] == "doc.update"] == ["billing.md"]
    work(agent, layout)
    assert doc.read_text() == f"{HEAD}\n## Decisions\n\n{LINE}"
    saved, told = message(agent.prompt("Please go on with the next step.")).splitlines()
    assert saved.startswith("Memory saved: ") and told.startswith(f"Doc updated: {doc} (`memdir undo ")
    assert message(agent.prompt("Please go on with the next step.")) == ""
    assert memdir(*told.partition("`memdir ")[2].rstrip("`)").split()).code == 0
    assert doc.read_text() == HEAD


def test_a_session_in_another_worktree_is_learned_from_there(
    make_agent: MakeAgent, layout: Layout, project: Path, tmp_path: Path, git: Callable[..., str]
) -> None:
    """The worktrees of a project share one queue: whichever worker comes, a doc is that of the session's own tree, and
    what was read there by a relative path was read in the folder of the session."""
    main = make_agent("claude")
    tree = worktree(project, tmp_path, git)
    (tree / "notes").mkdir()
    for doc in (project / "billing.md", tree / "billing.md", tree / "notes" / "billing.md"):
        doc.parent.mkdir(exist_ok=True)
        doc.write_text(HEAD)
    Path(layout.home).mkdir(parents=True)
    Path(layout.user_settings).write_text('{"magicDocs": true}')
    agent = Agent("codex", main.home, tree / "notes", main.command, "c-1", main.environment)
    agent.prompt("Look at billing.md.")
    agent.say("Look at billing.md.")
    with agent.transcript.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in reading(agent, tree / "notes" / "billing.md"))
    agent.say(SAID)
    WorkQueue(layout).add(agent.transcript.stem)
    work(main, layout)
    assert (tree / "notes" / "billing.md").read_text() == f"{HEAD}\n## Decisions\n\n{LINE}"
    assert (project / "billing.md").read_text() == (tree / "billing.md").read_text() == HEAD


@pytest.mark.parametrize("how", ["gone", "off"])
def test_a_worktree_that_is_gone_or_off_keeps_nobody_from_learning(
    how: str, make_agent: MakeAgent, layout: Layout, project: Path, tmp_path: Path, git: Callable[..., str]
) -> None:
    main = make_agent("claude")
    tree = worktree(project, tmp_path, git)
    agent = Agent("codex", main.home, tree, main.command, "c-1", main.environment)
    for one in (agent, main):
        one.prompt(SAID if one is agent or how == "off" else "Thanks.")
        one.say(SAID if one is agent or how == "off" else "Thanks.")
        WorkQueue(layout).add(one.transcript.stem)
    if how == "gone":
        git("worktree", "remove", "--force", str(tree), cwd=project)
    else:
        (tree / ".memdir").mkdir()
        (tree / ".memdir" / "settings.json").write_text('{"memoryEnabled": false}')
    work(main, layout)
    assert len(list(Path(layout.default_memory).glob("project_*.md"))) == 1
    assert WorkQueue(layout).waiting() == ([] if how == "gone" else [agent.transcript.stem])
