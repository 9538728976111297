"""Daily-log mode: what a turn taught is added to the log of the day, line by line, and to nothing else (K1, K4).

The time of a line, and so its file, come from us. Each line is judged as a memory of its own would be (X12, S15).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from memdir.agent.gate import READING, Allow, Deny, MemoryGate
from memdir.agent.judged import Lineage, trace
from memdir.agent.tools.tool import Outcome, Tool, ToolContext, memory_tools, tool_spec
from memdir.agent.workspace import Draft, Workspace
from memdir.errors import BadMemoryFile
from memdir.remember.lineage import DraftJudge, with_lineages
from memdir.store.history import Origin
from memdir.store.log_lines import PATTERN, LogLine, append_lines, lines_in, log_day, log_key
from memdir.store.secrets.refuse import secrets_in
from memdir.store.store import MemoryStore
from memdir.store.topic import IN_OWN_WORDS, MemoryType, Topic
from memdir.store.trust import Trust
from memdir.text.printable import one_line
from memdir.transcript.message import Json, ToolUse

MAX_LINE = 1000  # characters: a fact with its reason
MAX_NAME = 200  # characters of a path that a refusal names
MAX_LINES = 30  # of one run; more is a transcript
_FORM = "write one fact a line, - before it, without a time"
_NO_DELETING = "Nothing is deleted here: say in a new line of the log what no longer holds"
_LABEL = re.compile(r"\*\*(\w[^*\n]{0,40}?):?\*\*:?")
_BULLET = re.compile(r"^\s*(?:\d+\t\s*)?(?:[-*+]|\d+[.)])\s+")
_MARKED = re.compile(r"^\s*(?:\[|\d{1,2}:\d\d)")
_NO_LINE = re.compile(r"^\s*(?:#|---|```|<!--)|^\W*$")


@dataclass(frozen=True)
class LogGate:
    """The gate of extraction in this mode: read as usual, and Write lines for the log."""

    root: str  # the memory directory
    cwd: str
    no_bash: str = ""  # why there is none, if so

    def __call__(self, call: ToolUse) -> Allow | Deny:
        if call.name == "Write" and self._is_log(call.input.get("file_path")):
            return Allow()
        if call.name in READING or call.name == "Bash":
            return MemoryGate((self.root,), self.cwd, self.no_bash, _NO_DELETING)(call)
        name = one_line(str(call.input.get("file_path", "")))[:MAX_NAME]
        return Deny(
            f"{call.name} {name} is not possible here: nothing is changed or deleted, and memories are made from the "
            "log later. Write the new lines alone, one fact a line, to the path "
            f"{os.path.join(self.root, PATTERN)}: they are added to the log of the day"
        )

    def _is_log(self, path: object) -> bool:
        """Whether a path leads into the logs, with a day or with the pattern itself; where it ends is ours to say."""
        if not isinstance(path, str) or "\0" in path:
            return False
        full = os.path.normpath(os.path.join(self.cwd, path))
        roots = (self.root, os.path.realpath(self.root), self.cwd)
        return full.endswith(".md") and any(full.startswith(os.path.join(root, "logs", "")) for root in roots)


@dataclass
class LogDraft:
    """The lines that a fork has for the log, until its run has succeeded. They are the tool Write of this mode."""

    store: MemoryStore
    judge: DraftJudge
    lines: dict[str, LogLine] = field(default_factory=dict)  # by their text
    lineages: dict[str, Lineage] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    spec = tool_spec("Write")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        del context
        return self._take(lines_of(str(arguments["content"])))

    def add_behind(self, key: str, data: bytes, now: float, zone: tzinfo | None, origin: Origin) -> str:
        """Add what an agent put behind a log itself, whatever day and times it gave; what became of it, in words."""
        stood = [line.text for line in lines_of((self.store.read_bytes(key) or b"").decode("utf-8", "replace"))]
        wanted = lines_of(data.decode("utf-8", "replace"))
        if [line.text for line in wanted[: len(stood)]] != stood:
            raise BadMemoryFile(f"{key} is a daily log and is only added to", remedy="Put new lines behind all of it")
        outcome = self._take(wanted[len(stood) :])
        if not self.lines:
            raise BadMemoryFile(outcome.content, remedy="Put lines behind the log that the user's words bear out")
        self.write(lambda _: now, zone, origin)
        return f"{outcome.content} It is {log_key(now, zone)[0]}"

    def _take(self, wanted: Sequence[LogLine]) -> Outcome:
        told = [answer for line in wanted if (answer := self._add(line))]
        if not wanted:
            return Outcome(f"There is no line in it: {_FORM}", is_error=True)
        added = sum(line.text in self.lines for line in wanted)
        answer = f"{added} of {len(wanted)} lines will be added to the log of the day, each with its time"
        if any(len(line.text) >= MAX_LINE for line in wanted):
            told.append(f"a line ends after {MAX_LINE} characters: the rest is not kept; make two of it")
        return Outcome("; ".join((answer, *told)) + ".", is_error=bool(told))

    def _add(self, line: LogLine) -> str:
        """Take a line, as the rules let it be; why not, in words."""
        if len(self.lines) >= MAX_LINES:
            return f"no more than {MAX_LINES} lines are kept of one turn"
        topic = Topic.compose(name="", description="", kind=line.kind, body=line.text)
        draft = Draft(self.store, "line.md", None, topic.data)
        kinds, told = secrets_in("the line", draft.after or b"", None)
        refusal = f"it would hold a secret: {told}. Leave it out and say where it is kept" if kinds else ""
        refusal = refusal or self.judge.rule(Workspace([self.store]), draft).refusal
        if refusal:
            self.refused.add(line.text)
            shown = "a line" if kinds else f"“{line.text[:80]}”"
            return f"{shown} is not kept: {refusal}"
        judged = self.judge.judge(draft)
        text, lineage = " ".join(judged.topic.body.split()), trace(judged)
        if line.trust is Trust.ASSISTANT and lineage.trust is not Trust.USER:
            return f"“{line.text[:80]}” is not kept: {_FORM}"
        if text:
            is_personal = line.kind in (MemoryType.USER, MemoryType.FEEDBACK)
            kind = None if lineage.trust.is_low and is_personal else line.kind  # a quotation is no rule of the user's
            self.lines[line.text] = replace(line, text=text, kind=kind, trust=lineage.trust)
            self.lineages[line.text] = lineage
        return ""

    def write(self, moment: Callable[[Lineage], float], zone: tzinfo | None, origin: Origin) -> list[LogLine]:
        """Add the lines to the logs of the days on which they were said; the history names whom `origin` does."""
        logs: dict[str, dict[LogLine, Lineage]] = {}
        for text, line in self.lines.items():
            key, time = log_key(moment(self.lineages[text]), zone)
            logs.setdefault(key, {})[replace(line, time=time, key=key)] = self.lineages[text]
        written = []
        for key, some in logs.items():
            by = with_lineages(origin, {line.id: some[line] for line in some})
            written += append_lines(self.store, key, list(some), by)
        return written

    def tools(self) -> tuple[Tool, ...]:
        """The usual ones with this one among them."""
        return tuple(self if tool.spec.name == self.spec.name else tool for tool in memory_tools())


def lines_of(content: str) -> list[LogLine]:
    """The lines that a model means, or the memory that it would have written elsewhere. Headings, dates and fences are
    none. What has no bullet, time or mark before it goes on with a line, or may be what the model says around them."""
    topic = Topic(content.strip().encode("utf-8", "replace"))
    if topic.has_frontmatter:
        text = _plain(topic.body) or topic.description
        return [LogLine(text, kind=topic.kind)] if text else []
    found: list[LogLine] = []
    for raw in content.splitlines():
        text = _BULLET.sub("", raw)
        is_plain = text == raw and not _MARKED.match(raw)
        if _NO_LINE.match(text) or log_day(f"logs/{text.strip()}.md"):
            continue
        if is_plain and found and (raw[0].isspace() or _LABEL.match(text)):
            found[-1] = replace(found[-1], text=_plain(f"{found[-1].text} {one_line(text)}"))
            continue
        for line in lines_in(f"- {one_line(text)}".encode("utf-8", "replace")):
            found.append(LogLine(_plain(line.text), "", line.kind, Trust.ASSISTANT if is_plain else Trust.USER))
    return [line for line in found if line.text]


def _plain(text: str) -> str:
    return " ".join(_LABEL.sub(r"\1:", text.replace(IN_OWN_WORDS, "")).split())[:MAX_LINE]
