"""The one way from a message to the text that joins a conversation: choose, prepare, show (R1).

Library, command line and hooks walk it alike, each step a plain function call; a host that must not wait walks it in a
thread (`prefetch.py`).
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.disk.safe_path import TEAM_PREFIX, resolve_found
from memdir.errors import DiskError, MemdirError, PathEscape
from memdir.layout import holds_memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, Protocol

    from memdir.events import Sink
    from memdir.layout import Place
    from memdir.model.model import Model, Reply, Request
    from memdir.recall.selection import Recalled
    from memdir.recall.verify import Missing, Verifier
    from memdir.search.index_store import OnProgress
    from memdir.store.memory_file import Memory

    ChosenBy = Literal["words", "sentences", "model"]
    Ready = list[tuple[Memory, list[Missing]]]  # memories that were read, with what in them is gone
    AskModel = Callable[[Model, Request, float], Reply]  # the last is how many seconds it may take

    class Chooser(Protocol):
        """Chooses memories of one scope for a message."""

        scope: str
        root: str

        def choose(self, request: RecallRequest) -> Selection: ...


MAX_RECALLED = 5  # R1
CHECK_SECONDS = 0.3  # that it may take to see what of one memory is gone: a message must not wait for this
MAX_AT_ONCE = 60_000  # characters: no less than all memories of a session may have
MAX_SHOWN_BYTES = 1 << 20  # of what is kept about one session
MAX_SESSIONS = 1_000  # a host that serves more starts the oldest again


class Stopped(Exception):
    """Whoever wanted the work has closed."""


class Shown:
    """What one session has been shown, of whatever scope: never twice as it is, and never more than fits (R1, R7).

    With a `path` it outlives the process. A file that cannot be read or written costs no more than showing twice.
    """

    def __init__(self, session: str = "", path: str = "") -> None:
        self.session, self._path, self.is_logged = session, path, True
        self._shown: dict[str, dict[str, int]] = {}  # by scope and key, a checksum of what was shown
        self.characters = 0
        if path and os.path.exists(path):
            self._load()

    def keys(self, scope: str) -> frozenset[str]:
        """The memories of a scope that were shown."""
        return frozenset(self._shown.get(scope, ()))

    def holds_copy(self, data: bytes) -> bool:
        """Whether this was shown, of whatever scope: a memory that lies in two places is one."""
        told = _checksum(data)
        return any(told in keys.values() for keys in self._shown.values())

    def changed(self, scope: str, root: str) -> list[str]:
        """The memories of a scope that say something else than when they were shown; what is gone is not among them."""
        from memdir.disk.plain_file import read_plain
        from memdir.store.scan import MAX_MEMORY_BYTES

        found = []
        for key, told in self._shown.get(scope, {}).items():
            try:
                data = read_plain(resolve_found(root, key), max_bytes=MAX_MEMORY_BYTES, follow=False)
            except (OSError, PathEscape):
                continue
            if _checksum(data) != told:
                found.append(key)
        return found

    def add(self, scope: str, key: str, characters: int, data: bytes = b"") -> None:
        self._shown.setdefault(scope, {})[key] = _checksum(data)
        self.characters += characters

    def forget(self) -> None:
        """The context was emptied: what had been shown may come again."""
        self._shown.clear()
        self.characters = 0
        if self._path and os.path.exists(self._path):
            self.save()

    def save(self) -> None:
        """Keep it for a process that goes on with the session."""
        if not self._path:
            return
        from memdir.disk.atomic import keep_bytes
        from memdir.disk.plain_json import encode

        text = encode({"characters": self.characters, "shown": self._shown})
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        try:
            keep_bytes(self._path, data, durably=False)  # a prompt waits; at worst it is shown twice
        except DiskError:
            return

    def _load(self) -> None:
        from memdir.disk.plain_file import read_plain
        from memdir.disk.plain_json import decode

        try:
            found: Any = decode(read_plain(self._path, max_bytes=MAX_SHOWN_BYTES))
            shown = {str(scope): {str(k): int(v) for k, v in keys.items()} for scope, keys in found["shown"].items()}
            self.characters, self._shown = int(found["characters"]), shown
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return


def _checksum(data: bytes) -> int:
    from zlib import crc32

    return crc32(data)


class ShownBySession:
    """What each session of a host was shown; a session that is opened again goes on with its own."""

    def __init__(self, path_of: Callable[[str], str] | None = None) -> None:
        self._sessions: dict[str, Shown] = {}
        self._path_of = path_of

    def of(self, session: str, *, is_logged: bool = True) -> Shown:  # the log holds what the user said
        found = self._sessions.pop(session, None)
        if found is None:
            found = Shown(session, self._path_of(session) if self._path_of else "")
        self._sessions[session], found.is_logged = found, is_logged
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found


class RecallRequest:
    """A message that memories are wanted for, and how whoever asks wants the work done."""

    def __init__(
        self,
        text: str,
        *,
        recent_tools: Sequence[str] = (),
        shown: Shown | None = None,
        on_progress: OnProgress | None = None,
        ask: AskModel | None = None,
        room: int = MAX_AT_ONCE,
    ) -> None:
        self.text = text
        self.room = room  # characters that a host takes at once
        self.recent_tools = recent_tools
        self.shown = shown or Shown()
        self.on_progress = on_progress  # may raise Stopped
        self.ask = ask  # how a model is waited for; by itself where nobody says

    def passed_over(self, scope: str, root: str, *, has_team: bool) -> frozenset[str]:
        """The memories that take no place: they were shown, or are a team's while that is switched off (E1)."""
        return self.shown.keys(scope) | (frozenset() if has_team else of_team(root))

    def check(self) -> None:
        """Go on, or raise Stopped."""
        if self.on_progress is not None:
            self.on_progress(0, 0)


