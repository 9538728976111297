"""Show the files that a conversation edited, print one as it was at a message, or bring them all back to it.

Without --restore nothing is changed. A restore is recorded like an edit, so that it can be taken back."""

from __future__ import annotations

import sys

from memdir.cli.context import add_json
from memdir.cli.sessions.choose import add_session, chosen
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.file_history import FileHistory, Step

EXAMPLES = (
    "memdir sessions files                         # what differs from the end of the session",
    "memdir sessions files 0f3a91c2 --at 5b7e      # ... from how it was at a message",
    "memdir sessions files --at 5b7e --show app.py",
    "memdir sessions files --at 5b7e --restore",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")
    parser.add_argument("--show", metavar="FILE", help="print this file as it was")
    parser.add_argument("--restore", action="store_true", help="write the files as they were")
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.errors import MemoryNotFound
    from memdir.transcript.file_history import FileHistory
    from memdir.transcript.resume import resume
    from memdir.transcript.session_list import full_id

    ref = chosen(context, options.session)
    at = full_id(ref.path, options.at) if options.at else resume(ref.path).leaf
    transcript = context.memory.transcript(ref.id)
    history = FileHistory(transcript, context.memory.layout.file_history(ref.id))
    try:
        if options.show:
            content = history.show(options.show, at)
            if content is None:
                raise MemoryNotFound(f"there was no {options.show} then, or this session never edited it")
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            return 0
        return _restore(options, history, at, context)
    finally:
        transcript.close()


def _restore(options: argparse.Namespace, history: FileHistory, at: str, context: Context) -> int:
    steps = history.restore(at) if options.restore else history.plan(at)
    if options.json:
        listed = [{"path": step.path, "change": _verb(step)} for step in steps]
        context.print_json({"message": at, "restored": options.restore, "files": listed})
        return 0
    for step in steps:
        context.terminal.line(f"{_verb(step).ljust(6)}  {clean(step.path)}")
    if not steps:
        context.terminal.line("Every file that the conversation edited is as it was then.")
    elif not options.restore:
        context.terminal.line(context.terminal.dim("Nothing was changed; --restore does it."))
    return 0


def _verb(step: Step) -> str:
    return "delete" if step.content is None else "write"
