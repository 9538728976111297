"""List changes, newest first: who made them, when, and which files they touched. Edits made by hand are in it too."""

from __future__ import annotations

from memdir.cli.context import add_json, add_limit, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.history import Commit

EXAMPLES = ("memdir log", "memdir log feedback_no_mocks.md", "memdir log --limit 5 --json")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", nargs="?", help="only changes of this file (deleted ones too)")
    add_limit(parser)
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.cli.history_path import history_path
    from memdir.store.undo import require_history

    is_on = context.memory.settings.enabled
    store = context.store() if is_on else context.state()
    require_history(store)
    if is_on:
        store.record_outside_changes()
    path = history_path(store, options.memory) if options.memory else ""
    commits = store.history.log(path, limit=options.limit)
    if options.json:
        context.print_json([plain(commit) for commit in commits])
        return 0
    if not commits:
        context.terminal.line("Nothing has changed yet.")
    for commit in commits:
        print_commit(commit, context)
    return 0


def print_commit(commit: Commit, context: Context) -> None:
    """A change in two or more lines: id, time, who; then its files."""
    terminal = context.terminal
    head = f"{terminal.style(commit.id[:8], 'yellow')} {terminal.dim(_moment(commit))}  {terminal.cyan(commit.source)}"
    session = commit.trailers.get("Session")
    terminal.line(head + (terminal.dim(f"  session {clean(session)}") if session else ""))
    terminal.line(f"  {clean(commit.subject)}")
    marks = {"added": ("+", "green"), "deleted": ("-", "red"), "changed": ("~", "")}
    for file in commit.files:
        mark, style = marks[file.verb]
        text = f"{mark} {clean(file.path)}"
        terminal.line("    " + (terminal.style(text, style) if style else text))


def plain(commit: Commit) -> dict[str, object]:
    """A change for programs."""
    from memdir.store.scan import iso_time

    return {
        "id": commit.id,
        "time": iso_time(commit.time),
        "subject": commit.subject,
        "source": commit.source,
        "trailers": commit.trailers,
        "files": [{"file": file.path, "change": file.verb} for file in commit.files],
    }


def _moment(commit: Commit) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(commit.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
