"""Show what is remembered, newest first."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.scan import Header

EXAMPLES = ("memdir list", "memdir list --type feedback", "memdir list --scope user --json", "memdir list --all")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", choices=("user", "feedback", "project", "reference", "none"), help="only this kind")
    parser.add_argument("--all", action="store_true", help="more than the newest 200")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    store = context.store()
    scan = store.scan(limit=None)
    wanted = [header for header in scan.headers if options.type in (None, header.type or "none")]
    shown = wanted if options.all else wanted[:200]
    if options.json:
        context.print_json(
            {
                "directory": store.root,
                "total": len(wanted),
                "memories": [_plain(header) for header in shown],
                "leftOut": {item.key: item.reason for item in scan.unreadable},
            }
        )
        return 0
    for item in scan.unreadable:
        context.note(f"{item.key} was left out: {item.reason}")
    if shown:
        _print_table(shown, context)
    else:
        context.terminal.line(f"Nothing is remembered in {store.root} yet.")
    if len(wanted) > len(shown):
        context.terminal.line(context.terminal.dim(f"… {len(wanted) - len(shown)} older ones: memdir list --all"))
    return 0


def _print_table(headers: list[Header], context: Context) -> None:
    from memdir.store.scan import age_words

    now = context.memory.clock()
    rows = [[str(h.type or "-"), h.key, age_words(h.mtime, now), h.description or h.name] for h in headers]
    context.terminal.table(rows, headers=("type", "file", "saved", "description"), styles=("type", "bold", "dim", ""))


def _plain(header: Header) -> dict[str, object]:
    from memdir.store.scan import iso_time

    return {
        "file": header.key,
        "name": header.name,
        "description": header.description,
        "type": header.type,
        "modified": iso_time(header.mtime),
        "bytes": header.size,
        "problem": header.problem or None,
    }
