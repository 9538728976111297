"""The files of a host's main agent: what it writes into a memory directory goes through the store, with its form, its
refusals and its history (S6, S14, S15); everything else goes to disk, what was there before kept beside the transcript.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memdir.agent.file_access import RecordedFiles
from memdir.agent.workspace import Draft, Ruling, Workspace
from memdir.disk.safe_path import is_inside
from memdir.errors import BadMemoryFile
from memdir.store.history import Origin
from memdir.store.log_lines import log_day
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic


@dataclass(frozen=True)
class HostFiles(RecordedFiles):
    """Files on disk, memories through their store."""

    stores: Callable[[], Sequence[MemoryStore]]  # whose folders hold memories
    origin: Origin  # whom the history names for what is written there
    log: Callable[[MemoryStore, str, bytes, Origin], str] | None = None  # takes what goes into one, if one is kept
    _in_turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one file after the other

    async def put(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        stores = self.stores()
        if not any(is_inside(path, store.root) for store in stores):
            return await super().put(path, data)
        async with self._in_turn:
            return await asyncio.to_thread(self._remember, stores, path, data, is_cut=is_cut)

    def _remember(self, stores: Sequence[MemoryStore], path: str, data: bytes, *, is_cut: bool) -> str:
        files = Workspace(stores, rule=keeps_pinned)
        store, key = files.locate(path)
        if log_day(key):
            if self.log is None:
                raise BadMemoryFile(f"{key} is a daily log, and none is kept here", remedy="Write a memory instead")
            return self.log(store, key, data, self.origin)
        told = files.write(path, data, is_cut=is_cut)
        files.drafts = {place: self._weighed(draft) for place, draft in files.drafts.items()}
        files.commit(self.origin, f"write {os.path.basename(path)}")
        return told

    def _weighed(self, draft: Draft) -> Draft:
        """A draft in its form, as it will be kept: whom a person speaks to is taken at its word."""
        return draft


def keeps_pinned(_files: Workspace, draft: Draft) -> Ruling:
    """The rule of who writes one file at a time for a model: what a person pinned stays."""
    if draft.before is not None and Topic(draft.before).is_pinned:
        return Ruling(f"{draft.key} is pinned by a person and stays as it is")
    return Ruling()
