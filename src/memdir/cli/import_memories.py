"""Take in all memories of a folder or a zip file as one change. Nothing is overwritten: a memory whose name is taken by
another text gets a new name, one that is there word for word is left out. Names that could lead out of the memory
directory, links and zip bombs are refused."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir import backup.zip", "memdir import ~/old-memories --scope user")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a folder of .md files, or a zip file")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.archive import import_memories
    from memdir.store.history import Origin

    origin = Origin("import", trust="file", reason=f"from {options.source}")
    result = import_memories(context.store(for_writing=True), options.source, origin=origin)
    if options.json:
        context.print_json(
            {"added": result.added, "same": result.same, "renamed": result.renamed, "refused": result.refused}
        )
        return 1 if result.refused else 0
    terminal = context.terminal
    terminal.line(
        f"{terminal.bold('Imported')} {len(result.added) + len(result.renamed)} memories, "
        f"{len(result.same)} were there already"
    )
    for key, target in result.renamed.items():
        terminal.line(f"  {clean(key)} became {clean(target)}: another memory has that name")
    for reason in result.refused.values():
        terminal.line(terminal.style(f"  {clean(reason)}", "yellow"))
    return 1 if result.refused else 0
