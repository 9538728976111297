"""Show what a change did, as a diff: the newest change, the one with the given id, or the newest of a file."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.errors import MemoryNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.history import Commit
    from memdir.store.store import MemoryStore

EXAMPLES = ("memdir diff", "memdir diff 4f2a91c0", "memdir diff feedback_no_mocks.md")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="CHANGE|MEMORY", nargs="?", help="an id from `memdir log`, or a file")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.cli.log import plain, print_commit
    from memdir.store.undo import require_history

    store = context.store()
    require_history(store)
    store.record_outside_changes()
    commit, path = _chosen(store, options.what)
    patch = store.history.patch(commit, path)
    if options.json:
        context.print_json({**plain(commit), "patch": patch})
        return 0
    print_commit(commit, context)
    context.terminal.line()
    context.terminal.patch(patch)
    return 0


def _chosen(store: MemoryStore, what: str | None) -> tuple[Commit, str]:
    from memdir.cli.history_path import history_path

    if what and (commit := store.history.find_commit(what)):
        return commit, ""
    path = history_path(store, what) if what else ""
    commits = store.history.log(path, limit=1)
    if not commits:
        raise MemoryNotFound("nothing has changed yet", remedy="`memdir remember TEXT` writes the first memory")
    return commits[0], path
