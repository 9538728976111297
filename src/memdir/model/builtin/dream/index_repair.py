"""Indexes in step with the files: every memory once, short lines, within the limits, nothing lost on the way (S7, S8).

Lines that are no entries stay. What an index says beyond its files is moved into them first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from posixpath import normpath

from memdir.disk.safe_path import TEAM_PREFIX
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page, tokens
from memdir.store.index import MAX_BYTES, MAX_ENTRY_CHARACTERS, MAX_LINES, Entry, entry_for, parse_entry
from memdir.store.secrets import redact
from memdir.store.topic import MemoryType, Topic

# What a model should read first when not all can be read: who it works for, how to work, then the rest.
_USE = {MemoryType.USER: 0, MemoryType.FEEDBACK: 1, MemoryType.PROJECT: 2, MemoryType.REFERENCE: 3}
_CLAUSE = re.compile(r"[;.]\s+")
_FIGURES = re.compile(r"\d[\d.,:/-]*\d|\d")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
LEAST_WIDTH = 70  # characters of a line that still says something
MIN_REMARK_WORDS = 4  # of a hook that are worth a line in a file: "see above" is not


@dataclass(frozen=True)
class _Line:
    """A line of an index: plain text, or an entry with its details below it."""

    text: str
    key: str = ""
    entry: Entry | None = None
    details: tuple[str, ...] = ()


class Catalogue:
    """One index: its lines as the night found them."""

    def __init__(self, desk: Desk, key: str, text: str) -> None:
        self._desk = desk
        self._key = key
        self._folder = key.rpartition("/")[0] + "/" if "/" in key else ""
        self._ending = "\r\n" if "\r\n" in text else "\n"
        self._lines: list[_Line] = []
        for raw in text.splitlines():
            entry = parse_entry(raw.encode())
            if entry:
                self._lines.append(_Line(raw, normpath(self._folder + entry.key), entry))
            elif self._lines and self._lines[-1].entry and raw[:1] in " \t" and raw.strip():
                self._lines[-1] = replace(self._lines[-1], details=(*self._lines[-1].details, raw))
            else:
                self._lines.append(_Line(raw))
        self._first = {line.key: line for line in reversed(self._lines)}

    def dead(self) -> list[str]:
        """The names of files that entries point to and nobody has."""
        return [line.key for line in self._lines if line.entry and self._is_dead(line.key)]

    def unload(self) -> None:
        """Move what the index says beyond its files into the files, where they may be changed."""
        for line in self._lines:
            page = self._desk.pages.get(self._desk.where(line.key))
            extra = self._beyond(line, page) if page and not page.fixed else []
            if page and extra:
                topic = page.topic
                ending = topic.line_ending()
                body = topic.body.rstrip("\r\n") + ending * 2 + ending.join(map(sentence, extra)) + ending
                reason = f"detail moved here from {self._key}"
                self._desk.put(PageChange({page.key: topic.with_body(body).data}, reason, (self._key,)))

    def rebuild(self, keys: list[str]) -> None:
        """Write the index of these pages again if that changes anything."""
        lines = [now for line in self._lines if (now := self._current(line))]
        listed = {line.key for line in lines}
        fresh = [self._fresh(self._desk.pages[key]) for key in keys if key not in listed]
        first = next((at for at, line in enumerate(lines) if line.entry), len(lines))
        lines[first:first] = sorted(fresh, key=self._use)
        data = self._within_limits(lines).encode("utf-8", "replace")
        if data != (self._desk.now(self._key) or b""):
            gone = [line.text.strip() for line in self._lines if line.entry and self._is_dead(line.key)]
            told = f"; entries without a file dropped: {' / '.join(gone)}" if gone else ""
            self._desk.put(PageChange({self._key: data}, f"index rebuilt from the files{told}", ()))

    def _is_dead(self, key: str) -> bool:
        return key not in self._desk.pages and self._desk.now(key) is None

    def _is_to_be_rewritten(self, line: _Line, page: Page) -> bool:
        """Whether the line cannot stay: too long, said twice, or its file has a new description."""
        if len(line.text) > MAX_ENTRY_CHARACTERS or page.key != line.key or self._first[line.key] is not line:
            return True
        before = Topic(self._desk.before(line.key) or b"") if self._desk.changed(line.key) else page
        return (before.name, before.description) != (page.name, page.description)

    def _beyond(self, line: _Line, page: Page) -> list[str]:
        """The parts of a line and its details that its page says nowhere, neither now nor as the night found it."""
        hook = line.entry.hook if line.entry and self._is_to_be_rewritten(line, page) else ""
        remarks = _CLAUSE.split(hook.rstrip("…"))
        parts = [part for part in remarks if len(part.split()) >= MIN_REMARK_WORDS or _FIGURES.search(part)]
        parts += [_BULLET.sub("", detail).strip() for detail in line.details]
        pages = (page, Page(line.key, self._desk.before(line.key) or b"", 0.0)) if parts else ()
        known = {token for one in pages for token in tokens(one.says())}
        return [part for part in parts if not known.issuperset(tokens(part))]

    def _current(self, line: _Line) -> _Line | None:
        """The line as it should be; figures of a file that is gone and that stand nowhere else stay as words."""
        page, entry = self._desk.pages.get(line.key), line.entry
        if entry is None:
            return line
        if self._is_dead(line.key):
            is_told = self._desk.where(line.key) in self._desk.pages or self._is_elsewhere(entry.hook)
            return None if is_told else _Line(f"- {entry.title} — {entry.hook}")
        if not entry.is_safe or self._first[line.key] is not line:
            return None
        if page is None or (page.fixed and self._beyond(line, page)):
            return line
        return self._fresh(page) if self._is_to_be_rewritten(line, page) else replace(line, details=())

    def _is_elsewhere(self, hook: str) -> bool:
        wanted = _FIGURES.findall(hook)
        return not wanted or any(all(one in page.says() for one in wanted) for page in self._desk.pages.values())

    def _fresh(self, page: Page) -> _Line:
        return _Line("", page.key, entry_for(page.key[len(self._folder) :], page.topic))

    def _use(self, line: _Line) -> tuple[int, float, str]:
        """What comes first: by its type, then the newer."""
        page = self._desk.pages.get(line.key)
        rank = _USE.get(page.kind, len(_USE)) if page and page.kind else len(_USE)
        return rank, -page.mtime if page else 0.0, line.key

    def _within_limits(self, lines: list[_Line]) -> str:
        """The text of these lines: shorter ones where they are many, and then the most useful entries alone."""
        entries = sorted((line for line in lines if line.entry), key=self._use)
        room = MAX_LINES - sum(len(line.details) + (not line.entry) for line in lines)
        count, width = max(0, min(len(entries), room)), MAX_ENTRY_CHARACTERS
        while len((text := self._rendered(lines, entries[:count], width)).encode("utf-8", "replace")) > MAX_BYTES:
            if not count:
                break  # what is no entry stays
            count, width = (count, width * 9 // 10) if width > LEAST_WIDTH else (count * 9 // 10, width)
        if count < len(entries):
            self._desk.doubt([self._key], f"the index is full: {len(entries) - count} memories are not listed in it")
        return redact(text) if self._key.startswith(TEAM_PREFIX) else text

    def _rendered(self, lines: list[_Line], listed: list[_Line], width: int) -> str:
        found, keys = list[str](), {line.key for line in listed}
        for line in lines:
            if line.entry and line.key in keys:
                is_made = not line.text or len(line.text) > width
                found += [line.entry.render(width) if is_made else line.text, *line.details]
            elif not line.entry:
                found.append(line.text)
        body = self._ending.join(found).rstrip("\r\n")
        return f"{body}{self._ending}" if body else ""
