"""The mistakes of a model in the other jobs: what the selector answers, what is written into notes, a daily log or a
magic doc, what a summary looks like. What is true of a file is in `evals.clumsy`.

Each is a text that a model gives instead of a good one. `repaired`: what was meant is there. `answered`: the model was
told, and did it well. `kept`: nothing came of it, and nothing was harmed: the local choice serves, or the conversation
stays. `lost` is all else.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evals.clumsy import BODY, GOOD, NAME, NOW, SAID
from memdir import open_memory
from memdir.events import NullSink
from memdir.layout import Layout, Place
from memdir.model.model import Reply, Request, ScriptedModel, calls, says
from memdir.prompts.compose import load_prompt
from memdir.remember.compaction import Compacted, Compaction, CompactionPlan
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_memory import SessionMemory
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.settings import Environment
from memdir.store.log_lines import PATTERN
from memdir.store.store import MemoryStore
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, ToolResult, ToolUse, assistant, user
from memdir.transcript.transcript import Transcript

FACT = "real database"  # what is meant, wherever it is written
STEM = NAME.removesuffix(".md")
LINE = "[feedback] Tests use a real database, never mocks. Why: mocks hid a broken migration."
TEMPLATE = load_prompt("session_memory/template.md").text
NOTED = TEMPLATE.replace("\n\n# Task spec", f"\n{BODY.splitlines()[0]}\n\n# Task spec")
DOC, HEAD = "docs/testing.md", "# MAGIC DOC: How we test\n"
WRITTEN = f"{HEAD}\n## Rules\n\nTests use a real database, never mocks.\n"
HEADINGS = [line for line in load_prompt("compact/summary.md").text.splitlines() if line.startswith("#")]
SUMMED = "\n\n".join(
    f"{line}\nTests use a real database, never mocks, as was decided ({number} of the answers). " + "More of it. " * 20
    for number, line in enumerate(HEADINGS)
)


@dataclass(frozen=True)
class Slip:
    """A text that a model gives in a job instead of a good one."""

    job: str
    name: str
    text: str


def _numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def _spoilt(job: str, good: str) -> list[Slip]:
    """What may stand around or in any text."""
    texts = {
        "fence around it": f"```markdown\n{good}\n```\n",
        "fence that is never closed": f"```\n{good}",
        "prose before it": f"Here it is:\n\n{good}",
        "prose behind it": f"{good}\n\nI hope that helps!",
        "blank lines before it": f"\n\n{good}",
        "line numbers": _numbered(good),
        "literal \\n": good.replace("\n", "\\n"),
        "CRLF": good.replace("\n", "\r\n"),
        "byte order mark": f"\ufeff{good}",
        "nothing at all": "",
        "an apology": "I'm sorry, but I can't help with that.",
        "Done.": "Done.",
    }
    return [Slip(job, name, text) for name, text in texts.items()]


SELECT = [
    Slip("select", name, text)
    for name, text in {
        "without .md": f'{{"selected_memories": ["{STEM}"]}}',
        "./ before the name": f'["./{NAME}"]',
        "an absolute path": f'["/home/x/.memdir/projects/-p/memory/{NAME}"]',
        "the type before the name": f'["[feedback] {NAME}"]',
        "another case": f'["{NAME.upper()}"]',
        "objects": f'[{{"file": "{NAME}", "reason": "tests"}}]',
        "a bare list": f'["{NAME}"]',
        "in a fence": f'```json\n["{NAME}"]\n```',
        "after some thought": f'The tests matter here.\n\n{{"selected_memories": ["{NAME}"]}}',
        "in backticks": f'["`{NAME}`"]',
        "one name, no list": f'{{"selected_memories": "{NAME}"}}',
        "twice": f'["{NAME}", "{NAME}"]',
        "beside one that is not there": f'["nothing.md", "{NAME}"]',
        "none that is there": '["nothing.md"]',
        "the key in capitals": f'{{"SELECTED_MEMORIES": ["{NAME}"]}}',
        "cut off": '{"selected_memories": ["feedb',
        "prose": f"I would take {NAME}.",
        "an apology": "I'm sorry, but I can't help with that.",
        "nothing at all": "",
    }.items()
]
NOTES = [
    *_spoilt("notes", NOTED),
    Slip("notes", "headings in lower case", "\n".join(x.lower() if x[:1] == "#" else x for x in NOTED.split("\n"))),
    Slip("notes", "headings of another level", NOTED.replace("# ", "### ")),
    Slip("notes", "headings in bold", "\n".join(f"**{x[2:]}**" if x[:2] == "# " else x for x in NOTED.split("\n"))),
    Slip("notes", "sections in another order", "\n\n".join(f"# {x}" for x in NOTED.split("# ")[:0:-1])),
    Slip("notes", "one section alone", f"# Current State\n{BODY}"),
]
LOG = [
    *_spoilt("log", f"- {LINE}"),
    Slip("log", "a time of its own", f"- 03:33 {LINE}"),
    Slip("log", "stars for dashes", f"* {LINE}"),
    Slip("log", "no dash", LINE),
    Slip("log", "a heading of the day", f"# 2020-01-01\n\n- {LINE}"),
    Slip("log", "a memory's frontmatter", GOOD),
]
DOCS = [
    *_spoilt("doc", WRITTEN),
    Slip("doc", "without its header", WRITTEN.removeprefix(HEAD)),
    Slip("doc", "a header of another title", WRITTEN.replace("How we test", "Testing")),
]
COMPACT = [
    *_spoilt("compact", SUMMED),
    Slip(
        "compact",
        "headings in bold",
        "\n".join(f"**{x.lstrip('# ')}**" if x[:1] == "#" else x for x in SUMMED.split("\n")),
    ),
    Slip("compact", "headings of another level", SUMMED.replace("#", "###")),
    Slip("compact", "no heading", SUMMED.replace("#", "")),
    Slip("compact", "a plan to write one", "I will now summarise the conversation in detail."),
    Slip("compact", "one short line", "We talked about tests with a real database."),
]
SLIPS = (*SELECT, *NOTES, *LOG, *DOCS, *COMPACT)


@dataclass
class Writing:
    """Reads a file, writes its mistake into it, and does it well once it is told."""

    path: str
    bad: str
    good: str
    turn: int = 0
    answers: list[str] = field(default_factory=list)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        del on_text
        self.turn += 1
        if self.turn == 1:
            return calls(("Read", {"file_path": self.path}))
        if self.turn == 2:
            return calls(("Write", {"file_path": self.path, "content": self.bad}))
        wrong = [result.content for result in request.messages[-1].tool_results if result.is_error]
        self.answers += wrong
        return (
            calls(("Write", {"file_path": self.path, "content": self.good}))
            if wrong and self.turn < 5
            else says("Done.")
        )

    async def close(self) -> None: ...


def run_slip(slip: Slip) -> str:
    """What becomes of it."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "project").mkdir()
        return asyncio.run(_JOBS[slip.job](slip, Path(place)))


