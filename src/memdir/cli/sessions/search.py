"""Find places in past conversations and daily logs, by words and by meaning. The same as `memdir search --sessions`."""

from __future__ import annotations

from memdir.cli.context import add_json, add_limit
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.search.session_search import Hit

EXAMPLES = ('memdir sessions search "flaky migration"', "memdir sessions search redis timeout --json")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="+", help="what to look for")
    add_limit(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    query = " ".join(options.words)
    memory = context.memory
    with context.progress("indexing conversations") as on_progress:
        searched = memory.session_search(on_progress=on_progress)
    hits = searched.search(query, limit=options.limit, now=memory.clock())
    if options.json:
        context.print_json({"query": query, "matches": [_plain(hit) for hit in hits]})
        return 0 if hits else 1
    for hit in hits:
        _print(hit, query.split(), context)
    if not hits:
        context.terminal.line(f"No conversation or daily log has anything like {clean(query)!r}.")
    return 0 if hits else 1


def _print(hit: Hit, words: list[str], context: Context) -> None:
    terminal = context.terminal
    where = f"session {hit.session[:8]}  {hit.role} {hit.message[:8]}" if hit.session else "daily log"
    when = hit.moment[:16].replace("T", " ")
    terminal.line(f"{terminal.style(clean(where), 'yellow')}  {terminal.dim(clean(when))}")
    terminal.line(f"    {terminal.highlighted(clean(hit.snippet), words)}")


def _plain(hit: Hit) -> dict[str, object]:
    return {
        "session": hit.session or None,
        "message": hit.message or None,
        "role": hit.role or None,
        "time": hit.moment,
        "path": hit.path,
        "snippet": hit.snippet,
        "score": hit.score,
    }
