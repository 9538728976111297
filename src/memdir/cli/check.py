"""Replay the cases you pinned with `memdir recall --pin`: what must come back comes back, what must not does not. They
are chosen on this machine and by words, so that a check costs nothing and comes out the same each time. Also says which
memories were never shown to a model. Exit status 1 when a case fails."""

from __future__ import annotations

from memdir.cli.context import add_json, add_scope
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.recall.recall_log import Pin

EXAMPLES = ("memdir check", "memdir check --json")


def configure(parser: argparse.ArgumentParser) -> None:
    add_scope(parser)
    add_json(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.recall.recall_log import RecallLog

    memory = context.require_enabled()
    log = RecallLog(memory.place_of(options.scope).state)
    recaller = memory.recaller(options.scope)
    results = [(pin, recaller.choose(pin.query, recent_tools=pin.recent_tools).keys) for pin in log.pins()]
    shown = {key for injection in log.injections() for key in injection.keys}
    never = sorted(
        header.key for header in memory.store_for(options.scope).scan(limit=None).headers if header.key not in shown
    )
    failed = [(pin, got) for pin, got in results if not _holds(pin, got)]
    if options.json:
        cases = [
            {"query": pin.query, "expected": pin.expected, "got": got, "ok": _holds(pin, got)} for pin, got in results
        ]
        context.print_json({"cases": cases, "neverShown": never})
    else:
        _print(results, never, context)
    return 1 if failed else 0


def _holds(pin: Pin, got: list[str]) -> bool:
    """Everything expected is there; where nothing is expected, nothing is."""
    return set(pin.expected) <= set(got) if pin.expected else not got


def _print(results: list[tuple[Pin, list[str]]], never: list[str], context: Context) -> None:
    terminal = context.terminal
    for pin, got in results:
        is_right = _holds(pin, got)
        mark = terminal.style("ok  ", "green") if is_right else terminal.style("FAIL", "red")
        terminal.line(f"{mark} {clean(pin.query)}")
        if not is_right:
            terminal.line(
                terminal.dim(
                    f"       expected {', '.join(pin.expected) or 'nothing'}, got {', '.join(got) or 'nothing'}"
                )
            )
    if not results:
        terminal.line("Nothing is pinned yet: `memdir recall TEXT --pin` keeps a case.")
    if never:
        some = ", ".join(never[:5]) + (" …" if len(never) > 5 else "")
        terminal.line(terminal.dim(f"{len(never)} memories were never shown to a model: {clean(some)}"))
