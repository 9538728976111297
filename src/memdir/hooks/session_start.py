"""What a session begins with: how to use memory, and the index, as much of it as a host shows (P2, P6).

Reading two thousand memories to list them takes longer than all the rest of a hook. So the text is kept beside the
derived index of recall, with the state of the files that it was made from.
"""

from __future__ import annotations

import os

from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memdir.layout import Place
    from memdir.memdir import MemDir
    from memdir.prompts.listing import UsefulIndex
    from memdir.store.store import MemoryStore

MAX_KEPT_BYTES = 64 << 10
_NAME = "session-start"


def behaviour(memory: MemDir, host: str) -> str:
    """How to use memory, which a host that serves the directory itself tells, and the guards (Q2)."""
    from memdir.prompts.listing import guards_told

    guards = guards_told(memory.guards.those_of(memory.places.own_scopes()), overrides=memory.layout.prompts)
    return "\n\n".join(filter(None, ("" if memory.places.is_told_by(host) else memory.prompt(), guards)))


def start_context(memory: MemDir, fits: Callable[[str], bool], *, host: str, is_alone: bool) -> str:
    """Behaviour and index within what fits. Of a directory that the host serves itself neither comes a second time:
    what is left are the user's own memories for all projects, and the guards (Q2). `is_alone` where nothing else takes
    of the room: what had to share it is no measure for other sessions, and is not kept."""
    is_told = memory.places.is_told_by(host)
    place, name = memory.place, f"{_NAME}-{host}" if is_told else _NAME
    state = _state(memory, [place, memory.layout.user_memory])
    kept = _kept(place, name, state)
    if kept and fits(kept):
        return kept
    text = first = behaviour(memory, host)
    indexes, room = _indexes(memory, ("project",) if is_told else ()), 10_000
    while room > 0 and indexes:
        text = "\n\n".join(filter(None, (first, *_within(indexes, room))))
        if fits(text):
            break
        room = room * 4 // 5 if room > 500 else 0
    text = text if fits(text) else first
    if is_alone and not kept:
        _keep(place, name, state, text)
    return text


def _indexes(memory: MemDir, without: Sequence[str]) -> list[tuple[MemoryStore, UsefulIndex]]:
    """The project's index, then the user's own for all projects, and the team's."""
    from memdir.prompts.listing import UsefulIndex
    from memdir.recall.recall_log import RecallLog

    scopes = ("project", "user", *(("team",) if memory.places.has_team else ()))
    wanted = [scope for scope in scopes if scope not in without and not memory.settings.skip_index]
    stores = [store for store in map(memory.stores.of, wanted) if os.path.isdir(store.root)]
    return [(store, UsefulIndex(store, RecallLog(store.place.state).counts())) for store in stores]


def _within(indexes: Sequence[tuple[MemoryStore, UsefulIndex]], room: int) -> Iterator[str]:
    """As much of them as there is room for; each with what it is, as in a conversation (P6)."""
    from memdir.prompts.door import shown_line
    from memdir.prompts.listing import OF_TEAM, quoted_index

    told = {"project": "the user's memory of this project", "user": "the user's own memory, for all projects"}
    for store, index in indexes:
        text = index.within(room)
        text = quoted_index(text) if store.scope == "team" else text
        if text:
            yield f"Contents of {shown_line(store.place.index)} ({told.get(store.scope, OF_TEAM)}):\n\n{text}"
            room -= len(text)


def _state(memory: MemDir, places: list[Place]) -> str:
    """What the text depends on: an index or a folder that changed has another time."""
    from memdir.disk.plain_file import stamp_of

    team = memory.place.team()
    paths = [team.root, team.index, *(path for place in places for path in (place.root, place.index))]
    told = [__version__, str(memory.settings.skip_index), str(memory.places.has_team), memory.place.root]
    return " ".join((*told, *map(stamp_of, (*paths, memory.layout.prompts)))).replace("\n", " ")


def _kept(place: Place, name: str, state: str) -> str:
    from memdir.disk.plain_file import read_if_plain

    data = read_if_plain(os.path.join(place.derived, name), MAX_KEPT_BYTES) or b""
    head, _, text = data.decode("utf-8", "replace").partition("\n")
    return text if head == state else ""


def _keep(place: Place, name: str, state: str, text: str) -> None:
    from memdir.disk.atomic import keep_bytes
    from memdir.errors import DiskError

    try:
        keep_bytes(os.path.join(place.derived, name), f"{state}\n{text}".encode("utf-8", "replace"))
    except DiskError:  # it is made again next time
        return
