"""A conversation that is written down as it goes: what is in the context and what is on disk never part ways (J3).

A branch is a second session that begins where another one stood: the same context and file history, a life of its own.
`resume` gives the context of a session as it was left, from the end of its transcript back to its last compaction. It
does not raise on damage: what is lost is counted, what stood around it keeps its place.
"""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from memdir.disk.atomic import disk_errors, keep_bytes
from memdir.disk.plain_file import names_in, open_plain
from memdir.errors import MemoryNotFound
from memdir.transcript.message import Message, ToolResult, ToolUse
from memdir.transcript.reader import read_records
from memdir.transcript.record import ATTRIBUTION, BOUNDARY, FILE_HISTORY, REPLACEMENT, Record
from memdir.transcript.transcript import Transcript
from memdir.transcript.tree import Damage, Node, Tree, joined_messages

INTERRUPTED = "The session ended before this call was finished. Nothing is known about its result."


@dataclass(frozen=True)
class Resumed:
    """A conversation as it was left, the record its next message goes behind, and what was found damaged. `compacted`
    counts the messages at its beginning that a compaction put there: the summary and what it kept. `depth` counts the
    messages from the first one on, those that a compaction took away included."""

    messages: tuple[Message, ...] = ()
    leaf: str = ""
    compacted: int = 0
    depth: int = 0
    damage: Damage = field(default_factory=Damage)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """All that is read here is kept and holds no circles; to look for some again and again takes as long as reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_no_collecting()
def resume(path: str, *, at: str = "", is_sidechain: bool = False) -> Resumed:
    """The context at the end of a transcript, or at the message `at`; empty when there is no such file or message."""
    tree, leaf = _opened(path, at=at, is_sidechain=is_sidechain)
    if leaf is None:
        return Resumed(damage=tree.damage)
    carried, after = _chain(tree, leaf)
    front, back = joined_messages(tree, carried), joined_messages(tree, after)
    whole = [*front, *back]
    messages = tuple(with_replacements(whole, tree.replacements) if tree.replacements else whole)
    depth = leaf.depth if isinstance(leaf.depth, int) else len(messages)
    return Resumed(messages, leaf.record.uuid, len(front), depth, tree.damage)


def history(path: str) -> Resumed:
    """Everything that was said on the way to the end of a transcript, from its first message on, as it was said."""
    tree, leaf = _opened(path)
    if leaf is None:
        return Resumed(damage=tree.damage)
    messages = tuple(joined_messages(tree, _chain(tree, leaf, is_whole=True)[1]))
    return Resumed(messages, leaf.record.uuid, depth=len(messages), damage=tree.damage)


def _opened(path: str, *, at: str = "", is_sidechain: bool = False) -> tuple[Tree, Node | None]:
    """The tree of a transcript and the record that was asked for; an empty one when there is no such file."""
    tree = Tree(path, with_sidechains=is_sidechain)
    with disk_errors("read", path), suppress(FileNotFoundError, NotADirectoryError):
        return tree, tree.find(at) if at else tree.leaf()
    return tree, None


def with_replacements(messages: Sequence[Message], replacements: Mapping[str, str]) -> Iterator[Message]:
    """The messages with the tool results that were replaced to save room; the same objects where nothing was."""
    for message in messages:
        if any(result.tool_use_id in replacements for result in message.tool_results):
            blocks = tuple(
                replace(block, content=replacements[block.tool_use_id])
                if isinstance(block, ToolResult) and block.tool_use_id in replacements
                else block
                for block in message.content
            )
            yield replace(message, content=blocks)
        else:
            yield message


def _chain(tree: Tree, leaf: Node, *, is_whole: bool = False) -> tuple[list[Node], list[Node]]:
    """The records that lead to a leaf, in order: what the last compaction carried over (its summary first), and what
    came after; with `is_whole`, all of them, compactions passed over."""
    chain: list[Node] = []
    seen: set[str] = set()
    node: Node | None = leaf
    while node is not None:
        record = node.record
        seen.add(record.uuid)
        if record.type == "system" and record.is_boundary and chain and chain[-1].record.is_summary and not is_whole:
            kept = _kept(tree, record)
            if kept is not None:
                return [chain[-1], *kept], chain[-2::-1]
        chain.append(node)
        node = _parent(tree, node, seen)
    return [], chain[::-1]


def _parent(tree: Tree, node: Node, seen: set[str]) -> Node | None:
    """What a record follows. A parent that is gone, or comes round again, gives way to the record before it."""
    wanted = node.record.follows  # a boundary that does not count leads on to what it would have taken away
    if not wanted and "parentUuid" in node.record.fields:
        return None
    found = tree.find(wanted) if wanted else None
    if found is not None and found.record.uuid not in seen:
        return found
    if found is None:
        tree.damage.orphans += 1
    else:
        tree.damage.cycles += 1
    return next((other for other in tree.before(node.place) if other.record.uuid not in seen), None)


def _kept(tree: Tree, boundary: Record) -> list[Node] | None:
    """The messages before a boundary that stayed in the context as they were. None when one of them never existed, and
    none can have been lost: the boundary is damaged, and it is better to have the whole conversation."""
    metadata = boundary.fields.get("compactMetadata")
    kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
    uuids = kept.get("uuids") if isinstance(kept, dict) else None
    nodes = [tree.find(str(uuid)) for uuid in (uuids if isinstance(uuids, list) else ())]
    if None in nodes and not tree.damage.lines:
        return None
    return [node for node in nodes if node is not None]


def _paired(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages as providers take them, whatever was lost: an unknown call stands before results whose own is gone,
    and calls are answered. What is made up has no id. Some hosts put each result into a message of its own."""
    called = {use.id for message in messages for use in message.tool_uses}
    answered = {result.tool_use_id for message in messages for result in message.tool_results}
    awaited, lacking = set[str](), list[str]()
    for message in messages:
        kept, lost = message.content, [one for one in message.tool_results if one.tool_use_id not in called]
        if lacking:
            yield Message("user", tuple(ToolResult(use, INTERRUPTED, is_error=True) for use in lacking))
        if lost and awaited:
            kept = tuple(block for block in kept if block not in lost)
        elif lost:
            yield Message("assistant", tuple(ToolUse(one.tool_use_id, "unknown", {}) for one in lost))
        uses, given = {use.id for use in message.tool_uses}, {one.tool_use_id for one in message.tool_results}
        lacking, awaited = sorted(uses - answered), ((awaited | uses) & answered) - given
        if kept:
            yield replace(message, content=kept)


