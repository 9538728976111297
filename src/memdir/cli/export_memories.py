"""Write all memories and the index to a new folder, or to a zip file when the name ends in .zip."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir export backup.zip", "memdir export ~/memories --scope user")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="a new folder, or a file that ends in .zip")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.archive import export_memories

    count = export_memories(context.store(), options.target)
    if options.json:
        context.print_json({"target": options.target, "memories": count})
    else:
        context.terminal.line(f"{context.terminal.bold('Exported')} {count} memories to {clean(options.target)}")
    return 0
