"""Memories one by one: written, listed, shown, changed in an editor, forgotten, moved."""

from __future__ import annotations

import errno
import os
import sys

from memdir.cli.context import TYPES, add_limit, add_scope, in_scope, text_of
from memdir.cli.terminal import clean
from memdir.disk.plain_file import read_if_plain, read_plain, reason_of
from memdir.disk.programs import find_program
from memdir.disk.safe_path import TEAM_PREFIX
from memdir.errors import BadMemoryFile, EditConflict, MemdirError
from memdir.recall.inject import MAX_MEMORY_CHARACTERS
from memdir.store.scan import MAX_MEMORY_BYTES, age_words, iso_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.store.scan import Header
    from memdir.store.shared import TeamAuthors


class Remember:
    """Write a memory: one Markdown file with a name, a description and a type, and its line in the index."""

    EXAMPLES = (
        'memdir remember "Deploys are frozen until 2026-12-01, the auditors are in the house"',
        'memdir remember "Never mock the database" --type feedback --name "Real database in tests"',
        'memdir remember "I have run databases for ten years; React is new to me" --scope user',
        "cat note.txt | memdir remember -",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
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

    def run(self, options: argparse.Namespace, context: Context) -> int:
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
        memory, kind = added.memory, str(added.memory.topic.kind)
        if options.json:
            return context.print_json({"file": memory.key, "path": memory.path, "type": kind, "new": added.is_new})
        terminal, verb = context.terminal, "Remembered" if added.is_new else "Already remembered"
        guessed = "" if options.type else terminal.dim("  (type guessed; --type sets it)")
        terminal.line(f"{terminal.bold(verb)} {terminal.type_word(kind)} {clean(memory.key)}{guessed}")
        from memdir.remember.lineage import is_personal

        whose, has_both = is_personal([memory.topic.body]), context.memory.places.learns_for_all_projects
        if has_both and options.scope == "project" and (kind == "user" or (kind == "feedback" and whose)):
            context.note(f"kept for this project; `memdir move {memory.key} --scope user` makes it yours everywhere")
        if has_both and options.scope == "user" and whose is False:  # "here", "in this repo"
            context.note(f"kept for all your projects; `memdir move {memory.key} --scope project` keeps it to this one")
        if len(memory.topic.body) > MAX_MEMORY_CHARACTERS:
            context.note(f"a conversation is shown {MAX_MEMORY_CHARACTERS:,} characters of it: split it to show all")
        terminal.verbatim(terminal.dim(clean(memory.path)))
        return 0


def _require_news(text: str, context: Context) -> None:
    """What reading the code tells as well is not kept: it would only grow old. What it does not tell is asked for."""
    from datetime import datetime

    from memdir.model.builtin.eyes import notice

    now = datetime.fromtimestamp(context.require_enabled().clock()).astimezone()
    if notice(text, now, project=context.memory.layout.work_tree).is_derivable:
        raise BadMemoryFile(
            "that can be read in the code, which stays right when it changes; nothing was written",
            remedy="What about it is surprising, or not to be seen there? Remember that instead (--anyway keeps this)",
        )


class List:
    """Show what is remembered, newest first."""

    EXAMPLES = ("memdir list", "memdir list --type feedback", "memdir list --scope user --json", "memdir list --all")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--type", choices=(*TYPES, "none"), metavar="TYPE", help=f"only this kind: {', '.join(TYPES)} or none"
        )
        add_limit(parser, default=200)
        parser.add_argument("--all", action="store_true", help="all of them, however many")
        add_scope(parser, more="the project's and yours for all projects")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.require_enabled()
        scopes = ("project", "user") if options.scope == "all" else (options.scope,)
        scans = {scope: memory.stores.of(scope).scan(limit=None) for scope in scopes}
        found = [
            ("team" if header.key.startswith(TEAM_PREFIX) else scope, header)
            for scope, scan in scans.items()
            for header in scan.headers
        ]
        found.sort(key=lambda one: one[1].mtime_ns, reverse=True)
        wanted = [(scope, one) for scope, one in found if options.type in (None, one.type or "none")]
        shown = wanted if options.all else wanted[: options.limit]
        unreadable = [item for scan in scans.values() for item in scan.unreadable]
        root, authors = memory.places.of(scopes[0]).root, memory.team.authors(scopes[0])
        if options.json:
            told = {"directory": root, "total": len(wanted), "leftOut": {one.key: one.reason for one in unreadable}}
            listed = [{**_plain_header(header, scope), **authors.plain(header.key)} for scope, header in shown]
            return context.print_json({**told, "memories": listed})
        for item in unreadable:
            context.note(f"{item.key} was left out: {item.reason}")
        if not memory.places.has_team and any(scope == "team" for scope, _ in shown):
            context.note("the team is switched off: what lies in team/ is listed, and joins no conversation")
        if shown:
            _print_table(shown, context, authors, with_scope=len(scopes) > 1)
        elif options.type and found:
            context.terminal.line(f"No memory has the type {options.type}.")
        else:
            context.terminal.line(f"Nothing is remembered in {clean(root)} yet.")
        if "project" in scopes:
            _tell_of_left(context, is_all=not found)
        if len(wanted) > len(shown):
            context.terminal.line(context.terminal.dim(f"… and {len(wanted) - len(shown)} older: --all shows them"))
        return 0


