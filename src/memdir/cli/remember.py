"""Write a memory: one Markdown file with a name, a description and a type, and its line in the index."""

from __future__ import annotations

import sys

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = (
    'memdir remember "Deploys are frozen until 2026-12-01, the auditors are in the house"',
    'memdir remember "Never mock the database" --type feedback --name "Real database in tests"',
    'memdir remember "I have run databases for ten years; React is new to me" --scope user',
    "cat note.txt | memdir remember -",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what to remember; - reads it from standard input")
    parser.add_argument(
        "--type", choices=("user", "feedback", "project", "reference"), help="its kind (default: guessed)"
    )
    parser.add_argument("--name", default="", help="a short title (default: the first words)")
    parser.add_argument("--description", default="", help="one line to find it by (default: the first sentence)")
    parser.add_argument(
        "--allow-secret", action="store_true", help="save it although it holds a secret (never in team)"
    )
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.scan import MAX_MEMORY_BYTES

    text = sys.stdin.read(MAX_MEMORY_BYTES + 1) if options.text == "-" else options.text
    added = context.start().add(
        text,
        options.type,
        name=options.name,
        description=options.description,
        scope=options.scope,
        allow_secret=options.allow_secret,
    )
    kind = added.memory.topic.kind
    if options.json:
        context.print_json(
            {"file": added.memory.key, "path": added.memory.path, "type": str(kind), "new": added.is_new}
        )
        return 0
    verb = "Remembered" if added.is_new else "Already remembered"
    guessed = "" if options.type else context.terminal.dim("  (type guessed; --type sets it)")
    terminal = context.terminal
    terminal.line(f"{terminal.bold(verb)} {terminal.type_word(str(kind))} {clean(added.memory.key)}{guessed}")
    terminal.line(terminal.dim(clean(added.memory.path)))
    return 0
