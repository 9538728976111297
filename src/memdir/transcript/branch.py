"""A second session that begins where another one stood: the same context, the same file history, a life of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import open_plain
from memdir.errors import MemoryNotFound
from memdir.transcript.message import Message
from memdir.transcript.reader import read_records
from memdir.transcript.record import ATTRIBUTION, FILE_HISTORY, Record
from memdir.transcript.resume import Resumed, resume
from memdir.transcript.transcript import Transcript


@dataclass(frozen=True)
class Branch:
    """A new transcript, not written yet: the context it begins with and the notes it takes over."""

    origin: str
    transcript: Transcript
    left: Resumed

    @staticmethod
    def of(origin: str, transcript: Transcript, *, at: str = "") -> Branch:
        """A branch of the transcript at `origin`, at its end or at one of its messages."""
        left = resume(origin, at=at)
        if not left.messages:
            what = f"message {at}" if at else "message"
            raise MemoryNotFound(f"there is no {what} in {origin}", remedy="`memdir sessions show` lists the messages")
        return Branch(origin, transcript, left)

    def write(self) -> None:
        """Write the whole file at once: a branch is there or it is not."""
        make_folder(os.path.dirname(self.transcript.path))
        data = b"".join(self._lines())
        write_bytes_atomic(self.transcript.path, data)

    def copy_files(self, before: str, after: str) -> None:
        """Take over the kept contents of edited files, so that the branch can show and restore them."""
        try:
            names = sorted(os.listdir(before))
        except OSError:
            return
        make_folder(after)
        for name in names:
            with open_plain(os.path.join(before, name), follow=False) as file:
                write_bytes_atomic(os.path.join(after, name), file.read())

    def is_behind(self, message_id: str) -> bool:
        """Whether a message came after the place where this branch begins."""
        ids = (record.uuid for record in read_records(self.origin))
        return bool(message_id) and next((uuid for uuid in ids if uuid in (message_id, self._last)), "") == self._last

    @property
    def _last(self) -> str:
        return self.left.messages[-1].id

    def _lines(self) -> Iterator[bytes]:
        """The context's messages and the notes, in the order of the file; last of all the place to go on from."""
        parents = _parents(self.left.messages)
        left = {message.id: message for message in self.left.messages}
        for record in read_records(self.origin):
            message = left.pop(record.uuid, None)
            if message is not None:
                yield self._message_line(message, parents)
            elif record.type in (FILE_HISTORY, ATTRIBUTION):
                yield self._note_line(record)
        for message in left.values():  # only whole in its parts: a message of several records
            yield self._message_line(message, parents)
        last = self._last
        origin = {"sessionId": os.path.basename(self.origin).removesuffix(".jsonl"), "messageUuid": last}
        fields = {"type": "system", "subtype": "fork", "content": "Forked from here", "forkedFrom": origin}
        yield self.transcript.line(
            {**fields, "depth": len(self.left.messages)}, record_id=f"fork-{self.transcript.session_id}", parent=last
        )

    def _message_line(self, message: Message, parents: dict[str, str]) -> bytes:
        self.transcript.depth = list(parents).index(message.id)
        return self.transcript.message_line(message, parent=parents[message.id])

    def _note_line(self, record: Record) -> bytes:
        return self.transcript.note_line(record.fields)


def _parents(messages: tuple[Message, ...]) -> dict[str, str]:
    ids = [message.id for message in messages]
    return dict(zip(ids, ["", *ids[:-1]], strict=True))
