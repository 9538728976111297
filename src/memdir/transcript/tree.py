"""The tree of a transcript's records, grown from the end of the file as far back as somebody looks (J3).

A record that is lost leaves its links behind where they can still be read, so that the others keep their places. What
Claude Code takes apart is put together: one record a block, and results of parallel calls that branch off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from memdir.transcript.message import Message
from memdir.transcript.reader import lines_backwards, links_of, read_line
from memdir.transcript.record import REPLACEMENT, Record

LOST = "lost"  # the type of a record of which only the links are left


@dataclass
class Damage:
    """What was wrong with the part of a transcript that was read. Each costs one record at most."""

    lines: int = 0
    duplicates: int = 0
    orphans: int = 0
    cycles: int = 0

    @property
    def total(self) -> int:
        return self.lines + self.duplicates + self.orphans + self.cycles

    def __str__(self) -> str:
        parts = (
            (self.lines, "damaged line"),
            (self.duplicates, "duplicate record"),
            (self.orphans, "record without its parent"),
            (self.cycles, "circle of records"),
        )
        told = [f"{count} {words if count == 1 else words.replace('line', 'lines')}" for count, words in parts if count]
        return ", ".join(told) or "no damage"


@dataclass(eq=False)
class Node:
    """A record and how far from the end of the file it stands; `is_copy` once the same id was found before it."""

    record: Record
    place: int
    is_copy: bool = False


@dataclass
class Tree:
    """Records by id and in order, the last of the file first. Reads no further back than it is asked."""

    path: str
    with_sidechains: bool = False
    damage: Damage = field(default_factory=Damage)
    replacements: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    order: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = lines_backwards(self.path)

    def find(self, uuid: str) -> Node | None:
        """The record of an id; reads back until it is found."""
        while uuid not in self.nodes and self._grow():
            pass
        return self.nodes.get(uuid)

    def before(self, place: int) -> Iterator[Node]:
        """The records before a place in the file, nearest first."""
        at = place + 1
        while at < len(self.order) or self._grow():
            if at < len(self.order):
                if not self.order[at].is_copy:
                    yield self.order[at]
                at += 1

    def leaf(self) -> Node | None:
        """Where the conversation ended: the last record that is neither lost nor a late copy of another."""
        for node in self.before(-1):
            if node.record.type == LOST:
                continue
            self.find(node.record.follows)  # the original of a copy stands between it and its parent
            if not node.is_copy:
                return node
        return None

    def grow_whole(self) -> None:
        """Read everything that is left."""
        while self._grow():
            pass

    def _grow(self) -> bool:
        """Read one line more, further back; False at the beginning of the file."""
        raw = next(self._lines, None)
        if raw is None:
            return False
        line = read_line(raw)
        self.damage.lines += line.is_damaged
        for record in reversed(line.records):
            self._add(record)
        if line.is_damaged:
            links = links_of(raw)
            if links is not None and links[0] not in self.nodes:
                self._add(Record(LOST, *links))
        return True

    def _add(self, record: Record) -> None:
        known = self.nodes.get(record.uuid)
        if record.type == REPLACEMENT:
            self._add_replacements(record)
        elif known is not None and known.record.type == LOST:
            known.record = record
        elif record.uuid and (self.with_sidechains or not record.is_sidechain):
            if known is not None:
                self.damage.duplicates += 1
                known.is_copy = True
            node = Node(record, len(self.order))
            self.order.append(node)
            self.nodes[record.uuid] = node

    def _add_replacements(self, record: Record) -> None:
        found = record.fields.get("replacements")
        for item in found if isinstance(found, list) else ():
            if isinstance(item, dict) and isinstance(item.get("replacement"), str):
                self.replacements.setdefault(str(item.get("toolUseId")), item["replacement"])  # the last one written


def joined_messages(tree: Tree, nodes: Sequence[Node]) -> list[Message]:
    """The messages of a line of records, whole, each call with its result."""
    if not any(node.record.message_id for node in nodes):
        return [message for message in (node.record.message for node in nodes) if message is not None]
    return _Joiner(tree, nodes).messages()


class _Joiner:
    def __init__(self, tree: Tree, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._used = {node.record.uuid for node in nodes}
        known = [node.record for node in reversed(tree.order)]  # in the order of the file
        self._parts: dict[str, list[Record]] = {}
        self._results: dict[str, Record] = {}
        for record in known:
            if record.message_id:
                self._parts.setdefault(record.message_id, []).append(record)
            elif record.type == "user":
                message = record.message
                self._results.update(
                    {result.tool_use_id: record for result in (message.tool_results if message else ())}
                )

    def messages(self) -> list[Message]:
        done: set[str] = set()
        found: list[Message] = []
        for node in self._nodes:
            record = node.record
            if record.message_id in done:
                continue
            message = record.message
            if message is not None and record.message_id:
                done.add(record.message_id)
                whole = _joined(self._parts[record.message_id])
                found += [whole, *self._branched_results(whole)]
            elif message is not None:
                found.append(message)
        return list(_results_together(found))

    def _branched_results(self, message: Message) -> Iterator[Message]:
        for use in message.tool_uses:
            record = self._results.get(use.id)
            result = record.message if record and record.uuid not in self._used else None
            if record is not None and result is not None:
                self._used.add(record.uuid)
                yield result


def _joined(records: Sequence[Record]) -> Message:
    messages = [message for message in (record.message for record in records) if message is not None]
    return replace(messages[-1], content=tuple(block for message in messages for block in message.content))


def _results_together(messages: Iterable[Message]) -> Iterator[Message]:
    """Results that follow each other become one message: a provider wants all of a reply's results at once."""
    pending: Message | None = None
    for message in messages:
        both = pending is not None and _is_results(pending) and _is_results(message)
        if pending is not None and both:
            pending = replace(message, content=(*pending.content, *message.content))
            continue
        if pending is not None:
            yield pending
        pending = message
    if pending is not None:
        yield pending


def _is_results(message: Message) -> bool:
    return bool(message.tool_results) and len(message.tool_results) == len(message.content)
