"""Events without secrets: a reason may quote what failed, and a file or a project may be named after one (V1)."""

from __future__ import annotations

from memdir.events import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.events import FieldValue, Sink

_SHORTEST = 8  # characters of the shortest secret that a rule knows


class CleanSink:
    """Hands on every event with the secrets taken out of its texts."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def emit(self, event: Event) -> None:
        texts = {name: value for name, value in event.fields.items() if _may_hold_one(value)}
        if texts:
            event = Event.at(event.time, event.name, {**event.fields, **_clean(texts)})
        self._sink.emit(event)


def _may_hold_one(value: FieldValue) -> bool:
    """Whether a value is worth the search: words of our own, hashes and counts are not."""
    if isinstance(value, tuple):
        return any(map(_may_hold_one, value))
    return isinstance(value, str) and len(value) >= _SHORTEST and not value.replace("_", "").isalpha()


def _clean(texts: dict[str, FieldValue]) -> dict[str, FieldValue]:
    from memdir.store.secrets.find import redact  # a hook whose events hold no text loads none of it

    clean: dict[str, FieldValue] = {}
    for name, value in texts.items():
        clean[name] = tuple(map(redact, value)) if isinstance(value, tuple) else redact(str(value))
    return clean
