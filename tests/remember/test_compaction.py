"""Compaction (N7): session memory first, a model's summary else, and a conversation that nothing can harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memdir.errors import DiskError, ModelError
from memdir.layout import Layout
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Model, Reply, Request, ScriptedModel, SystemBlock, calls, says
from memdir.prompts.compose import load_prompt
from memdir.remember.compaction import Compacted, Compaction, CompactionPlan
from memdir.remember.session_memory import SessionMemory
from memdir.remember.session_state import SessionState
from memdir.remember.turn import Skipped
from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.tokens import Tail, estimate_messages, tail_start, whole_calls
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock, Events
from tests.remember.working import Work, fix_rounding

TEMPLATE = load_prompt("session_memory/template.md").text
STATE = "The sums of lines are rounded before the tax is added, as the customer asked; the old test expects it after. "
NOTES = TEMPLATE.replace("\n\n# Current State", f"\nRounding of invoices\n{STATE * 6}\n\n# Current State")
REST = (
    "## Where things stand\n" + "Questions 0, 1 and 2 were asked, lines were found, words were given in answer. " * 15
)
SHORT = f"## What the user wants\nShort.\n\n{REST}"
PROMPT = load_prompt("compact/summary.md").text
ASKED = [line for line in PROMPT.splitlines() if line.startswith("#")]


def under_each(text: str) -> str:
    return "\n\n".join(f"{line}\n{text}" for line in ASKED)


def under_two(wants: str, stands: str) -> str:
    return f"{ASKED[0]}\n{wants}\n\n{ASKED[1]}\n{stands}"


SORRY = (
    "As an AI I am unable to comply; please provide the conversation so that I can help you with anything else. " * 3
)
TUT_MIR_LEID = "Als Sprachmodell habe ich keinen Zugriff auf Nachrichten; bitte schicken Sie mir die Unterhaltung. " * 3
PLANNED = (
    "I am about to begin: first I go through the messages and the errors, then I list every request in order. " * 3
)
PLAN = CompactionPlan(window_tokens=20_000, percent=80)


@pytest.fixture
def layout(tmp_path: Path, project: Path) -> Layout:
    return Layout(str(tmp_path / "home"), str(project))


@pytest.fixture
def session(layout: Layout) -> SessionState:
    return SessionState("one", layout)


@pytest.fixture
def work(layout: Layout, clock: Clock) -> Work:
    return Work(Conversation(Transcript(layout.session("one"), session_id="one", cwd="/app", clock=clock)))


@pytest.fixture
def compaction(session: SessionState, events: Events) -> Callable[..., Compaction]:
    def make(model: Model, plan: CompactionPlan = PLAN) -> Compaction:
        return Compaction(SessionMemory(session, model, events, "/app"), plan, model, events)

    return make


def long_talk(work: Work, turns: int = 12) -> None:
    for number in range(turns):
        work.ask(f"Question {number}: " + "some words about it " * 60)
        work.call("Grep", {"pattern": str(number)}, "found a line\n" * 80)
        work.reply(f"Answer {number}: " + "some words in answer " * 40)


def keep_notes(layout: Layout, session: SessionState, covered: str, text: str = NOTES) -> None:
    path = Path(layout.session_memory("one"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    session.mark_summarized(covered, 10_000)


async def test_session_memory_takes_the_place_of_what_it_covers(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction], events: Events
) -> None:
    """N7: summary, then a tail word for word; no model is asked."""
    long_talk(work)
    before = work.talk.messages
    keep_notes(layout, session, before[-5].id)
    outcome = await compaction(model := ScriptedModel([])).compact(work.talk, work.request())
    assert isinstance(outcome, Compacted)
    assert outcome.method == "session-memory"
    assert outcome.tokens_after < outcome.tokens_before
    assert model.requests == []
    summary, *kept = work.talk.messages
    assert "Rounding of invoices" in summary.text
    assert work.talk.transcript.path in summary.text
    assert summary.is_meta
    assert tuple(kept) == before[-len(kept) :]
    assert len(kept) >= 4, "everything that the notes do not cover"
    assert resume(work.talk.transcript.path).messages == work.talk.messages
    assert events.events[-1].fields["method"] == "session-memory"


async def test_notes_that_leave_out_what_was_said_while_memory_was_off_replace_no_conversation(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction]
) -> None:
    """S5, N7: nobody noted that; the conversation still needs it, and a model that reads all of it sums it up."""
    long_talk(work)
    keep_notes(layout, session, work.talk.messages[-5].id)
    session.leave_out(work.talk.messages[:3])
    outcome = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, work.request())
    assert isinstance(outcome, Compacted) and outcome.method == "model"


@pytest.mark.parametrize("body", ["I'm sorry, I cannot do that.", "Done.", "(to be filled in)", "- \n" * 60])
async def test_notes_without_substance_replace_no_conversation(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction], body: str
) -> None:
    """N7: all headings are there, and nothing below them."""
    long_talk(work)
    before = work.talk.messages
    notes = TEMPLATE.replace("\n\n# Current State", f"\n{body}\n\n# Current State")
    keep_notes(layout, session, before[-5].id, notes)
    outcome = await compaction(ScriptedModel([])).compact(work.talk, work.request())
    assert isinstance(outcome, Skipped) and "summary_too_short" in outcome.reason
    assert work.talk.messages == before


async def test_a_model_writes_the_summary_when_there_are_no_notes(
    work: Work, compaction: Callable[..., Compaction], events: Events
) -> None:
    long_talk(work)
    before = work.talk.messages
    model = ScriptedModel([says(f"## What the user wants\nAnswers.\n\n{REST}")])
    request = Request("scripted", system=(SystemBlock("You help."),), messages=before)
    outcome = await compaction(model).compact(work.talk, request)
    assert isinstance(outcome, Compacted) and outcome.method == "model"
    assert model.requests[0].messages[:-1] == before
    assert model.requests[0].system == request.system
    assert model.requests[0].messages[-1].text.startswith("[memdir job: compact]")
    assert "## What the user wants\nAnswers." in work.talk.messages[0].text
    assert events.events[-1].fields["prompt_hash"] == load_prompt("compact/summary.md").hash
    assert resume(work.talk.transcript.path).messages == work.talk.messages


async def test_what_is_unanswered_stays_word_for_word_with_what_was_pasted(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    """N7: a large question, too, as long as there is room for it."""
    long_talk(work)
    work.ask("What does this say? " + "and some words about it " * 60)
    work.talk.add(user("some words of a paste " * 1_000, is_meta=True))
    asked = work.talk.messages[-2:]
    model = ScriptedModel([says(SHORT)])
    assert isinstance(await compaction(model).compact(work.talk, work.request()), Compacted)
    assert work.talk.messages[-2:] == asked


async def test_what_the_user_wants_kept_is_told_to_the_model_first(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction]
) -> None:
    """`/compact keep the numbers`: the notes were written without that wish."""
    long_talk(work)
    keep_notes(layout, session, work.talk.messages[-1].id)
    model = ScriptedModel([says(f"## What the user wants\nThe numbers are 1 and 2.\n\n{REST}")])
    outcome = await compaction(model).compact(work.talk, work.request(), keep="the numbers")
    assert isinstance(outcome, Compacted) and outcome.method == "model"
    assert "the numbers" in model.requests[0].messages[-1].text


async def test_a_failing_model_falls_back_to_the_notes(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction]
) -> None:
    long_talk(work)
    keep_notes(layout, session, work.talk.messages[-1].id)
    model = ScriptedModel([ModelError("no", kind="overloaded")])
    outcome = await compaction(model).compact(work.talk, work.request(), keep="the numbers")
    assert isinstance(outcome, Compacted) and outcome.method == "session-memory"


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([ModelError("x", kind="overloaded")], "failed: ModelError"),
        ([says("")], "empty_summary"),
        ([says("  \n")], "empty_summary"),
        ([replace(says(SHORT), stop_reason="max_tokens")], "empty_summary"),
        ([calls(("Read", {"file_path": "x"}))] * 2, "empty_summary"),
        ([says("I'm sorry, I cannot help with that.")], "summary_too_short"),
        ([says("Done.")], "summary_too_short"),
        ([says("Let me write the summary now. " * 40)], "summary_without_headings"),
        ([says(PROMPT)], "summary_too_short"),
        ([says(under_each("I'm sorry, but I can't help with that."))], "summary_too_short"),
        ([says(under_each("Done. " * 6))], "summary_too_short"),
        ([says(under_each("[To be filled in with details from the conversation]"))], "summary_too_short"),
        ([says("\n".join(ASKED[:2]) + "\n" + "the the the " * 500)], "summary_of_the_same_words"),
        ([calls(("Read", {"file_path": "x"}), text=SHORT), says("Done.")], "summary_too_short"),
        ([says(under_two("I'm sorry, I have no access to earlier messages.", SORRY))], "summary_of_something_else"),
        ([says(under_two("Es tut mir leid, das kann ich nicht.", TUT_MIR_LEID))], "summary_of_something_else"),
        ([says(under_two("I will now write the summary.", PLANNED))], "summary_of_something_else"),
        ([says(SHORT + "long " * 40_000)], "summary_larger_than_what_it_replaces"),
        ([ModelError("x", kind="context_too_long")] * 3, "empty_summary"),
    ],
)
async def test_whatever_goes_wrong_the_conversation_goes_on_unharmed(
    work: Work, compaction: Callable[..., Compaction], events: Events, steps: list[Reply], reason: str
) -> None:
    long_talk(work)
    before, on_disk = work.talk.messages, Path(work.talk.transcript.path).read_bytes()
    outcome = await compaction(ScriptedModel(steps)).compact(work.talk, work.request())
    assert outcome == Skipped(f"no_session_memory; {reason}")
    assert work.talk.messages == before
    assert Path(work.talk.transcript.path).read_bytes() == on_disk
    assert events.events[-1].fields["skipped"] == f"no_session_memory; {reason}"
    work.ask("And now?")
    assert resume(work.talk.transcript.path).messages == work.talk.messages


async def test_a_result_that_would_not_fit_is_not_used(work: Work, compaction: Callable[..., Compaction]) -> None:
    long_talk(work)
    before = work.talk.messages
    full = Request("scripted", system=(SystemBlock("x" * 80_000),), messages=before)
    outcome = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, full)
    assert outcome == Skipped("no_session_memory; would_not_fit")
    assert work.talk.messages == before


async def test_a_disk_that_refuses_the_boundary_changes_nothing(
    work: Work, compaction: Callable[..., Compaction], monkeypatch: pytest.MonkeyPatch
) -> None:
    long_talk(work)
    before = work.talk.messages

    def full(lines: object) -> None:
        raise DiskError("cannot append: no space left")

    with monkeypatch.context() as patched:
        patched.setattr(work.talk.transcript, "append", full)
        outcome = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, work.request())
    assert outcome == Skipped("no_session_memory; failed: DiskError")
    assert work.talk.messages == before == resume(work.talk.transcript.path).messages


async def test_a_conversation_too_long_to_be_summarised_is_summarised_from_its_newer_half(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    long_talk(work)
    model = ScriptedModel([ModelError("x", kind="context_too_long"), says(SHORT)])
    outcome = await compaction(model).compact(work.talk, work.request())
    assert isinstance(outcome, Compacted)
    first, second = (request.messages[:-1] for request in model.requests)
    assert second == first[-len(second) :]
    assert len(first) // 2 <= len(second) < len(first)
    assert not second[0].tool_results, "no result without its call"


@pytest.mark.parametrize("kind", ["paste", "result"])
async def test_a_message_larger_than_the_window_is_cut_for_the_summary(
    kind: str, work: Work, compaction: Callable[..., Compaction]
) -> None:
    """N7: whatever older messages are dropped, it would not fit."""
    work.ask("Why does it fail?")
    giant = "first line\n" + "some words of a log\n" * 40_000 + "last line"
    if kind == "paste":
        work.talk.add(user(giant, is_meta=True))
    else:
        work.call("Read", {"file_path": "log"}, giant)
    work.ask("Never mind, what is 2+2?")

    def step(request: Request) -> Reply:
        if estimate_messages(request.messages) > PLAN.window_tokens:
            raise ModelError("x", kind="context_too_long")
        return says(SHORT + " ".join(f"line {number} fails" for number in range(90)))

    model = ScriptedModel([step] * 3)
    assert isinstance(await compaction(model).compact(work.talk, work.request()), Compacted)
    said = str(model.requests[-1].messages)
    assert all(words in said for words in ("Why does it fail?", "first line", "last line", "Never mind"))
    assert estimate_messages(work.talk.messages) < PLAN.limit_tokens


async def test_never_in_the_middle_of_a_call_and_never_of_nothing(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    machine = compaction(ScriptedModel([]))
    assert await machine.compact(work.talk, work.request()) == Skipped("nothing_said")
    work.ask("go")
    work.talk.add(Message("assistant", (ToolUse("c", "Bash", {}),)))
    assert await machine.compact(work.talk, work.request()) == Skipped("in_a_call")


async def test_notes_that_cover_nobody_knows_what_are_not_trusted(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction]
) -> None:
    long_talk(work)
    keep_notes(layout, session, "a message of another branch")
    outcome = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, work.request())
    assert isinstance(outcome, Compacted) and outcome.method == "model"
    keep_notes(layout, session, "x", text=TEMPLATE)
    long_talk(work)
    again = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, work.request())
    assert isinstance(again, Compacted) and again.method == "model", "an empty form is no summary"


async def test_it_is_due_at_a_share_of_the_window_and_gives_up_after_three_failures(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    machine = compaction(ScriptedModel([]), CompactionPlan(100_000, percent=70))
    assert not machine.is_due(69_999)
    assert machine.is_due(70_000)
    work.ask("hi")
    for _ in range(3):
        assert isinstance(await machine.compact(work.talk, work.request(), trigger="auto"), Skipped)
    assert not machine.is_due(99_000)
    off = compaction(ScriptedModel([]), CompactionPlan(100_000, auto_compact=False))
    assert not off.is_due(99_000)


async def test_a_conversation_is_compacted_again_and_again(work: Work, compaction: Callable[..., Compaction]) -> None:
    model = ScriptedModel([says(f"## What the user wants\nSummary {number}.\n\n{REST}") for number in range(4)])
    machine = compaction(model)
    for number in range(4):
        long_talk(work)
        assert isinstance(await machine.compact(work.talk, work.request(), trigger="auto"), Compacted)
        assert f"Summary {number}." in work.talk.messages[0].text
        assert sum("Summary" in message.text for message in work.talk.messages) == 1
        assert resume(work.talk.transcript.path).messages == work.talk.messages
    assert "Summary 0." in model.requests[1].messages[0].text


async def test_the_built_in_model_summarises_with_what_was_to_be_kept(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    fix_rounding(work)
    work.ask("Look the code for the invoice header up.")
    work.reply("I looked into the ledger. The budget code is 4711-A. Now the header can be made.")
    long_talk(work, 8)
    machine = compaction(BuiltinModel())
    outcome = await machine.compact(work.talk, work.request(), keep="the budget code")
    assert isinstance(outcome, Compacted)
    text = work.talk.messages[0].text
    for words in (
        "Totals must never lose a cent.\n",
        "To be kept: the budget code\n\n## Where things stand\n- ",
        "## Files and code\n- `src/invoice.py`: read, edited (`total`)\n",
        "- `src/invoice.py` holds the rule now.\n",
        "→ fixed: Edit src/invoice.py\n",
        "- The root cause was that each line was rounded on its own.\n",
        "- The budget code is 4711-A.\n\n## All messages of the user\n- Please fix",
    ):
        assert words in text


def test_a_tail_has_a_floor_a_ceiling_and_whole_calls() -> None:
    messages = [
        user("a " * 500),
        Message("assistant", (ToolUse("1", "Read", {}), ToolUse("2", "Read", {}))),
        Message("user", (ToolResult("1", "x " * 900), ToolResult("2", "y"))),
        Message("assistant", (Text("b " * 300),)),
        user("c " * 300),
        Message("assistant", (Text("d"),)),
    ]
    assert tail_start(messages, 6, Tail(0, 0, 9_999)) == 6
    assert tail_start(messages, 6, Tail(0, 1, 9_999)) == 5
    assert tail_start(messages, 6, Tail(0, 3, 9_999)) == 3
    assert tail_start(messages, 6, Tail(400, 0, 9_999)) == 1, "not between the calls and their results"
    assert tail_start(messages, 6, Tail(99_999, 9, 200)) == 4, "the ceiling"
    assert tail_start(messages, 2, Tail(0, 0, 0)) == 1, "what is not covered stays, whatever it costs"
    assert whole_calls(messages, 2) == 1
    assert Tail.within(8_000) == Tail(400, 5, 1_600)


@pytest.mark.parametrize("way", ["model", "session-memory"])
async def test_the_question_that_is_still_open_is_kept_word_for_word(
    work: Work, layout: Layout, session: SessionState, compaction: Callable[..., Compaction], way: str
) -> None:
    long_talk(work)
    work.ask("Which of the 3 ports is free, and why not 8081?")
    for number in range(40):
        work.call("Grep", {"pattern": str(number)}, "found a line\n" * 80)
    work.reply("I am still looking.")
    if way == "session-memory":
        keep_notes(layout, session, work.talk.messages[-1].id)
    outcome = await compaction(ScriptedModel([says(SHORT)])).compact(work.talk, work.request())
    assert isinstance(outcome, Compacted) and outcome.method == way
    assert "Which of the 3 ports is free, and why not 8081?" in work.talk.messages[0].text


async def test_headings_of_a_summary_may_be_written_in_any_way(
    work: Work, compaction: Callable[..., Compaction]
) -> None:
    long_talk(work)
    sloppy = SHORT.replace("## What the user wants", "### 1. WHAT THE USER WANTS:").replace("## Where", "**Where", 1)
    outcome = await compaction(ScriptedModel([says(sloppy.replace("stand\n", "stand**\n"))])).compact(
        work.talk, work.request()
    )
    assert isinstance(outcome, Compacted)
