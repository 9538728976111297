"""The same context as when it was left (J3)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from evals.damage import damage_of
from evals.damage import measure as measure_damage
from evals.resume import measure as measure_resume

from memdir.errors import DiskError, MemoryNotFound
from memdir.transcript.conversation import INTERRUPTED, Conversation, resume
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.transcript import Transcript
from tests.transcript.conftest import turn

RECORDED = Path(__file__).parent.parent / "contracts" / "recorded"
Opener = Callable[[], Transcript]


def test_generated_conversations_resume_as_they_were_left() -> None:
    """`python -m evals.resume` runs the whole of it."""
    totals = measure_resume(60)
    assert totals["resumed and equal"] > 200


def test_damaged_transcripts_lose_only_what_is_damaged_and_say_so() -> None:
    """`python -m evals.damage` runs all of the cases."""
    counts, wrong = measure_damage(every=61, with_huge=False)
    assert not wrong
    assert counts.total() > 500


def test_replies_to_which_a_server_gives_one_id_are_all_kept(path: Path, write_transcript: Opener) -> None:
    """J3, X4: also those that come after a resume."""
    for n in range(3):
        talk = Conversation.resume(write_transcript())
        talk.add(user(f"question {n}"))
        talk.add(Message("assistant", (Text(f"answer {n}"),), "chatcmpl-1"))
        talk.add(user(f"and {n}?"))
        talk.add(Message("assistant", (Text(f"more {n}"),), "chatcmpl-1"))
        talk.transcript.close()
    left = resume(str(path)).messages
    assert left == talk.messages and len({message.id for message in left}) == 12


@pytest.mark.parametrize("left_behind", ["by a compaction", "on a branch"])
def test_an_id_that_stands_only_in_what_was_left_behind_takes_no_reply_away(
    left_behind: str, path: Path, write_transcript: Opener
) -> None:
    """J3: resume does not read so far back."""
    talk = Conversation.resume(write_transcript())
    first = talk.add(user("question"))
    talk.add(Message("assistant", (Text("answer"),), "chatcmpl-1"))
    if left_behind == "on a branch":
        talk.rewind(first.id)
    else:
        talk.compact(user("What was said."), (), {"trigger": "manual"})
    talk.transcript.close()
    talk = Conversation.resume(write_transcript())
    for number in range(2):
        talk.add(Message("assistant", (Text(f"another {number}"),), "chatcmpl-1"))
        talk.add(user("and?"))
    left = resume(str(path))
    assert left.messages == talk.messages and not left.damage.total
    assert not damage_of(str(path)).total


@pytest.mark.parametrize("lost", range(1, 5))
def test_a_lost_record_costs_no_other_and_leaves_calls_and_results_in_pairs(
    lost: int, path: Path, talk: Conversation, write_transcript: Opener
) -> None:
    """J3: no provider takes a call without its result, or a result without its call."""
    said = [
        talk.add(message)
        for message in (
            user("list it"),
            Message("assistant", (Text("I look."), ToolUse("a", "Bash", {"command": "ls"}), ToolUse("b", "Bash", {}))),
            Message("user", (ToolResult("a", "x"), ToolResult("b", "y"))),
            Message("assistant", (ToolUse("c", "Bash", {}),)),
            Message("user", (ToolResult("c", "z"),)),
            Message("assistant", (Text("There is x."),)),
        )
    ]
    lines = path.read_bytes().splitlines(keepends=True)
    lines[lost] = bytes(len(lines[lost]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    again = Conversation.resume(write_transcript())
    assert [message for message in again.messages if message.id] == said[:lost] + said[lost + 1 :]
    for before, after in pairwise(again.messages):
        assert {use.id for use in before.tool_uses} == {result.tool_use_id for result in after.tool_results}
    assert again.damage.lines == 1
    again.compact(user("summary"), again.messages[1:], {"trigger": "manual"})
    assert Conversation.resume(write_transcript()).messages[1:] == again.messages[1:]


def test_results_in_messages_of_their_own_are_all_kept(talk: Conversation, write_transcript: Opener) -> None:
    """J3: so hosts of the OpenAI SDK tell them. What stands is no lost one, whatever else was."""
    talk.add(user("list it"))
    reply = talk.add(
        Message("assistant", (ToolUse("a", "Bash", {}), ToolUse("b", "Bash", {}), ToolUse("c", "Bash", {})))
    )
    results = [talk.add(Message("user", (ToolResult(use, use * 3),))) for use in "ab"]
    end = talk.add(Message("assistant", (Text("There is a and b."),)))
    talk.compact(user("summary"), (reply, *results, end), {"trigger": "manual"})
    again = Conversation.resume(write_transcript()).messages
    told = {result.tool_use_id: result.content for message in again for result in message.tool_results}
    assert (told["a"], told["b"]) == ("aaa", "bbb") and "Nothing is known" in told["c"]
    assert [message for message in again[1:] if message.id] == [reply, *results, end]


def test_a_branch_is_left_on_disk_and_out_of_the_context(path: Path, talk: Conversation) -> None:
    first = turn(talk, "one", call="c1")
    turn(talk, "two")
    talk.rewind(first[-1].id)
    assert resume(str(path)).messages == tuple(first), "also when nothing was said since"
    third = turn(talk, "three")
    assert resume(str(path)).messages == (*first, *third)
    assert b"About two." in path.read_bytes()


def test_resume_at_an_earlier_message_goes_on_from_there(
    path: Path, talk: Conversation, write_transcript: Opener
) -> None:
    first = turn(talk, "one")
    turn(talk, "two")
    again = Conversation.resume(write_transcript(), at=first[1].id)
    assert again.messages == tuple(first)
    added = again.add(user("another way"))
    assert resume(str(path)).messages == (*first, added)
    assert resume(str(path), at="nowhere").messages == ()


def test_going_back_to_what_is_not_there_is_refused(talk: Conversation) -> None:
    with pytest.raises(MemoryNotFound):
        talk.rewind("nowhere")


def test_a_compaction_starts_the_context_again_and_older_records_stay_on_disk(path: Path, talk: Conversation) -> None:
    """N7, J3."""
    turn(talk, "one")
    kept = turn(talk, "two", call="c1")
    talk.compact(user("We spoke of one."), kept, {"trigger": "auto", "preTokens": 100})
    after = turn(talk, "three")
    left = resume(str(path))
    assert [message.text for message in left.messages[:1]] == ["We spoke of one."]
    assert left.messages[0].is_meta, "nobody said it, so nothing is learned from it"
    assert left.messages[1:] == (*kept, *after)
    assert b"About one." in path.read_bytes()


def test_a_boundary_whose_summary_was_never_written_does_not_count(path: Path, talk: Conversation) -> None:
    """J3: killed between the two lines."""
    said = turn(talk, "one")
    talk.compact(user("summary"), [], {})
    lines = path.read_bytes().splitlines(keepends=True)
    for end in (lines[:-1], [*lines[:-1], lines[-1][:50]]):
        path.write_bytes(b"".join(end))
        assert resume(str(path)).messages == tuple(said)


def test_resume_reads_no_further_back_than_the_boundary(path: Path, talk: Conversation) -> None:
    """What lies before is not even decoded: rubbish there is neither seen nor counted."""
    for number in range(300):
        turn(talk, f"{number} " + "x" * 1000)
    talk.compact(user("summary"), talk.messages[-2:], {})
    data = path.read_bytes()
    path.write_bytes(b"rubbish\n" * 1000 + data[100_000:])
    left = resume(str(path))
    assert len(left.messages) == 3
    assert left.damage.total == 0
    assert damage_of(str(path)).lines == 1001


def test_replaced_results_stay_replaced(path: Path, talk: Conversation) -> None:
    said = turn(talk, "one", call="c1")
    talk.replace_results({"c1": "[cleared]"})
    talk.replace_results({"c1": "[cleared again]", "unknown": "x"})
    assert talk.messages[2].tool_results[0].content == "[cleared again]"
    left = resume(str(path)).messages
    assert left == talk.messages
    assert left[0] == said[0]


def test_calls_that_were_never_answered_get_an_answer(path: Path, talk: Conversation, write_transcript: Opener) -> None:
    talk.add(user("go"))
    talk.add(Message("assistant", (ToolUse("a", "Bash", {}), ToolUse("b", "Bash", {}))))
    again = Conversation.resume(write_transcript())
    again.answer_open_calls()
    assert [(result.tool_use_id, result.content) for result in again.messages[-1].tool_results] == [
        ("a", INTERRUPTED),
        ("b", INTERRUPTED),
    ]
    again.answer_open_calls()
    assert resume(str(path)).messages == again.messages
    assert len(again.messages) == 3


def test_a_transcript_that_is_missing_or_empty_is_a_new_conversation(path: Path) -> None:
    assert resume(str(path)).messages == ()
    path.parent.mkdir()
    path.write_bytes(b"")
    assert resume(str(path)).messages == ()
    assert damage_of(str(path)).total == 0


def test_a_recorded_session_of_claude_code_resumes_after_its_compaction(tmp_path: Path) -> None:
    """S3: another agent's home of the same layout. Its boundary keeps one message."""
    [recorded] = (RECORDED / "claude" / "projects" / "-home-ann-app").glob("*.jsonl")
    path = tmp_path / "s.jsonl"
    shutil.copy(recorded, path)
    left = resume(str(path))
    assert left.damage.total == 0
    assert left.compacted == 2
    assert left.messages[0].is_meta
    assert left.messages[1].text.startswith("Done: the function now returns the sum.")
    told = [message.text for message in left.messages if message.role == "user" and not message.is_meta]
    assert "What did we do?" in told and "Use pnpm here instead of npm." in told, "that was typed while it worked"


