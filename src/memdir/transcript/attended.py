"""Sessions of other agents that memdir attends to: what a hook notes of each, so that whoever learns from it later
knows where its transcript lies and how far it was read. A hook reads and writes this, so it is plain text."""

from __future__ import annotations

import os

from memdir.disk.plain_file import names_in, read_beginning, read_if_plain, read_plain
from memdir.layout import ATTENDED_NAME, is_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memdir.layout import Layout
    from memdir.settings import Environment
    from memdir.transcript.message import Message

MAX_BYTES = 16 << 10  # five lines, two of them paths
MAX_LATE = 20  # sessions that are looked at when another starts: the newest; at the others the worker looks
MAX_TRANSCRIPT_BYTES = 64 << 20
MAX_SWITCHED_BYTES = 1 << 20  # a line each time that memory was switched off or on again
IN_THE_PAST = 1.0  # a time before everything that was ever said, of a session that no hook told of
FROM_THE_BEGINNING = 2.0  # the same, of one that goes on since
BEFORE_SECONDS = 60.0  # by which a prompt may be written down before its hook is called


class Attended:
    """One session: whose it is, its transcript, when memdir first saw it, the place of the last turn it learned from,
    and the folder that it was started in."""

    def __init__(self, session: str, agent: str, transcript: str, folder: str, *, begun: float, place: int = 0) -> None:
        self.session, self.agent, self.transcript = session, agent, transcript
        self.begun, self.place, self.folder = begun, place, folder

    @staticmethod
    def at(path: str) -> Attended | None:
        """What was noted in a file, which lies in the folder of its session; None when memdir does not attend to that
        session, or nothing of the note can be read."""
        session = os.path.basename(os.path.dirname(path))
        try:
            text = read_plain(path, max_bytes=MAX_BYTES, follow=False).decode("utf-8", "replace")
            agent, transcript, begun, place, folder, *_ = text.split("\n")
            return Attended(session, agent, transcript, folder, begun=float(begun), place=int(place))
        except (OSError, ValueError):
            return None

    def heard(self, layout: Layout, messages: Iterable[Message]) -> list[Message]:
        """Messages of this session, with the mark of those that are none of memdir's business: said before it attended
        to the session, or while memory was off. One that bears no time goes with the one before it."""
        from dataclasses import replace

        from memdir.transcript.message import said_at

        said = [(one, said_at(one)) for one in messages]
        asked = [at for one, at in said if one.role == "user" and not one.tool_results and at is not None]
        switched = [(_prompt_near(self.begun, asked), True)] if self.begun else []
        for moment, is_on, is_prompt in _switches(layout, self.session):
            switched.append((_prompt_near(moment, asked) if is_prompt else moment, is_on))
        is_heard, found = not self.begun, []
        for one, at in said:
            if at is not None:
                is_heard = next((is_on for since, is_on in reversed(switched) if at >= since), not self.begun)
            found.append(one if is_heard else replace(one, is_off=True))
        return found

    def before(self, layout: Layout, messages: Iterable[Message]) -> list[Message]:
        """Messages of this session that were said before memdir attended to it, and not while memory was off."""
        said, first = list(messages), Attended(self.session, "", "", "", begun=FROM_THE_BEGINNING)
        both = zip(self.heard(layout, said), first.heard(layout, said), strict=True)
        return [all_along for now, all_along in both if now.is_off and not all_along.is_off]

    def save(self, layout: Layout, *, looked_ns: int | None = None) -> None:
        """Keep the note, as of now or of the moment at which its transcript was looked at."""
        from memdir.disk.atomic import keep_bytes

        path = layout.attended(self.session)
        text = f"{self.agent}\n{self.transcript}\n{self.begun:.3f}\n{self.place}\n{self.folder}\n"
        keep_bytes(path, text.encode("utf-8", "replace"), mtime_ns=looked_ns, durably=False)  # a prompt waits for it


def note_switch(layout: Layout, session: str, *, is_on: bool, is_prompt: bool) -> None:
    """Note that memory is on, or off, from this event of a session on, where it was not so before. Its own file, and
    appended to: the worker may write the other one just now, and one may be attended to later."""
    path = layout.switched(session)
    if is_on and not os.path.exists(path):
        return
    if next((was_on for _, was_on, _ in _switches(layout, session)[-1:]), True) != is_on:
        import time

        from memdir.disk.append import append_bytes

        append_bytes(path, f"{'on' if is_on else 'off'} {time.time():.3f} {'prompt' if is_prompt else '-'}\n".encode())


