"""The notes of a session as a text of fixed sections: how large they are, whether they are whole (N2, N4).

The headings of the template are the sections. A line that looks like a heading but is none of them is part of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memdir.model.job import NotesSection
from memdir.prompts.compose import load_prompt
from memdir.transcript.tokens import estimate_text

SECTION_TOKENS = 2_000  # of one section; more crowds out the others
TOTAL_TOKENS = 12_000  # of the notes: what a context after compaction can well afford
CUT = "… (cut here: the rest is in {path})"


@dataclass(frozen=True)
class Notes:
    """Notes in the form of a template."""

    sections: tuple[NotesSection, ...]

    @staticmethod
    def parse(text: str, template: str) -> Notes:
        return Notes(tuple(_sections(text, titles_of(template))))

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)

    @property
    def is_empty(self) -> bool:
        return not any(section.body for section in self.sections)

    def body(self, title: str) -> str:
        return next((section.body for section in self.sections if section.title == title), "")

    def oversized(self) -> list[NotesSection]:
        """The sections that are too long; when only the whole is, the three longest."""
        long = [section for section in self.sections if section.tokens > SECTION_TOKENS]
        if not long and self.tokens > TOTAL_TOKENS:
            long = sorted(self.sections, key=lambda section: -section.tokens)[:3]
        return long

    def fault(self, template: str) -> str:
        """Why these are no notes any more; empty when every section of the template is there, in order."""
        titles = [section.title for section in self.sections]
        return "" if titles == titles_of(template) else "a heading is missing or moved"

    def shortened(self, path: str) -> str:
        """The notes for a context, each section within its limit."""
        parts = [NotesSection(s.title, "", _cut(s.body, path)).text for s in self.sections if s.body]
        return "\n".join(parts)

    def reminders(self) -> str:
        """What the next update is told about sections that are too long (N4)."""
        long = self.oversized()
        if not long:
            return ""
        listed = "\n".join(f'- "{s.title}": about {s.tokens:,} tokens, {SECTION_TOKENS:,} are allowed' for s in long)
        prompt = load_prompt("session_memory/oversized.md")
        return prompt.render(total=f"{self.tokens:,}", total_tokens=f"{TOTAL_TOKENS:,}", sections=listed)


def titles_of(template: str) -> list[str]:
    """The headings of a template."""
    return [line[2:].strip() for line in template.splitlines() if line.startswith("# ")]


def _sections(text: str, titles: Sequence[str]) -> Iterator[NotesSection]:
    title = ""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        heading = line[2:].strip() if line.startswith("# ") else ""
        if heading in titles and heading:
            if title:
                yield _section(title, lines)
            title, lines = heading, []
        else:
            lines.append(line)
    if title:
        yield _section(title, lines)


def _section(title: str, lines: list[str]) -> NotesSection:
    found = "\n".join(lines).strip("\n")
    first, _, rest = found.partition("\n")
    if first.startswith("_") and first.rstrip().endswith("_"):
        return NotesSection(title, first, rest.strip())
    return NotesSection(title, "", found.strip())


def _cut(body: str, path: str) -> str:
    """A section's text cut at the end of a line, with a word about where the rest is."""
    if estimate_text(body) <= SECTION_TOKENS:
        return body
    kept: list[str] = []
    room = SECTION_TOKENS
    for line in body.splitlines():
        room -= estimate_text(line) + 1
        if room < 0:
            break
        kept.append(line)
    if not kept:
        kept.append(body[: SECTION_TOKENS * 2])
    return "\n".join([*kept, CUT.format(path=path)])