class Conversation:
    """The context of one session and its transcript. Each change is on disk before it is in the context."""

    def __init__(self, transcript: Transcript, left: Resumed | None = None) -> None:
        self.transcript = transcript
        left = left or Resumed()
        may_lack = left.damage.total or left.compacted  # what it kept may have lacked some
        self.messages = tuple(_paired(left.messages)) if may_lack else left.messages
        self.damage = left.damage
        self.compacted = left.compacted  # how many at the beginning a compaction put there
        transcript.last_uuid = left.leaf
        transcript.depth = left.depth

    @staticmethod
    def resume(transcript: Transcript, *, at: str = "") -> Conversation:
        """The conversation of a transcript as it was left, or as it was at a message of it."""
        conversation = Conversation(transcript, resume(transcript.path, at=at))
        if at:
            conversation._mark_rewound(at)
        return conversation

    def add(self, message: Message) -> Message:
        """The next message. Returns it as it was written, with its time and an id of ours: what a server gives its
        replies may have stood here before, and some give them all one."""
        kept = self.transcript.append_message(replace(message, id=""))
        self.messages = (*self.messages, kept)
        return kept

    def rewind(self, message_id: str) -> None:
        """Go back: the conversation goes on behind this message, and what came after it stays on disk as a branch."""
        at = next((at for at, message in enumerate(self.messages) if message.id == message_id), None)
        if at is None:
            remedy = "Resume at it instead"
            raise MemoryNotFound(f"there is no message {message_id} in this conversation", remedy=remedy)
        if at < self.compacted:  # its own records lead back behind the compaction: say again what was carried over
            self.compact(self.messages[0], self.messages[1 : at + 1], {"trigger": "rewind"})
        else:
            self.transcript.depth -= len(self.messages) - (at + 1)
            self._mark_rewound(message_id)
            self.messages = self.messages[: at + 1]

    def replace_results(self, replacements: Mapping[str, str]) -> None:
        """Put shorter texts in the place of tool results, by the id of their call, now and after every resume."""
        listed = [{"kind": "tool-result", "toolUseId": use, "replacement": text} for use, text in replacements.items()]
        self.transcript.append_note({"type": REPLACEMENT, "replacements": listed})
        self.messages = tuple(with_replacements(self.messages, replacements))

    def compact(self, summary: Message, kept: Sequence[Message], metadata: Mapping[str, Any]) -> None:
        """Put a summary in the place of the conversation, and behind it the messages that stay as they are. Boundary
        and summary are one `write`: a boundary without its summary does not count (J3)."""
        boundary = str(uuid.uuid4())
        fresh = self.transcript.dated(Message("user", summary.content, is_meta=True))
        preserved = {"anchorUuid": fresh.id, "uuids": [message.id for message in kept if message.id]}
        fields = {
            "type": "system",
            "subtype": BOUNDARY,
            "content": "Conversation compacted",
            "logicalParentUuid": self.transcript.last_uuid,
            "compactMetadata": {**metadata, "preservedMessages": preserved},
        }
        self.transcript.append(
            self.transcript.line(fields, record_id=boundary, parent="")
            + self.transcript.message_line(fresh, parent=boundary, is_summary=True)
        )
        self.transcript.last_uuid = fresh.id
        self.transcript.depth += 1
        self.messages = (fresh, *kept)
        self.compacted = len(self.messages)

    def answer_open_calls(self) -> None:
        """Give calls that were never answered a result that says so: no provider takes a call without one."""
        uses = self.messages[-1].tool_uses if self.messages else ()
        if uses:
            self.add(Message("user", tuple(ToolResult(use.id, INTERRUPTED, is_error=True) for use in uses)))

    def _mark_rewound(self, message_id: str) -> None:
        self.transcript.append_system({"subtype": "rewind", "content": "Went back to here"}, parent=message_id)


