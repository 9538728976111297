"""`memdir`: finds the command, loads it alone, turns errors into words and exit codes.

This module is on the path of every hook: it imports nothing that a command does not need (ADR 0003).
"""

from __future__ import annotations

import errno
import os
import sys

from memdir.errors import DiskError, MemdirError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, Protocol

    from memdir.cli.context import Context
    from memdir.cli.terminal import Terminal

    class Command(Protocol):
        """A module, or a class in that of its family; its docstring is its description."""

        EXAMPLES: tuple[str, ...]

        def configure(self, parser: argparse.ArgumentParser) -> None: ...

        def run(self, options: argparse.Namespace, context: Context) -> int: ...


EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of our own files, memdir.disk tells; this is the output
_VALUED = ("--project", "--home", "--set")  # options of every command, with a value
_FLAGS = ("--json", "--bare", "--no-color")
# What people type who come from elsewhere, and what was called otherwise.
ALIASES = {
    "add": "remember",
    "rm": "forget",
    "delete": "forget",
    "ls": "list",
    "cat": "show",
    "settings": "config list",
}
# What is asked about rather than done; by their letters some of these are nearest to a command that deletes.
_MEANT = {"get": "show", "find": "search", "grep": "search", "save": "remember", "new": "remember", "prune": "dream"}
_FIRST_STEPS = (
    ('memdir remember "Deploys are frozen until 2026-12-01"', "keep something"),
    ("memdir search deploy", "find it again"),
    ("memdir undo", "take the last change back"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (docs/exit-codes.md)."""
    if arguments is None and not sys.flags.utf8_mode and sys.getfilesystemencoding() != "utf-8":
        _begin_in_utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    at = _place_of_command(words)
    if words[at : at + 1] == ["hook"] and words[at + 1 : at + 2] not in (["--help"], ["-h"]):
        return _hook([*words[at + 1 :], *words[:at]], is_process=arguments is None)
    try:
        _open_streams()
        try:
            return _main(words)
        except MemdirError as error:
            _tell(error, as_json="--json" in words)
            return error.exit_code
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader went away (`memdir list | head`): that is no error
        _drop_output()
        return 0
    except OSError as error:  # the output of what is no command: help, the version
        if error.errno not in _NO_ROOM:
            raise
        return _output_failed(error)
    except (KeyboardInterrupt, EOFError):  # while it loads, or at a question: nothing was answered
        print(file=sys.stderr)
        return EXIT_INTERRUPTED


def _begin_in_utf8() -> None:
    """Names on disk are UTF-8 whatever a locale says; what is read and told stays in the person's encoding."""
    known = {"PYTHONIOENCODING": sys.stdout.encoding if sys.stdout else "utf-8", **os.environ}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], known)  # noqa: S606 - the same program


def _hook(words: list[str], *, is_process: bool) -> int:
    """A coding agent calls, and goes on whatever happens: the one broad `except` of that surface (ADR 0060)."""
    try:
        __import__("memdir.hooks.hook")  # surfaces do not import each other
        sys.modules["memdir.hooks.hook"].run(words, is_process=is_process)
    except BaseException as error:  # noqa: BLE001
        from memdir.process import keep_crash

        keep_crash(error)
    finally:
        if is_process:
            os._exit(0)  # whatever else went wrong, or could still at an exit
    return 0


def _main(words: list[str]) -> int:
    if words == ["mcp"]:  # a client waits for it, and has no options
        __import__("memdir.mcp_server.stdio")  # surfaces do not import each other
        return int(sys.modules["memdir.mcp_server.stdio"].serve())
    before, words = split_at_command(words)
    if before and not words:
        told = "has no value" if before[-1] in _VALUED else "stands alone: there is no command"
        raise UsageError(f"{before[-1]} {told}", remedy="memdir [options] COMMAND; `memdir --help` lists all commands")
    if words[:1] in (["--version"], ["-V"], ["version"]):
        return _version(as_json="--json" in before + words)
    if not words or words[0] in ("--help", "-h", "help"):
        named = [word for word in words[1:] if not word.startswith("-")]
        as_json = ["--json"] if "--json" in before + words else []
        if named:
            return _run(named[0], [*named[1:2], *as_json, "--help"])
        print(_overview_for_programs() if as_json else _overview(), end="")
        return 0
    return _run(words[0], words[1:], before)


def split_at_command(words: list[str]) -> tuple[list[str], list[str]]:
    """The options that stand before the command, and the rest; every command takes them behind its name as well."""
    at = _place_of_command(words)
    for word in words[:at]:
        name = word.partition("=")[0]
        if word.startswith("-") and name not in _VALUED and word not in _FLAGS:
            known = ", ".join((*_VALUED, *_FLAGS))
            raise UsageError(f"{name} is no option that may stand before a command", remedy=f"These may: {known}")
    return words[:at], words[at:]


