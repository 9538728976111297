"""`memdir review`: shows what dreams ask, and what a team's nightly dream proposes; one key answers each (D3, E7)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memdir.disk.safe_path import is_key
from memdir.dream.questions import Answer, OpenQuestion
from memdir.errors import MemdirError, RemoteError, UsageError
from memdir.memdir import MemDir
from memdir.prompts.door import shown, shown_line
from memdir.share.remotes.hub import HubRemote, seconds_of
from memdir.store.scan import age_words, iso_time
from memdir.store.shared import author_of
from memdir.text.words import split_words

KEYS: dict[str, Answer] = {"s": "same", "r": "replace", "k": "keep", "n": "never"}
ASKED = "[s]ame, [r]eplace the older, [k]eep both, [n]ever ask again, Enter: later, [q]uit?"
ASKED_ENDED = "[k]eep it as it is, [n]ever ask again, Enter: later, [q]uit? (`memdir forget` and `edit` answer too)"
DECISIONS: dict[str, Literal["accept", "reject"]] = {"a": "accept", "r": "reject"}
PROPOSED = "[a]ccept for the whole team, [r]eject, Enter: later, [q]uit?"
TOLD = {"accept": "Written, for the whole team.", "reject": "Nothing changes."}


@dataclass(frozen=True)
class TeamProposal:
    """What the team's nightly dream would change in one go, until a member says yes or no."""

    id: int
    reason: str
    created: float
    changes: Mapping[str, str | None]  # a file's new text; None: it goes


class Review:
    """Answer what dreams ask: whether two memories say the same, the newer one replaces the older, or one is over. One
    key each; what makes one memory of two keeps every sentence, and `memdir undo` takes it back. A question that nobody
    answers is gone after 30 days and does not come again. With an id and an answer (same, replace, keep, never),
    that one.

    Where the team is on a hub, what its nightly dream would change comes behind: the texts as they are and as they
    would be, and why. It is written when a member accepts it, and only then."""

    EXAMPLES = ("memdir review", "memdir review --json", "memdir review 4f1c09ab replace", "memdir review p12 accept")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        answers = (*KEYS.values(), *DECISIONS.values())
        parser.add_argument("question", metavar="ID", nargs="?", help="answer this one, as listed by --json")
        parser.add_argument("answer", metavar="ANSWER", nargs="?", choices=answers, help="same, replace, … accept, …")
        told = "user: for all projects; team: only what its dream proposes"
        parser.add_argument("--scope", choices=("project", "user", "team"), default="project", help=told)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        hub = _hub(memory, options, context)
        try:
            if options.question:
                return _answered(options, context, memory, hub)
            proposals = _proposals(hub, context)
            questions = memory.questions(scope=options.scope) if options.scope != "team" else ()
            if options.json:
                told = [_plain(one, memory, options.scope) for one in questions]
                return int(context.print_json({"questions": told, "proposals": _plain_proposals(proposals, memory)}))
            if not questions and not proposals:
                context.terminal.line("No questions.")
            if _ask_questions(questions, options, context, memory) and hub is not None:
                _ask_for_proposals(proposals, hub, context, memory)
        finally:
            if hub is not None:
                hub.close()
        return 0


def _hub(memory: MemDir, options: argparse.Namespace, context: Any) -> HubRemote | None:
    """The team's hub, where it is on one."""
    if options.scope == "user" or not memory.places.syncs:
        return None
    try:
        remote = memory.team.joined().remote
    except MemdirError as error:  # without its token nobody is asked, and the questions are there all the same
        context.note(str(error))
        return None
    return remote if isinstance(remote, HubRemote) else None


def _proposal(told: Mapping[str, Any]) -> TeamProposal:
    """One that changes several files lists them; one that changes a single file may be that change."""
    listed, number, reason = told.get("changes"), told.get("id"), told.get("reason")
    changes: dict[str, str | None] = {}
    for one in listed if isinstance(listed, list) and listed else [told]:
        key, content = (one.get("key"), one.get("content")) if isinstance(one, Mapping) else (None, None)
        is_text = isinstance(content, str)
        if not isinstance(key, str) or not is_key(key) or is_text != (one.get("op") == "put"):
            return TeamProposal(0, "", 0.0, {})  # what cannot be shown is not asked about
        changes[key] = content
    id_ = number if isinstance(number, int) and not isinstance(number, bool) else 0
    return TeamProposal(id_, reason if isinstance(reason, str) else "", seconds_of(told.get("created")), changes)


def _proposals(hub: HubRemote | None, context: Any) -> list[TeamProposal]:
    try:
        found = map(_proposal, hub.proposals() if hub is not None else [])
        return [one for one in found if one.id and one.changes]
    except RemoteError as error:
        context.note(f"what the team's dream proposes cannot be asked for now: {error}")
        return []


def _answered(options: argparse.Namespace, context: Any, memory: MemDir, hub: HubRemote | None) -> int:
    """One by its id: `p` and a number is a proposal, anything else a question."""
    number = options.question[1:]
    is_proposal = options.question[:1] == "p" and number.isdecimal()
    fit: tuple[str, ...] = tuple(DECISIONS.values()) if is_proposal else tuple(KEYS.values())
    if options.answer not in fit:
        said = f"{options.answer} is no answer to it" if options.answer else "the answer is missing"
        raise UsageError(said, remedy=f"Answer one of {', '.join(fit)}")
    if not is_proposal:
        return _told(memory.answer(options.question, options.answer, scope=options.scope), options, context)
    if hub is None:
        raise UsageError("this project's team is on no hub", remedy="`memdir join` tells where it is")
    hub.decide(int(number), options.answer)
    report = memory.team.sync(require_free=lambda: None)  # what a purge took is told by `memdir sync`
    if options.json:
        return int(context.print_json({"decision": options.answer, "files": [*report.taken, *report.deleted]}))
    context.terminal.line(TOLD[options.answer])
    return 0


