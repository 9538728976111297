"""What decides stays shut unless it plainly says yes: gates, confirmations (G4, D7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from memdir.agent.gate import Allow, Deny
from memdir.agent.loop import Abort, run_agent
from memdir.memdir import open_memory
from memdir.model.model import Request, ScriptedModel, calls, says
from memdir.transcript.message import ToolUse, user
from tests.agent.boxes import TestTool, box

REQUEST = Request("scripted", messages=(user("Go."),))


async def _async(value: object) -> object:
    await asyncio.sleep(0)
    return value


async def _breaks() -> Allow:
    raise RuntimeError("no")


def _raise(error: Exception) -> object:
    raise error


async def _nested() -> object:
    return _allow_later()  # a coroutine inside a coroutine: nobody said yes


async def _allow_later() -> Allow:
    return Allow()


NO_ALLOW: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "False": lambda: False,
    "True": lambda: True,
    "1": lambda: 1,
    "deny": lambda: "deny",
    "allow": lambda: "allow",
    "the class": lambda: Allow,
    "the class Deny": lambda: Deny,
    "a look-alike": lambda: SimpleNamespace(allowed=True, reason=""),
    "a list": lambda: [Allow()],
    "a generator": lambda: (Allow() for _ in range(1)),
    "a coroutine of None": lambda: _async(None),
    "a coroutine of False": lambda: _async(False),
    "a coroutine of deny": lambda: _async("deny"),
    "a coroutine of Deny": lambda: _async(Deny("no")),
    "a coroutine that breaks": _breaks,
    "an exception": lambda: _raise(ValueError("no")),
    "an exception that cannot be told": lambda: _raise(_Mute()),
    "Deny without words": lambda: Deny(None),  # type: ignore[arg-type]
}


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("answer", NO_ALLOW.values(), ids=NO_ALLOW.keys())
async def test_a_gate_that_does_not_plainly_allow_refuses(tmp_path: Path, answer: Callable[[], object]) -> None:
    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Act", {"n": 1}), ("Act", {"n": 2})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), lambda call: answer(), max_turns=3)  # type: ignore[arg-type,return-value]
    assert tool.seen == []
    assert run.refusals == 2
    assert all(result.is_error for result in run.messages[1].tool_results)
    assert run.ending == "done"


@pytest.mark.filterwarnings("ignore:coroutine '_allow_later' was never awaited")
async def test_a_coroutine_inside_a_coroutine_is_no_allow(tmp_path: Path) -> None:
    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Act", {})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), lambda call: _nested(), max_turns=3)  # type: ignore[arg-type,return-value]
    assert tool.seen == [] and run.refusals == 1


async def test_a_gate_that_asks_somebody_is_waited_for(tmp_path: Path) -> None:
    async def gate(call: ToolUse) -> Allow | Deny:
        await asyncio.sleep(0)
        return Allow() if call.input["n"] == 1 else Deny("not that one")

    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Act", {"n": 1}), ("Act", {"n": 2})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), gate, max_turns=3)
    assert [result.content for result in run.messages[1].tool_results] == ["ran", "Refused: not that one."]


async def test_a_gate_that_never_answers_ends_with_the_abort(tmp_path: Path) -> None:
    abort, asked = Abort(), asyncio.Event()

    async def gate(call: ToolUse) -> Allow | Deny:
        asked.set()
        await asyncio.Event().wait()
        return Allow()

    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Act", {})), says("Done.")])
    running = asyncio.ensure_future(run_agent(REQUEST, model, box(tmp_path, [tool]), gate, max_turns=3, abort=abort))
    await asked.wait()
    abort.set("enough")
    run = await asyncio.wait_for(running, 10)
    assert run.ending == "aborted"
    assert tool.seen == []


CONFIRMS: dict[str, tuple[Callable[[object], object], bool]] = {
    "True": (lambda proposal: True, True),
    "a coroutine of True": (lambda proposal: _async(True), True),
    "yes": (lambda proposal: "yes", False),
    "no": (lambda proposal: "no", False),
    "1": (lambda proposal: 1, False),
    "None": (lambda proposal: None, False),
    "a coroutine of False": (lambda proposal: _async(False), False),
    "an exception": (lambda proposal: _raise(ValueError()), False),
}


@pytest.mark.parametrize(("confirm", "is_written"), CONFIRMS.values(), ids=CONFIRMS.keys())
async def test_a_dream_is_written_only_when_somebody_plainly_says_so(
    project: Path, confirm: Callable[[object], bool | Awaitable[bool]], is_written: bool
) -> None:
    from memdir.dream.dream import DreamTask

    memory = open_memory(project, flags={"model.provider": "builtin"})
    memory.start()
    path = Path(memory.place.root, "project_plan.md")
    write = {
        "file_path": str(path),
        "content": "---\nname: plan\ndescription: the plan\ntype: project\n---\n\nA plan.\n",
    }
    model = ScriptedModel([calls(("Write", write)), says("Done.")])
    memory = open_memory(project, model=model)
    await memory.session("one").dream(DreamTask(0), confirm=confirm)
    await memory.close()
    assert path.exists() == is_written
