"""Tell where a memory comes from: every change that made it what it is, by whom, in which session, from which
messages."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.history import Commit

EXAMPLES = ("memdir why feedback_no_mocks.md", "memdir why mocks --json")
_SOURCES = {
    "cli": "written by you on the command line",
    "outside": "changed outside memdir, in an editor or by another program",
    "import": "imported",
    "undo": "an earlier change was taken back",
    "restore": "an earlier version was brought back",
    "doctor": "mended by memdir doctor",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.cli.history_path import history_key
    from memdir.cli.log import plain
    from memdir.store.undo import require_history

    store = context.store()
    require_history(store)
    store.record_outside_changes()
    key = history_key(store, options.memory)
    commits = store.history.log(store.place.prefix + key)
    if options.json:
        context.print_json({"file": key, "changes": [plain(commit) for commit in commits]})
        return 0
    context.terminal.line(context.terminal.bold(clean(key)))
    for commit in commits:
        _print(commit, context)
    return 0


def _print(commit: Commit, context: Context) -> None:
    from memdir.store.age import age_words

    terminal = context.terminal
    told = _SOURCES.get(commit.source, f"written by {commit.source}")
    age = age_words(commit.time, context.memory.clock())
    terminal.line(f"  {terminal.style(commit.id[:8], 'yellow')} {age}: {clean(told)}")
    for trailer, words in (("Session", "session"), ("Messages", "messages"), ("Trust", "trust"), ("Reason", "because")):
        if commit.trailers.get(trailer):
            terminal.line(terminal.dim(f"           {words}: {clean(commit.trailers[trailer])}"))
