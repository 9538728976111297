"""Looks back: what changed, what a change did, where a memory comes from, and taking a change back."""

from __future__ import annotations

from functools import partial

from memdir.cli.context import add_limit, add_scope, in_scope
from memdir.cli.terminal import clean
from memdir.disk.lock import SHORT_WAIT_SECONDS
from memdir.errors import LockBusy, MemoryNotFound
from memdir.store.scan import age_words, iso_time
from memdir.store.undo import history_key, require_history, restore, scope_of
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from memdir.cli.context import Context
    from memdir.memdir import MemDir
    from memdir.store.history import Commit
    from memdir.store.log_lines import LogLine
    from memdir.store.store import MemoryStore
    from memdir.transcript.message import Message

_SOURCES = {
    "cli": "written by you on the command line",
    "outside": "changed outside memdir, in an editor or by another program",
    "import": "imported",
    "undo": "an earlier change was taken back",
    "restore": "an earlier version was brought back",
    "doctor": "repaired by memdir doctor",
    "move": "moved between this project and all of yours",
    "extract": "taken from a conversation",
    "dream": "put in order by a dream",
    "purge": "what came from a source was removed",
    "team": "taken in from the team",
    "unshare": "taken back from the team, where somebody else wrote it",
}
OWN = ""  # the scope that is asked for where none is named: the project's and the person's together
QUOTED_LINES = 6  # of one message; the rest is in the transcript


def history_path(store: MemoryStore, wanted: str) -> str:
    return store.place.prefix + history_key(store, wanted)


def add_scopes(parser: argparse.ArgumentParser) -> None:
    """For a command that looks at the person's own memories wherever they lie, unless it is told where."""
    add_scope(parser, default=OWN, more="sub-agents' too; without --scope project and user", has_docs=True)


def stores_of(scope: str, memory: MemDir) -> dict[str, MemoryStore]:
    """The stores that were asked for, by scope. The history of a project is that of its team as well."""
    found = memory.stores.among(scope or "all")
    wanted = ("project", "user") if scope == OWN else tuple(found)
    return {one: store for one, store in found.items() if one in wanted and (one != "team" or len(found) == 1)}


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
        add_scopes(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        is_on = context.memory.settings.enabled
        stores = stores_of(options.scope, context.memory if is_on else context.at_hand())
        if is_on:
            _record(stores.values(), context)
        changes = _changes(stores.values(), options.memory, options.limit)
        if options.json:
            told = [{**plain_commit(commit), "scope": store.scope} for store, commit in changes]
            return context.print_json({"changes": told})
        if not changes:
            context.terminal.line("Nothing has changed yet.")
        for store, commit in changes:
            print_commit(commit, context, scope=store.scope)
        return 0


def _changes(stores: Iterable[MemoryStore], memory: str | None, limit: int) -> list[tuple[MemoryStore, Commit]]:
    """The newest changes of all these; of one memory, where one of them knows it."""
    from heapq import merge

    found, unknown = [], None
    for store in stores:
        require_history(store)
        try:
            path = history_path(store, memory) if memory else store.place.prefix.rstrip("/")
            found.append([(store, commit) for commit in store.history.log(path, limit=limit)])
        except MemoryNotFound as error:
            unknown = unknown or error
    if unknown and not found:
        raise unknown
    newest = merge(*found, key=lambda one: one[0].history.order_of(one[1]), reverse=True)
    return list(newest)[:limit]


def _record(stores: Iterable[MemoryStore], context: Context) -> None:
    """Edits made by hand are shown, too; while somebody else writes, what is known without waiting for them."""
    try:
        for store in stores:
            store.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)
    except LockBusy:
        context.note("another process is writing: its change, and edits made by hand just now, are not in this list")


