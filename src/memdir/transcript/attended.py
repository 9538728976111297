"""Sessions of other agents that memdir attends to: what a hook notes of each, so that whoever learns from it later
knows where its transcript lies and how far it was read. A hook reads and writes this, so it is plain text."""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_plain
from memdir.errors import PathEscape
from memdir.layout import ATTENDED_NAME, is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.layout import Layout

MAX_BYTES = 16 << 10  # four lines, one of them a path


class Attended:
    """One session: whose it is, its transcript, when memdir first saw it, and the place of the last turn it learned
    from."""

    __slots__ = ("agent", "begun", "place", "session", "transcript")

    def __init__(self, session: str, agent: str, transcript: str, *, begun: float, place: int = 0) -> None:
        self.session = session
        self.agent = agent
        self.transcript = transcript
        self.begun = begun
        self.place = place

    @staticmethod
    def load(layout: Layout, session: str) -> Attended | None:
        """What was noted; None when memdir does not attend to that session, or nothing of the note can be read."""
        try:
            text = read_plain(layout.attended(session), max_bytes=MAX_BYTES, follow=False).decode("utf-8", "replace")
            agent, transcript, begun, place, *_ = text.split("\n")
            return Attended(session, agent, transcript, begun=float(begun), place=int(place))
        except (OSError, ValueError, PathEscape):
            return None

    def save(self, layout: Layout) -> None:
        from memdir.disk.atomic import make_folder, write_bytes_atomic

        path = layout.attended(self.session)
        make_folder(os.path.dirname(path))
        text = f"{self.agent}\n{self.transcript}\n{self.begun:.0f}\n{self.place}\n"
        write_bytes_atomic(path, text.encode("utf-8", "replace"), durably=False)  # a prompt waits for it


def attended_times(folder: str) -> dict[str, float]:
    """The sessions of other agents below a project's folder, and when each was last looked at."""
    found = {}
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    for name in filter(is_session_id, names):
        try:
            found[name] = os.lstat(os.path.join(folder, name, ATTENDED_NAME)).st_mtime
        except OSError:
            continue
    return found
