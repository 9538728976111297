"""What a conversation was about, found by rules: requests, files, commands, errors and what fixed them, results. It
keeps the notes of a session (N2, N6) and writes the summary of a compaction.

Everything here is a quotation of the conversation, cut short: nothing is invented, only the choice can be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from memdir.model.builtin.answers import parted, says, writes
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
MAX_NAMED = 80  # characters of what only names what was asked, tried or answered
MAX_QUOTED = 1500  # characters of a result that is kept as it is
MAX_ASKED = 3  # sentences of a message that are noted whatever they say: people begin with what they want
SECTION_TOKENS = 1_500  # of the notes, below what the prompt allows: an estimate may be short
QUOTED = "Key results"  # the section that is kept as it is, not as a list
_DONE = {"Read": "read", "Edit": "edited", "Write": "written"}
_CONDITIONS = frozenset(("always", "forbid", "polite"))  # what tells how a task is to be done
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DEFINED = re.compile(r"^\s*(?:\w+\s+)*(?:def|class|function|fn|func|struct|interface)\s+(\w+)", re.M)
_OF_CODE = re.compile(r"`[^`\n]+`|\b[\w-]+\.[a-z]{1,4}\b")
_ERROR_LINE = re.compile(
    r"^(?:E\s{2,}.*|.*\b(?:\w*Error|\w*Exception|FAILED|fatal|panic|error)\b\s?[:\[(].*|.*command not found.*)$", re.M
)
_OUTCOME = re.compile(r"[^=\n]*\b\d+ (?:passed|failed|tests?|errors?|warnings?)\b[^=\n]*", re.I)
_SHAPED = re.compile(r"^(?:```|\||- |\d+\. )", re.M)
_GROWS = re.compile(r": (?:read|edited|written).*| → fixed: .*")  # what more is known of later


@dataclass(frozen=True)
class Call:
    """A tool call with what came of it."""

    use: ToolUse
    result: ToolResult | None

    @property
    def path(self) -> str:
        return str(self.use.input.get("file_path", ""))

    @property
    def command(self) -> str:
        return str(self.use.input.get("command", ""))

    @property
    def error(self) -> str:
        """The line that says what went wrong; empty when nothing did. What a file that was read says is none."""
        if self.result is None or not (self.result.is_error or self.command):
            return ""
        whole = [self.result.content if self.result.is_error else ""]
        return short((_ERROR_LINE.findall(self.result.content) or whole)[-1])

    def __str__(self) -> str:
        return f"{self.use.name} {short(self.path or self.command, MAX_NAMED)}".strip()


@dataclass
class Turn:
    """What the user said, and all that followed until they spoke again."""

    asked: str
    replies: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def answer(self) -> str:
        return "".join(self.replies[-1:])


def digest(turns: Sequence[Turn]) -> dict[str, list[str]]:
    """What a conversation gives for each section of the notes, oldest first."""
    calls = [call for turn in turns for call in turn.calls]
    asked = [some for some in (sentences(turn.asked) for turn in turns) if some]
    told = [short(one) for turn in turns for reply in turn.replies for one in sentences(reply)]
    corrected = (f'The user: "{short(" ".join(one[:2]))}"' for one in asked[1:] if "halt" in meanings_in(one[0]))
    found: dict[str, Iterable[str]] = {
        "Session Title": (" ".join(one.split()[:10]).rstrip(".,;:!?") for one, *_ in asked[:1]),
        "Current State": [_logged(turn, MAX_LINE) for turn in turns[-1:]],
        "Task specification": (
            short(one)
            for some in asked
            for at, one in enumerate(some)
            if at < MAX_ASKED or meanings_in(one) & _CONDITIONS
        ),
        "Files and Functions": _files(calls),
        "Workflow": (f"`{short(call.command)}`" for call in calls if call.command),
        "Errors & Corrections": (*_errors(calls), *corrected),
        "Codebase and System Documentation": filter(_OF_CODE.search, told),
        "Learnings": (one for one in told if "because" in meanings_in(one)),
        QUOTED: _results(turns, calls),
        "Worklog": [_logged(turn, MAX_NAMED) for turn in turns],
    }
    return {title: _newest(lines) for title, lines in found.items()}


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The turns of a conversation; what the host put in belongs to none."""
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    turns = [Turn("")]
    for message in messages:
        said = "" if message.is_meta else without_host(message.text)
        if message.role == "user" and said:
            turns.append(Turn(said))
        elif message.role == "assistant":
            turns[-1].replies += [said] if said else []
            turns[-1].calls += [Call(use, results.get(use.id)) for use in message.tool_uses]
    return [turn for turn in turns if turn != Turn("")]


def short(text: str, limit: int = MAX_LINE) -> str:
    """A text on one line, cut between words."""
    return cut_at_word(" ".join(text.split()), limit)