def _tell_of_left(context: Context, *, is_all: bool) -> None:
    """Of memories that lie with an agent, where they were served once or are all that there is (Q2)."""
    from shlex import quote

    from memdir.layout import root_of_store
    from memdir.settings import left_with
    from memdir.text.words import counted

    places = context.memory.places
    for agent in places.environment.memory_homes:
        folder, left = left_with(places.environment, agent, places.layout, places.place.root)
        if left and (is_all or root_of_store(folder)):
            told = counted(left, "memory of this project lies", "memories of this project lie")
            context.note(f"{told} in {folder}: `memdir import {quote(folder)}` copies what is there")


def _print_table(found: list[tuple[str, Header]], context: Context, by: TeamAuthors, *, with_scope: bool) -> None:
    now, first = context.memory.clock(), 0 if with_scope else 1
    said = ((s, h, f"{h.description or h.name}{by.told(h.key, ' ({})')}") for s, h in found)
    rows = [[s, str(h.type or "-"), h.key, age_words(h.mtime, now), told][first:] for s, h, told in said]
    headers, styles = ("scope", "type", "file", "saved", "description"), ("dim", "type", "bold", "dim", "")
    context.terminal.table(rows, headers=headers[first:], styles=styles[first:])


def _plain_header(header: Header, scope: str) -> dict[str, object]:
    return {
        "file": header.key,
        "scope": scope,
        "name": header.name,
        "description": header.description,
        "type": header.type,
        "modified": iso_time(header.mtime),
        "bytes": header.size,
        "problem": header.problem or None,
    }


class ShowMemory:
    """Print one memory. Control characters are made visible; --raw writes the bytes as they are."""

    EXAMPLES = ("memdir show feedback_no_mocks.md", "memdir show mocks", "memdir show mocks --raw > copy.md")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        parser.add_argument("--raw", action="store_true", help="the file byte for byte")
        add_scope(parser, default="")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.memories import find_key
        from memdir.text.deadlines import told_past

        store, [key] = context.named(options.memory, find=find_key)
        memory, authors = store.read(key), context.memory.team.authors(store.scope)
        topic = memory.topic
        if options.raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(topic.data)
            return 0
        if options.json:
            told: dict[str, object] = {"file": memory.key, "path": memory.path, "name": memory.name}
            told |= {
                "description": topic.description,
                "type": topic.kind,
                "modified": iso_time(memory.mtime),
                "body": topic.body,
            }
            return context.print_json({**told, "problems": topic.problems(), **authors.plain(memory.key)})
        terminal = context.terminal
        now = context.memory.clock()
        ended = told_past(f"{topic.description}\n{topic.body}", written=memory.mtime, now=now)
        about = "; ".join(filter(None, (f"saved {age_words(memory.mtime, now)}", authors.told(memory.key), ended)))
        terminal.line(terminal.dim(f"{clean(memory.path)}  ({about})"))
        terminal.verbatim(clean(topic.data.decode("utf-8", "replace"), keep_newlines=True).rstrip("\n"))
        return 0


