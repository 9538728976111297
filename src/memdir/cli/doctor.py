"""Judge the store: files that cannot be read or have no type, near-duplicates, echoes of the instruction files, an
index out of step or over its limit, relative dates, secrets, claims about files that are gone, orphaned stores, refused
settings, unsafe permissions, a damaged history, a project's git that is left out, coding agents that are attached and
do not work. Says which model serves, and why. Exit status 1 when something needs attention (notes alone do not)."""

from __future__ import annotations

from memdir.cli.context import add_scope
from memdir.cli.terminal import clean
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.doctor import Finding
    from memdir.doctor.examine import Diagnosis

EXAMPLES = ("memdir doctor", "memdir doctor --fix", "memdir doctor --json | jq '.findings[].check'")
_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="repair what is safe: the index, permissions (undoable)")
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.doctor.examine import examine, repair

    context.tolerate_settings()
    store = context.store(for_writing=False) if options.fix else context.state()
    done = repair(store) if options.fix else []
    diagnosis = examine(context.memory, store)
    if options.json:
        verdict, findings = diagnosis.verdict, [_plain_finding(finding) for finding in diagnosis.findings]
        told = {"healthy": verdict == "healthy", "verdict": verdict, "memories": diagnosis.memories}
        told |= {"model": diagnosis.model, "repaired": done, "findings": findings}
        return context.print_json(told, int(diagnosis.needs_attention))
    _print(diagnosis, done, context)
    return int(diagnosis.needs_attention)


def _print(diagnosis: Diagnosis, done: list[str], context: Context) -> None:
    terminal = context.terminal
    for words in done:
        terminal.line(f"{terminal.style('repaired', 'green')}   {clean(words)}")
    for finding in diagnosis.findings:
        where = f"{terminal.bold(clean(finding.file))}: " if finding.file else ""
        terminal.line(
            f"{terminal.style(finding.severity.ljust(8), _STYLES[finding.severity])} {where}{clean(finding.message)}"
        )
        remedy = finding.remedy or ("`memdir doctor --fix` repairs it" if finding.fixable else "")
        if remedy:
            terminal.line(terminal.dim(f"         {clean(remedy)}"))
    terminal.line(terminal.dim(clean(f"model    {diagnosis.model}")))
    counts = {kind: sum(finding.severity == kind for finding in diagnosis.findings) for kind in _STYLES}
    colour = {"healthy": "green", "needs attention": "yellow"}.get(diagnosis.verdict, "dim")
    verdict = terminal.style(diagnosis.verdict, colour)
    told = ", ".join(counted(count, kind) for kind, count in counts.items() if count)
    terminal.line(
        f"{counted(diagnosis.memories, 'memory', 'memories')} looked at: {verdict}{f' ({told})' if told else ''}"
    )


def _plain_finding(finding: Finding) -> dict[str, object]:
    return {
        "check": finding.check,
        "severity": finding.severity,
        "file": finding.file or None,
        "message": finding.message,
        "remedy": finding.remedy or None,
        "fixable": finding.fixable,
    }