def print_commit(commit: Commit, context: Context, *, scope: str = "project") -> None:
    """A change in two or more lines: id, time, who; then its files."""
    terminal = context.terminal
    named, when = terminal.style(commit.id[:8], "yellow"), terminal.dim(_moment_of(commit))
    head = f"{named} {when}  {terminal.cyan(commit.source)}"
    session = commit.trailers.get("Session")
    by = commit.trailers.get("By")
    head += terminal.dim(f"  by {clean(by)}") if by else ""
    head += terminal.dim(in_scope(scope))
    terminal.line(head + (terminal.dim(f"  session {clean(session)}") if session else ""))
    terminal.line(f"  {clean(commit.subject)}")
    marks = {"added": ("+", "green"), "deleted": ("-", "red"), "changed": ("~", "")}
    for file in commit.files:
        mark, style = marks[file.verb]
        text = f"{mark} {clean(file.path)}"
        terminal.line("    " + (terminal.style(text, style) if style else text))


def plain_commit(commit: Commit) -> dict[str, object]:
    """A change for programs."""
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
        add_scopes(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        stores = stores_of(options.scope, context.require_enabled())
        store, commit, path = _chosen(stores.values(), options.what)
        patch = store.history.patch(commit, path)
        if options.json:
            return context.print_json({**plain_commit(commit), "scope": store.scope, "patch": patch})
        print_commit(commit, context, scope=store.scope)
        context.terminal.line()
        context.terminal.patch(patch)
        return 0


def _chosen(stores: Iterable[MemoryStore], what: str | None) -> tuple[MemoryStore, Commit, str]:
    for store in stores:
        require_history(store)
        store.record_outside_changes()
        if what and (named := store.history.find_commit(what)):
            return store, named, ""
    newest = _changes(stores, what, 1)
    if not newest:
        raise MemoryNotFound("nothing has changed yet", remedy="`memdir remember TEXT` writes the first memory")
    store, commit = newest[0]
    return store, commit, history_path(store, what) if what else ""


class Undo:
    """Take back a change: the newest that was not taken back yet, in this project or in your memories for all projects,
    or the one with the given id. Repeat it to go on.

    Later changes to other lines stay. An undo is a change too: `memdir undo ID` of an undo brings the change back."""

    EXAMPLES = ("memdir undo", "memdir undo --dry-run", "memdir undo 4f2a91c0", "memdir undo --scope project")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("change", metavar="CHANGE", nargs="?", default="", help="an id from `memdir log`")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be taken back and change nothing")
        add_scopes(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.start()
        stores = stores_of(options.scope, memory)
        scope = scope_of(stores, options.change) if len(stores) > 1 else next(iter(stores))
        undone = memory.undo(options.change, scope=scope, is_dry=options.dry_run)
        if options.json:
            told = {"undone": undone.commit.id, "subject": undone.commit.subject, "files": undone.paths}
            return context.print_json({**told, "scope": scope, "dryRun": options.dry_run})
        terminal = context.terminal
        short_id = terminal.style(undone.commit.id[:8], "yellow")
        verb = "Would take back" if options.dry_run else "Took back"
        terminal.line(f"{terminal.bold(verb)} {short_id} {clean(undone.commit.subject)}{in_scope(scope)}")
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
        add_scope(parser, default=OWN, has_docs=True)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        store, [key] = context.named(options.memory, find=history_key, for_writing=True)
        is_doc = options.scope == "docs"
        source = context.memory.stores.docs().restore(key, options.at) if is_doc else restore(store, key, options.at)
        if options.json:
            return context.print_json({"file": key, "from": source.id})
        done, before = context.terminal.bold("Restored"), f"{source.id[:8]} ({clean(source.subject)})"
        context.terminal.line(f"{done} {clean(key)}{in_scope(store.scope)} from {before}")
        return 0


class Why:
    """Tell where a memory comes from: every change that made it what it is, by whom, in which session, and the lines of
    the conversation that it was taken from. What a dream made from other memories is followed back to those."""

    EXAMPLES = ("memdir why feedback_no_mocks.md", "memdir why mocks --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        add_scope(parser, default=OWN)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        store, [named] = context.named(options.memory, find=partial(history_key, is_rather_gone=False))
        found = context.memory.why(named, scope=store.scope)
        key = next(iter(found))
        if options.json:
            told = {
                name: [{**plain_commit(commit), **_plain_sources(commit, name, context)} for commit in commits]
                for name, commits in found.items()
            }
            return context.print_json({"file": key, "changes": told.pop(key), "madeFrom": told})
        for name, commits in found.items():
            title = clean(name) if name == key else f"made from {clean(name)}"
            context.terminal.line(context.terminal.bold(title))
            for commit in commits:
                _print(commit, context)
                _print_source(commit, name, context)
        return 0


def _print(commit: Commit, context: Context) -> None:
    terminal = context.terminal
    told = _SOURCES.get(commit.source, f"written by {commit.source}")
    age = age_words(commit.time, context.memory.clock())
    terminal.line(f"  {terminal.style(commit.id[:8], 'yellow')} {age}: {clean(told)}")
    reason = (("Reason", "because"),) if commit.source != "extract" else ()  # of an extraction: the ids once more
    for trailer, words in (("By", "by"), ("Session", "session"), ("Trust", "trust"), *reason):
        if commit.trailers.get(trailer):
            terminal.line(terminal.dim(f"           {words}: {clean(commit.trailers[trailer])}"))


def _print_source(commit: Commit, key: str, context: Context) -> None:
    """The messages that a change was made from, quoted; or that they are gone."""
    terminal = context.terminal
    for log, line in _noted(commit, key, context):
        terminal.line(f"           {terminal.dim(f'{clean(log)} {line.time}')}\n           > {clean(line.text)}")
    for session, wanted in commit.lines_of(key).items():
        path, found = _found(session, wanted, context)
        if not path:
            told = f"The transcript of session {clean(session)} is gone: what was said there cannot be shown."
            terminal.line(f"           {terminal.style(told, 'yellow')}")
            continue
        if session != commit.trailers.get("Session"):
            terminal.line(terminal.dim(f"           session: {clean(session)}"))
        for message_id in wanted:
            _print_message(found.get(message_id), message_id, context)


def _print_message(message: Message | None, message_id: str, context: Context) -> None:
    terminal = context.terminal
    if message is None:
        told = f"message {clean(message_id)} is no longer in the transcript"
        terminal.line(f"           {terminal.style(told, 'yellow')}")
        return
    from memdir.transcript.export.markdown import moment, speaker

    terminal.line(f"           {terminal.cyan(speaker(message))} {terminal.dim(f'{moment(message)} {message.id[:8]}')}")
    said = message.text or "\n".join(result.content for result in message.tool_results)
    lines = clean(said.strip(), keep_newlines=True).splitlines()
    for line in lines[:QUOTED_LINES]:
        terminal.line(f"           > {line}")
    if len(lines) > QUOTED_LINES:
        terminal.line(terminal.dim(f"           > … {counted(len(lines) - QUOTED_LINES, 'more line')}"))


def _plain_sources(commit: Commit, key: str, context: Context) -> dict[str, object]:
    """The same for programs: the conversations, and the first of them; none for a change that came from no words."""
    from memdir.cli.session_read import plain_messages

    told: list[dict[str, object]] = []
    for session, wanted in commit.lines_of(key).items():
        path, found = _found(session, wanted, context)
        messages = plain_messages([found[message_id] for message_id in wanted if message_id in found])
        missing = [message_id for message_id in wanted if message_id not in found]
        told.append({"session": session, "path": path or None, "messages": messages, "gone": missing})
    logged = [{"log": log, "line": line.rendered} for log, line in _noted(commit, key, context)]
    return {"conversation": told[0] if told else None, "conversations": told, "logged": logged}


def _noted(commit: Commit, key: str, context: Context) -> Iterator[tuple[str, LogLine]]:
    """The lines of daily logs that a change was made from, as far as they are still there (K3)."""
    from memdir.store.log_lines import lines_in

    for log, wanted in commit.logged_of(key).items():
        lines = lines_in(context.memory.store.read_bytes(log) or b"", log)
        yield from ((log, line) for line in lines if line.id in wanted)


def _found(session: str, wanted: list[str], context: Context) -> tuple[str, dict[str, Message]]:
    """The transcript of a session, wherever an agent keeps it, and those of the messages that are in it."""
    from memdir.cli.sessions import sessions, sources
    from memdir.transcript.session_list import find_messages

    best: tuple[str, dict[str, Message]] = ("", {})
    for ref in (ref for ref in sessions(context, "all") if ref.id == session):
        found = find_messages(ref, sources(context)[ref.agent], wanted)
        if not best[0] or len(found) > len(best[1]):
            best = ref.path, found
    return best
