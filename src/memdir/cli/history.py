"""Looks back: what changed, what a change did, and taking it back."""

from __future__ import annotations

from memdir.cli.context import add_limit, add_scope
from memdir.cli.terminal import clean
from memdir.errors import LockBusy, MemoryNotFound
from memdir.store.undo import history_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.history import Commit
    from memdir.store.store import MemoryStore


def history_path(store: MemoryStore, wanted: str) -> str:
    return store.place.prefix + history_key(store, wanted)


class Log:
    """List changes, newest first: who made them, when, which files they touched. Edits made by hand are in it too."""

    EXAMPLES = (
        "memdir log",
        "memdir log feedback_no_mocks.md",
        "memdir log --limit 5 --json",
        "memdir log --scope team",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", nargs="?", help="only changes of this file (deleted ones too)")
        add_limit(parser)
        add_scope(parser, has_docs=True)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.undo import require_history

        is_on = context.memory.settings.enabled
        store = context.store() if is_on else context.state()
        require_history(store)
        if is_on:
            _record(store, context)
        path = history_path(store, options.memory) if options.memory else store.place.prefix.rstrip("/")
        commits = store.history.log(path, limit=options.limit)
        if options.json:
            return context.print_json({"changes": [plain_commit(commit) for commit in commits]})
        if not commits:
            context.terminal.line("Nothing has changed yet.")
        for commit in commits:
            print_commit(commit, context)
        return 0


def _record(store: MemoryStore, context: Context) -> None:
    """Edits made by hand are shown, too; while somebody else writes, what is known without waiting for them."""
    from memdir.disk.lock import SHORT_WAIT_SECONDS

    try:
        store.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)
    except LockBusy:
        context.note("another process is writing: its change, and edits made by hand just now, are not in this list")


def print_commit(commit: Commit, context: Context) -> None:
    """A change in two or more lines: id, time, who; then its files."""
    terminal = context.terminal
    head = (
        f"{terminal.style(commit.id[:8], 'yellow')} {terminal.dim(_moment_of(commit))}  {terminal.cyan(commit.source)}"
    )
    session = commit.trailers.get("Session")
    by = commit.trailers.get("By")
    head += terminal.dim(f"  by {clean(by)}") if by else ""
    terminal.line(head + (terminal.dim(f"  session {clean(session)}") if session else ""))
    terminal.line(f"  {clean(commit.subject)}")
    marks = {"added": ("+", "green"), "deleted": ("-", "red"), "changed": ("~", "")}
    for file in commit.files:
        mark, style = marks[file.verb]
        text = f"{mark} {clean(file.path)}"
        terminal.line("    " + (terminal.style(text, style) if style else text))


def plain_commit(commit: Commit) -> dict[str, object]:
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


def _moment_of(commit: Commit) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(commit.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


class Diff:
    """Show what a change did, as a diff: the newest change, the one with the given id, or the newest of a file."""

    EXAMPLES = ("memdir diff", "memdir diff 4f2a91c0", "memdir diff feedback_no_mocks.md")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", metavar="CHANGE|MEMORY", nargs="?", help="an id from `memdir log`, or a file")
        add_scope(parser, has_docs=True)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.undo import require_history

        store = context.store()
        require_history(store)
        store.record_outside_changes()
        commit, path = _chosen(store, options.what)
        patch = store.history.patch(commit, path)
        if options.json:
            return context.print_json({**plain_commit(commit), "patch": patch})
        print_commit(commit, context)
        context.terminal.line()
        context.terminal.patch(patch)
        return 0


def _chosen(store: MemoryStore, what: str | None) -> tuple[Commit, str]:
    if what and (commit := store.history.find_commit(what)):
        return commit, ""
    path = history_path(store, what) if what else ""
    commits = store.history.log(path, limit=1)
    if not commits:
        raise MemoryNotFound("nothing has changed yet", remedy="`memdir remember TEXT` writes the first memory")
    return commits[0], path


class Undo:
    """Take back a change: the newest that was not taken back yet, or the one with the given id. Repeat it to go on.

    Later changes to other lines stay. An undo is a change too: `memdir undo ID` of an undo brings the change back."""

    EXAMPLES = ("memdir undo", "memdir undo --dry-run", "memdir undo 4f2a91c0", "memdir undo --scope docs")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("change", metavar="CHANGE", nargs="?", default="", help="an id from `memdir log`")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be taken back and change nothing")
        add_scope(parser, has_docs=True)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        undone = context.start().undo(options.change, scope=options.scope, is_dry=options.dry_run)
        if options.json:
            told = {"undone": undone.commit.id, "subject": undone.commit.subject, "files": undone.paths}
            return context.print_json({**told, "dryRun": options.dry_run})
        terminal = context.terminal
        short_id = terminal.style(undone.commit.id[:8], "yellow")
        verb = "Would take back" if options.dry_run else "Took back"
        terminal.line(f"{terminal.bold(verb)} {short_id} {clean(undone.commit.subject)}")
        for path in undone.paths:
            terminal.line(f"    {clean(path)}")
        return 0


class Restore:
    """Bring back an earlier version of a file, byte for byte: also one that was deleted. This is itself a change, so
    `memdir undo` takes it back."""

    EXAMPLES = ("memdir restore feedback_no_mocks.md", "memdir restore feedback_no_mocks.md --at 4f2a91c0")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file that exists or once did")
        parser.add_argument(
            "--at", metavar="CHANGE", default="", help="as it was after this change (default: before its newest)"
        )
        add_scope(parser, has_docs=True)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.undo import require_history, restore

        store = context.store(for_writing=True)
        require_history(store)
        key = history_key(store, options.memory)
        is_doc = options.scope == "docs"
        source = context.memory.magic_docs().restore(key, options.at) if is_doc else restore(store, key, options.at)
        if options.json:
            return context.print_json({"file": key, "from": source.id})
        context.terminal.line(
            f"{context.terminal.bold('Restored')} {clean(key)} from {source.id[:8]} ({clean(source.subject)})"
        )
        return 0
