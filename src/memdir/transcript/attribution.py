"""How much of each file the agent wrote in this session, kept across a resume (J2)."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from memdir.transcript.raw_lines import lines_backwards
from memdir.transcript.record import ATTRIBUTION, parse_record
from memdir.transcript.transcript import Transcript


@dataclass
class Attribution:
    """Bytes that the agent put into each file, and the file's content when it last did."""

    written: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def load(path: str) -> Attribution:
        """As the last snapshot of a transcript has it; empty without one."""
        found = Attribution()
        try:
            for raw in lines_backwards(path):
                record = parse_record(raw) if ATTRIBUTION.encode() in raw else None
                states = record.fields.get("fileStates") if record and record.type == ATTRIBUTION else None
                if isinstance(states, dict):
                    found._take(states)
                    break
        except FileNotFoundError:
            pass
        return found

    def changed(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Count what an edit put in: what is left of the new content without the beginning and end it kept."""
        real = os.path.realpath(path)
        old, new = before or b"", after or b""
        kept = _shared(old, new)
        kept += _shared(old[kept:][::-1], new[kept:][::-1])
        self.written[real] = self.written.get(real, 0) + len(new) - kept
        self.digests[real] = hashlib.sha256(new).hexdigest()

    def save(self, transcript: Transcript) -> None:
        """Write a snapshot; the host does so at the end of a turn in which something was edited."""
        states = {
            path: {"contentHash": self.digests[path], "agentBytes": count} for path, count in self.written.items()
        }
        transcript.append_note({"type": ATTRIBUTION, "messageId": transcript.last_uuid, "fileStates": states})

    def _take(self, states: dict[str, object]) -> None:
        for path, state in states.items():
            if isinstance(state, dict) and isinstance(state.get("agentBytes"), int):
                self.written[path] = state["agentBytes"]
                self.digests[path] = str(state.get("contentHash", ""))


def _shared(one: bytes, other: bytes) -> int:
    """How long two contents are the same from their beginning on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
