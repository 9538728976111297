"""`memdir`: finds the command, loads it alone, turns errors into words and exit codes.

This module is on the path of every hook: it imports nothing that a command does not need (ADR 0003).
"""

from __future__ import annotations

import errno
import sys

from memdir.errors import MemdirError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, Protocol

    from memdir.cli.context import Context

    class Command(Protocol):
        """A module, or a class in that of its family; its docstring is its description."""

        EXAMPLES: tuple[str, ...]

        def configure(self, parser: argparse.ArgumentParser) -> None: ...

        def run(self, options: argparse.Namespace, context: Context) -> int: ...


EXIT_USAGE = 2
EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130
MAX_DETAILS = 100_000  # characters: an endless recursion has a long tale
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of our own files, memdir.disk tells; this is the output
_FIRST_STEPS = (
    ('memdir remember "Deploys are frozen until 2026-12-01"', "keep something"),
    ("memdir search deploy", "find it again"),
    ("memdir undo", "take the last change back"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (docs/exit-codes.md)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _never_fail_to_print()
    if words[:1] in (["--version"], ["-V"]):
        from memdir.version import __version__

        print(f"memdir {__version__}")
        return 0
    try:
        if not words or words[0] in ("--help", "-h", "help"):
            return _help(words[1:])
        return _run(words[0], words[1:])
    except MemdirError as error:  # before a command was found: the package itself is damaged
        _tell(error, as_json=False)
        return error.exit_code


def _never_fail_to_print() -> None:
    """A terminal or locale that has not all characters gets them escaped (`LC_ALL=C`)."""
    for stream in (sys.stdout, sys.stderr):
        if (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _help(words: list[str]) -> int:
    if words and not words[0].startswith("-"):
        return _run(words[0], [*words[1:2], "--help"])
    print(_overview(), end="")
    return 0


def _overview() -> str:
    """All commands by group, and the first three to try."""
    from memdir.cli.terminal import Terminal
    from memdir.settings import Environment
    from memdir.version import __version__

    terminal = Terminal(sys.stdout, Environment.read())
    lines = [
        f"{terminal.bold('memdir')} {__version__}: memory for agents as plain Markdown files",
        "",
        "Usage: memdir COMMAND [options]    (memdir COMMAND --help shows examples)",
    ]
    for title, commands in command_groups():
        lines += ["", terminal.bold(title)]
        lines += [f"  {terminal.cyan(name.ljust(16))} {text}" for name, _, text in commands]
    lines += ["", terminal.bold("Try")]
    lines += [f"  {command.ljust(58)} {terminal.dim(text)}" for command, text in _FIRST_STEPS]
    return "\n".join(lines) + "\n"


def command_groups() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The commands by group, each with its name, its place and one line of help; none of them is loaded."""
    from memdir.disk.shipped import shipped_lines

    groups: list[tuple[str, list[tuple[str, str, str]]]] = []
    for line in shipped_lines("cli/commands.txt"):
        if "|" in line:
            name, place, text = line.split(" | ")
            groups[-1][1].append((name, place, text))
        else:
            groups.append((line, []))
    return groups


def command_places() -> dict[str, str]:
    return {name: place for _, commands in command_groups() for name, place, _ in commands}


def load_command(place: str) -> Command:
    """A command alone, without its neighbours in other modules."""
    from importlib import import_module

    module, _, kind = place.partition(":")
    found: Any = import_module(f"memdir.cli.{module}")
    command: Command = getattr(found, kind)() if kind else found
    return command


def _run(name: str, words: list[str]) -> int:
    places = command_places()
    if words and f"{name} {words[0]}" in places:
        name, words = f"{name} {words[0]}", words[1:]
    if name not in places:
        return _unknown(name)
    command = load_command(places[name])
    from memdir.cli.context import build_parser

    options = build_parser(name, command).parse_args(words)
    return _guarded(command, options)


def _guarded(command: Command, options: argparse.Namespace) -> int:
    """The one broad `except` of this surface: whatever happens, a person gets words, never a traceback."""
    from memdir.cli.context import Context

    try:
        context = Context(options)
        try:
            code = command.run(options, context)
            sys.stdout.flush()
        finally:
            context.tell_waiting()
        return code
    except MemdirError as error:
        _tell(error, as_json=getattr(options, "json", False))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except Exception as error:  # noqa: BLE001
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            return _output_failed(error)
        report_crash(error)
        return EXIT_BUG


def report_crash(error: Exception) -> None:
    """Tell in one line, keep the details, without secrets, in the home's logs."""
    import os
    import traceback

    from memdir.disk.atomic import append_bytes, make_folder
    from memdir.settings import Environment
    from memdir.store.secrets import beginning

    details = beginning("".join(traceback.format_exception(error)), MAX_DETAILS)
    path = os.path.join(Environment.read().home, "logs", "crash.log")
    where = f"The details are in {path}"
    try:
        make_folder(os.path.dirname(path))
        append_bytes(path, details.encode("utf-8", "replace") + b"\n")
    except (MemdirError, OSError):
        where = details
    print(f"memdir: something went wrong inside memdir ({type(error).__name__}). {where}", file=sys.stderr)


def _tell(error: MemdirError, *, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps({"error": error.message, "remedy": error.remedy, "kind": type(error).__name__}))
        return
    from memdir.cli.terminal import clean

    print(f"memdir: {clean(error.message)}", file=sys.stderr)
    if error.remedy:
        print(f"  {clean(error.remedy)}", file=sys.stderr)


def _unknown(name: str) -> int:
    import difflib

    from memdir.cli.terminal import clean

    close = difflib.get_close_matches(name, command_places(), n=1)
    hint = f"Did you mean `memdir {close[0]}`?" if close else "`memdir --help` lists all commands"
    print(f"memdir: there is no command {clean(name)!r}\n  {hint}", file=sys.stderr)
    return EXIT_USAGE


def _pipe_closed() -> int:
    """The reader went away (`memdir list | head`): that is no error."""
    _drop_output()
    return 0


def _output_failed(error: OSError) -> int:
    """The command did its work, but what it had to say finds no room (`memdir list > /a/full/disk`)."""
    from memdir.errors import DiskError

    _drop_output()
    print(f"memdir: the output cannot be written: {error.strerror}", file=sys.stderr)
    return DiskError.exit_code


def _drop_output() -> None:
    """What is still in the buffer goes nowhere: Python would complain about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
