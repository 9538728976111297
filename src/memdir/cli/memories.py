"""Memories as they are: all of them in a table, one of them whole, one of them gone."""

from __future__ import annotations

import sys

from memdir.cli.context import TYPES, add_limit, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.scan import Header


class List:
    """Show what is remembered, newest first."""

    EXAMPLES = ("memdir list", "memdir list --type feedback", "memdir list --scope user --json", "memdir list --all")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--type", choices=(*TYPES, "none"), metavar="TYPE", help=f"only this kind: {', '.join(TYPES)} or none"
        )
        add_limit(parser, default=200)
        parser.add_argument("--all", action="store_true", help="all of them, however many")
        add_scope(parser, more="the project's and yours for all projects")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.require_enabled()
        scopes = ("project", "user") if options.scope == "all" else (options.scope,)
        scans = {scope: memory.store_for(scope).scan(limit=None) for scope in scopes}
        found = [(scope, header) for scope, scan in scans.items() for header in scan.headers]
        wanted = [(scope, one) for scope, one in found if options.type in (None, one.type or "none")]
        shown = wanted if options.all else wanted[: options.limit]
        unreadable = [item for scan in scans.values() for item in scan.unreadable]
        root, authors = memory.place_of(scopes[0]).root, memory.team_authors(scopes[0])
        if options.json:
            told = {"directory": root, "total": len(wanted), "leftOut": {one.key: one.reason for one in unreadable}}
            listed = [{**_plain_header(header, scope), **authors.plain(header.key)} for scope, header in shown]
            return context.print_json({**told, "memories": listed})
        for item in unreadable:
            context.note(f"{item.key} was left out: {item.reason}")
        if shown:
            _print_table(shown, context, with_scope=len(scopes) > 1)
        elif options.type and found:
            context.terminal.line(f"No memory has the type {options.type}.")
        else:
            context.terminal.line(f"Nothing is remembered in {clean(root)} yet.")
        if len(wanted) > len(shown):
            context.terminal.line(context.terminal.dim(f"… and {len(wanted) - len(shown)} older: memdir list --all"))
        return 0


def _print_table(found: list[tuple[str, Header]], context: Context, *, with_scope: bool) -> None:
    from memdir.store.scan import age_words

    now, first = context.memory.clock(), 0 if with_scope else 1
    by = context.memory.team_authors(found[0][0])
    said = ((s, h, f"{h.description or h.name}{by.told(h.key, ' ({})')}") for s, h in found)
    rows = [[s, str(h.type or "-"), h.key, age_words(h.mtime, now), told][first:] for s, h, told in said]
    headers, styles = ("scope", "type", "file", "saved", "description"), ("dim", "type", "bold", "dim", "")
    context.terminal.table(rows, headers=headers[first:], styles=styles[first:])


def _plain_header(header: Header, scope: str) -> dict[str, object]:
    from memdir.store.scan import iso_time

    return {
        "file": header.key,
        "scope": scope,
        "name": header.name,
        "description": header.description,
        "type": header.type,
        "modified": iso_time(header.mtime),
        "bytes": header.size,
        "problem": header.problem or None,
    }


class ShowMemory:
    """Print one memory. Control characters are made visible; --raw writes the bytes as they are."""

    EXAMPLES = ("memdir show feedback_no_mocks.md", "memdir show mocks", "memdir show mocks --raw > copy.md")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        parser.add_argument("--raw", action="store_true", help="the file byte for byte")
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.memories import find_key
        from memdir.store.scan import age_words, iso_time
        from memdir.text.deadlines import told_past

        store = context.store()
        memory = store.read(find_key(store, options.memory))
        topic, authors = memory.topic, context.memory.team_authors(options.scope)
        if options.raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(topic.data)
            return 0
        if options.json:
            return context.print_json(
                {
                    "file": memory.key,
                    "path": memory.path,
                    "name": memory.name,
                    "description": topic.description,
                    "type": topic.kind,
                    "modified": iso_time(memory.mtime),
                    "body": topic.body,
                    "problems": topic.problems(),
                    **authors.plain(memory.key),
                }
            )
        terminal = context.terminal
        now = context.memory.clock()
        ended = told_past(f"{topic.description}\n{topic.body}", written=memory.mtime, now=now)
        about = "; ".join(filter(None, (f"saved {age_words(memory.mtime, now)}", authors.told(memory.key), ended)))
        terminal.line(terminal.dim(f"{clean(memory.path)}  ({about})"))
        terminal.verbatim(clean(topic.data.decode("utf-8", "replace"), keep_newlines=True).rstrip("\n"))
        return 0


class Forget:
    """Delete memories and their lines in the index, as one change: `memdir undo` brings all of it back. Where one of
    the names fits none or several, nothing is deleted."""

    EXAMPLES = ("memdir forget feedback_no_mocks.md", 'memdir forget "Real database in tests" old_freeze.md')

    def configure(self, parser: argparse.ArgumentParser) -> None:
        text = "a file name, a title, or a part that fits only one"
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help=text)
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.history import Origin
        from memdir.store.memories import find_key, forget_memories

        store = context.store(for_writing=True)
        keys = list(dict.fromkeys(find_key(store, wanted) for wanted in options.memories))
        forget_memories(store, keys, origin=Origin("cli", trust="user"))
        if options.json:
            return context.print_json({"files": keys})
        terminal, it = context.terminal, "it" if len(keys) == 1 else "them"
        undo = f"  `memdir undo` brings {it} back{'' if store.history.is_readable else ' once git is installed'}"
        terminal.line(f"{terminal.bold('Forgot')} {clean(', '.join(keys))}{terminal.dim(undo)}")
        return 0


class Move:
    """Move memories from this project to your own for all projects, or from those into this project, with their lines
    in the index, their links and where they come from. Where a name is taken there, the memory gets another."""

    EXAMPLES = ("memdir move user_role.md --scope user", "memdir move tabs.md ci.md --scope project --dry-run")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help="a file name, a title, or a part of either")
        parser.add_argument("--scope", required=True, choices=("user", "project"), help="user: yours, for all projects")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be moved and change nothing")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        moved = context.start().move(*options.memories, scope=options.scope, is_dry=options.dry_run)
        if options.json:
            files = [{"file": one.file, "before": one.file_before, "path": one.path} for one in moved]
            return context.print_json({"moved": files, "scope": options.scope, "dryRun": options.dry_run})
        terminal, whose = context.terminal, "yours, for all projects" if options.scope == "user" else "this project's"
        verb = terminal.bold("Would move" if options.dry_run else "Moved")
        for one in moved:
            name = f", as {clean(one.file)}" if one.file != one.file_before else ""
            terminal.line(f"{verb} {clean(one.file_before)}: it is {whose}{name}")
        terminal.line(terminal.dim("" if options.dry_run else "  `memdir undo` takes it back in both places"))
        return 0
