"""The commands around a team's memory: share and unshare a memory, join and leave a team, sync with it (E1-E7)."""

from __future__ import annotations

import argparse
from typing import Any

from memdir.prompts.door import shown_line


class Share:
    """Hand a memory of this project to the team: it moves into `team/`, and with the next sync everybody has it. Not
    one about a person, and none that holds a secret."""

    EXAMPLES = ("memdir share project_freeze.md", "memdir share freeze deploy")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help="a file name, a title, or a part of either")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        return _tell(options, context, [memory.share(name) for name in options.memories], "Shared")


class Unshare:
    """Take a memory back from the team into this project's own: with the next sync it is gone for the others. What a
    teammate wrote stays marked as from the team."""

    EXAMPLES = ("memdir unshare project_freeze.md",)

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help="a file name, a title, or a part of either")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        return _tell(options, context, [memory.unshare(name) for name in options.memories], "Took back")


def _tell(options: argparse.Namespace, context: Any, files: list[str], verb: str) -> int:
    if options.json:
        return int(context.print_json({"files": files}))
    for file in files:
        context.terminal.line(f"{context.terminal.bold(verb)} {shown_line(file)}")
    context.note("`memdir sync` brings it to the others; `memdir undo` takes it back here")
    return 0
