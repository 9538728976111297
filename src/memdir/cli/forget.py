"""Delete a memory and its line in the index. `memdir undo` brings both back."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir forget feedback_no_mocks.md", 'memdir forget "Real database in tests"')


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.history import Origin
    from memdir.store.memories import find_key, forget_memory

    store = context.store(for_writing=True)
    key = find_key(store, options.memory)
    forget_memory(store, key, origin=Origin("cli", trust="user"))
    if options.json:
        context.print_json({"file": key, "forgotten": True})
    else:
        undo = f"  `memdir undo` brings it back{'' if store.history.is_readable else ' once git is installed'}"
        context.terminal.line(f"{context.terminal.bold('Forgot')} {clean(key)}{context.terminal.dim(undo)}")
    return 0
