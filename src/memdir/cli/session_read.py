"""One conversation: printed, as it would go on, begun a second time, exported, and the files that it edited."""

from __future__ import annotations

import os
import sys

from memdir.cli.context import number
from memdir.cli.sessions import add_agent, add_session, chosen, look, sources
from memdir.cli.terminal import clean
from memdir.errors import MemoryNotFound
from memdir.text.words import counted
from memdir.transcript.session_list import full_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from memdir.cli.context import Context
    from memdir.cli.terminal import Terminal
    from memdir.transcript.conversation import Resumed
    from memdir.transcript.export.markdown import Story
    from memdir.transcript.file_history import FileHistory, Step
    from memdir.transcript.message import Message
    from memdir.transcript.sources.source import SessionRef

RESULT_LINES = 5  # of a tool's result, without --full
SHORT_ID = 8
SHOWN = 6  # messages at the end, without --full


class ShowSession:
    """Print a conversation from its first message on. Long results are cut; --full shows them whole.

    Every message has the beginning of its id before it: `memdir resume`, `memdir fork` and `memdir sessions files` take
    it after --at."""

    EXAMPLES = (
        "memdir sessions show",
        "memdir sessions show 0f3a91c2 --last 10",
        "memdir sessions show --agent claude-code --full",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_session(parser)
        parser.add_argument("--last", type=number, default=0, metavar="N", help="only the last so many messages")
        parser.add_argument("--full", action="store_true", help="results and host messages whole")
        add_agent(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.transcript.export.markdown import tell

        ref = chosen(context, options.session, options.agent)
        story = tell(ref, sources(context, ref.agent)[ref.agent], title=look(context, ref).title)
        messages = story.messages[-options.last :] if options.last > 0 else story.messages
        if options.json:
            return context.print_json(
                {
                    "id": ref.id,
                    "agent": ref.agent,
                    "title": story.title,
                    "damage": story.damage.total,
                    "messages": plain_messages(messages),
                }
            )
        context.terminal.line(context.terminal.bold(clean(story.title or ref.id)))
        print_messages(messages, context.terminal, full=options.full)
        if story.damage.total:
            context.note(f"{ref.path}: {story.damage}")
        return 0


def print_messages(messages: Sequence[Message], terminal: Terminal, *, full: bool) -> None:
    """Messages as a person reads them in a terminal."""
    from memdir.transcript.export.markdown import is_worth_showing, moment, speaker

    colours = {"User": "cyan", "Assistant": "green"}
    for message in messages:
        who = speaker(message)
        if not is_worth_showing(message) or (who == "Host" and not full):
            continue
        head = f"{clean(message.id[:SHORT_ID]).ljust(SHORT_ID)} {moment(message)}"
        terminal.line()
        terminal.line(f"{terminal.style(who, colours.get(who, 'dim'))}  {terminal.dim(head)}")
        for line in _lines(message, full=full):
            terminal.verbatim(terminal.dim(line[1]) if line[0] else line[1])


def _lines(message: Message, *, full: bool) -> list[tuple[bool, str]]:
    """Clean lines, each with whether it is an aside."""
    from memdir.transcript.export.markdown import headline
    from memdir.transcript.message import Text, ToolResult, ToolUse

    lines: list[tuple[bool, str]] = []
    for block in message.content:
        match block:
            case Text(text) if text.strip():
                lines += [(False, line) for line in clean(text.strip("\n"), keep_newlines=True).splitlines()]
            case ToolUse(_, name, _):
                lines.append((True, f"→ {clean(name)}: {clean(headline(block))}"))
            case ToolResult(_, content, is_error):
                found = clean(content.rstrip(), keep_newlines=True).splitlines()
                shown = found if full else found[:RESULT_LINES]
                lines += [(True, f"{'!' if is_error else '│'} {line}") for line in shown]
                if len(found) > len(shown):
                    lines.append((True, f"│ … {counted(len(found) - len(shown), 'more line')}"))
    return lines


def plain_messages(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Messages for programs, in the form of the transcript."""
    from memdir.transcript.record import message_fields

    return [
        {"id": message.id, "time": message.timestamp, "isMeta": message.is_meta, **message_fields(message)["message"]}
        for message in messages
    ]


class Resume:
    """Show a conversation as it would go on: what the model would see, from the last compaction on, and what it costs.

    --at goes back to a message. Programs take the context from --json. Damage in the transcript costs the damaged
    records at most, and is told."""

    EXAMPLES = ("memdir resume", "memdir resume 0f3a91c2 --at 5b7e", "memdir resume latest --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_session(parser)
        parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")
        parser.add_argument("--full", action="store_true", help="print the whole context")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.transcript.conversation import resume

        ref = chosen(context, options.session)
        left = resume(ref.path, at=full_id(ref.path, options.at))
        if options.at and not left.messages:
            raise MemoryNotFound(
                f"there is no message {options.at} in session {ref.id}", remedy="`memdir sessions show` lists them"
            )
        if options.json:
            return context.print_json(_plain_resumed(ref, left))
        _print_resumed(ref, left, context, full=options.full)
        return 0


def _print_resumed(ref: SessionRef, left: Resumed, context: Context, *, full: bool) -> None:
    from memdir.transcript.tokens import estimate_messages

    terminal = context.terminal
    tokens = estimate_messages(left.messages)
    terminal.line(f"{terminal.bold(clean(ref.id))}  {counted(len(left.messages), 'message')}, about {tokens:,} tokens")
    if left.compacted:
        kept = counted(left.compacted - 1, "message")
        terminal.line(terminal.dim(f"It begins with the summary of a compaction and {kept} kept word for word."))
    shown = left.messages if full else left.messages[-SHOWN:]
    if len(shown) < len(left.messages):
        terminal.line(terminal.dim(f"… {counted(len(left.messages) - len(shown), 'message')} before these (--full)"))
    print_messages(shown, terminal, full=full)
    if left.damage.total:
        context.note(f"{ref.path}: {left.damage}")


def _plain_resumed(ref: SessionRef, left: Resumed) -> dict[str, object]:
    from memdir.transcript.tokens import estimate_messages

    return {
        "session": ref.id,
        "leaf": left.leaf,
        "compacted": left.compacted,
        "tokens": estimate_messages(left.messages),
        "damage": {"total": left.damage.total, **vars(left.damage)},
        "messages": plain_messages(left.messages),
    }


class Fork:
    """Begin a second session where another one stands, or stood at a message. The first one stays as it is.

    The new one has the same context, can restore the same files, and knows what was already remembered."""

    EXAMPLES = ("memdir fork", "memdir fork 0f3a91c2 --at 5b7e", "memdir fork latest --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_session(parser)
        parser.add_argument("--at", metavar="MESSAGE", default="", help="a message's id, or the beginning of one")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.remember.session_state import fork_session

        memory, ref = context.require_enabled(), chosen(context, options.session)
        fork = fork_session(memory.transcript, ref.id, memory.layout, at=full_id(ref.path, options.at))
        if options.json:
            path = memory.layout.session(fork.id)
            return context.print_json({"session": fork.id, "forkedFrom": ref.id, "path": path})
        context.terminal.line(f"{fork.id} goes on from {ref.id}.")
        context.terminal.line(context.terminal.dim(f"`memdir resume {fork.id[:8]}` shows it."))
        return 0


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
        from memdir.transcript.export.markdown import filtered, tell, without_secrets

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
        from memdir.transcript.conversation import resume
        from memdir.transcript.file_history import FileHistory

        ref = chosen(context, options.session)
        at = full_id(ref.path, options.at) if options.at else resume(ref.path).leaf
        memory = context.require_enabled() if options.restore else context.memory
        transcript = memory.transcript(ref.id)
        history = FileHistory(transcript, memory.layout.file_history(ref.id))
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