class Selection:
    """The memories of one scope that were chosen: by the table of words, by the sentence model beside it, or by a
    model. `explained` is there when this machine chose."""

    def __init__(
        self, scope: str, keys: list[str], by: ChosenBy, *, explained: Recalled | None = None, prompt_hash: str = ""
    ) -> None:
        self.scope, self.keys = scope, keys
        self.by: ChosenBy = by
        self.explained = explained
        self.prompt_hash = prompt_hash  # what a model was told
        self.instead_of_model = ""  # why the model that should have chosen did not
        self.scanned = explained.ranking.documents if explained is not None else 0
        self.tokens, self.ms = 0, 0.0  # what a model was sent and said; how long choosing took


class ShownMemory:
    """A memory as it joins a conversation: which one it is, and what a model reads of it."""

    def __init__(self, memory: Memory, scope: str, text: str) -> None:
        self.memory, self.scope = memory, scope
        self.text = text  # for a host that wraps it itself, and escapes tags in it

    @property
    def reminder(self) -> str:
        """The text between tags that mark it as put there by the host (L4)."""
        return f"<system-reminder>\n{self.text}\n</system-reminder>"


class Prepared:
    """Memories that were read and checked, ready to be shown at once."""

    def __init__(self, request: RecallRequest, scopes: list[tuple[Selection, Ready]]) -> None:
        self.request, self.scopes = request, scopes


