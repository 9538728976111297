"""Session memory, clause by clause (N1–N6)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memdir.errors import ModelError
from memdir.layout import Layout
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Model, RawCall, Reply, Request, ScriptedModel, Usage, calls, says
from memdir.model.raw import messages_of
from memdir.prompts.compose import load_prompt
from memdir.remember.session_memory import SECTION_TOKENS, Notes, SessionMemory, titles_of
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn, Skipped
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolUse, user
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock, Events
from tests.remember.working import Work, fix_rounding

TEMPLATE = load_prompt("session_memory/template.md").text
FILLED = TEMPLATE.replace("\n\n# Current State", "\nRounding of invoices\n\n# Current State")


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
def keep(session: SessionState, events: Events, project: Path) -> Callable[..., SessionMemory]:
    def make(model: Model, **more: bool) -> SessionMemory:
        return SessionMemory(session, model, events, str(project), **more)

    return make


def usage(tokens: int) -> Usage:
    return Usage(input=tokens - 10, output=10)


def writes(text: str, path: str) -> list[Reply]:
    return [calls(("Read", {"file_path": path})), calls(("Write", {"file_path": path, "content": text})), says("Done.")]


def turn(number: int, *, calling: int = 0) -> FinishedTurn:
    """A reply with so many tool calls; ids by number."""
    request = Request("scripted", messages=(user("Go on.", message_id=f"u{number}"),))
    blocks = tuple(ToolUse(f"c{number}-{at}", "Read", {}) for at in range(calling)) or (Text("Done."),)
    return FinishedTurn(request, Message("assistant", blocks, f"a{number}"))


def test_the_template_has_the_ten_sections_in_order() -> None:
    """N2."""
    assert titles_of(TEMPLATE) == [
        "Session Title",
        "Current State",
        "Task specification",
        "Files and Functions",
        "Workflow",
        "Errors & Corrections",
        "Codebase and System Documentation",
        "Learnings",
        "Key results",
        "Worklog",
    ]


async def test_thresholds(keep: Callable[..., SessionMemory], session: SessionState) -> None:
    """N3: first at 10,000; then 5,000 more, and three calls or a reply without any."""
    memory = keep(ScriptedModel([]))
    assert memory._why_not(turn(1), 9_999) == "short_session"
    assert memory._why_not(turn(1, calling=1), 10_000) == ""
    session.mark_summarized("a1", 10_000)
    assert memory._why_not(turn(2), 14_999) == "little_new"
    assert memory._why_not(turn(2), 15_000) == ""
    assert memory._why_not(turn(2, calling=2), 15_000) == "in_the_middle"
    assert memory._why_not(turn(2, calling=3), 15_000) == ""


async def test_calls_are_counted_since_the_last_update(
    keep: Callable[..., SessionMemory], session: SessionState
) -> None:
    memory = keep(ScriptedModel([]))
    session.mark_summarized("a2", 10_000)
    told = [turn(number, calling=1).reply for number in (1, 2, 3, 4)]
    request = Request("scripted", messages=tuple(told))
    assert memory._why_not(FinishedTurn(request, turn(5, calling=0).reply), 20_000) == ""
    assert memory._why_not(FinishedTurn(request, turn(5, calling=1).reply), 20_000) == ""
    assert memory._why_not(FinishedTurn(request, told[0]), 20_000) == ""
    two = Request("scripted", messages=tuple(told[:3]))
    assert memory._why_not(FinishedTurn(two, turn(5, calling=1).reply), 20_000) == "in_the_middle"


async def test_after_a_compaction_what_is_new_counts_from_there(
    keep: Callable[..., SessionMemory], session: SessionState
) -> None:
    memory = keep(ScriptedModel([]))
    session.mark_summarized("a1", 150_000)
    assert memory._why_not(turn(2), 20_000) == "little_new"
    assert memory._why_not(turn(3), 24_999) == "little_new"
    assert memory._why_not(turn(4), 25_000) == ""


@pytest.mark.parametrize("case", ["subagent", "auto_compact_off", "memory_off"])
async def test_what_never_starts_an_update(
    keep: Callable[..., SessionMemory], session: SessionState, case: str
) -> None:
    """N3: main agent only, only when auto-compaction is on."""
    memory = keep(ScriptedModel([]), auto_compact=case != "auto_compact_off")
    session.memory_is_on = case != "memory_off"
    asked = turn(1)
    if case == "subagent":
        asked = FinishedTurn(asked.request, asked.reply, is_subagent=True)
    assert memory.after_sampling(asked, usage(50_000)) == Skipped(case)


async def test_without_a_provider_s_figure_the_tokens_are_estimated(keep: Callable[..., SessionMemory]) -> None:
    memory = keep(ScriptedModel([says("-")]))
    small = FinishedTurn(Request("x", messages=(user("word " * 1_000),)), turn(1).reply)
    large = FinishedTurn(Request("x", messages=(user("word " * 12_000),)), turn(1).reply)
    assert memory.after_sampling(small) == Skipped("short_session")
    assert memory.after_sampling(large) is None
    await memory.settle()


async def test_an_update_writes_the_file_and_remembers_what_it_covers(
    keep: Callable[..., SessionMemory], session: SessionState, layout: Layout, events: Events
) -> None:
    """N1."""
    path = layout.session_memory("one")
    model = ScriptedModel(writes(FILLED, path))
    memory = keep(model)
    asked = turn(1)
    assert memory.after_sampling(asked, usage(12_000)) is None
    assert memory.after_sampling(asked, usage(12_000)) == Skipped("running")
    await memory.settle()
    assert path == os.path.join(layout.project_home, "one", "session-memory", "summary.md")
    assert (memory.progress.turns, memory.progress.files) == (3, [path]), "as a person who watches it is told (D5)"
    assert Path(path).read_text(encoding="utf-8") == FILLED
    assert Path(path).stat().st_mode & 0o77 == 0
    again = SessionState.load("one", layout)
    assert (again.summarized_up_to, again.tokens_at_summary) == ("a1", 12_000)
    [event] = events.events
    assert (event.name, event.fields["turns"], event.fields["skipped"]) == ("session_memory.update", 3, "")
    assert event.fields["prompt_hash"] == load_prompt("session_memory/update.md").hash
    assert "Rounding" not in repr(event)
    assert model.requests[0].messages[:2] == asked.messages, "the whole conversation, then the job"


async def test_a_call_without_its_result_is_left_out(keep: Callable[..., SessionMemory], session: SessionState) -> None:
    """N3: never cut between a tool call and its result."""
    memory = keep(model := ScriptedModel(writes(FILLED, "x")))
    asked = turn(1, calling=3)
    memory.after_sampling(asked, usage(12_000))
    await memory.settle()
    assert model.requests[0].messages[:-1] == asked.request.messages


async def test_in_a_host_s_own_arguments_it_is_known_what_the_notes_cover(
    keep: Callable[..., SessionMemory], session: SessionState, layout: Layout
) -> None:
    """N3: with a reply that calls tools, up to the message before it."""
    memory = keep(ScriptedModel(writes(FILLED, layout.session_memory("one"))))
    raw = RawCall("anthropic", {"messages": [{"role": "user", "content": "Round the invoices."}]})
    memory.after_sampling(FinishedTurn(Request("m", raw=raw), turn(1, calling=3).reply), usage(12_000))
    await memory.settle()
    assert session.summarized_up_to == messages_of(raw)[-1].id


async def test_the_first_read_shows_the_template(keep: Callable[..., SessionMemory], layout: Layout) -> None:
    path = layout.session_memory("one")
    memory = keep(model := ScriptedModel(writes(FILLED, path)))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    assert "# Errors & Corrections" in model.requests[1].messages[-1].tool_results[0].content


async def test_the_fork_may_touch_that_one_file_only(
    keep: Callable[..., SessionMemory], layout: Layout, project: Path
) -> None:
    """N6."""
    path = layout.session_memory("one")
    other = str(project / "README.md")
    Path(other).write_text("secret plans", encoding="utf-8")
    attempts = calls(
        ("Read", {"file_path": other}),
        ("Write", {"file_path": other, "content": "x"}),
        ("Write", {"file_path": path + "/../../../../settings.json", "content": "x"}),
        ("Bash", {"command": "ls"}),
        ("Grep", {"pattern": "plans"}),
        ("Edit", {"file_path": path, "old_string": "", "new_string": "x"}),
    )
    memory = keep(model := ScriptedModel([attempts, *writes(FILLED, path)]))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    results = model.requests[1].messages[-1].tool_results
    assert all(result.is_error for result in results)
    assert all("plans" not in result.content for result in results)
    assert Path(other).read_text(encoding="utf-8") == "secret plans"
    assert Path(path).exists()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([ModelError("x", kind="overloaded")], "failed: ModelError"),
        ([says("I would rather not.")], "nothing_written"),
        (writes("only this", "PATH"), "form_lost"),
        (writes(TEMPLATE, "PATH"), "form_lost"),
        (
            writes("\n\n".join(f"# {title}\nTBD, to be filled in." for title in titles_of(TEMPLATE)), "PATH"),
            "form_lost",
        ),
        ([calls(("Read", {"file_path": "PATH"}))] * 9, "not_finished: max_turns"),
    ],
)
async def test_a_run_that_comes_to_nothing_leaves_the_notes_and_waits_for_more(
    keep: Callable[..., SessionMemory],
    session: SessionState,
    layout: Layout,
    events: Events,
    steps: list[Reply],
    reason: str,
) -> None:
    path = Path(layout.session_memory("one"))
    path.parent.mkdir(parents=True)
    path.write_text(FILLED, encoding="utf-8")
    memory = keep(ScriptedModel([_at(step, str(path)) for step in steps]))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    assert path.read_text(encoding="utf-8") == FILLED
    assert session.summarized_up_to == ""
    assert events.events[-1].fields["skipped"] == reason
    assert memory.after_sampling(turn(2), usage(16_000)) == Skipped("little_new"), "no storm of retries"


def _at(step: Reply | ModelError, path: str) -> Reply | ModelError:
    if isinstance(step, ModelError):
        return step
    blocks = tuple(
        ToolUse(block.id, block.name, {**block.input, "file_path": path}) if isinstance(block, ToolUse) else block
        for block in step.message.content
    )
    return Reply(Message("assistant", blocks), step.stop_reason)


async def test_oversized_sections_are_named_in_the_next_job(keep: Callable[..., SessionMemory], layout: Layout) -> None:
    """N4."""
    path = Path(layout.session_memory("one"))
    path.parent.mkdir(parents=True)
    path.write_text(FILLED.replace("# Worklog", "long line\n" * 2_000 + "\n# Worklog"), encoding="utf-8")
    memory = keep(model := ScriptedModel([says("-")]))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    job = model.requests[0].messages[-1].text
    assert '- "Key results": about' in job
    assert '"Worklog": about' not in job
    assert "2,000 are allowed" in job and "12,000" in job


def test_when_only_the_whole_is_too_long_the_longest_sections_are_named() -> None:
    text = TEMPLATE
    for title in titles_of(TEMPLATE):
        text = text.replace(f"# {title}\n", f"# {title}\n" + "ten words that are noted here for the whole test\n" * 130)
    notes = Notes.parse(text, TEMPLATE)
    assert all(section.tokens <= SECTION_TOKENS for section in notes.sections)
    assert "too long" in notes.reminders() and notes.reminders().count("tokens, 2,000 are allowed") == 3


def test_a_section_is_cut_at_the_end_of_a_line_for_the_context() -> None:
    long = TEMPLATE.replace("# Worklog", "noted line\n" * 2_000 + "\n# Worklog").replace(
        "line each._", "line each._\nlast"
    )
    notes = Notes.parse(long, TEMPLATE).shortened("/notes.md")
    assert notes.count("noted line\n") > 300
    assert "… (cut here: the rest is in /notes.md)" in notes
    assert "# Worklog\nlast" in notes
    one_line = TEMPLATE.replace("# Worklog", "x" * 50_000 + "\n# Worklog")
    assert len(Notes.parse(one_line, TEMPLATE).shortened("/n")) < 5_000


async def test_sections_that_are_left_out_stay_as_they_were(
    keep: Callable[..., SessionMemory], layout: Layout, events: Events
) -> None:
    path = Path(layout.session_memory("one"))
    path.parent.mkdir(parents=True)
    path.write_text(FILLED.replace("# Worklog", "# Worklog\n- read the parser", 1))
    given = "# Current State\nThe tests pass.\n\n## worklog\n- fixed the rounding\n"
    memory = keep(ScriptedModel(writes(given, str(path))))
    assert memory.after_sampling(turn(1), usage(12_000)) is None
    await memory.settle()
    notes = memory.notes()
    assert notes is not None and not any(event.fields.get("skipped") for event in events.events)
    assert notes.body("Session Title") == "Rounding of invoices"
    assert notes.body("Current State") == "The tests pass."
    assert notes.body("Worklog") == "- fixed the rounding"


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "length"])
async def test_notes_of_a_reply_that_broke_off_are_not_taken(
    keep: Callable[..., SessionMemory], layout: Layout, events: Events, stop: str
) -> None:
    path = layout.session_memory("one")
    read, write, done = writes(FILLED, path)
    memory = keep(ScriptedModel([read, replace(write, stop_reason=stop), done]))  # type: ignore[arg-type]
    assert memory.after_sampling(turn(1), usage(12_000)) is None
    await memory.settle()
    assert memory.notes() is None
    assert [str(event.fields.get("skipped"))[:12] for event in events.events] == ["not_finished"]


def test_headings_in_the_noted_text_are_text() -> None:
    text = TEMPLATE.replace("# Worklog", "```sh\n# Workflow of mine\n# a comment\nls\n```\n\n# Worklog")
    notes = Notes.parse(text, TEMPLATE)
    assert [section.title for section in notes.sections] == titles_of(TEMPLATE)
    assert "# a comment" in notes.body("Key results")


def test_a_line_that_a_model_emphasised_is_no_hint() -> None:
    """Only the template's own is, and it comes back in its own form."""
    text = "# Current State\n_Blocked: the migration waits for Maria_\n\n- other line\n"
    told = Notes.parse(text, TEMPLATE).in_form(TEMPLATE)
    assert "very next step._\n_Blocked: the migration waits for Maria_\n\n- other line\n" in told
    again = Notes.parse(told.replace("_What is being worked on", "*What is being worked on"), TEMPLATE)
    assert again.in_form(TEMPLATE) == told


