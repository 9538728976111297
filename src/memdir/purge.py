"""The command `memdir purge`: removes what came from a session, a page or a person, and what was made from it (L2)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from memdir.prompts.door import shown_line
from memdir.remember.purge import PurgedFile, PurgeReport
from memdir.text.words import counted

SHOWN = 3  # sentences of a file that are shown; --json has all
MAX_SHOWN = 200  # characters of each


class PurgeCommand:
    """Remove what came from a session, a page or a teammate, and what dreams and updates made from it, in every scope:
    the project, the team (for all of it, with the next sync), yours for all projects, sub-agents, daily logs. What came
    from elsewhere stays, sentence by sentence. What went is not learned or dreamt again, and of a session nothing else.
    Documents and snapshots of the project that may say it still are named.

    What cannot be told apart, or was changed by hand, is pinned, or carries a guard, is shown and asked about; where
    nobody can be asked it stays, and the exit status is 1, unless --derived says that it goes as well. `memdir undo`
    brings back what went, one scope at a time. A source that nothing ever came from is an error."""

    EXAMPLES = (
        "memdir purge --source 4f2a91c0 --dry-run",
        "memdir purge --source https://example.com/guide",
        "memdir purge --source https://example.com --derived",
        "memdir purge --source person:bob --scope project",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        told = "a session's id or its beginning, a page's address (of a whole site without a path), or a name of the"
        parser.add_argument(
            "--source",
            metavar="SOURCE",
            required=True,
            help=f"{told} team; `session:`, `page:` or `person:` before it says which",
        )
        parser.add_argument("--dry-run", action="store_true", help="tell what would go and change nothing")
        parser.add_argument("--derived", action="store_true", help="without asking: also what cannot be told apart")
        scopes = "only there: project, team, user, agent:NAME, …; private: all but the team's (default: all)"
        parser.add_argument("--scope", default="all", metavar="SCOPE", help=scopes)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        asked = {"scope": options.scope, "derived": options.derived}
        with context.progress("looking where memories come from") as on_progress:
            report = memory.purge(options.source, is_dry=True, on_progress=on_progress, **asked)
        if not options.dry_run:
            also = _also(report.held, context) if sys.stdin.isatty() and not options.json else []
            report = memory.purge(options.source, also=also, **asked)
        status = int(bool(report.held) and not options.dry_run)
        if options.json:
            return int(context.print_json(_plain(report), status))
        _tell(report, context)
        return status


def _also(held: Sequence[PurgedFile], context: Any) -> list[str]:
    """Those of the held files that a person lets go."""
    chosen = []
    for one in held:
        context.terminal.line(f"{context.terminal.bold(shown_line(one.name))} may stay: {one.held_because}")
        _show_lines(one, context)
        if context.ask("Remove this too? [y/N] "):
            chosen.append(one.name)
    return chosen


def _tell(report: PurgeReport, context: Any) -> None:
    terminal, source = context.terminal, shown_line(f"{report.source.kind} {report.source.name}")
    if not report.files and not report.held:
        terminal.line(f"Nothing is left {'in memory ' if report.not_ours else ''}of what came from {source}.")
        _tell_not_ours(report, context)
        return
    verb = "Would remove" if report.is_dry else "Removed"
    total = counted(sum(len(one.lines) for one in report.files), "sentence")
    terminal.line(f"{terminal.bold(verb)} {total} that came from {source}")
    for one in report.files:
        left = f"{counted(one.kept, 'sentence')} from elsewhere {'stays' if one.kept == 1 else 'stay'}"
        name = f", as {shown_line(one.renamed)}" if one.renamed else ""
        terminal.line(f"  {shown_line(one.name)}: {f'{left}{name}' if one.kept else 'the whole file'}")
        _show_lines(one, context)
    for one in report.held:
        terminal.line(terminal.style(f"  {shown_line(one.name)} stays: {one.held_because}", "yellow"))
        _show_lines(one, context)
    _tell_not_ours(report, context)
    _tell_next(report, context)


def _tell_not_ours(report: PurgeReport, context: Any) -> None:
    for path in report.not_ours:
        context.terminal.line(context.terminal.style(f"  {shown_line(path)} may say it still", "yellow"))
    if report.not_ours:
        context.note("look at these: `memdir log --scope docs` and `memdir undo ID --scope docs` take back what a")
        context.note("conversation changed in a document; `memdir agents snapshot NAME` shares without what is gone")


def _tell_next(report: PurgeReport, context: Any) -> None:
    """What a person may want to do now."""
    scopes = dict.fromkeys("project" if one.scope == "team" else one.scope for one in report.files)
    if report.held:
        context.note("--derived removes what stays as well; `memdir edit` lets you do it by hand")
    if any(one.scope == "team" for one in report.files):
        context.note("what goes from team/ goes for the whole team with the next sync")
    if scopes and not report.is_dry:
        undo = ", ".join("`memdir undo`" if one == "project" else f"`memdir undo --scope {one}`" for one in scopes)
        context.note(f"{undo} brings it back; the conversations themselves stay as they are")


def _show_lines(one: PurgedFile, context: Any) -> None:
    for line in one.lines[:SHOWN]:
        context.terminal.line(context.terminal.dim(f"    - {shown_line(line.replace('**', ''))[:MAX_SHOWN]}"))
    if len(one.lines) > SHOWN:
        context.terminal.line(context.terminal.dim(f"    … and {len(one.lines) - SHOWN} more"))


def _plain(report: PurgeReport) -> dict[str, object]:
    return {
        "kind": report.source.kind,
        "source": report.source.name,
        "files": [{**_plain_file(one), "kept": one.kept, "renamed": one.renamed or None} for one in report.files],
        "held": [{**_plain_file(one), "because": one.held_because} for one in report.held],
        "notOurs": list(report.not_ours),
        "dryRun": report.is_dry,
    }


def _plain_file(one: PurgedFile) -> dict[str, object]:
    return {"scope": one.scope, "file": one.file, "sentences": list(one.lines)}
