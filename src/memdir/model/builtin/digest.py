"""What a conversation was about, found by rules: requests, files, commands, errors and what fixed them, results.

Everything here is a quotation of the conversation, cut short: nothing is invented, only the choice can be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memdir.text.sentences import LINES, sentences_of
from memdir.text.speakers import without_host
from memdir.text.words import cut_at_word
from memdir.transcript.message import Message, ToolResult, ToolUse

MAX_LINE = 220  # characters of one noted line
MAX_QUOTED = 1500  # characters of a result that is kept as it is
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
_ABOUT_CODE = re.compile(r"`[^`\n]+`|\b[\w./-]+\.(?:py|js|ts|tsx|rs|go|java|c|h|cpp|rb|md|toml|ya?ml|json|sql|sh)\b")
_IS = re.compile(
    r"\b(?:is|are|holds|contains|uses|calls|reads|writes|handles|lives in|depends on|implements|returns)\b", re.I
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


@dataclass
class Digest:
    """The lines for each section, oldest first."""

    title: str = ""
    state: list[str] = field(default_factory=list)
    task: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    workflow: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    learnings: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    worklog: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    """A tool call with what came of it."""

    use: ToolUse
    result: ToolResult | None

    @property
    def path(self) -> str:
        for name in ("file_path", "path", "notebook_path"):
            value = self.use.input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def command(self) -> str:
        for name in ("command", "cmd"):
            value = self.use.input.get(name)
            if isinstance(value, str):
                return value
        return ""

    @property
    def error(self) -> str:
        """The line that says what went wrong; empty when nothing did."""
        if self.result is None:
            return ""
        found = [match[0].strip() for match in _ERROR_LINE.finditer(self.result.content)]
        if found and (self.result.is_error or self.command):
            return short(found[-1].removeprefix("E").strip())
        return short(self.result.content.strip().partition("\n")[0]) if self.result.is_error else ""


@dataclass(frozen=True)
class Turn:
    """What the user said, and all that followed until they spoke again."""

    asked: str
    replies: tuple[str, ...]
    calls: tuple[Call, ...]

    @property
    def answer(self) -> str:
        return self.replies[-1] if self.replies else ""


def digest(messages: Sequence[Message]) -> Digest:
    """The lines of every section for a conversation."""
    turns = list(turns_of(messages))
    calls = [call for turn in turns for call in turn.calls]
    found = Digest()
    if not turns:
        return found
    found.title = _title(turns)
    found.state = _state(turns)
    found.task = _unique(_task(turns))
    found.files = list(_files(calls))
    found.workflow = _unique(f"`{short(call.command)}`" for call in calls if call.command)
    found.errors = _unique((*_errors(calls), *_corrections(turns)))
    found.system = _unique(_sentences_with(turns, lambda text: bool(_ABOUT_CODE.search(text) and _IS.search(text))))
    found.learnings = _unique(_sentences_with(turns, lambda text: bool(_LEARNED.search(text))))
    found.results = _unique(_results(turns))
    found.worklog = [_logged(turn) for turn in turns]
    return found


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


def _title(turns: Sequence[Turn]) -> str:
    first = next((turn.asked for turn in turns if turn.asked), "")
    words = (sentences(first) or [first])[0].split()
    return " ".join(words[:10]).rstrip(".,;:!?")


def _state(turns: Sequence[Turn]) -> list[str]:
    last = turns[-1]
    lines = [f"Asked last: {short(last.asked)}"] if last.asked else []
    if last.calls and not last.answer:
        lines.append(f"Under way: {short(_did(last.calls[-1:]))}")
    said = sentences(last.answer)
    if said:
        lines.append(f"Answered: {short(said[-1] if len(said) == 1 else f'{said[0]} … {said[-1]}')}")
    failing = [call for call in last.calls if call.error]
    if failing and failing[-1] is last.calls[-1]:
        lines.append(f"Still open: {failing[-1].error}")
    return lines


def _task(turns: Sequence[Turn]) -> Iterator[str]:
    for number, turn in enumerate(turns):
        for at, sentence in enumerate(sentences(turn.asked)):
            if (number == 0 and at < 3) or at == 0 or _CONDITION.search(sentence):
                yield short(sentence)


def _files(calls: Sequence[Call]) -> Iterator[str]:
    touched: dict[str, dict[str, None]] = {}
    defined: dict[str, dict[str, None]] = {}
    verbs = {"Read": "read", "Edit": "edited", "Write": "written", "MultiEdit": "edited", "NotebookEdit": "edited"}
    for call in calls:
        if call.path and call.use.name in verbs and not (call.result and call.result.is_error):
            touched.setdefault(call.path, {})[verbs[call.use.name]] = None
            text = f"{call.use.input.get('new_string', '')}\n{call.use.input.get('content', '')}"
            defined.setdefault(call.path, {}).update(dict.fromkeys(_DEFINED.findall(text)))
    for path, how in touched.items():
        names = ", ".join(f"`{name}`" for name in defined[path])
        yield f"`{path}`: {', '.join(how)}" + (f" ({short(names)})" if names else "")


def _errors(calls: Sequence[Call]) -> Iterator[str]:
    """Each error, and what was done between it and the first time the same thing went well."""
    for at, call in enumerate(calls):
        if not call.error:
            continue
        what = f"`{short(call.command, 80)}`" if call.command else call.use.name
        later = [n for n in range(at + 1, len(calls)) if _is_same(calls[n], call) and not calls[n].error]
        fixed = (
            _did([c for c in calls[at + 1 : later[0]] if c.use.name in ("Edit", "Write", "MultiEdit")]) if later else ""
        )
        yield f"{what}: {call.error}" + (f" → fixed: {fixed}" if fixed else " → went away" if later else "")


def _is_same(one: Call, other: Call) -> bool:
    if one.command or other.command:
        return one.command == other.command
    return one.use.name == other.use.name and one.path == other.path


def _did(calls: Sequence[Call]) -> str:
    return ", ".join(dict.fromkeys(f"{c.use.name} {short(c.path or c.command, 80)}".strip() for c in calls))


def _corrections(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns[1:]:
        said = sentences(turn.asked)
        if said and _CORRECTION.match(said[0]):
            yield f'The user: "{short(" ".join(said[:2]))}"'


def _sentences_with(turns: Sequence[Turn], fits: Callable[[str], bool]) -> Iterator[str]:
    for turn in turns:
        for reply in turn.replies:
            yield from (short(sentence) for sentence in sentences(reply) if fits(sentence))


def _results(turns: Sequence[Turn]) -> Iterator[str]:
    """Answers that were asked for, as they were given, and what the last tests said."""
    for turn in turns:
        is_shaped = "```" in turn.answer or re.search(r"^(?:\||- |\d+\. )", turn.answer, re.M)
        if _ASKED_FOR.search(turn.asked) and (is_shaped or len(turn.answer) < MAX_LINE) and turn.answer:
            yield turn.answer[:MAX_QUOTED].strip()
    for call in [call for turn in turns for call in turn.calls][::-1]:
        found = _OUTCOME.findall(call.result.content) if call.command and call.result else []
        if found:
            yield f"`{short(call.command, 80)}`: {short(found[-1].strip('= '))}"
            return


def _logged(turn: Turn) -> str:
    done = _did([call for call in turn.calls if call.use.name in ("Edit", "Write", "MultiEdit") or call.command])
    said = sentences(turn.answer)
    parts = [short(turn.asked, 90) or "(went on)", short(done, 120), short(said[-1], 90) if said else ""]
    return " → ".join(part for part in parts if part)


def _unique(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line))