async def test_template_and_prompt_can_be_replaced(keep: Callable[..., SessionMemory], layout: Layout) -> None:
    """N5."""
    config = Path(layout.session_memory_config)
    config.mkdir(parents=True)
    (config / "template.md").write_text("# Plot\n_What happens_\n\n# People\n_Who is who_\n", encoding="utf-8")
    (config / "prompt.md").write_text("Note the story in {{path}}.\n", encoding="utf-8")
    path = layout.session_memory("one")
    mine = "# Plot\n_What happens_\nA duel.\n\n# People\n_Who is who_\n"
    memory = keep(model := ScriptedModel(writes(mine, path)))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    assert f"Note the story in {path}." in model.requests[0].messages[-1].text
    assert Path(path).read_text(encoding="utf-8") == mine


async def test_a_broken_prompt_of_the_user_s_does_not_break_the_conversation(
    keep: Callable[..., SessionMemory], layout: Layout, events: Events
) -> None:
    config = Path(layout.session_memory_config)
    config.mkdir(parents=True)
    (config / "prompt.md").write_text("{{no_such_variable}}", encoding="utf-8")
    memory = keep(ScriptedModel([]))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    assert events.events[-1].fields["skipped"] == "failed: PromptError"


async def test_a_secret_is_not_written_into_the_notes(keep: Callable[..., SessionMemory], layout: Layout) -> None:
    path = layout.session_memory("one")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    memory = keep(ScriptedModel(writes(FILLED.replace("Rounding", f"Token {secret} for rounding"), path)))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    text = Path(path).read_text(encoding="utf-8")
    assert secret not in text
    assert "for rounding" in text


