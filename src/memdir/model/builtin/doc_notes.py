"""Keeps a magic doc without a language model: what the user said for certain about the project, a line each, under
headings that stay (M3). Nothing is invented, and what a person wrote elsewhere in the document is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.model.builtin.answers import calls, parted, says
from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_of
from memdir.model.job import DocJob
from memdir.model.model import Reply, Request
from memdir.text.language import anywhere, meanings_in, tongue_of
from memdir.text.sentences import STOPS, bounds
from memdir.transcript.message import ToolUse

HEADINGS = ("Decisions", "Facts", "References")
_KINDS = ("project", "reference")  # what is about a person, or how to work with them, is nothing for a document
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+?)\s*#*\s*")
_ITEM = re.compile(r"[-*+]\s+(?P<text>\S.*)")
_WHY = re.compile(r"\n\n\*\*Why:\*\*\s+(.+)")
_GIVEN = " Why: "  # between what is so and its reason, in one line


def answer_doc(job: DocJob, request: Request) -> Reply:
    """One step of the job: read, then write, then done."""
    _, done = parted(request)
    if not done:
        return calls([ToolUse("doc_read", "Read", {"file_path": job.path})])
    last = done[-1].tool_results
    if last and last[0].tool_use_id == "doc_read" and not last[0].is_error:
        before = job.body.replace("\r\n", "\n")
        after = _brought_up(before, job)
        if after != before:
            return calls([ToolUse("doc_write", "Write", {"file_path": job.path, "content": after})])
    return says("The document is up to date.")


def _brought_up(body: str, job: DocJob) -> str:
    page = _DocLines(body.split("\n"))
    known = tuple(
        Existing(str(at), text, text.partition(_GIVEN)[0], _KINDS[title == HEADINGS[2]], text)
        for at, (title, text) in page.items().items()
    )
    drafts = draft_memories(Talk(lines_of(job.said), job.now, page.rest(), known))
    for draft in (one for one in drafts if one.type in _KINDS):
        page.take(draft)
    return page.text


@dataclass
class _DocLines:
    """The lines of a document; those under our headings are known by their numbers until it is put together."""

    lines: list[str]

    def __post_init__(self) -> None:
        self._changed: dict[int, str | None] = {}
        self._added: dict[str, list[str]] = {}

    def items(self) -> dict[int, tuple[str, str]]:
        """The list items under our headings, by line: which heading, and what they say."""
        found = ((at, title, _ITEM.fullmatch(self.lines[at])) for at, title in self._sections())
        return {at: (title, item["text"]) for at, title, item in found if title and item}

    def rest(self) -> str:
        """What stands elsewhere: nobody need say that twice."""
        ours = self.items()
        return "\n".join(line for at, line in enumerate(self.lines) if at not in ours)

    def take(self, draft: MemoryDraft) -> None:
        line = _line_of(draft)
        if draft.action == "create":
            if line not in (*self.lines, *self._added.get(_heading_of(draft), ())):
                self._added.setdefault(_heading_of(draft), []).append(line)
        else:
            self._changed[int(draft.file)] = None if draft.action == "delete" else line

    @property
    def text(self) -> str:
        lines = [self._changed.get(at, line) for at, line in enumerate(self.lines)]
        ends = {title: at + 1 for at, title in self._sections() if self.lines[at].strip()}
        for title in sorted(self._added, key=lambda one: -ends.get(one, 0)):
            if title in ends:
                at = ends[title]
                is_first = _HEADING.fullmatch(self.lines[at - 1].strip())
                lines[at:at] = [*([""] if is_first else []), *self._added[title]]
        new = [(title, self._added[title]) for title in HEADINGS if title in self._added and title not in ends]
        kept = "\n".join(line for line in lines if line is not None)
        parts = ["\n".join((f"## {title}", "", *items)) for title, items in new]
        before = kept.rstrip("\n") + "\n"  # the line of the head, where nothing stands below it yet
        return "\n".join((before.lstrip("\n") and before, *(f"{part}\n" for part in parts))) if parts else kept

    def _sections(self) -> Iterator[tuple[int, str]]:
        """Each line with the heading of ours that it stands under, "" for the others; code is no heading."""
        title, is_code = "", False
        for at, line in enumerate(self.lines):
            is_code ^= line.lstrip().startswith(("```", "~~~"))
            heading = None if is_code else _HEADING.fullmatch(line)
            if heading:
                title = next((one for one in HEADINGS if one.casefold() == heading["title"].casefold()), "")
            yield at, title


def _line_of(draft: MemoryDraft) -> str:
    told = " ".join(draft.body.partition("\n\n")[0].split())
    of_person = anywhere("first-person", tongue_of(told))  # what is said beside it of oneself is nothing for a document
    told = " ".join(one for a, b in bounds(told, STOPS) if not of_person.search(one := told[a:b].strip())) or told
    why = _WHY.search(draft.body)
    return f"- {told}{_GIVEN}{why[1]}" if why else f"- {told}"


def _heading_of(draft: MemoryDraft) -> str:
    return HEADINGS[2 if draft.type == "reference" else "decide" not in meanings_in(draft.description)]