def _ended(model: Writing, is_there: bool, *, is_harmed: bool = False) -> str:
    """A text that says nothing may come to nothing; one that says it may not."""
    if is_harmed or (not is_there and FACT in model.bad):
        return "lost: what was meant is not there" if not is_harmed else "lost: something was harmed"
    return "kept" if not is_there else "answered" if model.answers else "repaired"


async def _select(slip: Slip, place: Path) -> str:
    flags = {"recall.selector": "model", "model.provider": "anthropic"}
    home = Environment.read(home=str(place / "home"))
    model = ScriptedModel([says(slip.text)] * 3)
    memory = open_memory(place / "project", environment=home, flags=flags, model=model)
    memory.start()
    memory.add(BODY, "feedback", name="No mocks")
    memory.add("We deploy on Tuesdays only.", "project", name="Deploys")
    async with memory.session("eval", is_learning=False) as session:
        found = await session.recall("Write tests for the database: may I use mocks?", wait=10)
    await memory.close()
    told = "".join(str(one) for one in found)
    if FACT not in told or "Tuesdays" in told:
        return "lost: another choice"
    return "repaired" if STEM in slip.text.lower() and slip.name != "prose" else "kept"


async def _notes(slip: Slip, place: Path) -> str:
    session = SessionState("eval", Layout(str(place / "home"), str(place / "project")))
    path = session.layout.session_memory("eval")
    model = Writing(path, slip.text, NOTED)
    memory = SessionMemory(session, model, NullSink(), str(place / "project"))
    request = Request("clumsy", messages=(user(SAID, message_id="m1"),))
    await memory.update(FinishedTurn(request, assistant("Understood.", message_id="m2")), 20_000)
    notes = memory.notes()
    body = notes.body("Current State") if notes else ""
    return _ended(model, FACT in body, is_harmed="```" in body or "\\n" in body)