async def test_closing_stops_the_update_under_way(keep: Callable[..., SessionMemory], layout: Layout) -> None:
    waiting = asyncio.Event()

    class Slow:
        async def complete(self, request: Request, **more: object) -> Reply:
            waiting.set()
            await asyncio.Event().wait()
            raise AssertionError

        async def close(self) -> None: ...

    memory = keep(Slow())
    memory.after_sampling(turn(1), usage(12_000))
    await waiting.wait()
    await memory.settle(0.01)
    await memory.close()
    assert not Path(layout.session_memory("one")).exists()
    assert memory.after_sampling(turn(2, calling=1), usage(12_500)) == Skipped("little_new")


async def test_the_built_in_model_fills_the_sections(
    keep: Callable[..., SessionMemory], layout: Layout, work: Work, events: Events
) -> None:
    """No key, no network: titles, files, commands, errors and what fixed them, results, worklog."""
    memory = keep(BuiltinModel())
    last = fix_rounding(work)
    assert memory.after_sampling(last, usage(12_000)) is None
    await memory.settle()
    notes = memory.notes()
    assert notes is not None, events.events
    assert [section.title for section in notes.sections] == titles_of(TEMPLATE)
    assert notes.body("Session Title") == "Please fix the rounding in src/invoice.py"
    assert "Which tests cover this?" in notes.body("Current State")
    assert "Totals must never lose a cent." in notes.body("Task specification")
    assert notes.body("Files and Functions") == "- `src/invoice.py`: read, edited (`total`)"
    assert notes.body("Workflow") == "- `pytest tests/test_invoice.py`"
    errors = notes.body("Errors & Corrections")
    assert "AssertionError: assert Decimal('0.00') == Decimal('0.01') → fixed: Edit src/invoice.py" in errors
    assert "The user: \"No, don't use float anywhere." in errors
    assert "`src/invoice.py` holds the rule now." in notes.body("Codebase and System Documentation")
    assert "The root cause was that each line was rounded on its own." in notes.body("Learnings")
    assert "- tests/test_invoice.py\n- tests/test_tax.py" in notes.body("Key results")
    assert "144 passed in 11.80s" in notes.body("Key results")
    assert len(notes.body("Worklog").splitlines()) == 2


