"""What a conversation leaves in files: itself, exported, and the files that it edited."""

from __future__ import annotations

import os
import sys

from memdir.cli.sessions import add_agent, add_session, chosen, look, sources
from memdir.cli.terminal import clean
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.export.story import Story
    from memdir.transcript.file_history import FileHistory, Step


class ExportSession:
    """Write a conversation to a file that people can read: Markdown, or one HTML page that needs no network.

    The name of the file decides (.md, .html). Secrets are taken out; --keep-secrets leaves them in."""

    EXAMPLES = (
        "memdir sessions export --to talk.html",
        "memdir sessions export 0f3a91c2 --to talk.md",
        "memdir sessions export --agent codex --format md > talk.md",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_session(parser)
        parser.add_argument("--to", metavar="FILE", help="where to (default: standard output)")
        parser.add_argument("--force", action="store_true", help="replace a file that is there already")
        parser.add_argument("--format", choices=("md", "html"), help="default: by the name of the file, else md")
        parser.add_argument("--keep-secrets", action="store_true", help="do not take out what looks like a secret")
        add_agent(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.disk.atomic import require_new, write_exported
        from memdir.transcript.export.story import filtered, tell, without_secrets

        path = os.path.abspath(options.to) if options.to else ""
        if path:
            require_new(path, replace=options.force)  # before the work
        ref = chosen(context, options.session, options.agent)
        story = tell(ref, sources(context, ref.agent)[ref.agent], title=look(context, ref).title)
        if not options.keep_secrets:
            story = without_secrets(story)
        story = filtered(story, _harmless)
        kind = options.format or ("html" if path.lower().endswith((".html", ".htm")) else "md")
        data = _rendered(story, kind).encode("utf-8", "replace")
        if options.json:
            told = {"path": path or None, "messages": len(story.messages)}
            if path:
                write_exported(path, data, replace=options.force)
            return context.print_json(told if path else {**told, "text": data.decode()})
        if not options.to:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            return 0
        write_exported(path, data, replace=options.force)
        context.note(f"wrote {counted(len(story.messages), 'message')} to {path}")
        return 0


def _harmless(text: str) -> str:
    """Text without anything that a terminal would act on, tabs and newlines as they are."""
    return "\t".join(clean(part, keep_newlines=True) for part in text.split("\t"))


def _rendered(story: Story, kind: str) -> str:
    if kind == "html":
        from memdir.transcript.export.web_page import as_html

        return as_html(story)
    from memdir.transcript.export.markdown import as_markdown

    return as_markdown(story)


class SessionFiles:
    """Show the files that a conversation edited, print one as it was at a message, or bring them all back to it.

    Without --restore nothing is changed. A restore is recorded like an edit, so that it can be taken back."""

    EXAMPLES = (
        "memdir sessions files                         # what differs from the end of the session",
        "memdir sessions files 0f3a91c2 --at 5b7e      # ... from how it was at a message",
        "memdir sessions files --at 5b7e --show app.py",
        "memdir sessions files --at 5b7e --restore",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_session(parser)
        parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")
        parser.add_argument("--show", metavar="FILE", help="print this file as it was")
        parser.add_argument("--restore", action="store_true", help="write the files as they were")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.errors import MemoryNotFound
        from memdir.transcript.file_history import FileHistory
        from memdir.transcript.resume import resume
        from memdir.transcript.session_list import full_id

        ref = chosen(context, options.session)
        at = full_id(ref.path, options.at) if options.at else resume(ref.path).leaf
        transcript = context.memory.transcript(ref.id)
        history = FileHistory(transcript, context.memory.layout.file_history(ref.id))
        try:
            if options.show:
                content = history.show(options.show, at)
                if content is None:
                    raise MemoryNotFound(f"there was no {options.show} then, or this session never edited it")
                sys.stdout.flush()
                sys.stdout.buffer.write(content)
                return 0
            return _restore(options, history, at, context)
        finally:
            transcript.close()


def _restore(options: argparse.Namespace, history: FileHistory, at: str, context: Context) -> int:
    steps = history.restore(at) if options.restore else history.plan(at)
    if options.json:
        listed = [{"path": step.path, "change": _verb(step)} for step in steps]
        return context.print_json({"message": at, "restored": options.restore, "files": listed})
    for step in steps:
        context.terminal.line(f"{_verb(step).ljust(6)}  {clean(step.path)}")
    if not steps:
        context.terminal.line("Every file that the conversation edited is as it was then.")
    elif not options.restore:
        context.terminal.line(context.terminal.dim("Nothing was changed; --restore does it."))
    return 0


def _verb(step: Step) -> str:
    return "delete" if step.content is None else "write"
