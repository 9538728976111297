"""Show which memories a message would bring back, if any, chosen as in a conversation: by the model where one is
configured, else on this machine. --explain tells why each candidate was taken or left, --render prints what a model
would get. --pin keeps the case as a test of your own; `memdir check` replays it on this machine. --log lists what was
put into conversations, for messages that hold TEXT where one is given. That nothing comes back is a success, too."""

from __future__ import annotations

import os

from memdir.cli.context import OF_USER, add_limit, add_scope, text_of
from memdir.cli.terminal import clean
from memdir.errors import DiskError, UsageError
from memdir.recall.recall import RecallRequest, Selection, Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.memdir import MemDir
    from memdir.recall.decide import Judgement
    from memdir.recall.recall_log import Injection, Pin, RecallLog
    from memdir.recall.selection import Recalled

EXAMPLES = (
    'memdir recall "can we release on Friday?"',
    'memdir recall "how do I roll back?" --tool argocd --explain',
    'memdir recall "which database do tests use?" --pin',
    'memdir recall "good morning" --pin --expect none',
    "memdir recall --log --limit 5",
)
MAX_MESSAGE_BYTES = 1 << 20  # from standard input
NOTHING = "none"  # what --expect calls an empty answer
CHECK_SECONDS = 5.0  # that a person may wait to be told what of one memory is gone
EXPLAINED = 12  # candidates shown by --explain
CHOOSERS = {"words": "by words", "sentences": "by the sentence model", "model": "by the model"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="TEXT", nargs="*", help="a message as a user would write it; - reads it")
    parser.add_argument("--tool", action="append", default=[], metavar="NAME", help="a tool in use (may be repeated)")
    parser.add_argument("--explain", action="store_true", help="candidates, scores and reasons")
    parser.add_argument("--render", action="store_true", help="print the memories as a model gets them")
    parser.add_argument("--selector", choices=("auto", "local", "model"), help="who chooses (default: recall.selector)")
    parser.add_argument("--pin", action="store_true", help="keep this case, chosen locally, for `memdir check`")
    parser.add_argument(
        "--expect",
        action="append",
        metavar="FILE",
        help="with --pin: a memory that must come back (may be repeated), or `none`",
    )
    parser.add_argument("--log", action="store_true", help="what was put into conversations, newest first")
    add_limit(parser)
    add_scope(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    if options.log:
        return _list_shown(options, context)
    options.text = text_of(options.words, max_bytes=MAX_MESSAGE_BYTES, what="recall")
    _settle_selector(options)
    memory = context.require_enabled()
    if memory.settings.recall_selector != "local":
        memory = context.with_model()
    expected = _expected(options, context)
    recaller = memory.recallers.of(options.scope, is_alone=options.pin)  # a pinned case is of one scope
    with context.progress("indexing memories") as on_progress:
        request = RecallRequest(options.text, recent_tools=options.tool, shown=Shown("cli"), on_progress=on_progress)
        selections = recaller.choose(request)
        choice = selections[0]
        explained = choice.explained or memory.recallers.chooser(options.scope).choose(request).explained
    assert explained is not None
    if memory.recallers.asks_model and choice.by != "model":
        choice.instead_of_model = choice.instead_of_model or "no model is configured"
    own = [key for selection in selections[1:] for key in selection.keys]
    if options.pin:
        _pin(options, tuple(choice.keys) if expected is None else expected, context)
    if options.json:
        others = [verdict for selection in selections[1:] for verdict in _candidates(selection.explained)]
        found = _plain(options.text, choice, explained) | {"by": memory.team.authors(options.scope).of(choice.keys)}
        context.print_json({**found, "recalledOfUser": own, "candidatesOfUser": others})
    elif options.render:
        for one in recaller.show(recaller.prepare(request, selections, check_seconds=CHECK_SECONDS)):
            context.terminal.verbatim(clean(one.reminder, keep_newlines=True))
        if recaller.not_logged:
            context.note(f"what was shown is not in the recall log: {recaller.not_logged}")
    else:
        _print(options, choice, explained, own, context)
        for selection in selections[1:] if options.explain else ():
            _explain_other(selection, context)
    return 0


def _settle_selector(options: argparse.Namespace) -> None:
    """Who chooses: what was asked for, and this machine for a case that is kept."""
    if options.pin and options.selector == "model":
        raise UsageError(
            "`memdir check` replays pinned cases on this machine, never by a model",
            remedy="Pin without --selector model; --expect FILE says what must come back",
        )
    selector = "local" if options.pin else options.selector
    if selector:
        options.set.append(f"recall.selector={selector}")
    options.set.append("recall.encoder=words")  # a command ends before the sentence model is loaded (ADR 0021)


def _expected(options: argparse.Namespace, context: Context) -> tuple[str, ...] | None:
    """The memories that --expect names; None without it."""
    if not options.expect:
        return None
    if not options.pin:
        raise UsageError("--expect says what a pinned case expects, and nothing is pinned", remedy="Add --pin")
    if options.expect == [NOTHING]:
        return ()
    if NOTHING in options.expect:
        raise UsageError(
            f"--expect {NOTHING} says that nothing may come back, and another --expect names a memory",
            remedy=f"Leave one out; a memory whose file is {NOTHING}.md is named with its ending",
        )
    from memdir.store.memories import find_key

    return tuple([find_key(context.store(), wanted) for wanted in options.expect])


def _pin(options: argparse.Namespace, expected: tuple[str, ...], context: Context) -> None:
    from memdir.recall.recall_log import Pin, RecallLog

    place = context.memory.places.of(options.scope)
    scope = "team" if place.prefix else ""
    RecallLog(place.state).pin(Pin(options.text, expected, tuple(options.tool), scope=scope))
    context.note(f"pinned: {', '.join(expected) or 'nothing'} for this message; `memdir check` replays it")


def _print(
    options: argparse.Namespace, choice: Selection, recalled: Recalled, own: list[str], context: Context
) -> None:
    terminal = context.terminal
    if not choice.keys and not own:
        terminal.line("No memory clearly helps with that.")
    chosen = () if options.explain and choice.by == "words" else choice.keys
    for scope, key in (*(("user", key) for key in own), *((options.scope, key) for key in chosen)):
        by = context.memory.team.authors(scope).told(key, "  {}") if "team" in (scope, key[:4]) else ""
        whose = terminal.dim(OF_USER if scope == "user" and options.scope != "user" else clean(by))
        described = clean(_description(context.memory.places.of(scope).root, key))
        terminal.line(f"{terminal.style('+', 'green')} {terminal.bold(clean(key))}  {described}{whose}".rstrip())
    if options.explain:
        _explain(choice, recalled, context)
    if options.explain or context.memory.recallers.asks_model:
        terminal.line(terminal.dim(clean(_who_chose(choice, context.memory))))


def _description(root: str, key: str) -> str:
    """What a memory says of itself; nothing where it cannot be read any more."""
    from memdir.disk.plain_file import read_if_plain
    from memdir.store.frontmatter import find_block, read_fields
    from memdir.store.scan import MAX_MEMORY_BYTES

    data = read_if_plain(os.path.join(root, key), MAX_MEMORY_BYTES) or b""
    block = find_block(data)
    return read_fields(data[block.start : block.end]).get("description", "") if block else ""


def _explain(choice: Selection, recalled: Recalled, context: Context) -> None:
    """The ranking by words, with reasons; where somebody else chose, set apart from their choice."""
    terminal = context.terminal
    margin = ""
    if choice.by != "words":
        terminal.line(terminal.dim("for comparison, the ranking by words on this machine:"))
        margin = "  "
    for verdict in recalled.decision.verdicts[:EXPLAINED]:
        _print_verdict(verdict, recalled, context, margin=margin)
    terminal.line(
        terminal.dim(
            f"{margin}likelihood that the message needs no memory: {recalled.decision.emptiness:+.2f} (log odds)"
        )
    )


def _explain_other(selection: Selection, context: Context) -> None:
    """The ranking of the memories of another scope, which is always by words."""
    if selection.explained is not None and selection.explained.decision.verdicts:
        context.terminal.line(context.terminal.dim("of your memories for all projects:"))
        for verdict in selection.explained.decision.verdicts[:EXPLAINED]:
            _print_verdict(verdict, selection.explained, context, margin="  ")


def _print_verdict(verdict: Judgement, recalled: Recalled, context: Context, *, margin: str) -> None:
    terminal = context.terminal
    mark = terminal.style("+", "green") if verdict.is_chosen else terminal.dim("-")
    name = clean(verdict.candidate.key)
    certainty = terminal.dim(f"  {verdict.certainty:+.2f}")
    terminal.line(f"{margin}{mark} {terminal.bold(name) if verdict.is_chosen else name}{certainty}")
    for reason in verdict.reasons(recalled.ranking):
        terminal.line(terminal.dim(f"{margin}    {clean(reason)}"))


def _who_chose(choice: Selection, memory: MemDir) -> str:
    if choice.by == "model":
        from memdir.model.choose import model_name

        return f"chosen by {model_name(memory.settings) or 'the model'}"
    because = f"; the model did not choose: {choice.instead_of_model}" if choice.instead_of_model else ""
    return f"chosen on this machine, by {choice.by}{because}"


def _plain(text: str, choice: Selection, recalled: Recalled) -> dict[str, object]:
    return {
        "query": text,
        "recalled": choice.keys,
        "chosenBy": choice.by,
        "insteadOfModel": choice.instead_of_model,
        "emptiness": round(recalled.decision.emptiness, 3),
        "candidates": _candidates(recalled),
    }


def _candidates(recalled: Recalled | None) -> list[dict[str, object]]:
    return [
        {
            "file": verdict.candidate.key,
            "chosen": verdict.is_chosen,
            "certainty": round(verdict.certainty, 3),
            "reasons": verdict.reasons(recalled.ranking),
        }
        for verdict in (recalled.decision.verdicts[:EXPLAINED] if recalled else ())
        if recalled
    ]


def _list_shown(options: argparse.Namespace, context: Context) -> int:
    """What was put into which conversation, newest first, for which message, and who chose it (O2)."""
    from memdir.recall.recall_log import RecallLog
    from memdir.store.scan import iso_time

    found = list(RecallLog(context.require_enabled().places.of(options.scope).state).injections())[::-1]
    wanted = " ".join(options.words).casefold()
    shown = [one for one in found if wanted in one.message.casefold()][: options.limit]
    if options.json:
        return context.print_json({"shown": [_plain_shown(one, iso_time(one.time)) for one in shown]})
    terminal = context.terminal
    if not shown:
        terminal.line("No memory was put into a conversation" + (" for that." if wanted else " yet."))
    for one in shown:
        chosen = f", chosen {CHOOSERS[one.by]}" if one.by in CHOOSERS else ""
        when, who = terminal.dim(iso_time(one.time)), terminal.cyan(clean(one.session) or "-")
        terminal.line(f"{when} {who}  {clean(one.message)}")
        terminal.line(f"    {clean(', '.join(one.keys))}{terminal.dim(chosen)}")
    return 0


def _plain_shown(one: Injection, time: str) -> dict[str, object]:
    keys = list(one.keys)
    return {"time": time, "session": one.session, "message": one.message, "files": keys, "chosenBy": one.by}


class Check:
    """Replay the cases you pinned with `memdir recall --pin`: what must come back comes back, what must not does not.
    They are chosen on this machine and by words, so that a check costs nothing and comes out the same each time. Also
    says which memories were never shown to a model. Exit status 1 when a case fails."""

    EXAMPLES = ("memdir check", "memdir check --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        from memdir.recall.recall_log import RecallLog

        memory = context.require_enabled()
        log = RecallLog(memory.places.of(options.scope).state)
        results = []
        for pin in log.pins():
            if options.scope in (pin.scope, "project", "user"):  # the project's: the team's too
                request = RecallRequest(pin.query, recent_tools=pin.recent_tools)
                results.append((pin, memory.recallers.chooser(pin.scope or options.scope).choose(request).keys))
        never = _never_shown(log, memory, options.scope, context)
        status = 0 if all(_holds(pin, got) for pin, got in results) else 1
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
            return context.print_json({"cases": cases, "neverShown": never}, status)
        _print_checked(results, never, context)
        return status


def _never_shown(log: RecallLog, memory: MemDir, scope: str, context: Context) -> list[str] | None:
    """The memories that no model was shown; None when the log of that cannot be read."""
    try:
        shown = {key for injection in log.injections() for key in injection.keys}
    except DiskError as error:
        context.note(str(error))
        return None
    return sorted(header.key for header in memory.stores.of(scope).scan(limit=None).headers if header.key not in shown)


def _holds(pin: Pin, got: list[str]) -> bool:
    """Everything expected is there; where nothing is expected, nothing is."""
    return set(pin.expected) <= set(got) if pin.expected else not got


def _print_checked(results: list[tuple[Pin, list[str]]], never: list[str] | None, context: Context) -> None:
    from memdir.text.words import counted

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
