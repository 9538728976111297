"""Clumsy models: what becomes of a memory when the model that writes it makes a mistake?

    python -m evals.clumsy [--short]

Each mistake goes through the real loop, gate, form, rules and store, in every job it can occur in: extraction, the
dream, what a sub-agent writes, Anthropic's memory tool (which takes any text); and those of `evals.clumsy_jobs` in
the selector, session notes, daily log, magic docs and compaction. Beside each stands a second, well written memory.
`repaired`: the memory is there as it was meant. `answered`: the model was told, wrote again, and it is there. `lost`:
it is not, or the other memory is not, or something stands in the store that nobody meant. `-`: it cannot occur there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memdir import open_memory
from memdir.agent.gate import memory_gate
from memdir.agent.loop import run_agent
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools
from memdir.agent.workspace import HostFiles
from memdir.dream.dream import Dreamer, DreamPlan, DreamTask
from memdir.events import NullSink
from memdir.layout import Layout, Place
from memdir.model.model import Reply, Request, calls, says
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.subagents.agent_memory import NobodysWords
from memdir.transcript.message import Json, assistant, user

NOW = 1_790_000_000.0
SAID_AT = datetime.fromtimestamp(NOW + 60, UTC).isoformat()  # later than the old memory
JOBS = ("extract", "dream", "agent", "tool")
NAME = "feedback_no_mocks.md"
OTHER = "project_deploys.md"
OLD = "project_freeze.md"
HEAD = "name: No mocks\ndescription: tests use a real database\ntype: feedback\n"
BODY = "Tests use a real database, never mocks.\n\n**Why:** mocks hid a broken migration.\n"
GOOD = f"---\n{HEAD}---\n\n{BODY}"
DEPLOYS = "---\nname: Deploys\ndescription: when we deploy\ntype: project\n---\n\nWe deploy on Tuesdays only.\n"
FREEZE = "---\nname: Freeze\ndescription: the merge freeze\ntype: project\n---\n\nNo merges before the release.\n"
SAID = (
    "Don't mock the database: tests use a real database, never mocks. Mocks hid a broken migration. "
    "We deploy on Tuesdays only. And the merge freeze is over: no merges before the release no longer holds."
)
Call = tuple[str, dict[str, Json]]
Spoil = Callable[[str], Sequence[Call]]


@dataclass(frozen=True)
class Mistake:
    """What a model does instead of writing a memory well, or instead of deleting one in the one form."""

    name: str
    spoil: Spoil
    deletes: bool = False
    aside: tuple[Reply, ...] = ()  # what it says before it works


@dataclass
class Clumsy:
    """Reads the old memory, makes its mistake beside a good write, and does it well once it is told."""

    mistake: Mistake
    root: str
    turn: int = 0
    answers: list[str] = field(default_factory=list)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        del on_text
        aside = self.mistake.aside
        self.turn += 1
        at = self.turn - 1 - len(aside)
        if at < 0:
            return aside[self.turn - 1]
        if at == 0:
            return calls(*(("Read", {"file_path": os.path.join(self.root, name)}) for name in (OLD, "MEMORY.md")))
        if at == 1:
            other = ("Write", {"file_path": os.path.join(self.root, OTHER), "content": DEPLOYS})
            return calls(*self.mistake.spoil(self.root), other)
        wrong = [result.content for result in request.messages[-1].tool_results if result.is_error]
        self.answers += wrong
        if wrong and at < 4:
            return calls(_deletion(self.root) if self.mistake.deletes else _write(self.root, GOOD))
        return says("Done.")

    async def close(self) -> None: ...


def _write(root: str, text: str, name: str = NAME) -> Call:
    return ("Write", {"file_path": os.path.join(root, name), "content": text})


def _deletion(root: str, text: str = "<!-- delete: the freeze is over -->") -> Call:
    return _write(root, text, OLD)


def _text(name: str, text: str) -> Mistake:
    return Mistake(name, lambda root: [_write(root, text)])


def _call(name: str, make: Callable[[str], Call]) -> Mistake:
    return Mistake(name, lambda root: [make(root)])


def _delete(name: str, text: str) -> Mistake:
    return Mistake(name, lambda root: [_deletion(root, text)], deletes=True)


def _numbered(sign: str) -> str:
    return "\n".join(f"{number:6}{sign}{line}" for number, line in enumerate(GOOD.splitlines(), 1))


def _path(root: str, path: str, key: str = "file_path", **more: Json) -> Call:
    return ("Write", {key: path.replace("ROOT", root), "content": GOOD, **more})


FORM = (
    _text("fence around the file", f"```markdown\n{GOOD}```\n"),
    _text("fence without a language", f"```\n{GOOD}```"),
    _text("fence that is never closed", f"```markdown\n{GOOD}"),
    _text("tildes around the file", f"~~~\n{GOOD}~~~\n"),
    _text("prose and a fence", f"Here is the memory:\n\n```md\n{GOOD}```\n\nI hope that helps!"),
    _text("words behind the last fence", f"```markdown\n{GOOD}``` That is the memory.\n"),
    _text("the last fence at the end of a line", f"```markdown\n{GOOD.rstrip()}```"),
    _text("a last fence alone", f"{GOOD}```\n"),
    _text("a fence around the fields alone", f"```yaml\n---\n{HEAD}---\n```\n\n{BODY}"),
    _text("prose before ---", f"Here is the memory file:\n\n{GOOD}"),
    _text("four lines of prose before ---", f"I save it now.\nIt is new.\nThe user said so.\nI am done.\n\n{GOOD}"),
    _text("thoughts before ---", f"<think>\nIt is new.\nThe user said so.\nI save it.\n</think>\n{GOOD}"),
    _text("tags around the file", f"<file>\n{GOOD}</file>\n"),
    _text("heading before ---", f"# Memory\n\n{GOOD}"),
    _text("blank line before ---", f"\n{GOOD}"),
    _text("spaces before ---", f"  {GOOD}"),
    _text("byte order mark", f"\ufeff{GOOD}"),
    _text("no line of dashes", f"{HEAD}\n{BODY}"),
    _text("no first line of dashes", f"{HEAD}---\n\n{BODY}"),
    _text("no last line of dashes", f"---\n{HEAD}\n{BODY}"),
    _text("no last line of dashes, no blank line", f"---\n{HEAD}{BODY}"),
    _text("blank lines between fields", GOOD.replace("\ndesc", "\n\ndesc").replace("\ntype", "\n\ntype")),
    _text("capitalised fields", GOOD.replace("name:", "Name:").replace("desc", "Desc").replace("type:", "Type:")),
    _text("fields in capitals", GOOD.replace("name:", "NAME:").replace("description:", "DESCRIPTION:")),
    _text("fields in bold", f"**Name:** No mocks\n**Description:** real database\n**Type:** feedback\n\n{BODY}"),
    _text("+++", f'+++\nname = "No mocks"\ndescription = "real database"\ntype = "feedback"\n+++\n\n{BODY}'),
    _text("four dashes", GOOD.replace("---", "----")),
    _text("stars for dashes", GOOD.replace("---", "***")),
    _text("no frontmatter at all", BODY),
    _text("a heading alone", f"# No mocks\n\n{BODY}"),
    _text("JSON", '{"name": "No mocks", "description": "real database", "type": "feedback"}'),
    _text("unknown type", GOOD.replace("type: feedback", "type: banana")),
    _text("a type in other words", GOOD.replace("type: feedback", "type: preference")),
    _text("the types as the form shows them", GOOD.replace("type: feedback", "type: user | feedback | project")),
    _text("no type", GOOD.replace("type: feedback\n", "")),
    _text("no description", GOOD.replace("description: tests use a real database\n", "")),
    _text("an empty description", GOOD.replace("tests use a real database", "", 1)),
    _text("no name", GOOD.replace("name: No mocks\n", "")),
    _text("title for name", GOOD.replace("name:", "title:")),
    _text("two memories in one file", f"{GOOD}\n{DEPLOYS}"),
    _text("two memories in two fences", f"```\n{GOOD}```\n\n```\n{DEPLOYS}```"),
    _text("two memories, the second without ---", f"{GOOD}\n{DEPLOYS.replace('---', '')}"),
    _text("line numbers with tabs", _numbered("\t")),
    _text("line numbers with colons", _numbered(": ")),
    _text("line numbers with arrows", _numbered("→")),
    _text("literal \\n", GOOD.replace("\n", "\\n")),
    _text("literal \\n in quotes", '"' + GOOD.replace("\n", "\\n") + '"'),
    _text("literal \\n in the body", f"---\n{HEAD}---\n\n" + BODY.strip().replace("\n", "\\n")),
    _text("CRLF", GOOD.replace("\n", "\r\n")),
)
CALLS = (
    _call("bare name", lambda root: _path(root, NAME)),
    _call("./name", lambda root: _path(root, f"./{NAME}")),
    _call("path from the memory directory's parent", lambda root: _path(root, f"memory/{NAME}")),
    _call("no .md", lambda root: _path(root, f"ROOT/{NAME[:-3]}")),
    _call("bare name, no .md", lambda root: _path(root, NAME[:-3])),
    _call(".markdown", lambda root: _path(root, f"ROOT/{NAME[:-3]}.markdown")),
    _call(".txt", lambda root: _path(root, f"ROOT/{NAME[:-3]}.txt")),
    _call("path in backticks", lambda root: _path(root, f"`ROOT/{NAME}`")),
    _call("a place elsewhere", lambda root: _path(root, f"/memories/{NAME}")),
    _call("path for file_path", lambda root: _path(root, f"ROOT/{NAME}", key="path")),
    _call("filePath for file_path", lambda root: _path(root, f"ROOT/{NAME}", key="filePath")),
    _call("extra arguments", lambda root: _path(root, f"ROOT/{NAME}", reason="it matters", overwrite=True)),
    _call("text for content", lambda root: ("Write", {"file_path": os.path.join(root, NAME), "text": GOOD})),
    _call("write for Write", lambda root: ("write", {"file_path": os.path.join(root, NAME), "content": GOOD})),
    _call("write_file for Write", lambda root: ("write_file", {"path": os.path.join(root, NAME), "content": GOOD})),
    _call("no content", lambda root: ("Write", {"file_path": os.path.join(root, NAME)})),
    _call("a tool that is not there", lambda _: ("SaveMemory", {"text": GOOD})),
    _call("Edit of a file that is not there", lambda root: (
        "Edit", {"file_path": os.path.join(root, NAME), "old_string": "", "new_string": GOOD}
    )),
)  # fmt: skip
DELETIONS = (
    _delete("an empty file", ""),
    _delete("a blank file", " \n\n"),
    _delete("<!-- delete -->", "<!-- delete -->"),
    _delete("<!-- Deleted: x -->", "<!-- Deleted: the freeze is over -->"),
    _delete("<!--delete:x-->", "<!--delete:the freeze is over-->"),
    _delete("deletion in backticks", "`<!-- delete: the freeze is over -->`"),
    _delete("deletion in a fence", "```html\n<!-- delete: the freeze is over -->\n```"),
    _delete("deletion below the fields", f"{FREEZE.partition('No merges')[0]}<!-- delete: the freeze is over -->\n"),
    _delete("deletion above the text", f"<!-- delete: the freeze is over -->\n{FREEZE}"),
    _delete("deletion in the midst of the text", f"{FREEZE}\n<!-- delete: the freeze is over -->\n"),
    _delete("DELETED in words", "DELETED: the freeze is over"),
    _delete("told as the user's wish", f"{FREEZE.partition('No merges')[0]}The user asked to forget this.\n"),
    Mistake("rm", lambda root: [("Bash", {"command": f"rm {os.path.join(root, OLD)}"})], deletes=True),
    Mistake("Delete", lambda root: [("Delete", {"file_path": os.path.join(root, OLD)})], deletes=True),
)
INDEX = (
    Mistake("the index as one new line", lambda root: [_write(root, GOOD), _index(root, f"- [No mocks]({NAME})\n")]),
    Mistake("the index in a fence", lambda root: [_write(root, GOOD), _index(root, "```\n- [X](x.md)\n```\n")]),
    Mistake("the index with prose", lambda root: [_write(root, GOOD), _index(root, "Here is the index:\n\n")]),
    Mistake("the index emptied", lambda root: [_write(root, GOOD), _index(root, "")]),
    Mistake("overlong and double lines", lambda root: [
        _write(root, GOOD), _index(root, f"- [No mocks]({NAME}) — {'long ' * 80}\n" * 2)
    ]),
)  # fmt: skip
TALK = (
    Mistake("prose where calls were due", lambda root: [_write(root, GOOD)], aside=(says(f"I'll save it:\n{GOOD}"),)),
    Mistake("a call in words", lambda root: [_write(root, GOOD)], aside=(says('<tool_call>{"name": "Write"}'),)),
    Mistake("a secret beside it", lambda root: [_write(root, GOOD + f"\nThe token is ghp_{os.urandom(18).hex()}\n")]),
)
MISTAKES = (*FORM, *CALLS, *DELETIONS, *INDEX, *TALK)


def _index(root: str, text: str) -> Call:
    """What a model makes of the index; the store keeps it anyway."""
    return _write(root, text, "MEMORY.md")


def run(mistake: Mistake, job: str) -> str:
    """What becomes of the memory: repaired, answered or lost, with what is wrong."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_run(mistake, job, Path(place)))


