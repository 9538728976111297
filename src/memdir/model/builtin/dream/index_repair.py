"""Indexes rebuilt from the files: every memory once, short lines, within the limits, nothing lost on the way (S7, S8).

Lines that are no entries stay. What an index says beyond its files is moved into them first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.disk.safe_path import TEAM_PREFIX
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.dream_words import flat
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.index_lines import (
    cut,
    decodes,
    first_words,
    is_known,
    reason_for,
    resolve_link,
    without_frontmatter,
    wrapped,
)
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.pointers import LINK
from memdir.store.index import MAX_BYTES, MAX_ENTRY_CHARACTERS, MAX_LINES, Entry, parse_entry
from memdir.store.secrets import redact
from memdir.store.taxonomy import MemoryType

# What a model should read first when not all can be read: who it works for, how to work, then the rest.
_USE = {MemoryType.USER: 0, MemoryType.FEEDBACK: 1, MemoryType.PROJECT: 2, MemoryType.REFERENCE: 3}
_CLAUSE = re.compile(r"[;.]\s+")
_FIGURES = re.compile(r"\d[\d.,:/-]*\d|\d")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
MIN_REMARK_WORDS = 4
_HOOK_STEPS = (MAX_ENTRY_CHARACTERS, 120, 95, 70)  # line lengths tried in turn until all entries fit the bytes


@dataclass(frozen=True)
class _Line:
    """A line of an index: plain text, or an entry with its details below it."""

    text: str
    key: str = ""
    entry: Entry | None = None
    details: tuple[str, ...] = ()


class Catalogue:
    """One index: its lines as the night found them."""

    def __init__(self, desk: Desk, key: str) -> None:
        self._desk = desk
        self._key = key
        self._folder = key.rpartition("/")[0] + "/" if "/" in key else ""
        data = desk.now(key)
        self.readable = decodes(data)
        text = (data or b"").decode("utf-8", "replace")
        self._bom = "\ufeff" if text.startswith("\ufeff") else ""
        self._ending = "\r\n" if "\r\n" in text else "\n"
        self._first: dict[str, _Line] = {}
        self._lines = self._parsed(without_frontmatter(text.lstrip("\ufeff")))

    def dead(self) -> list[str]:
        """The names of files that entries point to and nobody has."""
        return [line.key for line in self._lines if line.entry and self._is_dead(line.key)]

    def unload(self) -> None:
        """Move what the index says beyond its files into the files, where they may be changed."""
        for line in self._lines:
            page = self._desk.pages.get(self._desk.where(line.key))
            if line.entry is None or page is None or page.fixed:
                continue
            extra = self._beyond(line.entry.hook, page, line.key) if self._is_to_be_rewritten(line, page) else []
            for detail in line.details:
                extra += self._beyond(_BULLET.sub("", detail).strip(), page, line.key, whole=True)
            if extra:
                self._move(page, extra)

    def rebuild(self, keys: list[str]) -> None:
        """Write the index of these pages again if that changes anything."""
        lines = self._once([kept for line in self._lines if (kept := self._alive(line))])
        listed = {line.key for line in lines if line.entry}
        lines = self._inserted(lines, [self._fresh(key) for key in keys if key not in listed])
        text = self._within_limits(lines)
        data = text.encode("utf-8", "surrogateescape")
        before = self._desk.now(self._key)
        if data != (before or b""):
            gone = [line.text.strip() for line in self._lines if self._alive(line) is None]
            self._desk.put_index(self._key, data, reason_for(gone, before))

    def _parsed(self, text: str) -> list[_Line]:
        found: list[_Line] = []
        for raw in text.splitlines():
            entry = parse_entry(raw.encode("utf-8", "surrogateescape"))
            if entry:
                found.append(_Line(raw, resolve_link(self._folder, entry.key), entry))
            elif found and found[-1].entry and raw[:1] in " \t" and raw.strip():
                last = found[-1]
                found[-1] = _Line(last.text, last.key, last.entry, (*last.details, raw))
            else:
                found.append(_Line(raw))
        for line in found:
            if line.entry:
                self._first.setdefault(line.key, line)
        return found

    def _alive(self, line: _Line) -> _Line | None:
        """The line, unless its file is gone; figures that stand nowhere else stay as words without a link."""
        if line.entry is None or not self._is_dead(line.key):
            return line if line.entry is None or line.entry.is_safe else None
        lives_on = self._desk.where(line.key) in self._desk.pages
        text = f"{line.entry.title} — {line.entry.hook}"
        if lives_on or not _FIGURES.search(line.entry.hook) or self._is_elsewhere(line.entry.hook):
            return None
        self._desk.doubt([self._key], f"it names {line.key}, which is gone; what the entry said was kept: {text}")
        return _Line(f"- {text}")

    def _is_elsewhere(self, hook: str) -> bool:
        wanted = set(_FIGURES.findall(hook))
        return any(all(figure in page.says() for figure in wanted) for page in self._desk.pages.values())

    def _is_dead(self, key: str) -> bool:
        return key not in self._desk.pages and self._desk.now(key) is None

    def _is_to_be_rewritten(self, line: _Line, page: Page) -> bool:
        """Whether the line cannot stay: too long, said twice, or its file has a new description."""
        if len(line.text) > MAX_ENTRY_CHARACTERS or page.key != line.key:
            return True
        if self._first[line.key] is not line:
            return True
        before = self._desk.before(line.key)
        return self._desk.changed(line.key) and (before is None or Page(line.key, before, 0.0).head != page.head)

    def _beyond(self, text: str, page: Page, key: str, *, whole: bool = False) -> list[str]:
        """The parts of a line that its page says nowhere, neither now nor as the night found it."""
        original = self._desk.before(key) or b""
        said = [flat(page.says()), flat(Page(key, original, 0.0).says())]
        known = {token for part in said for token in part.split(" ")}
        parts = [text] if whole else [part for part in _CLAUSE.split(text.rstrip("…")) if _says_something(part)]
        return [part for part in parts if not is_known(part, said, known)]

    def _move(self, page: Page, extra: list[str]) -> None:
        topic = page.topic
        ending = topic.line_ending()
        body = topic.body
        added = ending.join(sentence(part) for part in extra)
        gap = "" if body.endswith(ending * 2) else ending if body.endswith(ending) else ending * 2
        data = topic.with_body(f"{body}{gap}{added}{ending}").data
        self._desk.put(PageChange({page.key: data}, f"detail moved here from {self._key}", (self._key,)))

    def _once(self, lines: list[_Line]) -> list[_Line]:
        seen: set[str] = set()
        found = []
        for line in lines:
            if line.entry is None:
                found += [_Line(part) for part in wrapped(self._unlinked(line.text))]
            elif line.key not in seen:
                seen.add(line.key)
                found.append(self._current(line))
        return found

    def _current(self, line: _Line) -> _Line:
        page = self._desk.pages.get(line.key)
        if page is None:
            return line
        details = (
            line.details
            if page.fixed and any(self._beyond(d, page, line.key, whole=True) for d in line.details)
            else ()
        )
        if not self._is_to_be_rewritten(line, page) and not self._leaks(line.text):
            return _Line(line.text, line.key, line.entry, details)
        title = line.entry.title if line.entry else page.name
        if page.fixed and line.entry:
            surplus = self._beyond(line.entry.hook, page, line.key)
            details = (*details, *(f"  - {part}" for part in surplus))
        return _Line("", line.key, self._entry(page, title), details)

    def _leaks(self, text: str) -> bool:
        return self._key.startswith(TEAM_PREFIX) and redact(text) != text

    def _fresh(self, key: str) -> _Line:
        page = self._desk.pages[key]
        return _Line("", key, self._entry(page, page.name or key.rpartition("/")[2][:-3]))

    def _entry(self, page: Page, title: str) -> Entry:
        hook = page.description or first_words(page.body)
        hook = redact(hook) if self._key.startswith(TEAM_PREFIX) else hook
        return Entry(page.key[len(self._folder) :], title, hook)

    def _inserted(self, lines: list[_Line], fresh: list[_Line]) -> list[_Line]:
        """New entries, each behind the last one that is at least as useful, or before the first entry."""
        groups: dict[int, list[_Line]] = {}
        for line in fresh:
            groups.setdefault(self._rank(line), []).append(line)
        ranks = [(at, self._rank(line)) for at, line in enumerate(lines) if line.entry]
        start = ranks[0][0] if ranks else len(lines)
        # From the back to the front, so that the places found stay right.
        for rank in sorted(groups, reverse=True):
            at = max((place + 1 for place, known in ranks if known <= rank), default=start)
            lines = [*lines[:at], *groups[rank], *lines[at:]]
        return lines

    def _rank(self, line: _Line) -> int:
        page = self._desk.pages.get(line.key)
        return _USE.get(page.kind, len(_USE)) if page and page.kind else len(_USE)

    def _unlinked(self, text: str) -> str:
        def plain(match: re.Match[str]) -> str:
            return match[1] if self._is_dead(resolve_link(self._folder, match[2].strip())) else match[0]

        return LINK.sub(plain, text)

    def _within_limits(self, lines: list[_Line]) -> str:
        plain = sum(1 + len(line.details) if not line.entry else len(line.details) for line in lines)
        room = MAX_LINES - plain
        entries = [line for line in lines if line.entry]
        if len(entries) > room:
            lines = self._most_useful(lines, max(0, room))
        for width in _HOOK_STEPS:
            text = self._rendered(lines, width)
            if len(text.encode("utf-8", "surrogateescape")) <= MAX_BYTES:
                return text
        while len(text.encode("utf-8", "surrogateescape")) > MAX_BYTES and any(line.entry for line in lines):
            lines = self._most_useful(lines, sum(1 for line in lines if line.entry) * 9 // 10)
            text = self._rendered(lines, _HOOK_STEPS[-1])
        return text

    def _most_useful(self, lines: list[_Line], room: int) -> list[_Line]:
        entries = [line for line in lines if line.entry]
        entries.sort(key=lambda line: (self._rank(line), -self._time(line), line.key))
        kept = {line.key for line in entries[:room]}
        left = len(entries) - len(kept)
        self._desk.doubt([self._key], f"the index is full: {left} memories are not listed in it")
        order = {key: at for at, key in enumerate(line.key for line in entries)}
        chosen = sorted((line for line in lines if line.key in kept), key=lambda line: order[line.key])
        first = next(at for at, line in enumerate(lines) if line.entry)
        return [*lines[:first], *chosen, *(line for line in lines[first:] if not line.entry)]

    def _time(self, line: _Line) -> float:
        page = self._desk.pages.get(line.key)
        return page.mtime if page else 0.0

    def _rendered(self, lines: list[_Line], width: int) -> str:
        found = []
        for line in lines:
            text = line.text
            if line.entry and (not text or len(text) > width):
                text = cut(line.entry.render(), width)
            found += [text, *(part for detail in line.details for part in wrapped(detail))]
        body = self._ending.join(found).rstrip("\r\n")
        return f"{self._bom}{body}{self._ending}" if body else ""


def _says_something(part: str) -> bool:
    """Whether a remark in an index is worth a line in a file: "see above" is not."""
    return len(part.split()) >= MIN_REMARK_WORDS or _FIGURES.search(part) is not None
