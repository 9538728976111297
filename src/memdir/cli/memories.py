"""Memories as they are: all of them in a table, one of them whole, one of them gone."""

from __future__ import annotations

import sys

from memdir.cli.context import add_json, add_scope
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
            "--type", choices=("user", "feedback", "project", "reference", "none"), help="only this kind"
        )
        parser.add_argument("--all", action="store_true", help="more than the newest 200")
        add_scope(parser)
        add_json(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        store = context.store()
        scan = store.scan(limit=None)
        wanted = [header for header in scan.headers if options.type in (None, header.type or "none")]
        shown = wanted if options.all else wanted[:200]
        if options.json:
            context.print_json(
                {
                    "directory": store.root,
                    "total": len(wanted),
                    "memories": [_plain_header(header) for header in shown],
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


def _plain_header(header: Header) -> dict[str, object]:
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


class ShowMemory:
    """Print one memory. Control characters are made visible; --raw writes the bytes as they are."""

    EXAMPLES = ("memdir show feedback_no_mocks.md", "memdir show mocks", "memdir show mocks --raw > copy.md")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        parser.add_argument("--raw", action="store_true", help="the file byte for byte")
        add_scope(parser)
        add_json(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.memories import find_key
        from memdir.store.scan import age_words, iso_time

        store = context.store()
        memory = store.read(find_key(store, options.memory))
        topic = memory.topic
        if options.raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(topic.data)
            return 0
        if options.json:
            context.print_json(
                {
                    "file": memory.key,
                    "path": memory.path,
                    "name": memory.name,
                    "description": topic.description,
                    "type": topic.kind,
                    "modified": iso_time(memory.mtime),
                    "body": topic.body,
                    "problems": topic.problems(),
                }
            )
            return 0
        terminal = context.terminal
        age = age_words(memory.mtime, context.memory.clock())
        terminal.line(terminal.dim(f"{clean(memory.path)}  (saved {age})"))
        terminal.line(clean(topic.data.decode("utf-8", "replace"), keep_newlines=True).rstrip("\n"))
        return 0


class Forget:
    """Delete a memory and its line in the index. `memdir undo` brings both back."""

    EXAMPLES = ("memdir forget feedback_no_mocks.md", 'memdir forget "Real database in tests"')

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        add_scope(parser)
        add_json(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.start()
        key = memory.forget(options.memory, scope=options.scope)
        if options.json:
            context.print_json({"file": key, "forgotten": True})
        else:
            has_history = memory.store_for(options.scope).history.is_readable
            undo = f"  `memdir undo` brings it back{'' if has_history else ' once git is installed'}"
            context.terminal.line(f"{context.terminal.bold('Forgot')} {clean(key)}{context.terminal.dim(undo)}")
        return 0
