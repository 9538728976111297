"""Print one memory. Control characters are made visible; --raw writes the bytes as they are."""

from __future__ import annotations

import sys

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir show feedback_no_mocks.md", "memdir show mocks", "memdir show mocks --raw > copy.md")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
    parser.add_argument("--raw", action="store_true", help="the file byte for byte")
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
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