def _ask_questions(questions: Any, options: argparse.Namespace, context: Any, memory: MemDir) -> bool:
    """One after the other; whether to go on."""
    for number, one in enumerate(questions, 1):
        if one not in memory.questions(scope=options.scope):
            continue  # an answer before it made one memory of two
        _show(one, f"{number} of {len(questions)}", memory, options.scope, context)
        asked, keys = (ASKED_ENDED, "knq") if one.kind == "ended" else (ASKED, "srknq")
        key = context.key(asked, {*keys}) if sys.stdin.isatty() else ""
        if key == "q":
            return False
        if key in KEYS:
            _told(memory.answer(one.id, KEYS[key], scope=options.scope), options, context)
    return True


def _ask_for_proposals(proposals: list[TeamProposal], hub: HubRemote, context: Any, memory: MemDir) -> None:
    has_decided = False
    for number, one in enumerate(proposals, 1):
        _show_proposal(one, f"{number} of {len(proposals)}", memory, context)
        key = context.key(PROPOSED, {*DECISIONS, "q"}) if sys.stdin.isatty() else ""
        if key == "q":
            break
        if key in DECISIONS:
            try:
                hub.decide(one.id, DECISIONS[key])
            except RemoteError as error:  # decided by another meanwhile, made from an older text, a reader's token
                context.note(str(error))
                continue
            has_decided = True
            context.terminal.line(TOLD[DECISIONS[key]])
    if has_decided:
        memory.team.sync(require_free=lambda: None)


def _show(one: OpenQuestion, number: str, memory: MemDir, scope: str, context: Any) -> None:
    """Both texts and the evidence."""
    terminal = context.terminal
    terminal.line(f"{terminal.bold(f'{number}: {one.asks}')} {terminal.dim(one.id)}")
    for key, title in {one.older: "older", one.newer: "memory" if one.kind == "ended" else "newer"}.items():
        topic = memory.get(key, scope=scope).topic
        told = topic.body.strip()
        for more in (topic.description, topic.name):  # as far as they say more than what follows
            told = told if _words(more) in _words(told) else f"{more}\n{told}"
        _show_text(title, key, told, context)
    terminal.line(f"{terminal.style('because', 'cyan')} {shown_line(one.evidence)}")


def _words(text: str) -> str:
    return " ".join(split_words(text))


def _show_proposal(one: TeamProposal, number: str, memory: MemDir, context: Any) -> None:
    """Each text as it is, and by whom, and as it would be; and why."""
    terminal = context.terminal
    when = age_words(one.created, memory.clock())
    asks = f"Shall the team's memories change so? (proposed by its nightly dream, {when})"
    terminal.line(f"{terminal.bold(f'team {number}: {asks}')} {terminal.dim(f'p{one.id}')}")
    for key, text in one.changes.items():
        now = _text_here(memory, key)
        author = shown_line(author_of(memory.place, key))
        if now is not None:
            _show_text("now", f"{key} (by {author})" if author else key, now, context)
        _show_text("would be" if text is not None else "would go", key, text or "", context)
    terminal.line(f"{terminal.style('because', 'cyan')} {shown_line(one.reason) or 'it puts them in order'}")


def _show_text(title: str, name: str, text: str, context: Any) -> None:
    context.terminal.line(f"{context.terminal.style(title, 'cyan')} {shown_line(name)}")
    if text:
        context.terminal.line("\n".join(f"  {line}" for line in shown(text.rstrip("\n")).split("\n")))


def _text_here(memory: MemDir, key: str) -> str | None:
    data, _ = memory.stores.of("team").read_with_time(key)
    return data.decode("utf-8", "replace") if data is not None else None


def _told(files: Any, options: argparse.Namespace, context: Any) -> int:
    if options.json:
        return int(context.print_json({"files": list(files)}))
    if files:
        context.terminal.line(f"{context.terminal.bold('One memory now')}: {shown_line(files[0])}")
        context.note("`memdir undo` takes it back")
    else:
        context.terminal.line("Nothing changes.")
    return 0


def _plain(one: OpenQuestion, memory: MemDir, scope: str) -> dict[str, object]:
    texts = {
        name: {"file": key, "text": memory.get(key, scope=scope).topic.body.strip()}
        for name, key in (("older", one.older), ("newer", one.newer))
    }
    return {"id": one.id, "kind": one.kind, **texts, "evidence": one.evidence, "asked": iso_time(one.asked)}


def _plain_proposals(proposals: list[TeamProposal], memory: MemDir) -> list[dict[str, object]]:
    return [
        {
            "id": f"p{one.id}",
            "reason": one.reason,
            "changes": [
                {"file": key, "by": author_of(memory.place, key), "text": _text_here(memory, key), "proposed": text}
                for key, text in one.changes.items()
            ],
        }
        for one in proposals
    ]