async def test_the_built_in_model_adds_to_its_notes_and_keeps_what_the_context_has_lost(
    keep: Callable[..., SessionMemory], layout: Layout, work: Work
) -> None:
    memory = keep(BuiltinModel())
    fix_rounding(work)
    work.ask("Is there more?")
    memory.after_sampling(work.reply("One thing.\n\nThe tax."), usage(12_000))
    await memory.settle()
    work.ask("Go on.")
    work.call("Write", {"file_path": "src/invoice.py", "content": "TOTAL = 1"}, "Replaced.")
    memory.after_sampling(work.reply("Done."), usage(18_000))
    await memory.settle()
    work.talk.compact(user("summary", is_meta=True), [], {})
    work.ask("Now add a test for tax. It should be fast.")
    work.call("Write", {"file_path": "tests/test_tax2.py", "content": "def test_tax(): ..."}, "Created.")
    memory.after_sampling(work.reply("Added."), usage(30_000))
    await memory.settle()
    notes = memory.notes()
    assert notes is not None
    assert notes.body("Session Title") == "Please fix the rounding in src/invoice.py"
    assert "Now add a test for tax." in notes.body("Current State")
    assert "rounding" not in notes.body("Current State")
    files = notes.body("Files and Functions").splitlines()
    assert files == [
        "- `src/invoice.py`: read, edited, written (`total`)",
        "- `tests/test_tax2.py`: written (`test_tax`)",
    ]
    assert len(notes.body("Errors & Corrections").splitlines()) == 2
    assert len(notes.body("Worklog").splitlines()) == 5
    results = notes.body("Key results")
    assert (results.count("test_tax.py"), results.count("The tax.")) == (1, 1)


