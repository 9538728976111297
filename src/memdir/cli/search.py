"""Finds memories, or places in past conversations."""

from __future__ import annotations

from memdir.cli.context import OF_USER, add_limit, add_scope, text_of
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.search.memory_search import Match
    from memdir.search.session_search import Hit

MAX_QUERY_BYTES = 1 << 16  # from standard input


class Search:
    """Find memories, those of the team and your own for all projects too: those that hold all of the words first, then
    those near in words or meaning. A past day ("yesterday", "last Friday") speaks for what was written then.

    --sessions looks in past conversations (of other agents too) and daily logs instead, by words and by meaning."""

    EXAMPLES = (
        "memdir search deploy friday",
        "memdir search grafana --scope user",
        "memdir search auth --sessions --json",
        "memdir search --sessions rollback two weeks ago",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", metavar="WORD", nargs="*", help="what to look for; - reads it from standard input")
        add_limit(parser)
        parser.add_argument("--sessions", action="store_true", help="in past conversations and daily logs")
        add_scope(parser, default="all", more="the project's, the team's and yours for all projects, as recall has it")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        if options.sessions:
            return SearchSessions().run(options, context)
        query = text_of(options.words, max_bytes=MAX_QUERY_BYTES, what="search")
        memory = context.require_enabled()
        with context.progress("indexing memories") as on_progress:
            found = memory.search(query, limit=options.limit, scope=options.scope, on_progress=on_progress)
        if options.json:
            told = [_plain_match(match, context) for match in found]
            return context.print_json({"query": query, "matches": told}, int(not found))
        if not found:
            context.terminal.line(f"No memory holds {clean(query)!r}.")
        for match in found:
            _print_match(match, query.split(), context)
        return int(not found)


def _print_match(match: Match, words: list[str], context: Context) -> None:
    terminal, words = context.terminal, [*words, *match.forms]
    kind = str(match.topic.kind or "-")
    description = terminal.highlighted(clean(match.topic.description or match.topic.name), words)
    is_teams = "team" in (match.scope, match.key[:4])
    by = context.memory.team.authors(match.scope).told(match.key, "  {}") if is_teams else ""
    whose = terminal.dim(OF_USER if match.scope == "user" else clean(by))
    terminal.line(f"{terminal.type_word(kind)} {terminal.bold(clean(match.key))}  {description}{whose}")
    if match.snippet and match.snippet != match.topic.description:
        terminal.line(f"    {terminal.highlighted(clean(match.snippet), words)}")


def _plain_match(match: Match, context: Context) -> dict[str, object]:
    told = {"file": match.key, "scope": match.scope, "type": match.topic.kind, "description": match.topic.description}
    team = context.memory.team.authors(match.scope).plain(match.key)
    return {**told, "snippet": match.snippet, "score": match.score, **team}


class SearchSessions:
    """Find places in past conversations and daily logs, by words and by meaning, as `memdir search --sessions` does."""

    EXAMPLES = ('memdir sessions search "flaky migration"', "memdir sessions search redis timeout --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", metavar="WORD", nargs="*", help="what to look for; - reads it from standard input")
        add_limit(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        query = text_of(options.words, max_bytes=MAX_QUERY_BYTES, what="search")
        memory = context.require_enabled()
        with context.progress("indexing conversations") as on_progress:
            searched = memory.session_search(on_progress=on_progress)
        hits = searched.search(query, limit=options.limit, now=memory.clock())
        if options.json:
            return context.print_json({"query": query, "matches": [_plain_hit(hit) for hit in hits]}, int(not hits))
        if not hits:
            context.terminal.line(f"No conversation or daily log has anything like {clean(query)!r}.")
        for hit in hits:
            _print_hit(hit, query.split(), context)
        return int(not hits)


def _print_hit(hit: Hit, words: list[str], context: Context) -> None:
    from memdir.cli.sessions import short_id

    terminal = context.terminal
    whose = "" if hit.agent == "memdir" else f"{hit.agent} "
    where = f"{whose}session {short_id(hit.session)}  {hit.role} {hit.message[:8]}" if hit.session else "daily log"
    when = hit.moment[:16].replace("T", " ")
    terminal.line(f"{terminal.style(clean(where), 'yellow')}  {terminal.dim(clean(when))}")
    terminal.line(f"    {terminal.highlighted(clean(hit.snippet), words)}")


def _plain_hit(hit: Hit) -> dict[str, object]:
    return {
        "session": hit.session or None,
        "agent": hit.agent if hit.session else None,
        "message": hit.message or None,
        "role": hit.role or None,
        "time": hit.moment,
        "path": hit.path,
        "snippet": hit.snippet,
        "score": hit.score,
    }
