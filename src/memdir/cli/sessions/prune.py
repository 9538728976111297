"""Show which old sessions could be deleted; with --yes, delete them. Nothing is ever deleted by itself.

A session that is open stays. So does one that memories come from, since `memdir why` shows its lines; --with-sources
lets it go too."""

from __future__ import annotations

from memdir.cli.context import add_json
from memdir.cli.sessions.choose import look, sessions
from memdir.cli.sessions.list_sessions import size_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.session_list import Candidate

EXAMPLES = (
    "memdir sessions prune                        # what would go",
    "memdir sessions prune --older-than 365 --yes",
    "memdir sessions prune --older-than 30 --keep 20 --json",
)
DAY_SECONDS = 86_400


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", type=int, default=90, metavar="DAYS", help="last used so long ago (default: 90)"
    )
    parser.add_argument("--keep", type=int, default=10, metavar="N", help="never the newest so many (default: 10)")
    parser.add_argument("--with-sources", action="store_true", help="also sessions that memories come from")
    parser.add_argument("--dry-run", action="store_true", help="only show (the default without --yes)")
    parser.add_argument("--yes", action="store_true", help="delete; this cannot be undone")
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.transcript.session_list import Wish, plan, prune

    layout = context.memory.layout
    kept = frozenset() if options.with_sources else _sources(context)
    wish = Wish(options.older_than * DAY_SECONDS, options.keep, kept)
    candidates = plan(layout, sessions(context), wish, now=context.memory.clock())
    titles = {one.ref.id: look(context, one.ref).title for one in candidates}
    is_real = options.yes and not options.dry_run
    gone = prune(layout, candidates) if is_real else [one for one in candidates if not one.stays_because]
    if options.json:
        context.print_json({"deleted": is_real, "sessions": [_plain(one, gone) for one in candidates]})
        return 0
    _print(candidates, gone, titles, context)
    freed = size_words(sum(one.size for one in gone))
    words = f"Deleted {len(gone)} sessions, {freed}." if is_real else f"{len(gone)} sessions, {freed}, would go."
    hint = "" if is_real or not gone else "  (--yes deletes them for good)"
    context.terminal.line(words + context.terminal.dim(hint))
    return 0


def _sources(context: Context) -> frozenset[str]:
    """The sessions that the history of the memories names."""
    return frozenset(commit.trailers.get("Session", "") for commit in context.memory.store.history.log())


def _print(candidates: list[Candidate], gone: list[Candidate], titles: dict[str, str], context: Context) -> None:
    from memdir.store.scan import age_words

    if not candidates:
        return
    now = context.memory.clock()
    rows = [
        [
            one.ref.id[:8],
            age_words(one.ref.modified, now),
            size_words(one.size),
            "goes" if one in gone else f"stays: {one.stays_because or 'it was opened meanwhile'}",
            titles[one.ref.id] or "(no title)",
        ]
        for one in candidates
    ]
    context.terminal.table(rows, headers=("session", "last used", "size", "", "title"), styles=("yellow", "dim", "dim"))


def _plain(one: Candidate, gone: list[Candidate]) -> dict[str, object]:
    return {"id": one.ref.id, "bytes": one.size, "goes": one in gone, "staysBecause": one.stays_because or None}
