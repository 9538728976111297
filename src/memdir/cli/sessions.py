"""Past conversations: which ones there are, which one a command means, and deleting old ones."""

from __future__ import annotations

from memdir.cli.context import number
from memdir.text.words import counted
from memdir.transcript.session_list import (
    LATEST,
    all_sources,
    find_session,
    plan_pruning,
    prune_sessions,
    sessions_of,
    summary_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from memdir.cli.context import Context
    from memdir.transcript.session_list import PrunableSession, SessionSummary
    from memdir.transcript.sources.source import SessionRef, TranscriptSource

AGENTS = ("memdir", "claude-code", "codex", "gemini", "qwen", "opencode")
SHORT_ID = 8  # characters of an id that tell sessions apart
DAY_SECONDS = 86_400


def short_id(session: str) -> str:
    """What tells a session from others: how its id begins, or how it ends where an agent begins all of them alike."""
    return session[-SHORT_ID:] if session.startswith(("rollout-", "session-", "ses_")) else session[:SHORT_ID]


def add_agent(parser: argparse.ArgumentParser) -> None:
    text = f"whose sessions: {', '.join(AGENTS)} or all (default: memdir)"
    known = (*AGENTS, "all")
    parser.add_argument("--agent", type=_agent, choices=known, default="memdir", metavar="AGENT", help=text)


def _agent(name: str) -> str:
    """By the name that `memdir attach` has for it, too."""
    return "claude-code" if name == "claude" else name


def add_session(parser: argparse.ArgumentParser) -> None:
    text = "a session's id, or the beginning or end of one (default: the latest)"
    parser.add_argument("session", metavar="SESSION", nargs="?", default=LATEST, help=text)


def sources(context: Context, agent: str = "all") -> Mapping[str, TranscriptSource]:
    """The transcripts of an agent, or of all of them, by the agent's name."""
    known = all_sources(context.environment)
    return known if agent == "all" else {agent: known[agent]}


def sessions(context: Context, agent: str = "memdir") -> list[SessionRef]:
    """The sessions of this project, newest first."""
    return sessions_of(context.at_hand().layout, sources(context, agent))


def chosen(context: Context, wanted: str, agent: str = "memdir") -> SessionRef:
    return find_session(sessions(context, agent), wanted)


def look(context: Context, ref: SessionRef) -> SessionSummary:
    """A session at a glance."""
    notes = context.memory.layout.session_memory(ref.id) if ref.agent == "memdir" else ""
    return summary_of(ref, sources(context, ref.agent)[ref.agent], notes=notes)


class ListSessions:
    """List the conversations of this project, newest first: when, how large, how many messages, what about.

    Only the beginning and the end of each transcript are read. `~` before a number: guessed from the size. Sessions of
    other agents are listed with --agent."""

    EXAMPLES = (
        "memdir sessions",
        "memdir sessions --agent claude-code --limit 5",
        "memdir sessions --agent all --json",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--limit", type=number, default=20, metavar="N", help="at most this many (default: 20; 0: all)"
        )
        add_agent(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        found = sessions(context, options.agent)
        shown = [look(context, ref) for ref in (found[: options.limit] if options.limit else found)]
        if options.json:
            return context.print_json({"total": len(found), "sessions": [_plain_summary(one) for one in shown]})
        if not found:
            others = 0 if options.agent == "all" else len(sessions(context, "all"))
            more = f"; {others} of other agents: memdir sessions --agent all" if others else ""
            context.terminal.line(f"There is no session of this project yet{more}.")
            return 0
        _print_sessions(shown, context, with_agent=options.agent == "all")
        if len(found) > len(shown):
            context.terminal.line(context.terminal.dim(f"… and {len(found) - len(shown)} older: --limit 0 shows all"))
        return 0


def _print_sessions(shown: list[SessionSummary], context: Context, *, with_agent: bool) -> None:
    from memdir.store.scan import age_words

    now = context.memory.clock()
    rows = []
    for one in shown:
        agent = [one.ref.agent] if with_agent else []
        count = f"{'~' if one.is_guessed else ''}{one.messages}"
        age = age_words(one.ref.modified, now)
        rows.append([short_id(one.ref.id), *agent, age, size_words(one.ref.size), count, one.title or "(no title)"])
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


def _plain_summary(one: SessionSummary) -> dict[str, object]:
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


class Prune:
    """Show which old sessions could be deleted; with --yes, delete them. Nothing is ever deleted by itself.

    A session that is open stays. So does one that memories come from, since `memdir why` shows its lines;
    --with-sources lets it go too."""

    EXAMPLES = (
        "memdir sessions prune                        # what would go",
        "memdir sessions prune --older-than 365 --yes",
        "memdir sessions prune --older-than 30 --keep 20 --json",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", type=number, default=90, metavar="DAYS", help="last used so long ago (default: 90)"
        )
        parser.add_argument("--keep", type=number, default=10, metavar="N", help="never the newest N (default: 10)")
        parser.add_argument("--with-sources", action="store_true", help="also sessions that memories come from")
        parser.add_argument("--dry-run", action="store_true", help="only show (the default without --yes)")
        parser.add_argument("--yes", action="store_true", help="delete; this cannot be undone")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        layout = context.at_hand().layout
        stores = {} if options.with_sources else context.memory.stores.among("all")
        kept = {session for store in stores.values() for one in store.history.log() for session in one.sessions}
        before = context.memory.clock() - options.older_than * DAY_SECONDS
        candidates = plan_pruning(layout, sessions(context), kept, before=before, keep_newest=options.keep)
        titles = {one.ref.id: look(context, one.ref).title for one in candidates}
        is_real = options.yes and not options.dry_run
        gone = prune_sessions(layout, candidates) if is_real else [one for one in candidates if not one.stays_because]
        if options.json:
            return context.print_json(
                {"deleted": is_real, "sessions": [_plain_candidate(one, gone) for one in candidates]}
            )
        _print_candidates(candidates, gone, titles, context)
        freed = size_words(sum(one.size for one in gone))
        told = f"{counted(len(gone), 'session')}, {freed}"
        words = f"Deleted {told}." if is_real else f"{told}, would go."
        hint = "" if is_real or not gone else "  (--yes deletes them for good)"
        context.terminal.line(words + context.terminal.dim(hint))
        return 0


def _print_candidates(
    candidates: list[PrunableSession], gone: list[PrunableSession], titles: dict[str, str], context: Context
) -> None:
    from memdir.store.scan import age_words

    if not candidates:
        return
    now = context.memory.clock()
    rows = [
        [
            short_id(one.ref.id),
            age_words(one.ref.modified, now),
            size_words(one.size),
            "goes" if one in gone else f"stays: {one.stays_because or 'it was opened meanwhile'}",
            titles[one.ref.id] or "(no title)",
        ]
        for one in candidates
    ]
    context.terminal.table(rows, headers=("session", "last used", "size", "", "title"), styles=("yellow", "dim", "dim"))


def _plain_candidate(one: PrunableSession, gone: list[PrunableSession]) -> dict[str, object]:
    return {"id": one.ref.id, "bytes": one.size, "goes": one in gone, "staysBecause": one.stays_because or None}
