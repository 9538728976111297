"""Puts requests together so that each begins with the bytes of the last (P6, P7): a part that is the same for everyone,
a boundary, the memory section; in the first message the index and the instruction files; then the conversation. No part
holds the date: a new day is a message of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memdir.agent import DiskFiles
from memdir.errors import MemdirError
from memdir.model import CachePolicy, Request, SystemBlock, ToolSpec, load_prompt
from memdir.transcript import Message, user

if TYPE_CHECKING:
    from memdir import MemDir, Session
    from memdir.types import ChatJob


class Assembly:
    """What stands before the conversation, kept until `/clear` or `/compact`, or until memory is switched off or on."""

    def __init__(self, memory: MemDir, session: Session, *, is_introduced: bool = False) -> None:
        self._memory, self._session = memory, session
        self._mark = os.path.join(memory.environment.home, "chat-introduced")  # the built-in model said what it is
        self._is_introduced = is_introduced or os.path.exists(self._mark)
        self._fixed = load_prompt("chat/system.md").text
        self._context: Message | None = None
        self._was_on = False  # memory, when that was put together

    def answered(self) -> None:
        """A turn is answered: where the built-in model did, it has said what it is, once for this person."""
        if not self._is_introduced and self._memory.model_name == "builtin" and self._memory.settings.enabled:
            self._is_introduced = True
            with suppress(MemdirError):  # a disk that refuses has it said another time
                DiskFiles().append(self._mark, b"")

    def forget(self) -> None:
        """Read index and instruction files again with the next request."""
        self._context = None

    def request(self, tools: tuple[ToolSpec, ...], messages: Sequence[Message]) -> Request:
        system = [SystemBlock(text, ends_prefix=True) for text in (self._fixed, self._session.prompt()) if text]
        return Request(
            self._memory.model_name,
            tuple(system),
            tools,
            (self.context, *messages),
            cache=CachePolicy(key=self._session.id),
            job=self.job(),
        )

    def job(self, question: str = "") -> ChatJob:
        """What the built-in model looks things up in; nothing while memory is off (S5)."""
        job = replace(self._memory.chat_job(question), is_introduced=self._is_introduced)
        return job if self._session.is_on else replace(job, lines=())

    @property
    def context(self) -> Message:
        """The first message: where the project lies, what the memory's index lists, what the project instructs (H3)."""
        if self._context is None or self._was_on != self._session.is_on:
            self._was_on = self._session.is_on
            folder = load_prompt("chat/folder.md").render(folder=self._memory.folder).strip()
            parts = (folder, self._session.context(), self._session.instructions())
            self._context = user("\n\n".join(filter(None, parts)), message_id="context", is_meta=True)
        return self._context

    def day_told(self, messages: Sequence[Message]) -> list[Message]:
        """The message that tells today's date, where the conversation does not know it yet (P7)."""
        prompt = load_prompt("chat/day.md")
        today = f"{datetime.fromtimestamp(self._memory.clock()).astimezone():%A, %Y-%m-%d}"
        told, beginning = prompt.render(day=today).strip(), prompt.text.partition("{{")[0]
        known = next((one.text for one in reversed(messages) if one.is_meta and one.text.startswith(beginning)), "")
        return [] if known == told else [user(told, is_meta=True)]
