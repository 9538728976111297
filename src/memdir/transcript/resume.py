"""Resume: the context of a session as it was left, from the end of its transcript back to its last compaction (J3).

Nothing here raises on damage. What is lost is counted, what stood around it keeps its place.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from memdir.disk.atomic import disk_error
from memdir.transcript.message import Message, ToolResult
from memdir.transcript.record import Record
from memdir.transcript.tree import Damage, Node, Tree, joined_messages


@dataclass(frozen=True)
class Resumed:
    """A conversation as it was left, the record its next message goes behind, and what was found damaged.

    `compacted` counts the messages at its beginning that a compaction put there: the summary and what it kept. `depth`
    counts the messages from the first one on, those that a compaction took away included.
    """

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
    try:
        return tree, tree.find(at) if at else tree.leaf()
    except (FileNotFoundError, NotADirectoryError):
        return tree, None
    except OSError as error:
        raise disk_error(error, "read", path) from error


def damage_of(path: str) -> Damage:
    """What is wrong with the whole of a transcript; resume reads only as far back as it must."""
    tree = Tree(path, with_sidechains=True)
    for _ in tree.before(-1):
        pass  # back to the beginning
    return tree.damage


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
    """The messages before a boundary that stayed in the context as they were.

    None when one of them never existed, and none can have been lost: the boundary is damaged, and it is better to
    have the whole conversation.
    """
    metadata = boundary.fields.get("compactMetadata")
    kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
    uuids = kept.get("uuids") if isinstance(kept, dict) else None
    nodes = [tree.find(str(uuid)) for uuid in (uuids if isinstance(uuids, list) else ())]
    if None in nodes and not tree.damage.lines:
        return None
    return [node for node in nodes if node is not None]
