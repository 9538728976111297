"""The desk: all pages of one night in their present state, and the one door through which they change.

Whether a change loses anything is not weighed here: every dream's drafts are, whoever planned them (D7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from memdir.disk.safe_path import is_index
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.night import Doubt, Edit, Night, Unsettled
from memdir.store.scan import is_in_no_place


@dataclass(frozen=True)
class PageChange:
    """New contents for some files (None deletes), why, and on what grounds."""

    contents: Mapping[str, bytes | None]
    reason: str
    sources: tuple[str, ...]
    times: Mapping[str, float] = field(default_factory=dict)  # pages that now say something of another time


class Desk:
    """The pages as they stand now, and the record of what was done to each."""

    def __init__(self, night: Night) -> None:
        self.before = {file.key: file.data for file in night.files}  # as the night found them
        topics = (file for file in night.files if not is_index(file.key) and not is_in_no_place(file.key))
        self.pages = {file.key: Page(file.key, file.data, file.mtime) for file in topics}
        self.doubts: dict[Doubt, None] = {}  # what was left alone, in the order it was met
        self._why: dict[str, list[PageChange]] = {}
        self._contents: dict[str, bytes | None] = {}
        self._taken_in: dict[str, str] = {}
        self._asked: dict[tuple[str, str], Unsettled] = {}

    def open_pages(self) -> list[Page]:
        """The pages that may be changed, in order of their names."""
        return [page for _, page in sorted(self.pages.items()) if not page.is_fixed]

    def now(self, key: str) -> bytes | None:
        """A file as it would be written."""
        return self._contents.get(key, self.before.get(key))

    def taken_in(self, key: str, by: str) -> None:
        """Note that a page lives on in another one."""
        self._taken_in[key] = by

    def where(self, key: str) -> str:
        """The page that says today what `key` said."""
        while key in self._taken_in and key not in self.pages:
            key = self._taken_in[key]
        return key

    def doubt(self, keys: Iterable[str], what: str) -> None:
        """Note something that was left alone."""
        self.doubts[Doubt(tuple(keys), what)] = None

    def ask(self, kind: Literal["same", "replaces", "ended"], older: str, newer: str, evidence: str) -> None:
        """Leave it to a person how two memories stand to each other."""
        self._asked[older, newer] = Unsettled(kind, older, newer, evidence)

    def asked(self) -> tuple[Unsettled, ...]:
        """What a person is asked, as far as both memories are still there."""
        return tuple(one for keys, one in self._asked.items() if self.pages.keys() >= {*keys})

    def put(self, change: PageChange) -> None:
        """Take a change over."""
        for key, data in change.contents.items():
            known = self.pages.pop(key, None)
            if data is not None and not is_index(key):
                self.pages[key] = Page(key, data, change.times.get(key, known.mtime if known else 0.0))
            self._contents[key] = data
            self._why.setdefault(key, []).append(change)

    def edits(self) -> tuple[Edit, ...]:
        """Everything that differs from what the night found, in order of the names."""
        found = []
        for key in sorted(self._contents):
            if self._contents[key] != self.before.get(key):
                page, why = self.pages.get(key), self._why[key]
                reason = "; ".join(dict.fromkeys(one.reason for one in why))
                sources = tuple(dict.fromkeys(source for one in why for source in one.sources))
                found.append(Edit(key, self._contents[key], reason, sources, page.mtime if page else None))
        return tuple(found)
