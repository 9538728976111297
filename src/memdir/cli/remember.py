"""Write a memory: one Markdown file with a name, a description and a type, and its line in the index."""

from __future__ import annotations

from memdir.cli.context import TYPES, add_scope, text_of
from memdir.cli.terminal import clean
from memdir.errors import BadMemoryFile

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
    parser.add_argument("words", metavar="TEXT", nargs="*", help="what to remember; - reads it from standard input")
    parser.add_argument(
        "--type", choices=TYPES, metavar="TYPE", help=f"its kind: {', '.join(TYPES)} (default: guessed)"
    )
    parser.add_argument("--name", default="", help="a short title (default: the first words)")
    parser.add_argument("--description", default="", help="one line to find it by (default: the first sentence)")
    parser.add_argument(
        "--allow-secret", action="store_true", help="save it although it holds a secret (never in team)"
    )
    parser.add_argument("--anyway", action="store_true", help="keep it although the code tells it")
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.scan import MAX_MEMORY_BYTES

    text = text_of(options.words, max_bytes=MAX_MEMORY_BYTES, what="remember")
    if not options.anyway and len(text) <= MAX_MEMORY_BYTES:  # a longer one is refused below
        _require_news(text, context)
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
        return context.print_json(
            {"file": added.memory.key, "path": added.memory.path, "type": str(kind), "new": added.is_new}
        )
    verb = "Remembered" if added.is_new else "Already remembered"
    guessed = "" if options.type else context.terminal.dim("  (type guessed; --type sets it)")
    terminal = context.terminal
    terminal.line(f"{terminal.bold(verb)} {terminal.type_word(str(kind))} {clean(added.memory.key)}{guessed}")
    terminal.verbatim(terminal.dim(clean(added.memory.path)))
    return 0


def _require_news(text: str, context: Context) -> None:
    """What reading the code tells as well is not kept: it would only grow old. What it does not tell is asked for."""
    from datetime import datetime

    from memdir.model.builtin.extract.eyes import notice

    memory = context.require_enabled()
    now = datetime.fromtimestamp(memory.clock()).astimezone()
    if notice(text, now, project=memory.layout.work_tree).is_derivable:
        raise BadMemoryFile(
            "that can be read in the code, which stays right when it changes; nothing was written",
            remedy="What about it is surprising, or not to be seen there? Remember that instead (--anyway keeps this)",
        )
