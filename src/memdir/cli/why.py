"""Tell where a memory comes from: every change that made it what it is, by whom, in which session, and the lines of
the conversation that it was taken from. What a dream made from other memories is followed back to those."""

from __future__ import annotations

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from memdir.cli.context import Context
    from memdir.store.history import Commit
    from memdir.store.log_lines import LogLine
    from memdir.transcript.message import Message

EXAMPLES = ("memdir why feedback_no_mocks.md", "memdir why mocks --json")
_SOURCES = {
    "cli": "written by you on the command line",
    "outside": "changed outside memdir, in an editor or by another program",
    "import": "imported",
    "undo": "an earlier change was taken back",
    "restore": "an earlier version was brought back",
    "doctor": "repaired by memdir doctor",
    "move": "moved between this project and all of yours",
    "extract": "taken from a conversation",
    "dream": "put in order by a dream",
    "purge": "what came from a source was removed",
    "team": "taken in from the team",
    "unshare": "taken back from the team, where somebody else wrote it",
}
QUOTED_LINES = 6  # of one message; the rest is in the transcript


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="MEMORY", help="a file name, a title, or a part that fits only one")
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.cli.history import plain_commit

    found = context.require_enabled().why(options.memory, scope=options.scope)
    key = next(iter(found))
    if options.json:
        told = {
            name: [{**plain_commit(commit), **_plain_sources(commit, name, context)} for commit in commits]
            for name, commits in found.items()
        }
        return context.print_json({"file": key, "changes": told.pop(key), "madeFrom": told})
    for name, commits in found.items():
        title = clean(name) if name == key else f"made from {clean(name)}"
        context.terminal.line(context.terminal.bold(title))
        for commit in commits:
            _print(commit, context)
            _print_source(commit, name, context)
    return 0


def _print(commit: Commit, context: Context) -> None:
    from memdir.store.scan import age_words

    terminal = context.terminal
    told = _SOURCES.get(commit.source, f"written by {commit.source}")
    age = age_words(commit.time, context.memory.clock())
    terminal.line(f"  {terminal.style(commit.id[:8], 'yellow')} {age}: {clean(told)}")
    reason = (("Reason", "because"),) if commit.source != "extract" else ()  # of an extraction: the ids once more
    for trailer, words in (("By", "by"), ("Session", "session"), ("Trust", "trust"), *reason):
        if commit.trailers.get(trailer):
            terminal.line(terminal.dim(f"           {words}: {clean(commit.trailers[trailer])}"))


def _print_source(commit: Commit, key: str, context: Context) -> None:
    """The messages that a change was made from, quoted; or that they are gone."""
    terminal = context.terminal
    for log, line in _noted(commit, key, context):
        terminal.line(f"           {terminal.dim(f'{clean(log)} {line.time}')}\n           > {clean(line.text)}")
    for session, wanted in commit.lines_of(key).items():
        path, found = _found(session, wanted, context)
        if not path:
            told = f"The transcript of session {clean(session)} is gone: what was said there cannot be shown."
            terminal.line(f"           {terminal.style(told, 'yellow')}")
            continue
        if session != commit.trailers.get("Session"):
            terminal.line(terminal.dim(f"           session: {clean(session)}"))
        for message_id in wanted:
            _print_message(found.get(message_id), message_id, context)


def _print_message(message: Message | None, message_id: str, context: Context) -> None:
    terminal = context.terminal
    if message is None:
        told = f"message {clean(message_id)} is no longer in the transcript"
        terminal.line(f"           {terminal.style(told, 'yellow')}")
        return
    from memdir.transcript.export.markdown import moment, speaker

    terminal.line(f"           {terminal.cyan(speaker(message))} {terminal.dim(f'{moment(message)} {message.id[:8]}')}")
    said = message.text or "\n".join(result.content for result in message.tool_results)
    lines = clean(said.strip(), keep_newlines=True).splitlines()
    for line in lines[:QUOTED_LINES]:
        terminal.line(f"           > {line}")
    if len(lines) > QUOTED_LINES:
        terminal.line(terminal.dim(f"           > … {counted(len(lines) - QUOTED_LINES, 'more line')}"))


def _plain_sources(commit: Commit, key: str, context: Context) -> dict[str, object]:
    """The same for programs: the conversations, and the first of them; none for a change that came from no words."""
    from memdir.cli.session_read import plain_messages

    told: list[dict[str, object]] = []
    for session, wanted in commit.lines_of(key).items():
        path, found = _found(session, wanted, context)
        messages = plain_messages([found[message_id] for message_id in wanted if message_id in found])
        missing = [message_id for message_id in wanted if message_id not in found]
        told.append({"session": session, "path": path or None, "messages": messages, "gone": missing})
    logged = [{"log": log, "line": line.rendered} for log, line in _noted(commit, key, context)]
    return {"conversation": told[0] if told else None, "conversations": told, "logged": logged}


def _noted(commit: Commit, key: str, context: Context) -> Iterator[tuple[str, LogLine]]:
    """The lines of daily logs that a change was made from, as far as they are still there (K3)."""
    from memdir.store.log_lines import lines_in

    for log, wanted in commit.logged_of(key).items():
        lines = lines_in(context.memory.store.read_bytes(log) or b"", log)
        yield from ((log, line) for line in lines if line.id in wanted)


def _found(session: str, wanted: list[str], context: Context) -> tuple[str, dict[str, Message]]:
    """The transcript of a session, wherever an agent keeps it, and those of the messages that are in it."""
    from memdir.cli.sessions import sessions, sources
    from memdir.transcript.session_list import find_messages

    best: tuple[str, dict[str, Message]] = ("", {})
    for ref in (ref for ref in sessions(context, "all") if ref.id == session):
        found = find_messages(ref, sources(context)[ref.agent], wanted)
        if not best[0] or len(found) > len(best[1]):
            best = ref.path, found
    return best
