"""List the conversations of this project, newest first: when, how large, how many messages, what about.

Only the beginning and the end of each transcript are read. `~` before a number: guessed from the size. Sessions of
Claude Code and Codex are listed with --agent."""

from __future__ import annotations

from memdir.cli.context import add_json
from memdir.cli.sessions.choose import add_agent, look, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.session_list import Glance

EXAMPLES = ("memdir sessions", "memdir sessions --agent claude-code --limit 5", "memdir sessions --agent all --json")
SHORT_ID = 8  # characters of an id that tell sessions apart


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many (default: 20; 0: all)")
    add_agent(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    found = sessions(context, options.agent)
    shown = [look(context, ref) for ref in (found[: options.limit] if options.limit else found)]
    if options.json:
        context.print_json({"total": len(found), "sessions": [_plain(one) for one in shown]})
        return 0
    if not found:
        context.terminal.line("There is no session of this project yet.")
        return 0
    _print(shown, context, with_agent=options.agent == "all")
    if len(found) > len(shown):
        context.terminal.line(context.terminal.dim(f"{len(found) - len(shown)} older ones: --limit 0 shows all"))
    return 0


def _print(shown: list[Glance], context: Context, *, with_agent: bool) -> None:
    from memdir.store.scan import age_words

    now = context.memory.clock()
    rows = []
    for one in shown:
        agent = [one.ref.agent] if with_agent else []
        count = f"{'~' if one.is_guessed else ''}{one.messages}"
        age = age_words(one.ref.modified, now)
        rows.append([one.ref.id[:SHORT_ID], *agent, age, size_words(one.ref.size), count, one.title or "(no title)"])
    headers = ("session", *(("agent",) if with_agent else ()), "last used", "size", "messages", "title")
    styles = ("yellow", *(("cyan",) if with_agent else ()), "dim", "dim", "dim", "")
    context.terminal.table(rows, headers=headers, styles=styles)


def size_words(size: int) -> str:
    """A size as people say it."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"


def _plain(one: Glance) -> dict[str, object]:
    from memdir.store.scan import iso_time

    return {
        "id": one.ref.id,
        "agent": one.ref.agent,
        "title": one.title,
        "modified": iso_time(one.ref.modified),
        "bytes": one.ref.size,
        "messages": one.messages,
        "isGuessed": one.is_guessed,
        "path": one.ref.path,
    }
