"""The overview that `memdir --help` prints."""

from __future__ import annotations

import sys

from memdir.cli.commands import GROUPS
from memdir.cli.terminal import Terminal
from memdir.settings import Environment
from memdir.version import __version__

_FIRST_STEPS = (
    ('memdir remember "Deploys are frozen until 2026-12-01"', "keep something"),
    ("memdir search deploy", "find it again"),
    ("memdir undo", "take the last change back"),
)


def overview() -> str:
    """All commands by group, and the first three to try."""
    terminal = Terminal(sys.stdout, Environment.read())
    lines = [
        f"{terminal.bold('memdir')} {__version__}: memory for agents as plain Markdown files",
        "",
        "Usage: memdir COMMAND [options]    (memdir COMMAND --help shows examples)",
    ]
    for title, commands in GROUPS:
        lines += ["", terminal.bold(title)]
        lines += [f"  {terminal.cyan(name.ljust(16))} {text}" for name, _, text in commands]
    lines += ["", terminal.bold("Try")]
    lines += [f"  {command.ljust(58)} {terminal.dim(text)}" for command, text in _FIRST_STEPS]
    return "\n".join(lines) + "\n"