SLOPPY = {
    "levels": lambda text: text.replace("\n# ", "\n### "),
    "case": lambda text: "\n".join(line.upper() if line.startswith("# ") else line for line in text.split("\n")),
    "order": lambda text: "\n\n".join(["# " + part.strip() for part in text.split("# ")[1:]][::-1]),
    "bold, colons, numbers": lambda text: re.sub(r"(?m)^# (.+)$", r"## 3. **\1:**", text),
    "no sign": lambda text: re.sub(r"(?m)^# (.+)$", r"**\1**", text),
    "words for signs": lambda text: text.replace("Errors & Corrections", "Errors and corrections"),
    "a fence": lambda text: f"```markdown\n{text}\n```",
    "words before it": lambda text: f"Here are the notes:\n\n{text}",
    "no hints": lambda text: re.sub(r"(?m)^_.*_\n", "", text),
    "other hints": lambda text: re.sub(r"(?m)^_(.*)_$", r"*\1*", text),
}


@pytest.mark.parametrize("kind", SLOPPY)
async def test_headings_may_be_written_in_any_way_and_the_file_keeps_its_form(
    keep: Callable[..., SessionMemory], layout: Layout, kind: str
) -> None:
    path = layout.session_memory("one")
    memory = keep(ScriptedModel(writes(SLOPPY[kind](FILLED), path)))
    memory.after_sampling(turn(1), usage(12_000))
    await memory.settle()
    assert Path(path).read_text(encoding="utf-8") == FILLED
