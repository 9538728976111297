"""Print the memory directory as the last line of the output. It is created if it does not exist."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir path", 'cd "$(memdir path)"', "memdir path --scope user", "memdir path --json")


def configure(parser: argparse.ArgumentParser) -> None:
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    store = context.store(for_writing=True)
    store.ensure()
    if options.json:
        place = store.place
        context.print_json(
            {"directory": place.root, "index": place.index, "history": place.history, "state": place.state}
        )
    else:
        context.terminal.line(store.root)
    return 0
