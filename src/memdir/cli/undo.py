"""Take back a change: the newest that was not taken back yet, or the one with the given id. Repeat it to go on.

Later changes to other lines stay. An undo is a change too: `memdir undo ID` of an undo brings the change back."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir undo", "memdir undo 4f2a91c0")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", metavar="CHANGE", nargs="?", default="", help="an id from `memdir log`")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.undo import undo

    undone = undo(context.store(for_writing=True), options.change)
    if options.json:
        context.print_json({"undone": undone.commit.id, "subject": undone.commit.subject, "files": undone.paths})
        return 0
    terminal = context.terminal
    terminal.line(
        f"{terminal.bold('Took back')} {terminal.style(undone.commit.id[:8], 'yellow')} {clean(undone.commit.subject)}"
    )
    for path in undone.paths:
        terminal.line(f"    {clean(path)}")
    return 0
