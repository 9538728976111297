"""Puts together what Claude Code takes apart: one record a block, and results of parallel calls that branch off.

Records of ours hold whole messages and pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memdir.transcript.message import Message
from memdir.transcript.record import Record
from memdir.transcript.tree import Node, Tree


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
