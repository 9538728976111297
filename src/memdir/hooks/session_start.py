"""What a session begins with: how to use memory, and the index, as much of it as a host shows (P2, P6).

Reading two thousand memories to list them takes longer than all the rest of a hook. So the parts of the text are kept
beside the derived index of recall, with the state of the files that they were made from: a hook brings in what changed
since, and the worker makes them again.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_if_plain, stamp_of
from memdir.disk.plain_json import decode, encode
from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memdir.memdir import MemDir

MAX_KEPT_BYTES = 4 << 20
MAX_ROOM = 10_000  # characters: no host shows more
GUARDS_HEAD = 600  # of them, for what stands around guards, whose lines take half of what is left at most


class SessionStart:
    """What the sessions of a host begin with. Of a directory that the host serves itself neither behaviour nor index
    comes a second time: what is left are the user's own memories for all projects, and the guards (Q2)."""

    def __init__(self, memory: MemDir, host: str) -> None:
        settings, places = memory.settings, memory.places
        self._memory = memory
        self._is_told = places.is_told_by(host)
        self._path = os.path.join(memory.place.derived, f"session-start-{host}" if self._is_told else "session-start")
        modes = (settings.skip_index, settings.daily_log, places.has_team, places.learns_for_all_projects)
        self._made_by = [__version__, *map(str, modes), stamp_of(memory.layout.prompts), memory.place.root]
        found = {"project": memory.place, "user": memory.layout.user_memory, "team": memory.place.team()}
        self._stamps = {scope: f"{stamp_of(place.root)} {stamp_of(place.index)}" for scope, place in found.items()}
        is_listed = {"project": not self._is_told, "user": True, "team": places.has_team}
        listed = {scope: place for scope, place in found.items() if is_listed[scope] and not settings.skip_index}
        self._places = {scope: place for scope, place in listed.items() if os.path.isdir(place.root)}
        kept: Any = decode(read_if_plain(self._path, MAX_KEPT_BYTES) or b"")
        self._kept = kept if isinstance(kept, dict) and kept.get("made") == self._made_by else {}

    @property
    def is_kept(self) -> bool:
        """Whether what is kept was made of the files as they are."""
        return bool(self._kept.get("stamps") == self._stamps)

    def within(self, fits: Callable[[str], bool]) -> str:
        """As much of it as fits beside what else is said."""
        try:
            return _within(self._kept if self.is_kept else self._renewed(), fits)
        except (LookupError, TypeError, ValueError):  # nothing, too much that is new, or damaged
            return _within(self.make(), fits)

    def behaviour(self) -> str:
        """How to use memory, which a host that serves the directory itself tells, and the guards (Q2)."""
        from memdir.prompts.listing import guards_told

        memory = self._memory
        prompt = "" if self._is_told else memory.prompt(is_brief=True)
        guards, room = memory.guards.those_of(memory.places.own_scopes()), (MAX_ROOM - len(prompt)) // 2 - GUARDS_HEAD
        return "\n\n".join(filter(None, (prompt, guards_told(guards, overrides=memory.layout.prompts, room=room))))

    def make(self) -> dict[str, Any]:
        """Read all memories for it, and keep it."""
        from memdir.guard.held import keep_derived
        from memdir.prompts.door import shown_line
        from memdir.prompts.listing import WHOSE, useful_index
        from memdir.recall.recall_log import RecallLog

        indexes: dict[str, Any] = {}
        for scope, place in self._places.items():
            indexes[scope] = useful_index(self._memory.stores.of(scope), RecallLog(place.state).counts())
            indexes[scope]["head"] = f"Contents of {shown_line(place.index)} ({WHOSE[scope]}):"
        parts = {"made": self._made_by, "stamps": self._stamps, "first": self.behaviour(), "indexes": indexes}
        keep_derived(self._path, encode(parts))
        return parts

    def _renewed(self) -> dict[str, Any]:
        """What was kept, with what changed since; LookupError where all has to be read again."""
        from memdir.prompts.listing import renewed_index

        indexes = {scope: self._kept["indexes"][scope] for scope in self._places}
        for scope, stamp in self._stamps.items():
            if self._kept["stamps"][scope] != stamp:
                indexes[scope] = renewed_index(indexes[scope], self._places[scope].root)
        return {**self._kept, "indexes": indexes}


def _within(parts: dict[str, Any], fits: Callable[[str], bool]) -> str:
    room = MAX_ROOM - len(parts["first"])
    while True:
        text = "\n\n".join(filter(None, (parts["first"], *_told(parts["indexes"], room))))
        if room <= 0 or fits(text):
            return text
        room = room * 29 // 30 if room > 500 else 0


def _told(indexes: dict[str, Any], room: int) -> Iterator[str]:
    """As much of them as there is room for; each with what it is, as in a conversation (P6), the team's quoted (L3)."""
    for scope, index in indexes.items():
        text = _cut(index, room)
        if text:
            quoted = "\n".join([f"> {line}" for line in text.split("\n")]) if scope == "team" else text
            yield f"{index['head']}\n\n{quoted}"
            room -= len(quoted)


def _cut(index: dict[str, Any], room: int) -> str:
    """An index as it is where it fits, else its most useful lines, with a word about the others."""
    if index["whole"] is not None and len(index["whole"]) <= room:
        return str(index["whole"])
    taken: list[str] = []
    left = room - len(_more(index["total"]))
    for *_, line in index["rows"]:
        left -= len(line) + 1
        if left < 0:
            break
        taken.append(line)
    return "\n".join([*taken, _more(index["total"] - len(taken))]) if index["total"] else ""


def _more(more: int) -> str:
    return f"({more:,} more memories are not listed here: `memdir search WORDS` finds them, `memdir list` names all)"
