"""The table of commands: name, where it is, one line of help. `memdir --help` prints it without loading any of them.

A command has a docstring, EXAMPLES, `configure` and `run`: it is a module, or a class in that of its family."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any, Protocol

    from memdir.cli.context import Context

    class Command(Protocol):
        EXAMPLES: tuple[str, ...]

        def configure(self, parser: argparse.ArgumentParser) -> None: ...

        def run(self, options: argparse.Namespace, context: Context) -> int: ...


GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Keep and read",
        (
            ("remember", "remember", "write a memory"),
            ("list", "memories:List", "show what is remembered"),
            ("show", "memories:Show", "print one memory"),
            ("search", "search:Search", "find memories by words"),
            ("recall", "recall", "show what a message would bring back, and why"),
            ("edit", "edit", "change a memory in your editor"),
            ("forget", "memories:Forget", "delete a memory (undoable)"),
        ),
    ),
    (
        "Look back",
        (
            ("log", "history:Log", "list changes, newest first"),
            ("diff", "history:Diff", "show what a change did"),
            ("undo", "history:Undo", "take back a change"),
            ("restore", "history:Restore", "bring back an earlier version of a file"),
            ("why", "why", "tell where a memory comes from"),
        ),
    ),
    (
        "Conversations",
        (
            ("sessions", "sessions:ListSessions", "list past conversations"),
            ("sessions show", "session_read:Show", "print a conversation"),
            ("sessions search", "search:SearchSessions", "find places in conversations and daily logs"),
            ("sessions export", "session_files:ExportSession", "write a conversation as Markdown or HTML"),
            ("sessions files", "session_files:Files", "show or restore the files a conversation edited"),
            ("sessions prune", "sessions:Prune", "show, or delete, old conversations"),
            ("resume", "session_read:Resume", "show a conversation as it would go on"),
            ("fork", "session_read:Fork", "begin a second conversation where one stands"),
        ),
    ),
    (
        "Look after",
        (
            ("check", "check", "replay the recalls you pinned"),
            ("doctor", "doctor", "check the store, mend what is safe to mend"),
            ("dream", "dream", "merge, correct, date and prune memories"),
            ("budget", "budget", "show what background work used, and what it may"),
            ("settings", "settings", "show every setting and where it comes from"),
            ("export", "archive:Export", "write all memories to a folder or a zip"),
            ("import", "archive:Import", "take in memories from a folder or a zip"),
            ("adopt", "adopt", "find the store of a project that was moved"),
        ),
    ),
    (
        "For programs",
        (
            ("path", "for_programs:Path", "print the memory directory"),
            ("prompt", "for_programs:Prompt", "print the memory section of a system prompt"),
            ("completion", "for_programs:Completion", "print a completion script for bash, zsh or fish"),
        ),
    ),
)

MODULES = {name: module for _, commands in GROUPS for name, module, _ in commands}
HELP = {name: text for _, commands in GROUPS for name, _, text in commands}
_FIRST_STEPS = (
    ('memdir remember "Deploys are frozen until 2026-12-01"', "keep something"),
    ("memdir search deploy", "find it again"),
    ("memdir undo", "take the last change back"),
)


def load_command(name: str) -> Command:
    """The command alone, without its neighbours in other modules."""
    from importlib import import_module

    module, _, kind = MODULES[name].partition(":")
    found: Any = import_module(f"memdir.cli.{module}")
    command: Command = getattr(found, kind)() if kind else found
    return command


def overview() -> str:
    """All commands by group, and the first three to try."""
    import sys

    from memdir.cli.terminal import Terminal
    from memdir.settings import Environment
    from memdir.version import __version__

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