def sentences(text: str) -> list[str]:
    """The sentences of a text, code left out."""
    return sentences_of(_FENCE.sub("\n", text), LINES)


def _newest(lines: Iterable[str]) -> list[str]:
    """What one section has room for, nothing twice: a file that was read and is edited now has one line."""
    items = list({_GROWS.sub("", one): one for one in lines if one}.values())
    sizes = accumulate(estimate_text(one) for one in reversed(items))
    return items[-max(1, sum(size <= SECTION_TOKENS for size in sizes)) :]


def _files(calls: Sequence[Call]) -> Iterator[str]:
    """What was done to each file, and what was defined in it."""
    touched: dict[str, list[Call]] = {}
    for call in calls:
        if call.use.name in _DONE and not call.error:
            touched.setdefault(call.path, []).append(call)
    for path, some in touched.items():
        texts = (str(one.use.input.get(name, "")) for one in some for name in ("new_string", "content"))
        defined = dict.fromkeys(f"`{name}`" for text in texts for name in _DEFINED.findall(text))
        names = f" ({short(', '.join(defined))})" if defined else ""
        yield f"`{path}`: {', '.join(dict.fromkeys(_DONE[one.use.name] for one in some))}{names}"


def _errors(calls: Sequence[Call]) -> Iterator[str]:
    """Each error, and what was done between it and the first time the same thing went well."""
    for at, call in enumerate(calls):
        if call.error:
            well = (n for n, one in enumerate(calls) if n > at and str(one) == str(call) and not one.error)
            fixed = _did(calls[at + 1 : next(well, at)])
            yield f"{call}: {call.error}" + (f" → fixed: {fixed}" if fixed else "")


def _did(calls: Iterable[Call]) -> str:
    """What was done, the last first: what was only read changed nothing."""
    done = [str(one) for one in calls if one.command or one.use.name in ("Edit", "Write")]
    return ", ".join(dict.fromkeys(reversed(done)))


def _results(turns: Sequence[Turn], calls: Sequence[Call]) -> Iterator[str]:
    """Answers to questions, lists and tables, as they were given, and what the last tests said."""
    for turn in turns:
        if "?" in turn.asked or _SHAPED.search(turn.answer):
            yield turn.answer[:MAX_QUOTED].strip()
    outcomes = [(call, _OUTCOME.findall(call.result.content)) for call in calls if call.command and call.result]
    for call, lines in [one for one in outcomes if one[1]][-1:]:
        yield f"{call}: {short(lines[-1])}"


def _logged(turn: Turn, room: int) -> str:
    steps = (turn.asked, _did(turn.calls), *sentences(turn.answer)[-1:])
    return " → ".join(short(one, room) for one in steps if one)


def answer_compact(job: CompactJob, request: Request) -> Reply:
    """The whole summary in one reply."""
    turns, wish = turns_of(parted(request)[0]), job.keep.strip()
    found = digest(turns)
    parts = {
        "What the user wants": [*found["Task specification"], *([f"To be kept: {wish}"] if wish else [])],
        "Where things stand": found["Current State"],
        "Files and code": [*found["Files and Functions"], *found["Codebase and System Documentation"]],
        "What went wrong": found["Errors & Corrections"],
        "What was found out": [*found["Learnings"], *found[QUOTED], *_wished(turns, wish)],
        "All messages of the user": _newest(short(turn.asked) for turn in turns),
    }
    return says("\n\n".join("\n- ".join((f"## {title}", *lines)) for title, lines in parts.items() if lines))


def _wished(turns: Sequence[Turn], wish: str) -> list[str]:
    """Sentences of the conversation that share words with what the user wants kept."""
    wanted = terms_in(wish)
    told = (one for turn in turns for text in (turn.asked, *turn.replies) for one in sentences(text) if wanted)
    return _newest(short(one) for one in told if len(wanted & terms_in(one)) >= min(2, len(wanted)))


def answer_notes(job: NotesJob, request: Request) -> Reply:
    def filled() -> str:
        found = digest(turns_of(parted(request)[0]))
        sections = (replace(one, body=_filled(one, found.get(one.title, []))) for one in job.sections)
        return "\n".join(one.text for one in sections)

    return writes(job.path, filled, request)


def _filled(section: NotesSection, lines: list[str]) -> str:
    """A section with what a conversation adds to it, oldest first; the oldest goes when there is no more room."""
    if section.title == "Session Title":
        return section.body or "".join(lines)
    if section.title == QUOTED:
        new = [line for line in lines if line not in section.body]
        return "\n\n".join(_newest((*section.body.split("\n\n"), *new)))
    before = [] if section.title == "Current State" else section.body.splitlines()
    return "\n".join(_newest((*before, *(f"- {line}" for line in lines))))
