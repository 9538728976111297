"""The loop: tools at once and in order, refusals and faults as results, an end in every case."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from memdir.agent.gate import Allow, Deny, allow_all
from memdir.agent.loop import INTERRUPTED, Abort, run_agent
from memdir.agent.tools.tool import MAX_AT_ONCE, MAX_RESULT_CHARACTERS, MAX_TURN_CHARACTERS, Outcome
from memdir.errors import BadMemoryFile, ModelError
from memdir.model.model import Reply, Request, ScriptedModel, ToolSpec, Usage, calls, says
from memdir.transcript.message import Message, ToolUse, user
from tests.agent.boxes import ANY, MeetingTool, TestTool, box

REQUEST = Request("scripted", messages=(user("Go."),))
echo = TestTool(lambda arguments: f"echo {arguments.get('n')}")


def results(message: Message) -> list[str]:
    return [result.content for result in message.tool_results]


async def test_calls_run_at_the_same_time_and_results_keep_their_order(tmp_path: Path) -> None:
    model = ScriptedModel([calls(*(("Meet", {"n": n}) for n in range(8))), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [MeetingTool(8)]), allow_all, max_turns=5)
    assert results(run.messages[1]) == [f"met {n}" for n in range(8)]
    assert [message.role for message in run.messages] == ["assistant", "user", "assistant"]
    assert (run.ending, run.turns, run.final_text) == ("done", 2, "Done.")


async def test_the_model_sees_its_calls_and_their_results(tmp_path: Path) -> None:
    model = ScriptedModel([calls(("Act", {"n": 1}), text="First."), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=5)
    assert model.requests[1].messages == (*REQUEST.messages, *run.messages[:2])


async def test_two_hundred_calls_at_once_are_all_answered_and_never_run_all_together(tmp_path: Path) -> None:
    running, most = 0, 0

    class Counting:
        spec = ToolSpec("Act", "Counts.", ANY)

        async def run(self, arguments: object, context: object) -> Outcome:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return Outcome("x" * 50_000)

    model = ScriptedModel([calls(*(("Act", {"n": n}) for n in range(200))), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [Counting()]), allow_all, max_turns=5)
    answered = run.messages[1].tool_results
    assert len(answered) == 200
    assert most == MAX_AT_ONCE
    assert sum(len(result.content) for result in answered) < 1.2 * MAX_TURN_CHARACTERS, "together they still fit"


async def test_calls_that_write_follow_one_another_in_their_order(tmp_path: Path) -> None:
    """The second may change what the first wrote: it looks at the file when the first has ended."""
    begun: list[str] = []
    ended: list[str] = []

    class Writing:
        spec = ToolSpec("Write", "Writes.", ANY)

        async def run(self, arguments: Mapping[str, object], context: object) -> Outcome:
            assert begun == ended, "another was still at it"
            begun.append(str(arguments["file_path"]))
            await asyncio.sleep(0)
            ended.append(str(arguments["file_path"]))
            return Outcome("Written.")

    names = [str(tmp_path / f"{n}.md") for n in range(8)]
    model = ScriptedModel([calls(*(("Write", {"file_path": name}) for name in names)), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [Writing()]), allow_all, max_turns=5)
    assert results(run.messages[1]) == ["Written."] * 8
    assert ended == names


async def test_a_result_of_a_hundred_megabytes_is_cut_to_its_ends(tmp_path: Path) -> None:
    huge = TestTool(lambda arguments: "BEGIN" + "x" * 100_000_000 + "END")
    model = ScriptedModel([calls(("Act", {})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [huge]), allow_all, max_turns=5)
    [text] = results(run.messages[1])
    assert len(text) < MAX_RESULT_CHARACTERS + 200
    assert text.startswith("BEGIN") and text.endswith("END")
    assert "characters left out" in text


async def test_refusals_go_back_to_the_model_and_are_counted(tmp_path: Path) -> None:
    def gate(call: ToolUse) -> Allow | Deny:
        return Deny("only even numbers here") if int(str(call.input["n"])) % 2 else Allow()

    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(*(("Act", {"n": n}) for n in range(4))), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), gate, max_turns=5)
    assert results(run.messages[1]) == [
        "ran",
        "Refused: only even numbers here.",
        "ran",
        "Refused: only even numbers here.",
    ]
    assert [result.is_error for result in run.messages[1].tool_results] == [False, True, False, True]
    assert run.refusals == 2
    assert len(tool.seen) == 2


async def test_a_gate_that_breaks_stays_shut(tmp_path: Path) -> None:
    def broken(call: ToolUse) -> Allow | Deny:
        raise RecursionError

    tool = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Act", {})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), broken, max_turns=5)
    assert "could not judge" in results(run.messages[1])[0]
    assert tool.seen == []
    assert run.refusals == 1


async def test_unknown_tools_and_arguments_out_of_form_are_told_and_not_run(tmp_path: Path) -> None:
    faulty = Message("assistant", (ToolUse("f", "Act", {}, "the arguments are not valid JSON: {"),))
    model = ScriptedModel(
        [
            calls(("Fly", {}), ("Act", {"n": "seven"}), ("Act", {"wings": 2}), ("Act", {"n": True})),
            Reply(faulty, "tool_use"),
            says("Done."),
        ]
    )
    tool = TestTool(lambda arguments: "ran")
    run = await run_agent(REQUEST, model, box(tmp_path, [tool]), allow_all, max_turns=5)
    unknown, wrong_type, no_such, boolean = results(run.messages[1])
    assert "no tool 'Fly'" in unknown and "Act" in unknown
    assert "n must be of type integer" in wrong_type and "n must be of type integer" in boolean
    assert "no argument 'wings'" in no_such
    assert "not valid JSON" in results(run.messages[3])[0]
    assert tool.seen == []
    assert run.ending == "done"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BadMemoryFile("that is no file", remedy="Name another"), "that is no file. Name another"),
        (KeyError("x"), "Act failed: KeyError: 'x'"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RecursionError("too deep"), "RecursionError"),
    ],
)
async def test_a_tool_that_raises_is_a_failed_result(tmp_path: Path, error: Exception, told: str) -> None:
    def fail(arguments: object) -> str:
        raise error

    model = ScriptedModel([calls(("Act", {}), ("Other", {})), says("Done.")])
    tools = [TestTool(fail), TestTool(lambda arguments: "fine", "Other")]
    run = await run_agent(REQUEST, model, box(tmp_path, tools), allow_all, max_turns=5)
    failed, fine = run.messages[1].tool_results
    assert told in failed.content and failed.is_error
    assert (fine.content, fine.is_error) == ("fine", False)
    assert run.ending == "done"


async def test_a_model_that_never_ends_is_stopped_after_its_turns(tmp_path: Path) -> None:
    model = ScriptedModel([calls(("Act", {"n": n})) for n in range(9)])
    run = await run_agent(REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=3)
    assert (run.ending, run.turns, len(model.requests)) == ("max_turns", 3, 3)
    assert run.messages[-1].tool_results, "the conversation can be gone on with"
    assert run.final_text == ""


async def test_usage_adds_up(tmp_path: Path) -> None:
    """G3."""
    model = ScriptedModel([calls(("Act", {}), usage=Usage(10, 1, 100, 5)), says("Done.", usage=Usage(20, 2, 100, 0))])
    run = await run_agent(REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=5)
    assert run.usage == Usage(30, 3, 200, 5)
    assert run.usage.prompt == 235
    assert run.usage.hit_percent == pytest.approx(100 * 200 / 235)


async def test_every_message_is_told_as_it_comes(tmp_path: Path) -> None:
    told: list[Message] = []
    words: list[str] = []
    model = ScriptedModel([calls(("Act", {}), text="Let me see."), says("Done.")])
    run = await run_agent(
        REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=5, on_message=told.append, on_text=words.append
    )
    assert tuple(told) == run.messages
    assert words == ["Let me see.", "Done."]


async def test_a_run_tells_what_was_sent_last_and_what_came_after_it(tmp_path: Path) -> None:
    """That is what a fork of the conversation starts from."""
    tools = box(tmp_path, [echo])
    for steps, max_turns in (
        ([calls(("Act", {})), says("Done.")], 5),
        ([calls(("Act", {}))] * 2, 2),
        ([says("Done.")], 5),
    ):
        model = ScriptedModel(steps)
        run = await run_agent(REQUEST, model, tools, allow_all, max_turns=max_turns)
        assert run.last_request == model.requests[-1]
        assert (*run.last_request.messages, *run.since) == (*REQUEST.messages, *run.messages)


async def test_a_model_error_ends_the_run_and_what_was_said_is_known(tmp_path: Path) -> None:
    told: list[Message] = []
    model = ScriptedModel([calls(("Act", {})), ModelError("no", kind="overloaded")])
    with pytest.raises(ModelError):
        await run_agent(REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=5, on_message=told.append)
    assert [message.role for message in told] == ["assistant", "user"]


async def test_an_abort_before_the_start_asks_nobody(tmp_path: Path) -> None:
    abort, model = Abort(), ScriptedModel([says("never")])
    abort.set("changed my mind")
    run = await run_agent(REQUEST, model, box(tmp_path, [echo]), allow_all, max_turns=5, abort=abort)
    assert (run.ending, run.messages, model.requests) == ("aborted", (), [])


async def test_an_abort_while_tools_run_leaves_a_conversation_that_can_be_gone_on_with(tmp_path: Path) -> None:
    """What had finished keeps its result, every other call has one that says it was interrupted."""
    abort = Abort()

    class Slow:
        spec = ToolSpec("Slow", "Waits.", ANY)

        async def run(self, arguments: object, context: object) -> Outcome:
            await asyncio.sleep(0)
            abort.set("escape")
            await asyncio.Event().wait()
            return Outcome("never")

    told: list[Message] = []
    model = ScriptedModel([calls(("Act", {"n": 1}), ("Slow", {}), ("Act", {"n": 2})), says("never")])
    run = await run_agent(
        REQUEST, model, box(tmp_path, [echo, Slow()]), allow_all, max_turns=5, abort=abort, on_message=told.append
    )
    assert run.ending == "aborted"
    assert results(run.messages[-1]) == ["echo 1", INTERRUPTED, "echo 2"]
    assert tuple(told) == run.messages
    assert abort.reason == "escape"


async def test_files_touched_are_those_written_with_success(tmp_path: Path) -> None:
    """G3."""
    good, bad = str(tmp_path / "a.md"), str(tmp_path / "folder")
    (tmp_path / "folder").mkdir()
    model = ScriptedModel(
        [
            calls(("Write", {"file_path": bad, "content": "x"}), ("Read", {"file_path": bad})),
            calls(("Write", {"file_path": good, "content": "x"})),
            calls(("Edit", {"file_path": good, "old_string": "x", "new_string": "y"})),
            says("Done."),
        ]
    )
    run = await run_agent(REQUEST, model, box(tmp_path), allow_all, max_turns=5)
    assert run.files_touched == (good,)
