"""What a conversation was about, found by rules: requests, files, commands, errors and what fixed them, results. It
keeps the notes of a session (N2, N6) and writes the summary of a compaction.

Everything here is a quotation of the conversation, cut short: nothing is invented, only the choice can be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memdir.model.builtin.answers import calls, parted, says
from memdir.model.job import CompactJob, NotesJob, NotesSection
from memdir.model.model import Reply, Request
from memdir.text.sentences import LINES, sentences_of
from memdir.text.speakers import without_host
from memdir.text.stems import terms_in
from memdir.text.words import cut_at_word
from memdir.transcript.message import Message, ToolResult, ToolUse
from memdir.transcript.tokens import estimate_text

MAX_LINE = 220  # characters of one noted line
MAX_QUOTED = 1500  # characters of a result that is kept as it is
MAX_LINES = 40  # under one heading of a summary; the newest are kept
SECTION_TOKENS = 1_500  # of the notes, below what the prompt allows: an estimate may be short
QUOTED = "Key results"  # the section that is kept as it is, not as a list
_CHANGES = {"Edit": "edited", "Write": "written", "MultiEdit": "edited", "NotebookEdit": "edited"}
_VERBS = {"Read": "read", **_CHANGES}
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DEFINED = re.compile(
    r"^\s*(?:export\s+|async\s+|pub\s+|static\s+)*(?:def|class|function|fn|func|struct|interface)\s+(\w+)", re.M
)
_CONDITION = re.compile(
    r"\b(?:must|never|always|don'?t|do not|should|only|without|needs? to|make sure|at most|at least|please|instead)\b",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:no[,.! ]|nope|wrong|stop|actually|instead|not (?:that|like)|that'?s (?:not|wrong)|(?:please )?don'?t\b"
    r"|I (?:said|meant))",
    re.I,
)
_LEARNED = re.compile(
    r"\b(?:turns out|root cause|the reason (?:is|was)|because|the (?:problem|cause|trick|fix) (?:is|was)|works? now"
    r"|it works|learned)\b",
    re.I,
)
_ABOUT_CODE = re.compile(
    r"(?=.*(?:`[^`\n]+`|\b[\w./-]+\.(?:py|js|ts|tsx|rs|go|java|c|h|cpp|rb|md|toml|ya?ml|json|sql|sh)\b))"
    r".*\b(?:is|are|holds|contains|uses|calls|reads|writes|handles|lives in|depends on|implements|returns)\b",
    re.I,
)
_ERROR_LINE = re.compile(
    r"^(?:E\s{2,}.*|.*\b(?:\w*Error|\w*Exception|FAILED|fatal|panic|error)\b\s?[:\[(].*|FAILED .*"
    r"|.*command not found.*)$",
    re.M,
)
_OUTCOME = re.compile(r"^.*\b\d+ (?:passed|failed|tests?|errors?|warnings?)\b.*$", re.M | re.I)
_ASKED_FOR = re.compile(
    r"\b(?:list|table|show me|give me|summar\w+|write (?:me )?an?|compare|which|how many|what (?:is|are))\b", re.I
)
_SHAPED = re.compile(r"^(?:```|\||- |\d+\. )", re.M)
_FILE_LINE = re.compile(r"- `(?P<path>[^`]+)`: (?:read|edited|written)")


@dataclass(frozen=True)
class Call:
    """A tool call with what came of it."""

    use: ToolUse
    result: ToolResult | None

    def given(self, *names: str) -> str:
        """The first of these arguments that it has."""
        found = (self.use.input.get(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value), "")

    @property
    def path(self) -> str:
        return self.given("file_path", "path", "notebook_path")

    @property
    def command(self) -> str:
        return self.given("command", "cmd")

    @property
    def is_work(self) -> bool:
        return self.use.name in _CHANGES or bool(self.command)

    @property
    def error(self) -> str:
        """The line that says what went wrong; empty when nothing did."""
        if self.result is None or not (self.result.is_error or self.command):
            return ""
        found = [match[0].strip() for match in _ERROR_LINE.finditer(self.result.content)]
        first = self.result.content.strip().partition("\n")[0] if self.result.is_error else ""
        return short(found[-1].removeprefix("E") if found else first)

    def is_like(self, other: Call) -> bool:
        """Whether the same was tried."""
        return (self.use.name, self.path, self.command) == (other.use.name, other.path, other.command)


@dataclass(frozen=True)
class Turn:
    """What the user said, and all that followed until they spoke again."""

    asked: str
    replies: tuple[str, ...]
    calls: tuple[Call, ...]

    @property
    def answer(self) -> str:
        return self.replies[-1] if self.replies else ""


def digest(messages: Sequence[Message]) -> dict[str, list[str]]:
    """What a conversation gives for each section of the notes, oldest first."""
    turns = list(turns_of(messages))
    calls = [call for turn in turns for call in turn.calls]
    told = [short(one) for turn in turns for reply in turn.replies for one in sentences(reply)]
    first = sentences(next((turn.asked for turn in turns if turn.asked), ""))
    found: dict[str, Iterable[str]] = {
        "Session Title": [" ".join(one.split()[:10]).rstrip(".,;:!?") for one in first[:1]],
        "Current State": _state(turns[-1]) if turns else (),
        "Task specification": _task(turns),
        "Files and Functions": _files(calls),
        "Workflow": (f"`{short(call.command)}`" for call in calls if call.command),
        "Errors & Corrections": (*_errors(calls), *_corrections(turns)),
        "Codebase and System Documentation": filter(_ABOUT_CODE.match, told),
        "Learnings": filter(_LEARNED.search, told),
        QUOTED: _results(turns),
        "Worklog": map(_logged, turns),
    }
    return {title: list(dict.fromkeys(filter(None, lines))) for title, lines in found.items()}


def turns_of(messages: Sequence[Message]) -> Iterator[Turn]:
    """The turns of a conversation; what the host put in belongs to none."""
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    asked, replies, calls = "", [], []  # type: tuple[str, list[str], list[Call]]
    for message in messages:
        said = "" if message.is_meta else without_host(message.text)
        if message.role == "user" and said:
            if asked or replies or calls:
                yield Turn(asked, tuple(replies), tuple(calls))
            asked, replies, calls = said, [], []
        elif message.role == "assistant":
            replies += [said] if said else []
            calls += [Call(use, results.get(use.id)) for use in message.tool_uses]
    if asked or replies or calls:
        yield Turn(asked, tuple(replies), tuple(calls))


def short(text: str, limit: int = MAX_LINE) -> str:
    """A text on one line, cut between words."""
    return cut_at_word(" ".join(text.split()), limit)


def sentences(text: str) -> list[str]:
    """The sentences of a text, code left out."""
    return [part for part in sentences_of(_FENCE.sub("\n", text), LINES) if len(part) > 3]


def _state(last: Turn) -> Iterator[str]:
    if last.asked:
        yield f"Asked last: {short(last.asked)}"
    if last.calls and not last.answer:
        yield f"Under way: {_did(last.calls[-1:])}"
    said = sentences(last.answer)
    if said:
        yield f"Answered: {short(' … '.join(dict.fromkeys((said[0], said[-1]))))}"
    if last.calls and last.calls[-1].error:
        yield f"Still open: {last.calls[-1].error}"


def _task(turns: Sequence[Turn]) -> Iterator[str]:
    for number, turn in enumerate(turns):
        for at, sentence in enumerate(sentences(turn.asked)):
            if at < (1 if number else 3) or _CONDITION.search(sentence):
                yield short(sentence)


def _files(calls: Sequence[Call]) -> Iterator[str]:
    touched: dict[str, dict[str, None]] = {}
    defined: dict[str, dict[str, None]] = {}
    for call in calls:
        if call.path and call.use.name in _VERBS and not (call.result and call.result.is_error):
            touched.setdefault(call.path, {})[_VERBS[call.use.name]] = None
            found = _DEFINED.findall(call.given("new_string", "content"))
            defined.setdefault(call.path, {}).update(dict.fromkeys(found))
    for path, how in touched.items():
        names = ", ".join(f"`{name}`" for name in defined[path])
        yield f"`{path}`: {', '.join(how)}" + (f" ({short(names)})" if names else "")


def _errors(calls: Sequence[Call]) -> Iterator[str]:
    """Each error, and what was changed between it and the first time the same thing went well."""
    for at, call in enumerate(calls):
        if call.error:
            later = (n for n in range(at + 1, len(calls)) if calls[n].is_like(call) and not calls[n].error)
            between = calls[at + 1 : next(later, at)]
            fixed = _did([one for one in between if one.use.name in _CHANGES])
            what = f"`{short(call.command, 80)}`" if call.command else call.use.name
            yield f"{what}: {call.error}" + (f" → fixed: {fixed}" if fixed else "")


def _did(calls: Sequence[Call]) -> str:
    return ", ".join(dict.fromkeys(f"{one.use.name} {short(one.path or one.command, 80)}".strip() for one in calls))


def _corrections(turns: Sequence[Turn]) -> Iterator[str]:
    for said in (sentences(turn.asked) for turn in turns[1:]):
        if said and _CORRECTION.match(said[0]):
            yield f'The user: "{short(" ".join(said[:2]))}"'


def _results(turns: Sequence[Turn]) -> Iterator[str]:
    """Answers that were asked for, as they were given, and what the last tests said."""
    for turn in turns:
        if _ASKED_FOR.search(turn.asked) and (_SHAPED.search(turn.answer) or len(turn.answer) < MAX_LINE):
            yield turn.answer[:MAX_QUOTED].strip()
    for call in [call for turn in turns for call in turn.calls][::-1]:
        found = _OUTCOME.findall(call.result.content) if call.command and call.result else []
        if found:
            yield f"`{short(call.command, 80)}`: {short(found[-1].strip('= '))}"
            return


def _logged(turn: Turn) -> str:
    done = _did([call for call in turn.calls if call.is_work])
    parts = [
        short(turn.asked, 90) or "(went on)",
        short(done, 120),
        *(short(one, 90) for one in sentences(turn.answer)[-1:]),
    ]
    return " → ".join(filter(None, parts))


def answer_compact(job: CompactJob, request: Request) -> Reply:
    """The whole summary in one reply."""
    said, _ = parted(request)
    found = digest(said)
    wish = job.keep.strip()
    parts = {
        "What the user wants": [*([f"To be kept: {wish}"] if wish else []), *found["Task specification"]],
        "Where things stand": found["Current State"],
        "Files and code": [*found["Files and Functions"], *found["Codebase and System Documentation"]],
        "What went wrong": found["Errors & Corrections"],
        "What was found out": [*found["Learnings"], *found[QUOTED], *_wished(said, wish)],
        "All messages of the user": [short(turn.asked) for turn in turns_of(said) if turn.asked],
    }
    listed = {title: [f"- {line}" for line in lines[-MAX_LINES:]] for title, lines in parts.items() if lines}
    return says("\n\n".join("\n".join((f"## {title}", *lines)) for title, lines in listed.items()))


def _wished(messages: Sequence[Message], wish: str) -> list[str]:
    """Sentences of the conversation that share words with what the user wants kept."""
    wanted = terms_in(wish)
    spoken = (message.text for message in messages if wanted and not message.is_meta)
    enough = min(2, len(wanted))
    return [short(one) for text in spoken for one in sentences(text) if len(wanted & terms_in(one)) >= enough]


def answer_notes(job: NotesJob, request: Request) -> Reply:
    """One step of the job: read, then write, then done."""
    said, done = parted(request)
    if not done:
        return calls([ToolUse("notes_read", "Read", {"file_path": job.path})])
    last = done[-1].tool_results
    if last and last[0].tool_use_id == "notes_read" and not last[0].is_error:
        found = digest(said)
        filled = [NotesSection(one.title, one.hint, _filled(one, found.get(one.title, []))) for one in job.sections]
        before, after = ("\n".join(one.text for one in sections) for sections in (job.sections, filled))
        if after != before:
            return calls([ToolUse("notes_write", "Write", {"file_path": job.path, "content": after})])
    return says("The notes are up to date.")


def _filled(section: NotesSection, lines: list[str]) -> str:
    """A section with what a conversation adds to it, oldest first; the oldest goes when there is no more room."""
    body = section.body
    if section.title == "Session Title":
        return body or "".join(lines)
    if section.title == "Current State":
        return "\n".join(f"- {line}" for line in lines) or body
    joint = "\n\n" if section.title == QUOTED else "\n"
    items = [item for item in body.split(joint) if item.strip()]
    if section.title == QUOTED:
        items += [line for line in lines if line not in body]
    else:
        items += [f"- {line}" for line in lines if f"- {line}" not in items]
    # A file that was read and is edited now has a new line: the old one says less.
    newest = {_subject(item): item for item in items}
    items = list(dict.fromkeys(newest[_subject(item)] for item in items))
    while len(items) > 1 and sum(map(estimate_text, items)) > SECTION_TOKENS:
        items.pop(0)
    return joint.join(items)


def _subject(item: str) -> str:
    match = _FILE_LINE.match(item)
    return match["path"] if match else item
