"""The built-in model's answer to the extraction job: read what may be concerned, then write, by the usual tools.

Stateless: what was read and written so far is seen in the messages after the job.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from memdir.model.builtin.answers import calls, parted, reads, says, text_read
from memdir.model.builtin.extract import Existing, MemoryDraft, Talk, draft_memories, lines_of
from memdir.model.job import ExtractJob
from memdir.model.model import Reply, Request
from memdir.store.scan import Header
from memdir.store.topic import MemoryType, Topic, parse_type
from memdir.store.trust import doubt_of
from memdir.text.naming import free_key
from memdir.text.stems import terms_in
from memdir.transcript.message import Message, ToolUse

MAX_READ = 24  # existing memories that are read before writing: what one is about may stand in its text alone
_SHARED_TYPES = (MemoryType.PROJECT, MemoryType.REFERENCE)


def answer_extract(job: ExtractJob, request: Request) -> Reply:
    """Read, write, done: usually in two turns, in one when there is nothing to say."""
    before, done = parted(request)
    writes = {use.id: use for message in done for use in message.tool_uses if use.name == "Write"}
    results = [one for message in done for one in message.tool_results if one.tool_use_id in writes]
    refused = {str(writes[one.tool_use_id].input["file_path"]) for one in results if one.is_error}
    if writes and not refused:
        return says("Saved.")
    said, read = before[-job.new_messages - 1 :], _read(done)
    found = ((os.path.join(folder.root, one.key), one) for folder in job.folders for one in folder.headers)
    known = {path: _existing(path, one, read.get(path)) for path, one in found if not job.log}  # a log says what is new
    # What may not change a memory is news of its own, and not lost; tried once.
    there = tuple(one for path, one in known.items() if path not in refused)
    drafts = draft_memories(Talk(lines_of(said), job.now, job.instructions, there, is_log=bool(job.log)))
    if writes:
        tried = [use.input["content"] for use in writes.values()]
        news = (draft for draft in drafts if draft.action == "create")
        fresh = [_write(f"again_{at}", draft, job, known, None) for at, draft in enumerate(news)]
        again = [use for use in fresh if use.input["content"] not in tried]
        return calls(again) if again else says("Nothing saved." if len(refused) == len(results) else "Saved.")
    if not drafts:
        return says("Nothing worth keeping.")
    concerned = _concerned(said, known) if not done else []
    unread = concerned or [draft.file for draft in drafts if draft.file in known and draft.file not in read]
    if unread:
        return reads(unread, "read" if concerned else "read_more")
    return calls(_write(f"write_{at}", draft, job, known, read.get(draft.file)) for at, draft in enumerate(drafts))


def _existing(path: str, header: Header, topic: Topic | None) -> Existing:
    """A memory as far as it is known. What nobody here vouched for is not taken for what it says (L3)."""
    if topic:
        return Existing(path, topic.name, topic.description, header.type, topic.body.strip())
    name = os.path.basename(path)[:-3].replace("_", " ")
    return Existing(path, name, "" if doubt_of(header) else header.description, header.type, "")


def _read(messages: Sequence[Message]) -> dict[str, Topic]:
    """The memories that the fork read so far, by path."""
    paths = {use.id: str(use.input.get("file_path")) for message in messages for use in message.tool_uses}
    return {
        paths[one.tool_use_id]: Topic(b"" if one.is_error else text_read(one.content).encode("utf-8", "replace"))
        for message in messages
        for one in message.tool_results
        if one.tool_use_id in paths
    }


def _concerned(said: Sequence[Message], known: Mapping[str, Existing]) -> list[str]:
    """The existing memories that share most words with what the user said; in a small store all of them."""
    asked = terms_in(" ".join(message.text for message in said if message.role == "user" and not message.is_meta))
    told = {path: terms_in(f"{one.description} {os.path.basename(path)}") for path, one in known.items()}
    return sorted(known, key=lambda path: -len(asked & told[path]))[:MAX_READ]


def _write(name: str, draft: MemoryDraft, job: ExtractJob, known: Mapping[str, Existing], old: Topic | None) -> ToolUse:
    path, topic = draft.file, None
    if old and old.has_frontmatter and draft.action != "delete":
        topic = old.with_field("name", draft.name).with_field("description", draft.description)
        topic = topic.with_body(f"\n{draft.body.strip()}\n")
    elif draft.action != "delete" or job.log:
        kind = parse_type(draft.type)
        folder = (job.folder("team") if kind in _SHARED_TYPES else None) or job.folders[0]
        taken = {os.path.basename(path) for path in known}  # in the person's directory, where it may go, too
        stem = os.path.basename(draft.file).removesuffix(".md")
        path = job.log or os.path.join(folder.root, free_key(stem, taken.__contains__))
        topic = Topic.compose(name=draft.name, description=draft.description, kind=kind, body=draft.body)
    content = topic.data.decode("utf-8", "replace") if topic else "<!-- delete: the user took it back -->\n"
    return ToolUse(name, "Write", {"file_path": path, "content": content})