def test_parallel_calls_of_claude_code_are_whole_again(tmp_path: Path) -> None:
    """It writes one record a block, and a result behind the block of its call: one of them is on no straight line."""
    [recorded] = (RECORDED / "claude" / "projects" / "-home-ann-app").glob("*.jsonl")
    path = tmp_path / "s.jsonl"
    lines = recorded.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:12]))
    messages = resume(str(path)).messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert isinstance(messages[1].content[0], Text)
    assert [use.id for use in messages[1].tool_uses] == [result.tool_use_id for result in messages[2].tool_results]
    assert len(messages[1].tool_uses) == 2


def test_a_transcript_that_may_not_be_read_is_a_disk_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(DiskError, match="cannot read"):
        resume(str(path))
    assert resume(str(path / "below")).messages == ()


def test_a_late_copy_of_an_old_record_is_not_where_the_conversation_ended(path: Path, talk: Conversation) -> None:
    turn(talk, "one")
    turn(talk, "two")
    first = path.read_bytes().splitlines(keepends=True)[0]
    with path.open("ab") as file:
        file.write(first)
    left = resume(str(path))
    assert left.messages == talk.messages
    assert left.damage.duplicates == 1


def test_a_boundary_that_keeps_what_never_was_does_not_count(path: Path, talk: Conversation) -> None:
    """Better the whole conversation than one with a hole that nobody can explain."""
    turn(talk, "one")
    before = talk.messages
    talk.compact(user("summary"), talk.messages[-1:], {})
    turn(talk, "two")
    path.write_bytes(path.read_bytes().replace(f'"uuids":["{before[-1].id}"]'.encode(), b'"uuids":["never-was"]'))
    assert resume(str(path)).messages[: len(before)] == before
