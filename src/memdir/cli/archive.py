"""All memories at once: out to a folder or a zip, in again, and over from where the project was."""

from __future__ import annotations

import os

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.errors import MemdirError, MemoryNotFound
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.identity import StoreRecord


class Export:
    """Write all memories and the index to a new folder, or to a zip file when the name ends in .zip."""

    EXAMPLES = ("memdir export backup.zip", "memdir export ~/memories --scope user")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", metavar="TARGET", help="a new folder, or a file that ends in .zip")
        parser.add_argument("--force", action="store_true", help="replace a zip file that is there already")
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.archive import export_memories

        exported = export_memories(context.store(), options.target, replace=options.force)
        if options.json:
            left_out = dict(sorted(exported.left_out.items()))
            return context.print_json({"target": options.target, "memories": exported.memories, "leftOut": left_out})
        count = counted(exported.memories, "memory", "memories")
        context.terminal.line(f"{context.terminal.bold('Exported')} {count} to {clean(options.target)}")
        for key, reason in sorted(exported.left_out.items()):
            context.note(f"{key} was left out: {reason}")
        return 0


class Import:
    """Take in all memories of a folder or a zip file as one change. Nothing is overwritten: a memory whose name is
    taken by another text gets a new name, one that is there word for word is left out. Names that could lead out of the
    memory directory, links and zip bombs are refused."""

    EXAMPLES = ("memdir import backup.zip", "memdir import ~/old-memories --scope user")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", metavar="SOURCE", help="a folder of .md files, or a zip file")
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.archive import import_memories
        from memdir.store.history import Origin

        origin = Origin("import", trust="file", reason=f"from {options.source}")
        result = import_memories(context.store(for_writing=True), options.source, origin=origin)
        if options.json:
            told = {"added": result.added, "same": result.same, "renamed": result.renamed, "refused": result.refused}
            return context.print_json(told, int(bool(result.refused)))
        terminal = context.terminal
        terminal.line(
            f"{terminal.bold('Imported')} {counted(len(result.added) + len(result.renamed), 'memory', 'memories')}, "
            f"{len(result.same)} already there"
        )
        for key, target in result.renamed.items():
            terminal.line(f"  {clean(key)} became {clean(target)}: another memory has that name")
        for key in result.unguarded:
            context.note(f"{key} came with a guard, which was left out: `memdir guard add` sets one")
        for reason in result.refused.values():
            terminal.line(terminal.style(f"  {clean(reason)}", "yellow"))
        return 1 if result.refused else 0


class Adopt:
    """Find the store of a project that was renamed, moved or cloned elsewhere. Without a name, lists the stores whose
    project is gone or that may belong to this one; with the old path of one, moves it here."""

    EXAMPLES = ("memdir adopt", "memdir adopt /home/ann/old-name")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", metavar="OLD_PATH", nargs="?", help="where the project was, from the list")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.identity import adopt, identify, stores

        layout = context.require_enabled().layout
        here = identify(layout.project, layout.work_tree)
        records = [record for record in stores(layout) if record.slug != layout.slug and not record.is_empty]
        offered = [record for record in records if record.is_orphan or here.is_same_project(record.identity)]
        if options.path is None:
            return _list(offered, context, as_json=options.json)
        wanted = os.path.normpath(options.path)
        chosen = next((record for record in offered if wanted in (record.identity.root, record.slug)), None)
        if chosen is None:
            raise MemoryNotFound(f"there is no store of {options.path!r} to adopt", remedy="`memdir adopt` lists them")
        if os.path.isdir(layout.default_memory) and os.listdir(layout.default_memory):
            raise MemdirError(
                f"this project has memories of its own in {layout.default_memory}",
                remedy=f"Take the others in beside them: memdir import {os.path.join(chosen.folder, 'memory')}",
            )
        adopt(layout, chosen)
        if options.json:
            return context.print_json({"adopted": chosen.identity.root})
        context.terminal.line(f"{context.terminal.bold('Adopted')} the memories of {clean(chosen.identity.root)}")
        return 0


def _list(records: list[StoreRecord], context: Context, *, as_json: bool) -> int:
    if as_json:
        listed = [{"store": r.slug, "root": r.identity.root, "orphan": r.is_orphan} for r in records]
        context.print_json({"stores": listed})
    elif not records:
        context.terminal.line("Every store's project is where it was.")
    else:
        rows = [["gone" if r.is_orphan else "still there", r.identity.root] for r in records]
        context.terminal.table(rows, headers=("project", "old path"), styles=("yellow", "bold"))
    return 0