def note_unheard(layout: Layout, session: str, environment: Environment, host: str, begun: float) -> None:
    """Note what is not heard of a session that is first seen: all that another agent says to it; where it is seen at
    its end, what was said before memory or the settings last changed, for it may have been off."""
    from memdir.disk.append import append_bytes
    from memdir.settings import settings_files

    files = filter(os.path.exists, settings_files(environment, layout).values())
    times = [*map(os.path.getmtime, files), *(moment for moment, *_ in _switches(layout, session))]
    if not environment.has_person(host):
        append_bytes(layout.switched(session), b"off 0 -\n")
    elif not begun and (changed := max(times, default=0.0)):
        append_bytes(layout.switched(session), f"off 0 -\non {changed:.3f} -\n".encode())


def _switches(layout: Layout, session: str) -> list[tuple[float, bool, bool]]:
    """When memory was switched, whether on, and whether a prompt told of it."""
    data = read_if_plain(layout.switched(session), MAX_SWITCHED_BYTES) or b""
    found = []
    for line in data.decode("utf-8", "replace").splitlines():
        word, moment, event, *_ = (*line.split(), "", "", "")
        try:
            found.append((float(moment), word == "on", event == "prompt"))
        except ValueError:
            continue
    return found


def _prompt_near(moment: float, asked: list[float]) -> float:
    """When the prompt was said of which a hook told at a moment: its host writes it down a little earlier or later."""
    near = [at for at in asked if abs(at - moment) <= BEFORE_SECONDS]
    return min(near, key=lambda at: abs(at - moment), default=moment)


def attended_times(folder: str) -> dict[str, float]:
    """The sessions of other agents below a project's folder, and when each was last looked at."""
    found = {}
    for name in filter(is_session_id, names_in(folder)):
        try:
            found[name] = os.lstat(os.path.join(folder, name, ATTENDED_NAME)).st_mtime
        except OSError:
            continue
    return found


def late_sessions(folder: str, *, but: str = "", is_rest: bool = False) -> list[str]:
    """The newest of them, or all others, without the one that starts, that wrote on since they were looked at: a turn
    was broken off, and nobody was told that it ended (X10). Who is still at work is learned from a little early."""
    times = attended_times(folder)
    names, found = sorted(times, key=times.__getitem__), []
    for name in names[:-MAX_LATE] if is_rest else names[-MAX_LATE:]:
        attended = Attended.at(os.path.join(folder, name, ATTENDED_NAME))
        try:
            if attended and name != but and os.stat(attended.transcript).st_mtime > times[name]:
                found.append(name)
        except OSError:  # not written yet, gone, or a database
            continue
    return found


def own_transcript(environment: Environment, host: str, path: str) -> str:
    """The transcript that a host names, where it is one of its own: below its own folder, by no link that leads out of
    it, and this user's file, or none yet. Else "": whoever calls a hook could name any file."""
    homes = {
        "claude": environment.claude_home,
        "codex": environment.codex_home,
        "gemini": environment.gemini_home,
        "qwen": environment.qwen_runtime,
    }
    try:
        real, home = os.path.realpath(path), os.path.realpath(homes[host])
        is_own = real.startswith(home + os.sep) and (not os.path.exists(real) or os.stat(real).st_uid == os.getuid())
    except (KeyError, OSError, ValueError):
        return ""
    return real if path and is_own else ""


def is_codex_at_work(transcript: str, folder: str) -> bool:
    """Whether Codex' own memory agent calls. `codex exec --ephemeral` leaves no transcript either, elsewhere."""
    from memdir.settings import Environment

    return not transcript and bool(own_transcript(Environment.read(), "codex", folder))


def is_headless(environment: Environment, host: str, transcript: str) -> bool:
    """Whether nobody sees what a hook says: in `claude -p`, under its SDKs, in `codex exec` and `qwen -p`; others tell.
    Qwen's user may do without messages of other sessions: for one it keeps, at each prompt, what the files were."""
    if host == "qwen" and environment.is_headless_qwen:
        data = read_if_plain(own_transcript(environment, host, transcript), MAX_TRANSCRIPT_BYTES) or b""
        return b'"file_history_snapshot"' not in data.rpartition(b'"real_user"')[2]
    if host != "codex":
        return host == "claude" and environment.is_headless_claude
    try:
        head = read_beginning(own_transcript(environment, host, transcript), max_bytes=2_000)
        return b'"source":"exec"' in head
    except OSError:
        return not transcript  # `codex exec --ephemeral`
