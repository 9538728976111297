"""The built-in model's answer to the extraction job: read what may be concerned, then write, by the usual tools.

Stateless: what was read and written so far is seen in the messages after the job.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memdir.model.builtin.answers import calls, parted, reads, says, text_read
from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_from_messages
from memdir.model.job import ExtractJob
from memdir.model.model import Reply, Request
from memdir.store.scan import Header
from memdir.store.topic import MemoryType, Topic, parse_type
from memdir.store.trust import doubt_of
from memdir.text.naming import free_key
from memdir.text.stems import terms_in
from memdir.transcript.message import Message, ToolUse
from memdir.transcript.record import message_fields

MAX_READ = 24  # existing memories that are read before writing: what one is about may stand in its text alone
_SHARED_TYPES = (MemoryType.PROJECT, MemoryType.REFERENCE)


@dataclass
class _Known:
    """An existing memory: where it is, what the job tells of it, and its text once it was read."""

    path: str
    header: Header
    topic: Topic | None = None

    @property
    def description(self) -> str:
        """What nobody here vouched for is not taken for what the memory says (L3)."""
        return "" if doubt_of(self.header) else self.header.description

    def existing(self) -> Existing:
        name = self.topic.name if self.topic else os.path.basename(self.path)[:-3].replace("_", " ")
        body = self.topic.body.strip() if self.topic else ""
        description = self.topic.description if self.topic else self.description
        return Existing(self.path, name, description, self.header.type, body)


def answer_extract(job: ExtractJob, request: Request) -> Reply:
    """Read, write, done: usually in two turns, in one when there is nothing to say."""
    before, done = parted(request)
    writes = {use.id: use for message in done for use in message.tool_uses if use.name == "Write"}
    if writes:
        results = [one for message in done for one in message.tool_results if one.tool_use_id in writes]
        refused = [writes[one.tool_use_id] for one in results if one.is_error]
        again = [] if any(name.startswith("here_") for name in writes) else list(_kept_here(job, refused))
        return calls(again) if again else says("Nothing saved." if len(refused) == len(results) else "Saved.")
    said = before[-job.new_messages - 1 :]
    found = ((os.path.join(folder.root, one.key), one) for folder in job.folders for one in folder.headers)
    known = {} if job.log else {path: _Known(path, header) for path, header in found}  # a log says what is new, no more
    _follow(known, done)
    drafts = draft_memories(_talk(job, said, known))
    if not drafts:
        return says("Nothing worth keeping.")
    concerned = _concerned(said, known) if not done else []
    if concerned:
        return reads(memory.path for memory in concerned)
    unread = [draft.file for draft in drafts if draft.file in known and known[draft.file].topic is None]
    if unread:
        return reads(unread, "read_more")
    return calls(_write(number, draft, job, known) for number, draft in enumerate(drafts))


def _kept_here(job: ExtractJob, refused: Sequence[ToolUse]) -> Iterator[ToolUse]:
    """What may not change a memory for all projects is news of this project, and not lost; tried once."""
    own = job.folder("user")
    if own is None:
        return
    for number, use in enumerate(refused):
        path, content = str(use.input["file_path"]), str(use.input["content"])
        if path.startswith(own.root + os.sep) and not content.startswith("<!--"):
            here = os.path.join(job.folders[0].root, os.path.basename(path))
            yield ToolUse(f"here_{number}", "Write", {"file_path": here, "content": content})


def _follow(known: dict[str, _Known], messages: Sequence[Message]) -> None:
    """Take in what the fork read so far."""
    paths = {use.id: str(use.input.get("file_path")) for message in messages for use in message.tool_uses}
    for message in messages:
        for result in message.tool_results:
            memory = known.get(paths.get(result.tool_use_id, ""))
            if memory is not None:
                memory.topic = Topic(b"" if result.is_error else text_read(result.content).encode("utf-8", "replace"))


def _concerned(said: Sequence[Message], known: dict[str, _Known]) -> list[_Known]:
    """The existing memories that share most words with what the user said; in a small store all of them."""
    asked = terms_in(" ".join(message.text for message in said if message.role == "user" and not message.is_meta))
    told = {path: terms_in(f"{one.description} {os.path.basename(path)}") for path, one in known.items()}
    return sorted(known.values(), key=lambda one: -len(asked & told[one.path]))[:MAX_READ]


def _talk(job: ExtractJob, said: Sequence[Message], known: dict[str, _Known]) -> Talk:
    messages = [{**message_fields(message)["message"], "id": message.id, "isMeta": message.is_meta} for message in said]
    existing = tuple(memory.existing() for memory in known.values())
    return Talk(lines_from_messages(messages), job.now, job.instructions, existing)


def _write(number: int, draft: MemoryDraft, job: ExtractJob, shelf: Mapping[str, _Known]) -> ToolUse:
    known = shelf.get(draft.file)
    if draft.action == "delete":
        path, content = draft.file, "<!-- delete: the user took it back -->\n"
    elif known is not None and known.topic is not None and known.topic.has_frontmatter:
        topic = known.topic.with_field("name", draft.name).with_field("description", draft.description)
        path, content = draft.file, topic.with_body(f"\n{draft.body.strip()}\n").data.decode("utf-8", "replace")
    else:
        kind = parse_type(draft.type)
        folder = (job.folder("team") if kind in _SHARED_TYPES else None) or job.folders[0]
        taken = {os.path.basename(path) for path in shelf}  # in the person's directory, where it may go, too
        stem = os.path.basename(draft.file).removesuffix(".md")
        path = job.log or os.path.join(folder.root, free_key(stem, taken.__contains__))
        composed = Topic.compose(name=draft.name, description=draft.description, kind=kind, body=draft.body)
        content = composed.data.decode("utf-8", "replace")
    return ToolUse(f"write_{number}", "Write", {"file_path": path, "content": content})
