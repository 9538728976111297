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
    parser.add_argument("--force", action="store_true", help="replace a zip file that is there already")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.archive import export_memories

    exported = export_memories(context.store(), options.target, replace=options.force)
    if options.json:
        context.print_json(
            {
                "target": options.target,
                "memories": exported.memories,
                "leftOut": dict(sorted(exported.left_out.items())),
            }
        )
        return 0
    count = f"{exported.memories} {'memory' if exported.memories == 1 else 'memories'}"
    context.terminal.line(f"{context.terminal.bold('Exported')} {count} to {clean(options.target)}")
    for key, reason in sorted(exported.left_out.items()):
        context.note(f"{key} was left out: {reason}")
    return 0
