"""The tree of a transcript's records, grown from the end of the file as far back as somebody looks (J3).

A record that is lost leaves its links behind where they can still be read, so that the others keep their places. What
Claude Code takes apart is put together: one record a block, and results of parallel calls that branch off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from memdir.text.words import counted
from memdir.transcript.message import Message
from memdir.transcript.reader import lines_backwards, links_of, read_line
from memdir.transcript.record import MESSAGE_TYPES, REPLACEMENT, Record, parse_record

_HAS_PARENT = {"parentUuid": None}
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
        named = ("damaged line", "duplicate record", "orphaned record", "circular record")
        counts = zip((self.lines, self.duplicates, self.orphans, self.cycles), named, strict=True)
        return ", ".join(counted(count, words) for count, words in counts if count) or "no damage"


class Node:
    """A record and how far from the end of the file it stands; `is_copy` once the same id was found before it.

    Of a record that is one whole message, as ours are, nothing else is held: `said` is the message, `depth` how many
    there are up to it.
    """

    __slots__ = ("depth", "is_copy", "place", "record", "said")

    def __init__(self, record: Record, place: int) -> None:
        self.place = place
        self.is_copy = False
        self.said: Message | None = None
        self.hold(record)

    def hold(self, record: Record) -> None:
        kind, uuid, parent, moment, is_sidechain, is_meta, fields = self.record = record
        self.depth = fields.get("depth")
        if kind in MESSAGE_TYPES and not record.message_id and "isCompactSummary" not in fields:
            self.said = record.message
            left = _HAS_PARENT if "parentUuid" in fields else {}
            self.record = Record(kind, uuid, parent, moment, is_sidechain, is_meta, left)

    @property
    def message(self) -> Message | None:
        return self.said if self.said is not None else self.record.message


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

    def _grow(self) -> bool:
        """Read one line more, further back; False at the beginning of the file."""
        raw = next(self._lines, None)
        if raw is None:
            return False
        if b"\0" not in raw and (whole := parse_record(raw)) is not None:  # as nearly every line is
            self._add(whole)
            return True
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
        kind, uuid = record.type, record.uuid
        known = self.nodes.get(uuid)
        if kind == REPLACEMENT:
            self._add_replacements(record)
        elif known is not None and known.record.type == LOST:
            known.hold(record)
        elif uuid and (self.with_sidechains or not record.is_sidechain):
            if known is not None:
                self.damage.duplicates += 1
                known.is_copy = True
            node = Node(record, len(self.order))
            self.order.append(node)
            self.nodes[uuid] = node

    def _add_replacements(self, record: Record) -> None:
        found = record.fields.get("replacements")
        for item in found if isinstance(found, list) else ():
            if isinstance(item, dict) and isinstance(item.get("replacement"), str):
                self.replacements.setdefault(str(item.get("toolUseId")), item["replacement"])  # the last one written


def joined_messages(tree: Tree, nodes: Sequence[Node]) -> list[Message]:
    """The messages of a line of records, whole, each call with its result. Records of ours hold whole messages."""
    if not any(node.record.message_id for node in nodes if node.said is None):
        return [message for node in nodes if (message := node.message) is not None]
    parts, results = _parts_and_results(tree)
    used = {node.record.uuid for node in nodes}
    joined: set[str] = set()
    found: list[Message] = []
    for node in nodes:
        record, message = node.record, node.message
        if message is None or record.message_id in joined:
            continue
        if record.message_id:
            joined.add(record.message_id)
            blocks = tuple(block for part in parts[record.message_id] for block in part.content)
            message = replace(parts[record.message_id][-1], content=blocks)
        answers = [results[use.id] for use in message.tool_uses if record.message_id and use.id in results]
        found += [message, *(answer for answer in answers if answer.id not in used)]
        used |= {answer.id for answer in answers}
    return _results_together(found)


def _parts_and_results(tree: Tree) -> tuple[dict[str, list[Message]], dict[str, Message]]:
    """The parts of each message by its provider's id, in the order of the file, and results by the id of their call."""
    parts: dict[str, list[Message]] = {}
    results: dict[str, Message] = {}
    for node in reversed(tree.order):
        message = node.message
        if message is not None and node.record.message_id:
            parts.setdefault(node.record.message_id, []).append(message)
        elif message is not None and message.role == "user":
            results |= {result.tool_use_id: message for result in message.tool_results}
    return parts, results


def _results_together(messages: Sequence[Message]) -> list[Message]:
    """Results that follow each other become one message: a provider wants all of a reply's results at once."""
    together: list[Message] = []
    for message in messages:
        if together and _is_results(together[-1]) and _is_results(message):
            together[-1] = replace(message, content=(*together[-1].content, *message.content))
        else:
            together.append(message)
    return together


def _is_results(message: Message) -> bool:
    return bool(message.tool_results) and len(message.tool_results) == len(message.content)