class Forget:
    """Delete memories and their lines in the index, as one change: `memdir undo` brings all of it back. Where one of
    the names fits none or several, nothing is deleted."""

    EXAMPLES = ("memdir forget feedback_no_mocks.md", 'memdir forget "Real database in tests" old_freeze.md')

    def configure(self, parser: argparse.ArgumentParser) -> None:
        text = "a file name, a title, or a part that fits only one"
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help=text)
        add_scope(parser, default="")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.history import Origin
        from memdir.store.memories import find_key, forget_memories

        store, keys = context.named(*options.memories, find=find_key, for_writing=True)
        forget_memories(store, keys, origin=Origin("cli", trust="user"))
        if options.json:
            return context.print_json({"files": keys, "scope": store.scope})
        terminal, it = context.terminal, "it" if len(keys) == 1 else "them"
        later = "" if store.history.is_readable else " once git is installed"
        undo = f"  `memdir undo{_scope_word(store.scope)}` brings {it} back{later}"
        terminal.line(f"{terminal.bold('Forgot')} {clean(', '.join(keys))}{in_scope(store.scope)}{terminal.dim(undo)}")
        return 0


def _scope_word(scope: str) -> str:
    """What to write behind a command that looks at the memories of project and user alone."""
    return f" --scope {scope}" if scope.startswith("agent") else ""


class Move:
    """Move memories from this project to your own for all projects, or from those into this project, with their lines
    in the index, their links and where they come from. Where a name is taken there, the memory gets another."""

    EXAMPLES = ("memdir move user_role.md --scope user", "memdir move tabs.md ci.md --scope project --dry-run")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help="a file name, a title, or a part of either")
        parser.add_argument("--scope", required=True, choices=("user", "project"), help="user: yours, for all projects")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be moved and change nothing")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        moved = context.start().move(*options.memories, scope=options.scope, is_dry=options.dry_run)
        if options.json:
            files = [{"file": one.file, "before": one.file_before, "path": one.path} for one in moved]
            return context.print_json({"moved": files, "scope": options.scope, "dryRun": options.dry_run})
        terminal, whose = context.terminal, "yours, for all projects" if options.scope == "user" else "this project's"
        verb = terminal.bold("Would move" if options.dry_run else "Moved")
        for one in moved:
            name = f", as {clean(one.file)}" if one.file != one.file_before else ""
            terminal.line(f"{verb} {clean(one.file_before)}: it is {whose}{name}")
        if not options.dry_run:
            terminal.line(terminal.dim("  `memdir undo` takes it back in both places"))
        return 0


class EditMemory:
    """Change a memory in your editor ($VISUAL or $EDITOR). It is checked on saving: a file that is no memory is not
    taken, and your text is kept. What others changed meanwhile is merged in."""

    EXAMPLES = ("memdir edit mocks", "EDITOR='code --wait' memdir edit feedback_no_mocks.md")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
        parser.add_argument(
            "--allow-secret", action="store_true", help="save it although it holds a secret (never in team)"
        )
        add_scope(parser, default="")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.store.history import Origin
        from memdir.store.memories import find_key, save_memory

        store, [key] = context.named(options.memory, find=find_key, for_writing=True)
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
            where = _scope_word(store.scope)
            how = f"  (`memdir diff{where}` shows the change, `memdir undo{where}` takes it back)"
            undo = how if store.history.is_readable else ""
            context.terminal.line(f"{context.terminal.bold('Saved')} {clean(key)}{in_scope(store.scope)}{undo}")
        return 0


def _with_draft(error: MemdirError, draft: str) -> MemdirError:
    """The same error, which also says where the text is."""
    error.remedy = ". ".join(filter(None, (error.remedy, f"Your text is kept in {draft}")))
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