class Recaller:
    """Finds memories for messages and renders them: those of the first chooser, then, as far as there is room, those of
    the others."""

    def __init__(  # noqa: PLR0913 - its collaborators
        self,
        chooser: Chooser,
        others: Sequence[Chooser],
        place_of: Callable[[str], Place],
        project: str,
        *,
        sink: Sink,
        clock: Callable[[], float] = time.time,
        has_team: bool = True,
    ) -> None:
        self._choosers = [chooser, *others]
        self._place_of, self._project = place_of, project
        self._sink, self._clock, self._has_team = sink, clock, has_team
        self._verifier: Verifier | None = None
        self._reading = allocate_lock()  # the verifier is not made for two
        self.not_logged = ""  # why what was shown last is not in the log

    def choose(self, request: RecallRequest) -> list[Selection]:
        """Which memories help, scope by scope."""
        first, *others = self._choosers
        found = [_timed(first, request)]
        for other in others:
            room = MAX_RECALLED - sum(len(selection.keys) for selection in found)
            if room > 0 and holds_memories(other.root):
                try:
                    selection = _timed(other, request)
                except (MemdirError, OSError):  # what is wrong with the user's memories costs the project's nothing
                    continue
                selection.keys = selection.keys[:room]
                found.append(selection)
        roots = {chooser.scope: chooser.root for chooser in self._choosers}
        for selection in found:
            # What the session holds in another wording is told first: it would go on with what is no longer so.
            news = request.shown.changed(selection.scope, roots[selection.scope])
            changed = [key for key in news if self._has_team or not key.startswith(TEAM_PREFIX)]
            selection.keys = [*changed, *[key for key in selection.keys if key not in changed]][:MAX_RECALLED]
        return found

    def prepare(
        self, request: RecallRequest, selections: Sequence[Selection], *, check_seconds: float = CHECK_SECONDS
    ) -> Prepared:
        """Do what takes long, reading and checking: `show` only puts together."""
        with self._reading:
            return Prepared(request, [(one, self._read_and_check(one, check_seconds)) for one in selections])

    def show(self, prepared: Prepared) -> list[ShownMemory]:
        """The memories for the conversation; marks them as shown. What is the user's own comes before what is the
        team's: where they disagree, it is what the user gets to read."""
        found: list[ShownMemory] = []
        for selection, ready in _team_last(prepared.scopes):
            room = prepared.request.room - sum(len(one.reminder) for one in found)
            found += self._show(prepared.request, selection, ready, room=room)
        return found

    def _read_and_check(self, selection: Selection, seconds: float) -> Ready:
        if not selection.keys:
            return []  # as mostly: then nothing is loaded for it
        from memdir.recall.verify import Verifier

        verifier = self._verifier = self._verifier or Verifier(self._project)
        root = self._place_of(selection.scope).root
        found = [memory for key in selection.keys[:MAX_RECALLED] if (memory := _read(root, key)) is not None]
        texts = [f"{memory.topic.description}\n{memory.topic.body}" for memory in found]
        return [(one, verifier.missing(text, max_seconds=seconds)) for one, text in zip(found, texts, strict=True)]

    def _show(self, request: RecallRequest, selection: Selection, ready: Ready, *, room: int) -> list[ShownMemory]:
        if not ready:
            self._tell(request, selection, ())
            return []
        from memdir.recall.inject import LEAST_SHOWN, MAX_SESSION_CHARACTERS, render_memory

        found: list[ShownMemory] = []
        so_far, scope = request.shown, selection.scope
        for memory, missing in ready:
            data = memory.topic.data
            if so_far.holds_copy(data) or not os.path.exists(memory.path):
                continue  # another recall in flight had it too, or it was forgotten meanwhile
            left, is_news = MAX_SESSION_CHARACTERS - so_far.characters, self._was_shown(so_far, scope, memory.key)
            if room < LEAST_SHOWN * 2:
                break  # the host takes no more now; it may come with another message
            text = render_memory(
                memory,
                now=self._clock(),
                missing=missing,
                room=min(left, room),
                scope=scope,
                has_changed=is_news,
                author=self._author_of(scope, memory.key),
            )
            found.append(one := ShownMemory(memory, scope, text))
            so_far.add(scope, memory.key, len(one.reminder), data)
            room -= len(one.reminder)
        if found:
            so_far.save()
        self._tell(request, selection, [one.memory.key for one in found])
        return found

    def _was_shown(self, shown: Shown, scope: str, key: str) -> bool:
        """Whether an earlier text of it was shown, here or in the scope that it has moved from."""
        others = [one for one in ("project", "user") if one != scope and key in shown.keys(one)]
        has_moved = any(not os.path.exists(os.path.join(self._place_of(one).root, key)) for one in others)
        return has_moved or key in shown.keys(scope)

    def _author_of(self, scope: str, key: str) -> str:
        if scope != "team" and not key.startswith(TEAM_PREFIX):
            return ""
        from memdir.store.shared import author_of

        return author_of(self._place_of(scope), key.removeprefix(TEAM_PREFIX) if scope != "team" else key)

    def _tell(self, request: RecallRequest, selection: Selection, shown: Sequence[str]) -> None:
        from memdir.events import Event, request_refused

        work = {
            "scanned": selection.scanned,
            "chosen": len(selection.keys),
            "chooser": selection.by,
            "tokens": selection.tokens,
            "ms": round(selection.ms, 1),
        }
        characters, told = request.shown.characters, selection.prompt_hash
        self._sink.emit(Event("memory.recall", files=len(shown), characters=characters, **work, prompt_hash=told))
        if not shown or not request.shown.is_logged:
            return
        from memdir.recall.recall_log import Injection, RecallLog

        place = self._place_of(selection.scope)
        keys = tuple([place.prefix + key for key in shown])  # the team shares its project's log
        injection = Injection(self._clock(), request.shown.session, keys, message=request.text, by=selection.by)
        try:
            RecallLog(place.state).add(injection)
        except DiskError as error:  # full or read-only: a log must never cost the memory
            self.not_logged = str(error)
            self._sink.emit(request_refused(what="the recall log", reason=error.message))


def _team_last(scopes: list[tuple[Selection, Ready]]) -> list[tuple[Selection, Ready]]:
    """What is ready scope by scope, what lies below `team/` of any behind all the others."""
    own, shared = [], []
    for selection, ready in scopes:
        of_team = [one for one in ready if one[0].key.startswith(TEAM_PREFIX)]
        own.append((selection, [one for one in ready if one not in of_team] if of_team else ready))
        if of_team:
            shared.append((selection, of_team))
    return [*(one for one in own if one[1] or not shared), *shared]


def of_team(root: str) -> frozenset[str]:
    """The keys of what lies in a memory directory for a team."""
    from memdir.store.scan import walk

    is_there = os.path.isdir(os.path.join(root, TEAM_PREFIX))
    return frozenset([key for key, _ in walk(root) if key.startswith(TEAM_PREFIX)] if is_there else ())


def _timed(chooser: Chooser, request: RecallRequest) -> Selection:
    started = time.perf_counter()
    selection = chooser.choose(request)
    selection.ms = (time.perf_counter() - started) * 1000
    return selection


def _read(root: str, key: str) -> Memory | None:
    """A memory that was found a moment ago; None when it is gone or may not be read."""
    from memdir.store.memory_file import read_memory

    try:
        return read_memory(root, key, resolve_found(root, key))
    except MemdirError:
        return None
