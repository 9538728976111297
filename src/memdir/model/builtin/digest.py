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
from memdir.text.language import meanings_in
from memdir.text.sentences import LINES, sentences_of
from memdir.text.speakers import without_host
from memdir.text.stems import terms_in
from memdir.text.words import cut_at_word
from memdir.transcript.message import Message, ToolResult, ToolUse
from memdir.transcript.tokens import estimate_text

MAX_LINE = 220  # characters of one noted line
MAX_NAMED = 80  # characters of a command that only names what was tried
MAX_QUOTED = 1500  # characters of a result that is kept as it is
MAX_LINES = 40  # under one heading of a summary; the newest are kept
SECTION_TOKENS = 1_500  # of the notes, below what the prompt allows: an estimate may be short
QUOTED = "Key results"  # the section that is kept as it is, not as a list
_DONE = {"Read": "read", "Edit": "edited", "Write": "written", "MultiEdit": "edited", "NotebookEdit": "edited"}
_CONDITIONS = frozenset(("always", "forbid", "polite"))  # what tells how a task is to be done
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DEFINED = re.compile(r"^\s*(?:\w+\s+)*(?:def|class|function|fn|func|struct|interface)\s+(\w+)", re.M)
_OF_CODE = re.compile(r"`[^`\n]+`|\b[\w-]+\.[a-z]{1,4}\b")
_ERROR_LINE = re.compile(
    r"^(?:E\s{2,}.*|.*\b(?:\w*Error|\w*Exception|FAILED|fatal|panic|error)\b\s?[:\[(].*|.*command not found.*)$", re.M
)
_OUTCOME = re.compile(r"^.*\b\d+ (?:passed|failed|tests?|errors?|warnings?)\b.*$", re.M | re.I)
_SHAPED = re.compile(r"^(?:```|\||- |\d+\. )", re.M)
_FILE_LINE = re.compile(r"^- `([^`]+)`: (?:read|edited|written).*")


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
    def is_change(self) -> bool:
        return self.use.name in _DONE and self.use.name != "Read"

    @property
    def error(self) -> str:
        """The line that says what went wrong; empty when nothing did."""
        if self.result is None or not (self.result.is_error or self.command):
            return ""
        found = [match[0].strip() for match in _ERROR_LINE.finditer(self.result.content)]
        first = self.result.content.strip().partition("\n")[0] if self.result.is_error else ""
        return short(found[-1].removeprefix("E") if found else first)

    def __str__(self) -> str:
        return f"{self.use.name} {short(self.path or self.command, MAX_NAMED)}".strip()


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
    turns = turns_of(messages)
    calls = [call for turn in turns for call in turn.calls]
    told = [short(one) for turn in turns for reply in turn.replies for one in sentences(reply)]
    replies = [sentences(turn.asked) for turn in turns[1:]]
    corrected = (f'The user: "{short(" ".join(one[:2]))}"' for one in replies if one and "halt" in meanings_in(one[0]))
    first = sentences(next((turn.asked for turn in turns if turn.asked), ""))
    found: dict[str, Iterable[str]] = {
        "Session Title": [" ".join(one.split()[:10]).rstrip(".,;:!?") for one in first[:1]],
        "Current State": _state(turns[-1]) if turns else (),
        "Task specification": _task(turns),
        "Files and Functions": _files(calls),
        "Workflow": (f"`{short(call.command)}`" for call in calls if call.command),
        "Errors & Corrections": (*_errors(calls), *corrected),
        "Codebase and System Documentation": filter(_OF_CODE.search, told),
        "Learnings": (one for one in told if "because" in meanings_in(one)),
        QUOTED: _results(turns),
        "Worklog": map(_logged, turns),
    }
    return {title: list(dict.fromkeys(filter(None, lines))) for title, lines in found.items()}


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The turns of a conversation; what the host put in belongs to none."""
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    turns: list[tuple[str, list[str], list[Call]]] = [("", [], [])]
    for message in messages:
        said = "" if message.is_meta else without_host(message.text)
        if message.role == "user" and said:
            turns.append((said, [], []))
        elif message.role == "assistant":
            turns[-1][1].extend([said] if said else [])
            turns[-1][2].extend(Call(use, results.get(use.id)) for use in message.tool_uses)
    return [Turn(asked, tuple(told), tuple(calls)) for asked, told, calls in turns if asked or told or calls]


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
        yield f"Under way: {last.calls[-1]}"
    if said := sentences(last.answer):
        yield f"Answered: {short(' … '.join(dict.fromkeys((said[0], said[-1]))))}"
    if last.calls and last.calls[-1].error:
        yield f"Still open: {last.calls[-1].error}"


def _task(turns: Sequence[Turn]) -> Iterator[str]:
    for number, turn in enumerate(turns):
        for at, sentence in enumerate(sentences(turn.asked)):
            if at < (1 if number else 3) or meanings_in(sentence) & _CONDITIONS:
                yield short(sentence)


def _files(calls: Sequence[Call]) -> Iterator[str]:
    """What was done to each file, and what was defined in it."""
    touched: dict[str, list[Call]] = {}
    for call in calls:
        if call.path and call.use.name in _DONE and not (call.result and call.result.is_error):
            touched.setdefault(call.path, []).append(call)
    for path, some in touched.items():
        defined = [f"`{name}`" for one in some for name in _DEFINED.findall(one.given("new_string", "content"))]
        names = f" ({short(', '.join(dict.fromkeys(defined)))})" if defined else ""
        yield f"`{path}`: {', '.join(dict.fromkeys(_DONE[one.use.name] for one in some))}{names}"


def _errors(calls: Sequence[Call]) -> Iterator[str]:
    """Each error, and what was changed between it and the first time the same thing went well."""
    for at, call in enumerate(calls):
        if call.error:
            same = (n for n, one in enumerate(calls) if n > at and str(one) == str(call) and not one.error)
            fixed = _did(one for one in calls[at : next(same, at)] if one.is_change)
            what = f"`{short(call.command, MAX_NAMED)}`" if call.command else call.use.name
            yield f"{what}: {call.error}" + (f" → fixed: {fixed}" if fixed else "")


def _did(calls: Iterable[Call]) -> str:
    return ", ".join(dict.fromkeys(map(str, calls)))


def _results(turns: Sequence[Turn]) -> Iterator[str]:
    """Lists, tables and short answers to questions, as they were given, and what the last tests said."""
    for turn in turns:
        if _SHAPED.search(turn.answer) or ("?" in turn.asked and len(turn.answer) < MAX_LINE):
            yield turn.answer[:MAX_QUOTED].strip()
    for call in [call for turn in turns for call in turn.calls][::-1]:
        found = _OUTCOME.findall(call.result.content) if call.command and call.result else []
        if found:
            yield f"`{short(call.command, MAX_NAMED)}`: {short(found[-1].strip('= '))}"
            return


def _logged(turn: Turn) -> str:
    done = _did(call for call in turn.calls if call.is_change or call.command)
    answered = "".join(sentences(turn.answer)[-1:])
    return " → ".join(filter(None, (short(turn.asked, 90) or "(went on)", short(done, 120), short(answered, 90))))


def answer_compact(job: CompactJob, request: Request) -> Reply:
    """The whole summary in one reply."""
    said, _ = parted(request)
    found, wish = digest(said), job.keep.strip()
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
    told = (one for message in messages if wanted and not message.is_meta for one in sentences(message.text))
    return [short(one) for one in told if len(wanted & terms_in(one)) >= min(2, len(wanted))]


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
    if section.title == "Session Title":
        return section.body or "".join(lines)
    if section.title == "Current State":
        return "\n".join(f"- {line}" for line in lines) or section.body
    joint, mark = ("\n\n", "") if section.title == QUOTED else ("\n", "- ")
    items = [item for item in section.body.split(joint) if item.strip()]
    items += [f"{mark}{line}" for line in lines if mark or line not in section.body]
    # Of what stands there already once is enough; a file that was read and is edited now has a new line.
    items = list({_FILE_LINE.sub(r"\1", item): item for item in items}.values())
    while len(items) > 1 and sum(map(estimate_text, items)) > SECTION_TOKENS:
        items.pop(0)
    return joint.join(items)
