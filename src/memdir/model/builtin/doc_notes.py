"""Keeps a magic doc without a language model: what the user said for certain about the project, a line each, under
headings that stay (M3). Nothing is invented, and what a person wrote elsewhere in the document is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from memdir.model.builtin.answers import writes
from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_of
from memdir.model.job import DocJob
from memdir.model.model import Reply, Request
from memdir.text.language import anywhere, meanings_in, tongue_of
from memdir.text.sentences import STOPS, bounds

HEADINGS = ("Decisions", "Facts", "References")
_KINDS = ("project", "reference")  # what is about a person, or how to work with them, is nothing for a document
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+?)\s*#*\s*")
_ITEM = re.compile(r"[-*+]\s+(?P<text>\S.*)")
_WHY = re.compile(r"\n\n\*\*Why:\*\*\s+(.+)")
_GIVEN = " Why: "  # between what is so and its reason, in one line


def answer_doc(job: DocJob, request: Request) -> Reply:
    before = job.body.replace("\r\n", "\n")
    return writes(job.path, lambda: _brought_up(before, job), request, before=before)


def _brought_up(body: str, job: DocJob) -> str:
    lines = body.split("\n")
    titles = list(_titles(lines))
    found = ((at, _ITEM.fullmatch(lines[at])) for at, title in enumerate(titles) if title)
    items = {at: item["text"] for at, item in found if item}
    known = tuple(
        Existing(str(at), text, text.partition(_GIVEN)[0], _KINDS[titles[at] == HEADINGS[2]], text)
        for at, text in items.items()
    )
    elsewhere = "\n".join(line for at, line in enumerate(lines) if at not in items)  # nobody need say that twice
    told = draft_memories(Talk(lines_of(job.said), job.now, elsewhere, known))
    drafts = [one for one in told if one.type in _KINDS]
    page = [[line] for line in lines]  # each may become none, another one or several
    for draft in (one for one in drafts if one.action != "create"):
        page[int(draft.file)] = [] if draft.action == "delete" else [_line_of(draft)]
    ends = {title: at for at, title in enumerate(titles) if lines[at].strip()}
    added: list[str] = []  # under headings that are not there yet
    for title in HEADINGS:
        new = (_line_of(draft) for draft in drafts if draft.action == "create" and _heading_of(draft) == title)
        fresh = [line for line in dict.fromkeys(new) if line not in lines]
        if fresh and title in ends:
            is_first = _HEADING.fullmatch(lines[ends[title]].strip())
            page[ends[title]] += [*([""] if is_first else []), *fresh]
        elif fresh:
            added += ["", f"## {title}", "", *fresh]
    text = "\n".join(chain.from_iterable(page))
    return "\n".join((*filter(None, (text.rstrip("\n"),)), *added, "")) if added else text


def _titles(lines: list[str]) -> Iterator[str]:
    """Of each line the heading of ours that it stands under, "" for the others; code is no heading."""
    title, is_code = "", False
    for line in lines:
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading:
            title = next((one for one in HEADINGS if one.casefold() == heading["title"].casefold()), "")
        yield title


def _line_of(draft: MemoryDraft) -> str:
    told = " ".join(draft.body.partition("\n\n")[0].split())
    of_person = anywhere("first-person", tongue_of(told))  # what is said beside it of oneself is nothing for a document
    told = " ".join(one for a, b in bounds(told, STOPS) if not of_person.search(one := told[a:b].strip())) or told
    why = _WHY.search(draft.body)
    return f"- {told}{_GIVEN}{why[1]}" if why else f"- {told}"


def _heading_of(draft: MemoryDraft) -> str:
    return HEADINGS[2 if draft.type == "reference" else "decide" not in meanings_in(draft.description)]
