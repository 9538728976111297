"""Change a memory in your editor ($VISUAL or $EDITOR). It is checked on saving: a file that is no memory is not taken,
and your text is kept. What others changed meanwhile is merged in."""

from __future__ import annotations

import errno
import os
import sys

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.disk.plain_file import read_plain, reason_of
from memdir.disk.programs import find_program
from memdir.errors import BadMemoryFile, EditConflict, MemdirError
from memdir.store.scan import MAX_MEMORY_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.store import MemoryStore

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
    while True:
        after = _edited(draft, context)
        if after == before:
            os.unlink(draft)
            context.terminal.line("Nothing changed.")
            return 0
        try:
            save_memory(store, key, after, origin=origin, base=before, allow_secret=options.allow_secret)
        except (BadMemoryFile, EditConflict) as error:
            if _wants_another_try(error):
                continue
            raise type(error)(error.message, remedy=f"{error.remedy}. Your text is kept in {draft}") from error
        os.unlink(draft)
        context.terminal.line(f"{context.terminal.bold('Saved')} {clean(key)}{_undo_hint(store)}")
        return 0


def _undo_hint(store: MemoryStore) -> str:
    return "  (`memdir diff` shows the change, `memdir undo` takes it back)" if store.history.is_readable else ""


def _edited(draft: str, context: Context) -> bytes:
    import shlex
    import subprocess

    command = shlex.split(context.environment.editor) or ["vi"]
    program = command[0] if os.path.dirname(command[0]) else find_program(command[0])
    try:
        if not program:
            raise FileNotFoundError(errno.ENOENT, "")
        status = subprocess.run([program, *command[1:], draft], check=False).returncode
    except OSError as error:
        remedy = f"Set EDITOR to a command that is installed. Your text is kept in {draft}"
        raise MemdirError(
            f"the editor {command[0]} cannot be started: {os.strerror(error.errno or 0)}", remedy=remedy
        ) from error
    if status != 0:
        raise MemdirError(
            f"the editor {command[0]} ended with status {status}, so nothing was saved",
            remedy=f"Your text is kept in {draft}",
        )
    try:
        return read_plain(draft, max_bytes=MAX_MEMORY_BYTES)
    except OSError as error:
        raise BadMemoryFile(f"{draft} cannot be saved as a memory: {reason_of(error)}") from error


def _wants_another_try(error: MemdirError) -> bool:
    if not sys.stdin.isatty():
        return False
    print(f"memdir: {clean(str(error))}", file=sys.stderr)
    return input("Open the editor again? [Y/n] ").strip().lower() in ("", "y", "yes")
