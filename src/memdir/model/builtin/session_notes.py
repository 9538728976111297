"""Keeps the notes of a session without a language model: reads the file, fills its sections, writes it (N2, N6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memdir.model.builtin.answers import calls, parted, says
from memdir.model.builtin.digest import Digest, digest
from memdir.model.job import NotesJob, NotesSection
from memdir.model.model import Reply, Request
from memdir.transcript.message import ToolUse
from memdir.transcript.tokens import estimate_text

SECTION_TOKENS = 1_500  # below what the prompt allows: an estimate may be short
_QUOTED_SECTIONS = frozenset(("Key results",))  # kept as they are, not as lists


def answer_notes(job: NotesJob, request: Request) -> Reply:
    """One step of the job: read, then write, then done."""
    said, done = parted(request)
    if not done:
        return calls([ToolUse("notes_read", "Read", {"file_path": job.path})])
    last = done[-1].tool_results
    if last and last[0].tool_use_id == "notes_read" and not last[0].is_error:
        before, after = _joined(job.sections), _joined(fill(job.sections, digest(said)))
        if after != before:
            return calls([ToolUse("notes_write", "Write", {"file_path": job.path, "content": after})])
    return says("The notes are up to date.")


def _joined(sections: Iterable[NotesSection]) -> str:
    return "\n".join(section.text for section in sections)


def fill(sections: Iterable[NotesSection], found: Digest) -> Iterator[NotesSection]:
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
    for section in sections:
        body = section.body
        if section.title == "Session Title":
            body = body or found.title
        elif section.title == "Current State":
            body = "\n".join(f"- {line}" for line in found.state) or body
        elif section.title in lists:
            body = _merged(body, lists[section.title], is_list=section.title not in _QUOTED_SECTIONS)
        yield NotesSection(section.title, section.hint, body)


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
