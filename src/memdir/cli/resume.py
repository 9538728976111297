"""Show a conversation as it would go on: what the model would see, from the last compaction on, and what it costs.

--at goes back to a message. Programs take the context from --json. Damage in the transcript costs the damaged records
at most, and is told."""

from __future__ import annotations

from memdir.cli.context import add_json
from memdir.cli.sessions.choose import add_session, chosen
from memdir.cli.sessions.show import plain_messages, print_messages
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.resume import Resumed
    from memdir.transcript.sources.source import SessionRef

EXAMPLES = ("memdir resume", "memdir resume 0f3a91c2 --at 5b7e", "memdir resume latest --json")
SHOWN = 6  # messages at the end, without --full


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")
    parser.add_argument("--full", action="store_true", help="print the whole context")
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.errors import MemoryNotFound
    from memdir.transcript.resume import resume
    from memdir.transcript.session_list import full_id

    ref = chosen(context, options.session)
    left = resume(ref.path, at=full_id(ref.path, options.at))
    if options.at and not left.messages:
        raise MemoryNotFound(
            f"there is no message {options.at} in session {ref.id}", remedy="`memdir sessions show` lists them"
        )
    if options.json:
        context.print_json(_plain(ref, left))
        return 0
    _print(ref, left, context, full=options.full)
    return 0


def _print(ref: SessionRef, left: Resumed, context: Context, *, full: bool) -> None:
    from memdir.transcript.tokens import estimate_messages

    terminal = context.terminal
    tokens = estimate_messages(left.messages)
    terminal.line(f"{terminal.bold(clean(ref.id))}  {len(left.messages)} messages, about {tokens:,} tokens")
    if left.compacted:
        kept = left.compacted - 1
        terminal.line(
            terminal.dim(f"It begins with the summary of a compaction and {kept} messages kept word for word.")
        )
    shown = left.messages if full else left.messages[-SHOWN:]
    if len(shown) < len(left.messages):
        terminal.line(terminal.dim(f"… {len(left.messages) - len(shown)} messages before these (--full)"))
    print_messages(shown, terminal, full=full)
    if left.damage.total:
        context.note(f"{ref.path}: {left.damage}")


def _plain(ref: SessionRef, left: Resumed) -> dict[str, object]:
    from memdir.transcript.tokens import estimate_messages

    return {
        "session": ref.id,
        "leaf": left.leaf,
        "compacted": left.compacted,
        "tokens": estimate_messages(left.messages),
        "damage": {
            "total": left.damage.total,
            "lines": left.damage.lines,
            "duplicates": left.damage.duplicates,
            "orphans": left.damage.orphans,
            "cycles": left.damage.cycles,
        },
        "messages": plain_messages(left.messages),
    }
