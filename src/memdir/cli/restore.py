"""Bring back an earlier version of a file, byte for byte: also one that was deleted. This is itself a change, so
`memdir undo` takes it back."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir restore feedback_no_mocks.md", "memdir restore feedback_no_mocks.md --at 4f2a91c0")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file that exists or once did")
    parser.add_argument(
        "--at", metavar="CHANGE", default="", help="as it was after this change (default: before its newest)"
    )
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.cli.history_path import history_key
    from memdir.store.undo import require_history, restore

    store = context.store(for_writing=True)
    require_history(store)
    key = history_key(store, options.memory)
    source = restore(store, key, options.at)
    if options.json:
        context.print_json({"file": key, "from": source.id})
    else:
        context.terminal.line(
            f"{context.terminal.bold('Restored')} {clean(key)} from {source.id[:8]} ({clean(source.subject)})"
        )
    return 0
