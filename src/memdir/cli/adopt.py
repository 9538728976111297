"""Find the store of a project that was renamed, moved or cloned elsewhere. Without a name, lists the stores whose
project is gone or that may belong to this one; with the old path of one, moves it here."""

from __future__ import annotations

import os

from memdir.cli.terminal import clean
from memdir.errors import MemdirError, MemoryNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.identity import StoreRecord

EXAMPLES = ("memdir adopt", "memdir adopt /home/ann/old-name")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="OLD_PATH", nargs="?", help="where the project was, from the list")


def run(options: argparse.Namespace, context: Context) -> int:
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