async def _log(slip: Slip, place: Path) -> str:
    store = MemoryStore(Place(str(place / "memory")), clock=lambda: NOW)
    store.ensure()
    cwd = str(place / "project")
    session = SessionState("eval", Layout(str(place / "home"), cwd))
    model = Writing(os.path.join(store.root, PATTERN), slip.text, f"- {LINE}")
    plan = ExtractionPlan([store], cwd, is_log=True)
    request = Request("clumsy", messages=(user(SAID, message_id="m1"),))
    await Extraction(session, plan, model, NullSink(), lambda: NOW).extract(
        FinishedTurn(request, assistant("Understood.", message_id="m2"))
    )
    lines = [line for path in Path(store.root).rglob("2026-*.md") for line in path.read_text("utf-8").splitlines()]
    told = [line for line in lines if FACT in line]
    others = [line for line in lines if line.strip() and line not in told and not line.startswith(("#", "- "))]
    stray = any(
        word in line for line in lines for word in ("```", "Here it is", "hope that helps", "I'm sorry", "Done.")
    )
    return _ended(model, bool(told), is_harmed=bool(others) or stray or len(told) > 1 or "\\n" in "".join(told))


async def _doc(slip: Slip, place: Path) -> str:
    path = place / "project" / DOC
    path.parent.mkdir()
    path.write_text(HEAD, encoding="utf-8")
    model = Writing(DOC, slip.text, WRITTEN)
    home = Environment.read(home=str(place / "home"))
    memory = open_memory(place / "project", environment=home, flags={"magicDocs": "true"}, model=model)
    memory.start()
    use = ToolUse("t1", "Read", {"file_path": DOC})
    said = [
        user("Look at the doc.", message_id="m1"),
        Message("assistant", (use,), "m2"),
        Message("user", (ToolResult("t1", HEAD),), "m3"),
        user(SAID, message_id="m4"),
        assistant("Understood.", message_id="m5"),
    ]
    await memory.session("eval").update_docs(said)
    await memory.close()
    text = path.read_text(encoding="utf-8")
    return _ended(model, FACT in text, is_harmed=not text.startswith("# MAGIC DOC:") or "```" in text or "\\n" in text)


async def _compact(slip: Slip, place: Path) -> str:
    cwd = str(place / "project")
    layout = Layout(str(place / "home"), cwd)
    talk = Conversation(Transcript(layout.session("eval"), session_id="eval", cwd=cwd, clock=lambda: NOW))
    for number in range(12):
        talk.add(user(f"Question {number}: " + "some words about it " * 60))
        talk.add(assistant(f"Answer {number}: " + "some words in answer " * 60))
    before, model = talk.messages, ScriptedModel([says(slip.text)] * 4)
    notes = SessionMemory(SessionState("eval", layout), model, NullSink(), cwd)
    work = Compaction(notes, CompactionPlan(window_tokens=20_000, percent=80), model, NullSink())
    outcome = await work.compact(talk, Request("clumsy", messages=before))
    talk.transcript.close()
    if not isinstance(outcome, Compacted):
        return "kept" if talk.messages == before else "lost: the conversation was harmed"
    return "repaired" if slip.text.count(FACT) > 2 and FACT in talk.messages[0].text else "lost: a summary of nothing"


_JOBS = {"select": _select, "notes": _notes, "log": _log, "doc": _doc, "compact": _compact}
