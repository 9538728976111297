"""The command `memdir review`: shows what dreams ask, and takes a key for each answer (D3)."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from memdir.dream.questions import Answer, OpenQuestion
from memdir.errors import UsageError
from memdir.memdir import MemDir
from memdir.prompts.door import shown, shown_line

KEYS: dict[str, Answer] = {"s": "same", "r": "replace", "k": "keep", "n": "never"}
ASKED = "[s]ame, [r]eplace the older, [k]eep both, [n]ever ask again, Enter: later, [q]uit? "


class Review:
    """Answer what dreams ask: whether two memories say the same, or the newer one replaces the older. One key each;
    what makes one memory of two keeps every sentence, and `memdir undo` takes it back. A question that nobody answers
    is gone after 30 days and does not come again. With an id and an answer (same, replace, keep, never), that one."""

    EXAMPLES = ("memdir review", "memdir review --json", "memdir review 4f1c09ab replace")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("question", metavar="ID", nargs="?", help="answer this one, as listed by --json")
        parser.add_argument("answer", metavar="ANSWER", nargs="?", choices=KEYS.values(), help="same, replace, …")
        parser.add_argument("--scope", choices=("project", "user"), default="project", help="user: for all projects")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        if options.question:
            if not options.answer:
                raise UsageError("the answer is missing", remedy=f"Answer one of {', '.join(KEYS.values())}")
            files = memory.answer(options.question, options.answer, scope=options.scope)
            return _told(files, options, context)
        questions = memory.questions(scope=options.scope)
        if options.json:
            return int(context.print_json({"questions": [_plain(one, memory, options.scope) for one in questions]}))
        if not questions:
            context.terminal.line("No questions.")
        for number, one in enumerate(questions, 1):
            if one not in memory.questions(scope=options.scope):
                continue  # an answer before it made one memory of two
            _show(one, f"{number} of {len(questions)}", memory, options.scope, context)
            if not sys.stdin.isatty():
                continue
            key = context.answer(ASKED)[:1]
            if key == "q":
                break
            if key in KEYS:
                _told(memory.answer(one.id, KEYS[key], scope=options.scope), options, context)
        return 0


def _show(one: OpenQuestion, number: str, memory: MemDir, scope: str, context: Any) -> None:
    """Both texts and the evidence."""
    terminal = context.terminal
    asks = "Do these say the same?" if one.kind == "same" else "Does the newer one replace the older?"
    terminal.line(f"{terminal.bold(f'{number}: {asks}')} {terminal.dim(one.id)}")
    for title, key in (("older", one.older), ("newer", one.newer)):
        terminal.line(f"{terminal.style(title, 'cyan')} {shown_line(key)}")
        text = memory.get(key, scope=scope).topic
        terminal.line(
            "\n".join(f"  {line}" for line in shown(f"{text.name}: {text.description}\n{text.body}").split("\n"))
        )
    terminal.line(f"{terminal.style('because', 'cyan')} {shown_line(one.evidence)}")


def _told(files: Any, options: argparse.Namespace, context: Any) -> int:
    if options.json:
        return int(context.print_json({"files": list(files)}))
    if files:
        context.terminal.line(f"{context.terminal.bold('One memory now')}: {shown_line(files[0])}")
        context.note("`memdir undo` takes it back")
    else:
        context.terminal.line("Both stay as they are.")
    return 0


def _plain(one: OpenQuestion, memory: MemDir, scope: str) -> dict[str, object]:
    texts = {
        name: {"file": key, "text": memory.get(key, scope=scope).topic.body.strip()}
        for name, key in (("older", one.older), ("newer", one.newer))
    }
    return {"id": one.id, "kind": one.kind, **texts, "evidence": one.evidence, "asked": one.asked}
