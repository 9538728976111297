"""The sentences of a memory's body, each with its place, so that one can be changed without touching the rest.

Code, tables, quotations and headings are not prose and are never offered for change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

from memdir.text.sentences import STOPS, bounds

Label = Literal["main", "why", "how", "update", "before"]

_FENCE = re.compile(r"\s*(```|~~~)")
_NOT_PROSE = re.compile(r"(?: {4,}|\t|\s*[|>#]|\s*(?:[-*_]\s*){3,}$|\s*<!--|\s*[^\s;|,]*[;|\t][^\s;|]*[;|\t]\S)")
_LIST_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_LABEL = re.compile(r"\s*(?:[-*+]\s+)?(?:\*\*|__)([^*_\n]{2,40}?)\s*[:：]?\s*(?:\*\*|__)\s*[:：]?\s*")
_CLAUSE_END = re.compile(r";\s+")
_WHY = re.compile(
    r"(?:why|reason|warum|grund|pourquoi|raison|por qu[eéê]|motivo|razón|perch[eé]|waarom|이유|理由|原因)", re.I
)
_HOW = re.compile(r"(?:how|anwend|umsetz|comment|cómo|como|come|hoe|aplic|applic|toepass|적용|適用|应用|用法)", re.I)
_UPDATE = re.compile(r"update\b", re.I)
_BEFORE = re.compile(r"before\b", re.I)
_HEADING = re.compile(r"\s*(?:#{1,6}(?:\s|$)|(?:[-*_]\s*){3,}$)")  # and lines that only part others


@dataclass(frozen=True)
class BodySentence:
    """A sentence in the body: its text and where it stands."""

    text: str
    start: int
    end: int
    label: Label
    paragraph: int = 0  # where its paragraph begins, behind a list mark or a label


@dataclass(frozen=True)
class _Paragraph:
    start: int
    end: int
    label: Label


def sentences(body: str) -> list[BodySentence]:
    """All sentences of the prose in `body`, in order, labels like **Why:** left out of the text."""
    return [
        BodySentence(body[start:end], start, end, part.label, part.start)
        for part in _paragraphs(body)
        for start, end in split(body, part.start, part.end)
    ]


def lines_of_code(body: str) -> Iterator[tuple[str, int, int]]:
    """What is no prose, with its bounds: a fence with all that it holds, every other line for itself; no headings."""
    for opened, some in groupby(_lines(body), key=itemgetter(2)):
        lines = list(some)
        if opened is not None:
            lines = [("".join(line for line, _, _ in lines), opened, opened)]
        for line, start, fence in lines:
            text = line.rstrip()
            if text and (fence is not None or (_NOT_PROSE.match(line) and not _HEADING.match(line))):
                yield text, start, start + len(text)


def headings(body: str) -> list[tuple[int, str]]:
    """Where each heading stands, and the line that it is."""
    lines = ((at, line) for line, at, fence in _lines(body) if fence is None and line.startswith("#"))
    return [(at, line.strip()) for at, line in lines if _HEADING.match(line)]


def _lines(body: str) -> Iterator[tuple[str, int, int | None]]:
    """Every line, where it begins, and where the fence does that it is part of, if it is part of one."""
    mark, opened, at = "", None, 0
    for line in body.splitlines(keepends=True):
        fence = _FENCE.match(line)
        is_end = fence is not None and fence[1] == mark
        if fence and not mark:
            mark, opened = fence[1], at
        yield line, at, opened
        if is_end:
            mark, opened = "", None
        at += len(line)


def split(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The bounds of each sentence in text[start:end]."""
    part = text[start:end]
    for first, last in bounds(part, STOPS):
        sentence = part[first:last].strip()
        if sentence:
            begin = start + part.index(sentence, first)
            yield begin, begin + len(sentence)


def clauses(text: str) -> list[tuple[int, int]]:
    """The bounds of the parts that semicolons part."""
    found = []
    at = 0
    for mark in _CLAUSE_END.finditer(text):
        found.append((at, mark.start()))
        at = mark.end()
    return [*found, (at, len(text))]


def _paragraphs(body: str) -> Iterator[_Paragraph]:
    """Runs of text that read as one: a line, or lines that were wrapped."""
    label: Label = "main"
    open_part: _Paragraph | None = None
    for line, start, fence in _lines(body):
        if fence is not None or not line.strip() or _NOT_PROSE.match(line):
            if open_part:
                yield open_part
            open_part, label = None, "main" if not line.strip() else label
            continue
        marked = _LABEL.match(line)
        if open_part and not marked and _goes_on(body, open_part, line):
            open_part = _Paragraph(open_part.start, start + len(line), open_part.label)
            continue
        if open_part:
            yield open_part
        label = _label_of(marked[1]) if marked else label
        skip = marked.end() if marked else (match.end() if (match := _LIST_MARK.match(line)) else 0)
        open_part = _Paragraph(start + min(skip, len(line.rstrip())), start + len(line), label)
    if open_part:
        yield open_part


def _goes_on(body: str, part: _Paragraph, line: str) -> bool:
    """Whether `line` continues the sentence above: nothing ended there, and it begins no new one."""
    above = body[part.start : part.end].rstrip()
    fresh = _LIST_MARK.match(line) or line.lstrip()[:1].isupper()
    return bool(above) and above[-1] not in ".!?:;。！？" and not fresh


def _label_of(word: str) -> Label:
    if _WHY.match(word):
        return "why"
    if _HOW.match(word):
        return "how"
    if _BEFORE.match(word):
        return "before"
    return "update" if _UPDATE.match(word) else "main"
