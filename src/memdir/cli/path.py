"""Print the memory directory as the last line of the output. It is created if it does not exist, unless memory is
off."""

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
    is_on = context.memory.settings.enabled
    store = context.store(for_writing=True) if is_on else context.state()
    if is_on:
        store.ensure()
    if options.json:
        place = store.place
        context.print_json(
            {"directory": place.root, "index": place.index, "history": place.history, "state": place.state}
        )
    else:
        context.terminal.line(store.root)
    return 0
