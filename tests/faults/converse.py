"""One step of a conversation, in a process of its own: `python converse.py append|compact|fork HOME`.

Ends like the command line: 0, or a MemdirError's exit code. Whatever else happens is a traceback, which is a bug.
"""

from __future__ import annotations

import os
import sys

from memdir.errors import MemdirError
from memdir.layout import Layout
from memdir.remember.session_state import fork_session
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user
from memdir.transcript.transcript import Transcript

NOW = 1_790_000_000.0
SESSION = "one"


def layout_of(home: str) -> Layout:
    return Layout(home, os.path.dirname(home))


def transcript_of(home: str, session: str = SESSION) -> Transcript:
    path = layout_of(home).session(session)
    return Transcript(path, session_id=session, cwd="/", clock=lambda: NOW, is_durable=True)


def append(home: str) -> None:
    talk = Conversation.resume(transcript_of(home))
    talk.add(user("the next message " * 40))


def compact(home: str) -> None:
    talk = Conversation.resume(transcript_of(home))
    talk.compact(user("the summary " * 40), talk.messages[-2:], {"trigger": "manual"})


def fork(home: str) -> None:
    fork_session(lambda session: transcript_of(home, session), SESSION, layout_of(home), fork_id="two")


def main() -> int:
    step = {"append": append, "compact": compact, "fork": fork}[sys.argv[1]]
    try:
        step(sys.argv[2])
    except MemdirError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
