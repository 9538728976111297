"""The built-in model: the same requests as any model, the same tool calls in answer, by rules instead of weights.

What a fork is to do it takes from the request's job, never from its prose; everything else is chat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memdir.model.job import CompactJob, DocJob, DreamJob, ExtractJob, NotesJob
from memdir.model.model import Reply, Request
from memdir.model.raw import plain_request

if TYPE_CHECKING:
    from memdir.model.builtin.dream_job import Planned


class BuiltinModel:
    """Answers at once, the same way every time. Between the turns of a dream it keeps the plan of the night."""

    name = "builtin"

    def __init__(self) -> None:
        self._planned: Planned | None = None

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        reply = self._answer(plain_request(request))
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        """Nothing is held."""

    def _answer(self, request: Request) -> Reply:
        match request.job:
            case ExtractJob() as job:
                from memdir.model.builtin.extract_job import answer_extract

                return answer_extract(job, request)
            case DreamJob() as job:
                from memdir.model.builtin.dream_job import answer_dream

                reply, self._planned = answer_dream(job, request, self._planned)
                return reply
            case NotesJob() as job:
                from memdir.model.builtin.digest import answer_notes

                return answer_notes(job, request)
            case DocJob() as job:
                from memdir.model.builtin.doc_notes import answer_doc

                return answer_doc(job, request)
            case CompactJob() as job:
                from memdir.model.builtin.digest import answer_compact

                return answer_compact(job, request)
            case job:
                from memdir.model.builtin.chat import chat

                return chat(job, request)
