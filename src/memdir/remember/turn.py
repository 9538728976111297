"""A finished turn, as the host hands it over, and why nothing was done about it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memdir.agent.file_access import FileState
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
    state: FileState | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*conversation_of(self.request), self.reply)


def messages_after(messages: Sequence[Message], cursor: str) -> tuple[Message, ...]:
    """What came after the cursor's message; everything when that message is gone (X4: compaction)."""
    for at in range(len(messages) - 1, -1, -1):
        if cursor and messages[at].id == cursor:
            return tuple(messages[at + 1 :])
    return tuple(messages)


def wrote_below(messages: Sequence[Message], roots: Sequence[str], cwd: str) -> bool:
    """Whether the main agent itself wrote into a memory directory in these messages (X3)."""
    real_roots = [os.path.realpath(root) + os.sep for root in roots]
    for message in messages:
        for use in message.tool_uses:
            path = use.input.get("file_path")
            if use.name in WRITING and isinstance(path, str):
                real = os.path.realpath(os.path.join(cwd, path))
                if any(real.startswith(root) for root in real_roots):
                    return True
    return False


def instructions_in(request: Request) -> str:
    """What instruction files say that the host put before or into the conversation: nobody need remember that."""
    plain = plain_request(request)
    texts = [block.text for block in plain.system] + [message.text for message in plain.messages if message.is_meta]
    return "\n".join(match[1] for text in texts for match in _INSTRUCTIONS.finditer(text))


@dataclass(frozen=True)
class Skipped:
    """Nothing was run, and why."""

    reason: str
