"""Print the memory section of a system prompt, and with --index the index as it goes into the user context.

Empty when memory is off, so that a host can append it without asking."""

from __future__ import annotations

from memdir.cli.context import add_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir prompt", "memdir prompt --index", "memdir prompt --json")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", action="store_true", help="also the index, below the section")
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    memory = context.start() if context.memory.settings.enabled else context.memory
    section, index = memory.prompt(), memory.index_context()
    if options.json:
        context.print_json({"enabled": memory.settings.enabled, "section": section, "index": index})
        return 0
    parts = [section, index] if options.index else [section]
    text = "\n\n".join(part.strip("\n") for part in parts if part)
    if text:
        context.terminal.line(text)
    return 0