async def _run(mistake: Mistake, job: str, place: Path) -> str:
    store = MemoryStore(Place(str(place / "memory")), clock=lambda: NOW)
    store.ensure()
    (place / "memory" / OLD).write_text(FREEZE, encoding="utf-8")
    (place / "memory" / "MEMORY.md").write_text(f"- [Freeze]({OLD}) — the merge freeze\n", encoding="utf-8")
    (place / "project").mkdir()
    model = Clumsy(mistake, store.root)
    cwd = str(place / "project")
    if job == "agent":
        files = HostFiles((), lambda: [store], Origin("subagent", trust="tool"), lambda _: NobodysWords())
        tools = Toolbox(memory_tools(), ToolContext(cwd, files))
        request = Request("clumsy", tools=tools.specs, messages=(user(SAID),))
        await run_agent(request, model, tools, memory_gate([store.root], cwd=cwd), max_turns=9)
    elif job == "tool":
        model.answers = _by_tool(mistake, store, place)
    elif job == "extract":
        session = SessionState("eval", Layout(str(place / "home"), cwd))
        extraction = Extraction(session, ExtractionPlan([store], cwd), model, NullSink(), lambda: NOW)
        request = Request("clumsy", messages=(user(SAID, message_id="m1"),))
        await extraction.extract(FinishedTurn(request, assistant("Understood.", message_id="m2")))
    else:
        line = {"type": "user", "uuid": "m1", "timestamp": SAID_AT, "message": {"role": "user", "content": SAID}}
        (place / "project" / "eval.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        plan = DreamPlan([store], cwd, cwd, ("eval",))
        await Dreamer(plan, model, NullSink(), lambda: NOW).dream(Request("clumsy"), DreamTask(0))
    fault = _fault(mistake, store)
    return f"lost: {fault}" if fault else "answered" if model.answers else "repaired"


def occurs(mistake: Mistake, job: str) -> bool:
    """Whether a job is open to a mistake: nobody waits for an agent that only talks, nor does an SDK pass on a call
    that its tool does not have."""
    if job == "agent":
        return not mistake.aside
    return job != "tool" or (mistake in (*FORM, *DELETIONS[:-2]) and mistake.name != "JSON")


def _by_tool(mistake: Mistake, store: MemoryStore, place: Path) -> list[str]:
    """The same writes as commands of the memory tool; what it answered that was no success."""
    from anthropic.lib.tools import ToolError

    from memdir.adapters.anthropic_tool import MemoryTool

    home = Environment.read(home=str(place / "home"))
    memory = open_memory(place / "project", environment=home, flags={"memoryDirectory": store.root})
    tool, answers = MemoryTool(memory, session="eval"), list[str]()
    name, text = (OLD, "") if mistake.deletes else (NAME, GOOD)
    [(_, arguments)] = mistake.spoil(store.root)
    tool.call({"command": "create", "path": f"/memories/{OTHER}", "file_text": DEPLOYS})
    try:
        tool.call({"command": "create", "path": f"/memories/{name}", "file_text": str(arguments["content"])})
    except ToolError as error:
        answers.append(str(error))
        well = {"command": "create", "file_text": text} if text else {"command": "delete"}
        tool.call({**well, "path": f"/memories/{name}"})
    return answers


def _fault(mistake: Mistake, store: MemoryStore) -> str:
    """What is not as it was meant; empty when everything is."""
    files = {header.key: store.read(header.key).topic for header in store.scan(limit=None).headers}
    wanted = {OTHER, *(() if mistake.deletes else (NAME, OLD))}
    if files.keys() != wanted:
        return f"the files are {', '.join(sorted(files))}"
    odd = [key for key, topic in files.items() if topic.problems() or "delete:" in topic.body or "```" in topic.body]
    if odd:
        return f"{', '.join(odd)} is not clean"
    if not mistake.deletes and not all(word in files[NAME].body for word in ("real database", "broken migration")):
        return "its text is not what was meant"
    lines = (store.read_bytes("MEMORY.md") or b"").decode().splitlines()
    if len(lines) != len(wanted) or not all(any(f"({key})" in line for line in lines) for key in wanted):
        return "the index is out of step"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.clumsy", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--short", action="store_true", help="every fifth mistake only")
    options = parser.parse_args()
    chosen = MISTAKES[::5] if options.short else MISTAKES
    runs = lost = 0
    print(f"{'mistake':45} " + " ".join(f"{job:10}" for job in JOBS))
    for mistake in chosen:
        outcomes = [run(mistake, job) if occurs(mistake, job) else "-" for job in JOBS]
        runs += len(JOBS) - outcomes.count("-")
        lost += sum(outcome.startswith("lost") for outcome in outcomes)
        print(f"{mistake.name:45} " + " ".join(f"{outcome:10}" for outcome in outcomes))
    from evals.clumsy_jobs import SLIPS, run_slip

    slips = SLIPS[::5] if options.short else SLIPS
    print(f"\n{'mistake':45} job")
    for slip in slips:
        outcome = run_slip(slip)
        lost += outcome.startswith("lost")
        print(f"{slip.name:45} {slip.job:10} {outcome}")
    print(f"\n{len(chosen) + len(slips)} mistakes, {runs + len(slips)} runs, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
