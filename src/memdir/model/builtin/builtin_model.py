"""The built-in model: the same requests as any model, the same tool calls in answer, by rules instead of weights.

A fork's job is recognised by the first line of its message (`[memdir job: extract]`); everything else is chat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memdir.model.builtin.chat import chat
from memdir.model.model import Reply, Request
from memdir.model.raw import plain_request
from memdir.transcript.message import Text

NAME = "builtin"
_JOB = re.compile(r"\[memdir job: ([a-z-]+)\]")

JobHandler = Callable[[Request], Reply]


def _extract(request: Request) -> Reply:
    from memdir.model.builtin.extract_job import answer_extract

    return answer_extract(request)


class _Dream:
    """The dream's job, loaded when the first one comes."""

    def __init__(self) -> None:
        self._answer: JobHandler | None = None

    def __call__(self, request: Request) -> Reply:
        if self._answer is None:
            from memdir.model.builtin.dream_job import DreamJob

            self._answer = DreamJob().answer
        return self._answer(request)


def _session_memory(request: Request) -> Reply:
    from memdir.model.builtin.session_notes import session_memory

    return session_memory(request)


def _compact(request: Request) -> Reply:
    from memdir.model.builtin.summary import compact

    return compact(request)


def own_jobs() -> dict[str, JobHandler]:
    """What the built-in model can do besides chatting."""
    return {"extract": _extract, "dream": _Dream(), "session-memory": _session_memory, "compact": _compact}


@dataclass
class BuiltinModel:
    """Answers at once, the same way every time."""

    jobs: Mapping[str, JobHandler] = field(default_factory=own_jobs)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        request = plain_request(request)
        job = job_of(request)
        handler = self.jobs.get(job) if job else None
        reply = handler(request) if handler else chat(request)
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        """Nothing is held."""


def job_of(request: Request) -> str:
    """The name of the job that a fork was given; empty in a conversation."""
    for message in reversed(request.messages):
        if message.role == "user" and message.is_meta:
            for block in message.content:
                match = _JOB.match(block.text) if isinstance(block, Text) else None
                if match:
                    return match[1]
    return ""
