"""Keeps the notes of a session without a language model: reads the file, fills its sections, writes it (N2, N6)."""

from __future__ import annotations

import re

from memdir.model.builtin.digest import Digest, digest
from memdir.model.model import Reply, Request
from memdir.transcript.message import Message, Text, ToolUse
from memdir.transcript.tokens import estimate_text

SECTION_TOKENS = 1_500  # below what the prompt allows: an estimate may be short
_PATH = re.compile(r"in one file: (?P<path>.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
# A heading of the form has a line in italics below it, or one of the names; other "# " lines are part of a text.
_HEADING = re.compile(
    r"^# (?P<title>Session Title|Current State|Task specification|Files and Functions|Workflow|Errors & Corrections"
    r"|Codebase and System Documentation|Learnings|Key results|Worklog|[^\n]+(?=\n_))$",
    re.MULTILINE,
)
_CUT = "… [line cut]"  # what the Read tool puts where a line is too long
_QUOTED_SECTIONS = frozenset(("Key results",))  # kept as they are, not as lists


def session_memory(request: Request) -> Reply:
    """One step of the job: read, then write, then done."""
    job, said, done = _parts(request)
    match = _PATH.search(job)
    if match is None:
        return _says("The job names no file.")
    path = match["path"].strip()
    if not done:
        return _calls(ToolUse("notes_read", "Read", {"file_path": path}))
    last = done[-1].tool_results
    if last and last[0].tool_use_id == "notes_read" and not last[0].is_error:
        before = _NUMBERED.sub("", last[0].content) + "\n"
        after = fill(before, digest(said))
        if after != before and _CUT not in before:  # what was not seen whole is not written back
            return _calls(ToolUse("notes_write", "Write", {"file_path": path, "content": after}))
    return _says("The notes are up to date.")


def fill(notes: str, found: Digest) -> str:
    """Notes with what a conversation adds to them; what they say already stays, as far as there is room."""
    lists = {
        "Task specification": found.task,
        "Files and Functions": found.files,
        "Workflow": found.workflow,
        "Errors & Corrections": found.errors,
        "Codebase and System Documentation": found.system,
        "Learnings": found.learnings,
        "Key results": found.results,
        "Worklog": found.worklog,
    }
    parts = []
    for title, hint, noted in _sections(notes):
        body = noted
        if title == "Session Title":
            body = noted or found.title
        elif title == "Current State":
            body = "\n".join(f"- {line}" for line in found.state) or noted
        elif title in lists:
            body = _merged(noted, lists[title], is_list=title not in _QUOTED_SECTIONS)
        parts.append("\n".join(part for part in (f"# {title}", hint, body) if part))
    return "\n\n".join(parts) + "\n"


def _sections(notes: str) -> list[tuple[str, str, str]]:
    """Title, line in italics and text of each section."""
    found = []
    marks = list(_HEADING.finditer(notes))
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(notes)
        text = notes[mark.end() : end].strip()
        first, _, rest = text.partition("\n")
        is_hint = first.startswith("_") and first.endswith("_")
        found.append((mark["title"].strip(), first if is_hint else "", rest.strip() if is_hint else text))
    return found


def _merged(body: str, lines: list[str], *, is_list: bool) -> str:
    """What was noted and what is new, oldest first; the oldest goes when there is no more room."""
    if is_list:
        items = [line for line in body.splitlines() if line.strip()]
        items += [f"- {line}" for line in lines if f"- {line}" not in items]
    else:
        items = [part for part in body.split("\n\n") if part.strip()]
        items += [line for line in lines if line not in body]
    # A file that was read and is edited now has a new line: the old one says less.
    newest = {_subject(item): item for item in items}
    items = list(dict.fromkeys(newest[_subject(item)] for item in items))
    while len(items) > 1 and sum(estimate_text(item) for item in items) > SECTION_TOKENS:
        items.pop(0)
    return ("\n" if is_list else "\n\n").join(items)


def _subject(item: str) -> str:
    match = re.match(r"- `(?P<path>[^`]+)`: (?:read|edited|written)", item)
    return match["path"] if match else item


def _parts(request: Request) -> tuple[str, list[Message], list[Message]]:
    """The job's text, the conversation before it, and what was done for it so far."""
    messages = list(request.messages)
    at = max((n for n, message in enumerate(messages) if _is_job(message)), default=len(messages))
    return (messages[at].text if at < len(messages) else ""), messages[:at], messages[at + 1 :]


def _is_job(message: Message) -> bool:
    return message.role == "user" and message.is_meta and message.text.startswith("[memdir job: session-memory]")


def _calls(use: ToolUse) -> Reply:
    return Reply(Message("assistant", (use,)), "tool_use", model="builtin")


def _says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")