@dataclass(frozen=True)
class Branch:
    """A new transcript, not written yet: the context it begins with and the notes it takes over."""

    origin: str
    transcript: Transcript
    left: Resumed

    @staticmethod
    def of(origin: str, transcript: Transcript, *, at: str = "") -> Branch:
        """A branch of the transcript at `origin`, at its end or at one of its messages."""
        left = resume(origin, at=at)
        if not left.messages:
            what = f"message {at}" if at else "message"
            raise MemoryNotFound(f"there is no {what} in {origin}", remedy="`memdir sessions show` lists the messages")
        return Branch(origin, transcript, left)

    def write(self) -> None:
        """Write the whole file at once: a branch is there or it is not."""
        keep_bytes(self.transcript.path, b"".join(self._lines()))

    def copy_files(self, before: str, after: str) -> None:
        """Take over the kept contents of edited files, so that the branch can show and restore them."""
        for name in names_in(before):
            with open_plain(os.path.join(before, name), follow=False) as file:
                keep_bytes(os.path.join(after, name), file.read())

    def is_behind(self, message_id: str) -> bool:
        """Whether a message came after the place where this branch begins."""
        ids = (record.uuid for record in read_records(self.origin))
        return bool(message_id) and next((uuid for uuid in ids if uuid in (message_id, self._last)), "") == self._last

    @property
    def _last(self) -> str:
        return self.left.messages[-1].id

    def _lines(self) -> Iterator[bytes]:
        """The context's messages and the notes, in the order of the file; last of all the place to go on from."""
        left = {message.id: message for message in self.left.messages}
        places = {message_id: at for at, message_id in enumerate(left)}
        parents = dict(zip(left, ["", *left], strict=False))

        def line_of(message: Message) -> bytes:
            self.transcript.depth = places[message.id]
            return self.transcript.message_line(message, parent=parents[message.id])

        for record in read_records(self.origin):
            message = left.pop(record.uuid, None)
            if message is not None:
                yield line_of(message)
            elif record.type in (FILE_HISTORY, ATTRIBUTION):
                yield self.transcript.note_line(record.fields)
        yield from map(line_of, left.values())  # only whole in its parts: a message of several records
        origin = {"sessionId": os.path.basename(self.origin).removesuffix(".jsonl"), "messageUuid": self._last}
        fields = {"type": "system", "subtype": "fork", "content": "Forked from here", "forkedFrom": origin}
        fork_id = f"fork-{self.transcript.session_id}"
        yield self.transcript.line({**fields, "depth": len(places)}, record_id=fork_id, parent=self._last)
