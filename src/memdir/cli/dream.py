"""Consolidate memories: merge duplicates, correct what was disproved, make dates absolute, prune, rebuild the index.

Shows what it is doing, then a diff, and asks before it writes (--yes does not ask). What would lose facts is
not written. `memdir undo` takes it back. Until you choose another, the built-in model does the work by rules."""

from __future__ import annotations

import sys

from memdir.cli.terminal import clean, rewrite_line
from memdir.errors import UsageError
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.dream.dream import DreamReport, DreamTask, NotDreamt

EXAMPLES = ("memdir dream --dry-run", "memdir dream --yes", "memdir dream --since 2026-11-01")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before writing")
    parser.add_argument("--scope", choices=("project", "user"), default="project", help="user: yours, for all projects")
    parser.add_argument(
        "--since", metavar="DATE", help="look at sessions since this day (default: since the last dream)"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    import asyncio

    from memdir.dream.dream import DreamReport, DreamTask

    since = _moment(options.since) if options.since else None
    context.with_model()
    asks = not (options.yes or options.dry_run)
    if asks and (options.json or not sys.stdin.isatty()):
        raise UsageError("there is nobody to ask before writing", remedy="Add --yes to write, or --dry-run to look")
    memory = context.start()

    async def dream() -> DreamReport | NotDreamt:
        try:
            return await memory.session("cli").dream(
                DreamTask(0, on_change=_show),
                since=since,
                is_dry=options.dry_run,
                scope=options.scope,
                confirm=(lambda report: _confirmed(report, context)) if asks else None,
            )
        finally:
            await memory.close()

    outcome = asyncio.run(dream())
    status = 0 if isinstance(outcome, DreamReport) else 1
    if options.json:
        return context.print_json(_plain(outcome), status)
    _print(outcome, context, with_patches=not asks)
    return status


def _show(task: DreamTask) -> None:
    """Progress, where a person looks."""
    if sys.stderr.isatty():
        sessions, files = counted(task.sessions, "session"), counted(len(task.files), "file")
        told = f"dreaming: {task.phase}, {sessions}, turn {task.turns}, {files}"
        rewrite_line(told if task.phase in ("starting", "updating") else f"{told}\n", sys.stderr)


def _confirmed(report: DreamReport, context: Context) -> bool:
    print(file=sys.stderr)
    _print_patches(report, context)
    return context.ask("Write this? [y/N] ")


def _moment(text: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise UsageError(f"--since {text} is no date", remedy="Write it like 2026-11-01") from None


def _print(outcome: DreamReport | NotDreamt, context: Context, *, with_patches: bool) -> None:
    from memdir.dream.dream import NotDreamt

    terminal = context.terminal
    if isinstance(outcome, NotDreamt):
        terminal.line(f"{terminal.style('No dream', 'yellow')}: {clean(outcome.reason)}")
        if outcome.kept:
            terminal.line(terminal.dim(f"  What it wanted to write is kept in {clean(outcome.kept)}"))
        return
    if with_patches:
        _print_patches(outcome, context)
    for reason in outcome.refused:
        terminal.line(f"{terminal.style('Left as it is', 'yellow')}: {clean(reason)}")
    for key in outcome.kept_theirs:
        terminal.line(f"{clean(key)} was changed by someone meanwhile and stays as they left it.")
    count = len(outcome.written)
    verb = "would change" if outcome.is_dry else "changed"
    hint = "" if outcome.is_dry or not count else "  (`memdir undo` takes it back)"
    told = f"{counted(count, 'file')} {verb}"
    terminal.line(f"{terminal.bold(told)}{terminal.dim(hint)}")


def _print_patches(report: DreamReport, context: Context) -> None:
    from memdir.agent import diff_of

    terminal = context.terminal
    for draft in report.written:
        terminal.patch(diff_of(draft.key, draft.before, draft.after) + "\n")
        if draft.after is None:
            terminal.line(terminal.dim(f"  reason: {clean(draft.reason)}"))
    if report.words:
        terminal.line(clean(report.words, keep_newlines=True))


def _plain(outcome: DreamReport | NotDreamt) -> dict[str, object]:
    from memdir.agent import diff_of
    from memdir.dream.dream import NotDreamt

    if isinstance(outcome, NotDreamt):
        return {"dreamt": False, "reason": outcome.reason, "kept": outcome.kept or None}
    return {
        "dreamt": not outcome.is_dry,
        "files": [
            {
                "file": draft.key,
                "change": "deleted" if draft.after is None else "added" if draft.before is None else "changed",
                "reason": draft.reason or None,
                "patch": diff_of(draft.key, draft.before, draft.after) + "\n",
            }
            for draft in outcome.written
        ],
        "keptTheirs": list(outcome.kept_theirs),
        "refused": list(outcome.refused),
        "words": outcome.words,
        "usage": outcome.fork.counts(),
    }
