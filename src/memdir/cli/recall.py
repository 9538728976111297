"""Show which memories a message would bring back, if any. --explain tells why each candidate was taken or left,
--render prints what a model would get. --pin keeps the case as a test of your own; `memdir check` replays it."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean
from memdir.errors import MemdirError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.recall.decide import Verdict
    from memdir.recall.local import Recalled

EXAMPLES = (
    'memdir recall "can we release on Friday?"',
    'memdir recall "how do I roll back?" --tool argocd --explain',
    'memdir recall "which database do tests use?" --pin',
    'memdir recall "good morning" --pin --expect none',
)
NOTHING = "none"  # what --expect calls an empty answer
EXPLAINED = 12  # candidates shown by --explain


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="a message as a user would write it")
    parser.add_argument("--tool", action="append", default=[], metavar="NAME", help="a tool in use (may be repeated)")
    parser.add_argument("--explain", action="store_true", help="candidates, scores and reasons")
    parser.add_argument("--render", action="store_true", help="print the memories as a model gets them")
    parser.add_argument("--pin", action="store_true", help="keep this case for `memdir check`")
    parser.add_argument(
        "--expect",
        action="append",
        metavar="FILE",
        help="with --pin: a memory that must come back (may be repeated), or `none`",
    )
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    memory = context.require_enabled()
    expected = _expected(options, context)
    recaller = memory.recaller(options.scope)
    with context.progress("indexing memories") as on_progress:
        recalled = recaller.choose(options.text, recent_tools=options.tool, on_progress=on_progress)
    if options.pin:
        _pin(options, tuple(recalled.keys) if expected is None else expected, context)
    if options.json:
        context.print_json(_plain(options.text, recalled))
    elif options.render:
        for text in recaller.render(recalled.keys, session="cli"):
            context.terminal.line(clean(text, keep_newlines=True))
    else:
        _print(options, recalled, context)
    return 0


def _expected(options: argparse.Namespace, context: Context) -> tuple[str, ...] | None:
    """The memories that --expect names; None without it."""
    if not options.expect:
        return None
    if not options.pin:
        raise MemdirError("--expect says what a pinned case expects, and nothing is pinned", remedy="Add --pin")
    if options.expect == [NOTHING]:
        return ()
    if NOTHING in options.expect:
        raise MemdirError(
            f"--expect {NOTHING} says that nothing may come back, and another --expect names a memory",
            remedy=f"Leave one out; a memory whose file is {NOTHING}.md is named with its ending",
        )
    from memdir.store.catalogue import find_key

    return tuple([find_key(context.store(), wanted) for wanted in options.expect])


def _pin(options: argparse.Namespace, expected: tuple[str, ...], context: Context) -> None:
    from memdir.recall.recall_log import Pin, RecallLog

    place = context.memory.place_of(options.scope)
    scope = "team" if place.prefix else ""
    RecallLog(place.state).pin(Pin(options.text, expected, tuple(options.tool), scope=scope))
    context.note(f"pinned: {', '.join(expected) or 'nothing'} for this message; `memdir check` replays it")


def _print(options: argparse.Namespace, recalled: Recalled, context: Context) -> None:
    terminal = context.terminal
    if not recalled.keys:
        terminal.line("No memory clearly helps with that.")
    shown = recalled.decision.verdicts[:EXPLAINED] if options.explain else recalled.decision.verdicts
    for verdict in shown:
        if verdict.is_chosen or options.explain:
            _print_verdict(verdict, recalled, context, explain=options.explain)
    if options.explain:
        terminal.line(
            terminal.dim(f"likelihood that the message needs no memory: {recalled.decision.emptiness:+.2f} (log odds)")
        )


def _print_verdict(verdict: Verdict, recalled: Recalled, context: Context, *, explain: bool) -> None:
    terminal = context.terminal
    mark = terminal.style("+", "green") if verdict.is_chosen else terminal.dim("-")
    name = clean(verdict.candidate.key)
    certainty = terminal.dim(f"  {verdict.certainty:+.2f}") if explain else ""
    terminal.line(f"{mark} {terminal.bold(name) if verdict.is_chosen else name}{certainty}")
    for reason in verdict.reasons(recalled.ranking) if explain else ():
        terminal.line(terminal.dim(f"    {clean(reason)}"))


def _plain(text: str, recalled: Recalled) -> dict[str, object]:
    return {
        "query": text,
        "recalled": recalled.keys,
        "emptiness": round(recalled.decision.emptiness, 3),
        "candidates": [
            {
                "file": verdict.candidate.key,
                "chosen": verdict.is_chosen,
                "certainty": round(verdict.certainty, 3),
                "reasons": verdict.reasons(recalled.ranking),
            }
            for verdict in recalled.decision.verdicts[:EXPLAINED]
        ],
    }
