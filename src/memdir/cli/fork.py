"""Begin a second session where another one stands, or stood at a message. The first one stays as it is.

The new one has the same context, can restore the same files, and knows what was already remembered."""

from __future__ import annotations

from memdir.cli.context import add_json
from memdir.cli.sessions.choose import add_session, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir fork", "memdir fork 0f3a91c2 --at 5b7e", "memdir fork latest --json")


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.remember.session_state import fork_session
    from memdir.transcript.session_list import full_id

    ref = chosen(context, options.session)
    fork = fork_session(context.memory.transcript, ref.id, context.memory.layout, at=full_id(ref.path, options.at))
    if options.json:
        context.print_json({"session": fork.id, "forkedFrom": ref.id, "path": context.memory.layout.session(fork.id)})
        return 0
    context.terminal.line(f"{fork.id} goes on from {ref.id}.")
    context.terminal.line(context.terminal.dim(f"`memdir resume {fork.id[:8]}` shows it."))
    return 0
