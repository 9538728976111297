"""Replay the cases you pinned with `memdir recall --pin`: what must come back comes back, what must not does not. They
are chosen on this machine and by words, so that a check costs nothing and comes out the same each time. Also says which
memories were never shown to a model. Exit status 1 when a case fails."""

from __future__ import annotations

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.errors import DiskError
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.memdir import MemDir
    from memdir.recall.recall_log import Pin, RecallLog

EXAMPLES = ("memdir check", "memdir check --json")


def configure(parser: argparse.ArgumentParser) -> None:
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.recall.recall_log import RecallLog

    memory = context.require_enabled()
    log = RecallLog(memory.place_of(options.scope).state)
    pins = [
        pin for pin in log.pins() if options.scope in (pin.scope, "project", "user")
    ]  # the project's: the team's too
    results = [(pin, _replayed(pin, memory, options.scope)) for pin in pins]
    never = _never_shown(log, memory, options.scope, context)
    failed = [(pin, got) for pin, got in results if not _holds(pin, got)]
    if options.json:
        cases = [
            {
                "query": pin.query,
                "scope": pin.scope or options.scope,
                "expected": pin.expected,
                "got": got,
                "ok": _holds(pin, got),
            }
            for pin, got in results
        ]
        context.print_json({"cases": cases, "neverShown": never})
    else:
        _print(results, never, context)
    return 1 if failed else 0


def _replayed(pin: Pin, memory: MemDir, scope: str) -> list[str]:
    """What comes back now, in the scope that the case was pinned in."""
    from memdir.recall.recall import RecallRequest

    return memory.chooser(pin.scope or scope).choose(RecallRequest(pin.query, recent_tools=pin.recent_tools)).keys


def _never_shown(log: RecallLog, memory: MemDir, scope: str, context: Context) -> list[str] | None:
    """The memories that no model was shown; None when the log of that cannot be read."""
    try:
        shown = {key for injection in log.injections() for key in injection.keys}
    except DiskError as error:
        context.note(str(error))
        return None
    return sorted(header.key for header in memory.store_for(scope).scan(limit=None).headers if header.key not in shown)


def _holds(pin: Pin, got: list[str]) -> bool:
    """Everything expected is there; where nothing is expected, nothing is."""
    return set(pin.expected) <= set(got) if pin.expected else not got


def _print(results: list[tuple[Pin, list[str]]], never: list[str] | None, context: Context) -> None:
    terminal = context.terminal
    for pin, got in results:
        is_right = _holds(pin, got)
        mark = terminal.style("ok  ", "green") if is_right else terminal.style("FAIL", "red")
        terminal.line(f"{mark} {clean(pin.query)}{terminal.dim(f'  ({pin.scope})') if pin.scope else ''}")
        if not is_right:
            told = f"expected {', '.join(pin.expected) or 'nothing'}, got {', '.join(got) or 'nothing'}"
            terminal.line(terminal.dim(f"       {clean(told)}"))
    if not results:
        terminal.line("Nothing is pinned yet: `memdir recall TEXT --pin` keeps a case.")
    if never:
        some = ", ".join(never[:5]) + (" …" if len(never) > 5 else "")
        terminal.line(
            terminal.dim(f"never shown to a model: {counted(len(never), 'memory', 'memories')}: {clean(some)}")
        )
