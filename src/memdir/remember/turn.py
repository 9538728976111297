"""A finished turn, as the host hands it over, and why nothing was done about it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memdir.agent.gate import WRITING
from memdir.model.model import Request
from memdir.model.raw import conversation_of, plain_request
from memdir.transcript.message import Message

# How hosts put an instruction file into a conversation.
_INSTRUCTIONS = re.compile(
    r"Contents of \S*(?:CLAUDE|AGENTS|GEMINI)\S*\.md[^\n]*:\n(.*?)(?=\nContents of |\Z)", re.DOTALL
)


@dataclass(frozen=True)
class FinishedTurn:
    """The request that got the final reply, and that reply. What the request holds is the conversation before it."""

    request: Request
    reply: Message
    is_subagent: bool = False

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*conversation_of(self.request), self.reply)


def messages_after(messages: Sequence[Message], cursor: str) -> tuple[Message, ...]:
    """What came after the cursor's message; everything when that message is gone (X4: compaction)."""
    ids = [message.id for message in messages]
    start = len(ids) - ids[::-1].index(cursor) if cursor and cursor in ids else 0
    return tuple(messages[start:])


def wrote_below(messages: Sequence[Message], roots: Sequence[str], cwd: str) -> bool:
    """Whether the main agent itself wrote into a memory directory in these messages (X3)."""
    written = [use.input.get("file_path") for message in messages for use in message.tool_uses if use.name in WRITING]
    real = [os.path.realpath(os.path.join(cwd, path)) for path in written if isinstance(path, str)]
    return any(path.startswith(os.path.realpath(root) + os.sep) for root in roots for path in real)


def instructions_in(request: Request) -> str:
    """What instruction files say that the host put before or into the conversation: nobody need remember that."""
    plain = plain_request(request)
    texts = [block.text for block in plain.system] + [message.text for message in plain.messages if message.is_meta]
    return "\n".join(match[1] for text in texts for match in _INSTRUCTIONS.finditer(text))


@dataclass(frozen=True)
class Skipped:
    """Nothing was run, and why."""

    reason: str  # in a word or two, as in "nothing_new"
