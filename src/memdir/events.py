"""What happened, as typed values (V1), and how a host is told of it. Events carry names, counts and reasons, never the
text of a memory.

What a host hands in is held so that its faults stay its own: a callback, a sink or a clock that fails costs what it was
to do, never our work. `Exception` only: whoever presses Ctrl-C means all of it.
"""

from __future__ import annotations

import time
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Protocol, TypeAlias
else:
    Protocol = object  # `typing` is not loaded for a name

FieldValue: TypeAlias = "str | int | float | bool | tuple[str, ...] | None"
_SHORTEST_SECRET = 8  # characters of the shortest one that a rule knows
_LAST_MOMENT = 253_402_300_800  # the year 10000: no date beyond it can be written down


class Sink(Protocol):
    """Where events go."""

    def emit(self, event: Event) -> None:
        """Take an event; what this raises costs nobody else anything."""


class Event:
    """One thing that happened: its name, when, and its fields."""

    __slots__ = ("fields", "name", "time")

    def __init__(self, name: str, **fields: FieldValue) -> None:
        self.name = name  # what happened, as in "memory.recall"
        self.time: float = time.time()  # seconds since the epoch
        self.fields: dict[str, FieldValue] = fields  # counts, names and reasons; never the text of a memory

    def __repr__(self) -> str:
        return f"Event({self.name!r}, {', '.join(f'{key}={value!r}' for key, value in self.fields.items())})"


def request_refused(*, what: str, reason: str) -> Event:
    """A setting, a path or a call was refused."""
    return Event("memory.refused", what=what, reason=reason)


def memory_extracted(*, work: Mapping[str, FieldValue], prompt_hash: str = "", skipped: str = "") -> Event:
    """An extraction ran, or was skipped and why (X11). `work`: tokens, cache hit, turns, files, refusals, quoted,
    lost for their form."""
    return Event("memory.extract", **work, prompt_hash=prompt_hash, skipped=skipped)


def memory_dreamt(*, work: Mapping[str, FieldValue], prompt_hash: str = "", refused: str = "") -> Event:
    """A dream ran, or was refused or stopped and why (D5)."""
    return Event("memory.dream", **work, prompt_hash=prompt_hash, refused=refused)


def session_memory_updated(*, work: Mapping[str, FieldValue], prompt_hash: str = "", skipped: str = "") -> Event:
    """The summary of a session was brought up to date, or a run of it came to nothing and why (N3)."""
    return Event("session_memory.update", **work, prompt_hash=prompt_hash, skipped=skipped)


def doc_updated(*, file: str, work: Mapping[str, FieldValue], prompt_hash: str = "", skipped: str = "") -> Event:
    """A magic doc was brought up to date, needed no change, or was left and why (M2). `work`: tokens, lines added and
    removed, the id of the change, which has the diff."""
    return Event("doc.update", file=file, **work, prompt_hash=prompt_hash, skipped=skipped)


def session_compacted(*, trigger: str, work: Mapping[str, FieldValue], skipped: str = "") -> Event:
    """A conversation was compacted, or was not and why (N7). `work`: how, tokens before and after, messages kept."""
    return Event("session.compact", trigger=trigger, **work, skipped=skipped)


def history_failed(*, reason: str) -> Event:
    """A change is on disk but could not be recorded in the history; the next touch tries again."""
    return Event("history.failed", reason=reason)


def history_repaired(*, what: str) -> Event:
    """Something of the history was damaged and has been made again from what is certain."""
    return Event("history.repaired", what=what)


def push_suppressed(*, remote: str, reason: str, files: int) -> Event:
    """Nothing was given to the team, or some files were not, and why: no_change, secret, cap, rate, offline,
    not_allowed … (E5)."""
    return Event("team.push_suppressed", remote=remote, reason=reason, files=files)


def secret_skipped(*, file: str, found: str, way: str) -> Event:
    """A file with a secret was not given to the team (`way` is "push") or not taken from it ("pull"). `found`: what
    kind in which line, never the value (E5)."""
    return Event("team.secret_skipped", file=file, found=found, way=way)


def tell(callback: Callable[..., object] | None, *facts: object) -> None:
    """Call a host's function that only listens, if there is one."""
    if callback is None:
        return
    try:
        outcome = callback(*facts)
        if hasattr(outcome, "send") and hasattr(outcome, "close"):
            outcome.close()  # a coroutine where a function was asked for: nobody here could wait for it
    except Exception:  # noqa: BLE001 - it is a host's own code
        return


def careful_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """A clock whose every answer is a moment that can be written down; the machine's where the host's fails."""

    def now() -> float:
        try:
            moment = clock()
            if 0 <= moment < _LAST_MOMENT:
                return float(moment)
        except Exception:  # noqa: BLE001 - it is a host's own code
            return time.time()
        return time.time()

    return clock if clock is time.time else now


class FanOut:
    """Hands every event to each of the given sinks."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._sinks = tuple(sinks)

    def emit(self, event: Event) -> None:
        for sink in self._sinks:
            tell(sink.emit, event)


class NullSink:
    """Drops every event."""

    def emit(self, event: Event) -> None:
        """Nothing to do."""


class CarefulSink:
    """A sink that never fails and is never entered twice: what it sets off while it is told is not told to it again."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._telling: set[int] = set()  # threads

    def emit(self, event: Event) -> None:
        thread = get_ident()
        if thread in self._telling:
            return
        self._telling.add(thread)
        try:
            tell(self._sink.emit, event)
        except AttributeError:
            return  # it is no sink
        finally:
            self._telling.discard(thread)


class CleanSink:
    """Hands on every event with the secrets taken out of its texts: a reason may quote what failed, and a file or a
    project may be named after one. `redact` is asked only about texts that are long enough to hold one."""

    def __init__(self, sink: Sink, redact: Callable[[str], str]) -> None:
        self._sink = sink
        self._redact = redact

    def emit(self, event: Event) -> None:
        cleaned = Event(event.name, **{name: self._cleaned(value) for name, value in event.fields.items()})
        cleaned.time = event.time
        self._sink.emit(cleaned)

    def _cleaned(self, value: FieldValue) -> FieldValue:
        if isinstance(value, tuple):
            return tuple(str(self._cleaned(part)) for part in value)
        is_text = isinstance(value, str) and len(value) >= _SHORTEST_SECRET and not value.replace("_", "").isalpha()
        return self._redact(str(value)) if is_text else value


class HeldSink:
    """Keeps events back while a lock is held: a sink may be slow, or may want that lock itself."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._waiting: list[Event] = []
        self._depth = 0

    def emit(self, event: Event) -> None:
        if self._depth:
            self._waiting.append(event)
        else:
            self._sink.emit(event)

    def held(self) -> HeldSink:
        """Until the end of the `with` block nothing is passed on."""
        return self

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._sink.emit(event)


def careful_sink(sink: Sink) -> Sink:
    return sink if isinstance(sink, CarefulSink) else CarefulSink(sink)
