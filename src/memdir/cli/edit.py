"""Change a memory in your editor ($VISUAL or $EDITOR). It is checked on saving: a file that is no memory is not taken,
and your text is kept. What others changed meanwhile is merged in."""

from __future__ import annotations

import errno
import os
import sys

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.disk.plain_file import read_if_plain, read_plain, reason_of
from memdir.disk.programs import find_program
from memdir.errors import BadMemoryFile, EditConflict, MemdirError
from memdir.store.scan import MAX_MEMORY_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

EXAMPLES = ("memdir edit mocks", "EDITOR='code --wait' memdir edit feedback_no_mocks.md")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
    parser.add_argument(
        "--allow-secret", action="store_true", help="save it although it holds a secret (never in team)"
    )
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.store.history import Origin
    from memdir.store.memories import find_key, save_memory

    store = context.store(for_writing=True)
    key = find_key(store, options.memory)
    before = store.read(key).topic.data
    draft = store.keep_draft(key, before)
    origin = Origin("cli", trust="user")
    try:
        while (after := _edited(draft, context)) != before:
            try:
                save_memory(store, key, after, origin=origin, base=before, allow_secret=options.allow_secret)
                break
            except (BadMemoryFile, EditConflict) as error:
                if not _wants_another_try(error, context):
                    raise _with_draft(error, draft) from error
    except BaseException:
        if read_if_plain(draft, MAX_MEMORY_BYTES) == before:
            os.unlink(draft)  # there is nothing in it to be missed
        raise
    os.unlink(draft)
    if options.json:
        return context.print_json({"file": key, "changed": after != before})
    if after == before:
        context.terminal.line("Nothing changed.")
    else:
        undo = "  (`memdir diff` shows the change, `memdir undo` takes it back)" if store.history.is_readable else ""
        context.terminal.line(f"{context.terminal.bold('Saved')} {clean(key)}{undo}")
    return 0


def _with_draft(error: MemdirError, draft: str) -> MemdirError:
    """The same error, which also says where the text is."""
    error.remedy = f"{error.remedy}. Your text is kept in {draft}" if error.remedy else f"Your text is kept in {draft}"
    return error


def _edited(draft: str, context: Context) -> bytes:
    before = read_if_plain(draft, MAX_MEMORY_BYTES)
    try:
        run_editor(draft, context)
    except MemdirError as error:
        raise error if read_if_plain(draft, MAX_MEMORY_BYTES) == before else _with_draft(error, draft) from None
    try:
        return read_plain(draft, max_bytes=MAX_MEMORY_BYTES)
    except OSError as error:
        raise BadMemoryFile(f"{draft} cannot be saved as a memory: {reason_of(error)}") from error


def run_editor(path: str, context: Context) -> None:
    """Let a person change a file; MemdirError when the editor does not start, or says that it failed."""
    import shlex
    import subprocess

    try:
        command = shlex.split(context.environment.editor) or ["vi"]
    except ValueError as error:
        told = f"EDITOR={context.environment.editor} is no command: {error}"
        raise MemdirError(told, remedy="Set EDITOR to a command, quotes closed") from error
    program = command[0] if os.path.dirname(command[0]) else find_program(command[0])
    try:
        if not program:
            raise FileNotFoundError(errno.ENOENT, "")
        status = subprocess.run([program, *command[1:], path], check=False).returncode
    except OSError as error:
        raise MemdirError(
            f"the editor {command[0]} cannot be started: {os.strerror(error.errno or 0)}",
            remedy="Set EDITOR to a command that is installed",
        ) from error
    if status != 0:
        raise MemdirError(f"the editor {command[0]} ended with status {status}, so nothing was saved")


def _wants_another_try(error: MemdirError, context: Context) -> bool:
    if not sys.stdin.isatty():
        return False
    print(f"memdir: {clean(str(error))}", file=sys.stderr)
    return context.ask("Open the editor again? [Y/n] ", otherwise=True)
