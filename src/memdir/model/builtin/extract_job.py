"""The built-in model's answer to the extraction job: read what may be concerned, then write, by the usual tools.

Stateless: what was read and written so far is seen in the messages after the job.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_from_messages
from memdir.model.model import Reply, Request
from memdir.store.taxonomy import MemoryType, parse_type
from memdir.store.topic import Topic
from memdir.text.stems import terms_in
from memdir.transcript.message import Message, Text, ToolResult, ToolUse
from memdir.transcript.record import message_fields

MAX_READ = 12  # existing memories that are read before writing
_SHARED_WORDS = 1  # with what the user said, that make an existing memory worth reading

_JOB = "[memdir job: extract]"
_COUNT = re.compile(r"newest (\d+) messages")
_DIRECTORY = re.compile(r"`(/[^`\n]+)` (?:exists|is private)|and both exist\. `(/[^`\n]+)` is private")
_TEAM = re.compile(r"`(/[^`\n]+)` is shared")
_ENTRY = re.compile(r"^- (?:\[(\w+)\] )?(.+?\.md) \((\S+)\)(?:: (.*))?$", re.MULTILINE)
_NOW = re.compile(r"^Now it is \w+, (\S+?)\.?$", re.MULTILINE)
_INSTRUCTIONS = re.compile(
    r"Contents of \S*(?:CLAUDE|AGENTS|GEMINI)\S*\.md[^\n]*:\n(.*?)(?=\nContents of |\Z)", re.DOTALL
)
_UNVERIFIED = re.compile(r"^\(from [\w ]+, not verified\)$")  # in the place of a description (L3)
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_SHARED_TYPES = (MemoryType.PROJECT, MemoryType.REFERENCE)


@dataclass
class _Known:
    """An existing memory: where it is, what its manifest line says, and its text once it was read."""

    path: str
    kind: str
    description: str
    topic: Topic | None = None

    def existing(self) -> Existing:
        name = self.topic.name if self.topic else os.path.basename(self.path)[:-3].replace("_", " ")
        body = self.topic.body.strip() if self.topic else ""
        description = self.topic.description if self.topic else self.description
        return Existing(self.path, name, description, self.kind or None, body)


@dataclass
class _Job:
    """The job as its message tells it, and how far it has come."""

    directory: str
    team_directory: str
    now: datetime
    said: Sequence[Message]
    instructions: str
    known: dict[str, _Known] = field(default_factory=dict)
    has_read: bool = False
    has_written: bool = False


def answer_extract(request: Request) -> Reply:
    """Read, write, done: usually in two turns, in one when there is nothing to say."""
    job = _read_job(request)
    if job.has_written:
        return _says("Saved.")
    if not job.has_read:
        concerned = _concerned(job)
        if concerned and draft_memories(_conversation(job)):
            return _calls(ToolUse(f"read_{n}", "Read", {"file_path": known.path}) for n, known in enumerate(concerned))
    drafts = draft_memories(_conversation(job))
    unread = [draft.file for draft in drafts if draft.file in job.known and job.known[draft.file].topic is None]
    if unread:
        return _calls(ToolUse(f"read_more_{n}", "Read", {"file_path": path}) for n, path in enumerate(unread))
    if not drafts:
        return _says("Nothing worth keeping.")
    return _calls(_write(n, draft, job) for n, draft in enumerate(drafts))


def _read_job(request: Request) -> _Job:
    at = max(n for n, message in enumerate(request.messages) if message.is_meta and message.text.startswith(_JOB))
    text = request.messages[at].text
    count = _COUNT.search(text)
    newest = int(count[1]) if count else at
    place, team, moment = _DIRECTORY.search(text), _TEAM.search(text), _NOW.search(text)
    job = _Job(
        directory=(place[1] or place[2]) if place else "",
        team_directory=team[1] if team else "",
        now=datetime.fromisoformat(moment[1]) if moment else datetime.now(UTC),
        said=request.messages[max(0, at - newest - 1) : at],
        instructions="\n".join(_instructions(request)),
    )
    job.known = {known.path: known for known in _manifest(text, job)}
    _follow(job, request.messages[at + 1 :])
    return job


def _instructions(request: Request) -> Iterator[str]:
    texts = [block.text for block in request.system] + [message.text for message in request.messages if message.is_meta]
    for text in texts:
        yield from (match[1] for match in _INSTRUCTIONS.finditer(text))


def _manifest(text: str, job: _Job) -> Iterator[_Known]:
    """The memories that the job lists; below the heading of the team's, they are in the team's directory."""
    before, _, after = text.partition("Team memories that are there already:")
    for part, folder in ((before, job.directory), (after, job.team_directory)):
        for kind, key, _, description in _ENTRY.findall(part):
            yield _Known(os.path.join(folder, key), kind, _UNVERIFIED.sub("", description).strip('"'))


def _follow(job: _Job, messages: Sequence[Message]) -> None:
    """What the fork did so far."""
    paths: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            match block:
                case ToolUse(tool_id, "Read", arguments):
                    paths[tool_id] = str(arguments.get("file_path"))
                    job.has_read = True
                case ToolUse(_, "Write"):
                    job.has_written = True
                case ToolResult(tool_id, content, is_error) if tool_id in paths:
                    known = job.known.get(paths[tool_id])
                    if known is not None:
                        text = "" if is_error else _NUMBERED.sub("", content) + "\n"
                        known.topic = Topic(text.encode("utf-8", "replace"))
                case _:
                    continue


def _concerned(job: _Job) -> list[_Known]:
    """The existing memories that share words with what the user said, nearest first."""
    said = terms_in(" ".join(message.text for message in job.said if message.role == "user" and not message.is_meta))
    scored = [
        (len(said & terms_in(f"{known.description} {known.path.rsplit('/', 1)[-1]}")), known)
        for known in job.known.values()
    ]
    near = [(score, known) for score, known in scored if score >= _SHARED_WORDS]
    return [known for _, known in sorted(near, key=lambda pair: -pair[0])[:MAX_READ]]


def _conversation(job: _Job) -> Talk:
    messages = [
        {**message_fields(message)["message"], "id": message.id, "isMeta": message.is_meta} for message in job.said
    ]
    existing = tuple(known.existing() for known in job.known.values())
    return Talk(lines_from_messages(messages), job.now, job.instructions, existing)


def _write(number: int, draft: MemoryDraft, job: _Job) -> ToolUse:
    known = job.known.get(draft.file)
    if draft.action == "delete":
        path, content = draft.file, "<!-- delete: the user took it back -->\n"
    elif known is not None and known.topic is not None and known.topic.has_frontmatter:
        topic = known.topic.with_field("name", draft.name).with_field("description", draft.description)
        path, content = draft.file, topic.with_body(f"\n{draft.body.strip()}\n").data.decode("utf-8", "replace")
    else:
        kind = parse_type(draft.type)
        folder = job.team_directory if job.team_directory and kind in _SHARED_TYPES else job.directory
        path = os.path.join(folder, os.path.basename(draft.file))
        composed = Topic.compose(name=draft.name, description=draft.description, kind=kind, body=draft.body)
        content = composed.data.decode("utf-8", "replace")
    return ToolUse(f"write_{number}", "Write", {"file_path": path, "content": content})


def _calls(uses: Iterator[ToolUse]) -> Reply:
    return Reply(Message("assistant", tuple(uses)), "tool_use", model="builtin")


def _says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")
