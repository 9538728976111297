"""Indexes in step with the files: every memory once, short lines, within the limits, nothing lost on the way (S7, S8).

Lines that are no entries stay. What an index says beyond its files is moved into them first.
"""

from __future__ import annotations

import re

from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page, tokens
from memdir.store.index import MAX_BYTES, MAX_ENTRY_CHARACTERS, MAX_LINES, Entry, Index, entry_for, parse_entry
from memdir.store.secrets import redact
from memdir.store.topic import MemoryType

# What a model should read first when not all can be read: who it works for, how to work, then the rest.
_BY_USE = (*MemoryType, None)
_FIGURES = re.compile(r"\d[\d.,:/-]*\d|\d")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
LEAST_WIDTH = 70  # characters of a line that still says something


class Catalogue:
    """One index: its lines as the night found them."""

    def __init__(self, desk: Desk, key: str, text: str) -> None:
        self._desk, self._key, self._folder = desk, key, key[: -len(INDEX_NAME)]
        self._index = Index(text.encode())
        self._stale: set[str] = set()  # what is listed by a line that cannot stay

    def dead(self) -> list[str]:
        """The names of files that entries point to and nobody has."""
        return [self._folder + one.key for one in self._index.entries() if not self._is_there(one.key)]

    def unload(self) -> None:
        """Move what the index says beyond its files into the files, where they may be changed: the details below an
        entry, and the hook of one that cannot stay. Figures of a file that is gone and that stand nowhere else stay as
        words."""
        kept, listed = list[bytes](), set[str]()
        for block in _entries_with_details(self._index.data):
            lines, line, entry = block, block[0].decode(), parse_entry(block[0])
            key = self._folder + entry.key if entry else ""
            page = self._desk.pages.get(self._desk.where(key))
            parts = [_BULLET.sub("", detail.decode()).strip() for detail in block[1:]]
            if entry and page:
                before = Page(key, self._desk.before.get(key) or page.data, page.mtime)
                is_renamed = (before.key, before.name, before.description) != (page.key, page.name, page.description)
                is_stale = is_renamed or len(line.strip()) > MAX_ENTRY_CHARACTERS
                is_first = entry.key not in listed
                is_told = self._move_in([*parts, entry.hook] if is_stale or not is_first else parts, before, page)
                lines = block[:1] if is_told or not is_first else block
                self._stale.update([entry.key] if is_told and is_stale and is_first else ())
                listed.add(entry.key)
            elif entry and not self._is_there(entry.key):
                words = "; ".join(filter(None, (entry.hook, *parts)))
                lines = block[:1] if self._is_elsewhere(words) else [f"- {entry.title} — {words}\n".encode()]
            kept += lines
        self._index = Index(b"".join(kept))

    def _move_in(self, parts: list[str], before: Page, page: Page) -> bool:
        """Add those parts to a page that it says nowhere, neither now nor as the night found it. Whether it tells all
        of them then: it may be one that must stay as it is."""
        known = frozenset(tokens(f"{page.says()}\n{before.says()}") if parts else ())
        extra = [sentence(part) for part in parts if not known.issuperset(tokens(part))]
        if extra and not page.is_fixed:
            ending = page.line_ending()
            body = page.body.rstrip("\r\n") + ending * 2 + ending.join(extra) + ending
            reason = f"detail moved here from {self._key}"
            self._desk.put(PageChange({page.key: page.with_body(body).data}, reason, (self._key,)))
        return not (extra and page.is_fixed)

    def rebuild(self, keys: list[str]) -> None:
        """Write the index of these pages again if that changes anything."""
        entries = [self._fresh(key[len(self._folder) :]) for key in sorted(keys, key=self._use)]
        gone = [one.title for one in self._index.entries() if not self._is_there(one.key)]
        index = self._index.repaired(entries, holds_unread=self._is_there)
        index = self._within_limits(index.with_entries(map(self._fresh, self._stale & index.keys())))
        # A secret may stand across two lines: a team's index is looked through as a whole.
        data = redact(index.data.decode()).encode() if self._key.startswith(TEAM_PREFIX) else index.data
        if data != (self._desk.now(self._key) or b""):
            told = f"; entries without a file dropped: {' / '.join(gone)}" if gone else ""
            self._desk.put(PageChange({self._key: data}, f"index rebuilt from the files{told}", ()))

    def _is_there(self, key: str) -> bool:
        return self._desk.now(self._folder + key) is not None

    def _is_elsewhere(self, words: str) -> bool:
        """Whether a memory tells their figures."""
        figures = _FIGURES.findall(words)
        return not figures or any(all(one in page.says() for one in figures) for page in self._desk.pages.values())

    def _fresh(self, key: str) -> Entry:
        return entry_for(key, self._desk.pages[self._folder + key])

    def _use(self, key: str) -> tuple[int, float, str]:
        """What comes first: by its type, then the newer."""
        page = self._desk.pages.get(key)
        return (_BY_USE.index(page.kind), -page.mtime, key) if page else (len(_BY_USE), 0.0, key)

    def _within_limits(self, index: Index) -> Index:
        """The index with shorter lines where it is large, and then with the most useful entries alone."""
        useful = sorted(index.keys(), key=lambda key: self._use(self._folder + key))
        room = MAX_LINES - len(index.data.splitlines()) + len(useful)
        count, width = max(0, min(len(useful), room)), MAX_ENTRY_CHARACTERS
        fitting = index.without(useful[count:])
        while count and len(fitting.data) > MAX_BYTES:  # what is no entry stays
            count, width = (count, width * 9 // 10) if width > LEAST_WIDTH else (count * 9 // 10, width)
            fitting = index.without(useful[count:])
            fitting = fitting.with_entries(fitting.entries(), width)
        if count < len(useful):
            self._desk.doubt([self._key], f"the index is full: {len(useful) - count} memories are not listed in it")
        return fitting


def _entries_with_details(data: bytes) -> list[list[bytes]]:
    """The lines, an entry together with the details below it."""
    found = list[list[bytes]]()
    for line in data.splitlines(keepends=True):
        is_detail = line[:1] in (b" ", b"\t") and line.strip() and not parse_entry(line)
        if is_detail and found and parse_entry(found[-1][0]):
            found[-1].append(line)
        else:
            found.append([line])
    return found
