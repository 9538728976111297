"""`memdir recall --log`: what was put into which conversation when, for which message, and who chose it (O2)."""

from __future__ import annotations

from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.recall.recall_log import Injection

CHOOSERS = {"words": "by words", "sentences": "by the sentence model", "model": "by the model"}


def run(options: argparse.Namespace, context: Context) -> int:
    """List what was shown, newest first; with a text, only for messages that hold it."""
    from memdir.recall.recall_log import RecallLog

    memory = context.require_enabled()
    found = list(RecallLog(memory.place_of(options.scope).state).injections())[::-1]
    wanted = " ".join(options.words).casefold()
    shown = [one for one in found if wanted in one.message.casefold()][: options.limit]
    if options.json:
        context.print_json({"shown": [_plain(one) for one in shown]})
        return 0
    if not shown:
        context.terminal.line("No memory was put into a conversation" + (" for that." if wanted else " yet."))
    for one in shown:
        _print(one, context)
    return 0


def _print(one: Injection, context: Context) -> None:
    from memdir.store.scan import iso_time

    terminal = context.terminal
    chosen = f", chosen {CHOOSERS[one.by]}" if one.by in CHOOSERS else ""
    terminal.line(
        f"{terminal.dim(iso_time(one.time))} {terminal.cyan(clean(one.session) or '-')}  {clean(one.message)}"
    )
    terminal.line(f"    {clean(', '.join(one.keys))}{terminal.dim(chosen)}")


def _plain(one: Injection) -> dict[str, object]:
    from memdir.store.scan import iso_time

    return {
        "time": iso_time(one.time),
        "session": one.session,
        "message": one.message,
        "files": list(one.keys),
        "chosenBy": one.by,
    }
