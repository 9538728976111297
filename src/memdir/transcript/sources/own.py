"""Sessions that memdir wrote itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memdir.layout import Layout, is_session_id
from memdir.transcript.message import Message
from memdir.transcript.sources.source import SessionRef, newest_first, records_since, session_ref, transcripts_in

AGENT = "memdir"


@dataclass(frozen=True)
class OwnSessions:
    """The transcripts below memdir's home."""

    home: str

    def sessions(self, project: str) -> Iterator[SessionRef]:
        folder = Layout(self.home, project).project_home
        refs = newest_first(session_ref(path, AGENT) for path in transcripts_in(folder))
        yield from (ref for ref in refs if is_session_id(ref.id))

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        for record in records_since(ref.path, since, end):
            message = record.message
            if message is not None and not message.is_meta and not record.is_sidechain:
                yield message
