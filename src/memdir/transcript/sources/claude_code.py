"""Sessions of Claude Code: `<home>/projects/<slug>/<session>.jsonl`, one record a content block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.disk.git_root import canonical_root
from memdir.layout import nfc, slug_of
from memdir.text.speakers import is_host
from memdir.transcript.message import Message
from memdir.transcript.record import Record
from memdir.transcript.sources.source import RecordSource, SessionRef, newest_first, session_ref, transcripts_in

AGENT = "claude-code"


@dataclass(frozen=True)
class ClaudeCodeSessions(RecordSource):
    """The transcripts below Claude Code's home, `~/.claude`."""

    home: str
    agent = AGENT

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """Those started in this folder or at the root of its repository."""
        folders = (os.path.join(self.home, "projects", slug) for slug in slugs_of(project))
        yield from newest_first(session_ref(path, AGENT) for folder in folders for path in transcripts_in(folder))

    def said(self, record: Record) -> Message | None:
        message = record.message
        return None if message is None or _is_host(record, message) else message


def slugs_of(project: str) -> list[str]:
    """The names of a project's folder in a home that is laid out like this one."""
    roots = dict.fromkeys((nfc(os.path.realpath(project)), nfc(canonical_root(project))))
    return [slug_of(root) for root in roots]


def _is_host(record: Record, message: Message) -> bool:
    """Whether nobody said this: the host put it in, a sub-agent said it, or it reports an error of the API."""
    raw = record.fields.get("message")
    if message.is_meta or record.is_sidechain or (isinstance(raw, dict) and raw.get("model") == "<synthetic>"):
        return True
    return message.role == "user" and not message.tool_results and is_host(message.text)