def _place_of_command(words: list[str]) -> int:
    """Where the first word stands that is no option, nor the value of one."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-h", "--help", "-V", "--version"):
        at += 2 if words[at] in _VALUED else 1
    return at


def _version(*, as_json: bool) -> int:
    from memdir.version import __version__

    if as_json:
        import json

        print(json.dumps({"ok": True, "version": __version__}, indent=2))
    else:
        print(f"memdir {__version__}")
    return 0


def _open_streams() -> None:
    """A stream that the caller closed leads nowhere, and no character is too strange for one that is open."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from memdir.process import open_descriptors

        open_descriptors()
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole run
    import codecs

    codecs.register_error("memdir", _shown_somehow)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="memdir")


def _shown_somehow(error: UnicodeError) -> tuple[str | bytes, int]:
    """A byte of a file's name as it is; else what the encoding does not know as its number."""
    import codecs

    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def _overview() -> str:
    """All commands by group, and the first three to try."""
    from memdir.cli.terminal import Terminal
    from memdir.settings import Environment
    from memdir.version import __version__

    terminal = Terminal(sys.stdout, Environment.read())
    lines = [
        f"{terminal.bold('memdir')} {__version__}: memory for agents as plain Markdown files",
        "",
        "Usage: memdir COMMAND [options]",
        "`memdir COMMAND --help` shows how it is used, with examples",
    ]
    for title, commands in command_groups():
        lines += ["", terminal.bold(title)]
        lines += [_row(terminal, name, text) for name, _, text in commands]
    lines += ["", terminal.bold("Try")]
    lines += [f"  {terminal.dim(f'# {text}')}\n  {command}" for command, text in _FIRST_STEPS]
    return "\n".join(lines) + "\n"


def _overview_for_programs() -> str:
    import json

    groups = command_groups()
    commands = [{"name": name, "group": title, "help": text} for title, rows in groups for name, _, text in rows]
    return json.dumps({"ok": True, "commands": commands}, indent=2) + "\n"


def _row(terminal: Terminal, name: str, text: str) -> str:
    gap = " " if (terminal.width or 80) >= 19 + len(text) else "\n      "
    return f"  {terminal.cyan(name.ljust(16) if gap == ' ' else name)}{gap}{text}"


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
    found: Any = import_module(f"memdir.{module.lstrip('.')}" if "." in module else f"memdir.cli.{module}")
    command: Command = getattr(found, kind)() if kind else found
    return command


def _run(name: str, words: list[str], before: Sequence[str] = ()) -> int:
    places = command_places()
    name = ALIASES.get(name, name)
    if words and f"{name} {words[0]}" in places:
        name, words = f"{name} {words[0]}", words[1:]
    if name not in places:
        raise _unknown(name)
    command = load_command(places[name])
    from memdir.cli.context import parse

    return _guarded(command, parse(name, command, [*before, *words]))


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
        _tell(error, as_json=options.json)
        return error.exit_code
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            return _output_failed(error)
        report_crash(error, as_json=options.json, home=options.home or "")
        return EXIT_BUG


def report_crash(error: Exception, *, as_json: bool = False, home: str = "") -> None:
    """Tell in one line, and where the details are."""
    from memdir.process import keep_crash

    where = keep_crash(error, home)
    bug = MemdirError(f"something went wrong inside memdir ({type(error).__name__})", remedy=where)
    bug.exit_code = EXIT_BUG
    _tell(bug, as_json=as_json)


def _tell(error: MemdirError, *, as_json: bool) -> None:
    """What is wrong and what to do about it, for people or, in the envelope of all answers, for programs."""
    if as_json:
        import json

        print(json.dumps({"type": "end", "ok": False, "error": error.for_programs()}))  # a line, as events are
        return
    from memdir.cli.terminal import Terminal, clean
    from memdir.settings import Environment

    terminal = Terminal(sys.stderr, Environment.read())
    terminal.line(f"memdir: {clean(error.message)}")
    if error.remedy:
        terminal.line(f"  {clean(error.remedy, keep_newlines=True)}")


def _unknown(name: str) -> MemdirError:
    import difflib

    close = [_MEANT[name]] if name in _MEANT else difflib.get_close_matches(name, (*command_places(), *ALIASES), n=1)
    hint = f"Did you mean `memdir {close[0]}`?" if close else "`memdir --help` lists all commands"
    return UsageError(f"there is no command {name!r}", remedy=hint)


def _output_failed(error: OSError) -> int:
    """The command did its work, but what it had to say finds no room (`memdir list > /a/full/disk`)."""
    _drop_output()
    print(f"memdir: the output cannot be written: {error.strerror}", file=sys.stderr)
    return DiskError.exit_code


def _drop_output() -> None:
    """What is still in the buffer goes nowhere: Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
