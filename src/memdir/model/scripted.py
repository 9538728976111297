"""A model that says what it was told to say: for tests, demos and anyone who wants to try a loop without a provider.

model = ScriptedModel([calls(("Read", {"path": "a.md"})), says("Done.")])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memdir.errors import ModelError
from memdir.model.model import Reply, Request, Usage
from memdir.transcript.message import Json, Message, Text, ToolUse

Step = Reply | ModelError | Callable[[Request], Reply]


@dataclass
class ScriptedModel:
    """Answers request after request with the steps of its script, and keeps the requests.

    A step is a reply, an error to raise, or a function of the request. After the last step it raises, so that a loop
    that goes on too long is seen.
    """

    steps: Sequence[Step]
    requests: list[Request] = field(default_factory=list)
    is_closed: bool = False

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        at = len(self.requests)
        self.requests.append(request)
        if at >= len(self.steps):
            raise ModelError(
                f"the script has only {len(self.steps)} steps", kind="bad_request", remedy="Add a step to it"
            )
        step = self.steps[at]
        if isinstance(step, ModelError):
            raise step
        reply = step(request) if callable(step) else step
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        self.is_closed = True


def says(text: str, *, usage: Usage | None = None) -> Reply:
    """A final reply of plain words."""
    return Reply(Message("assistant", (Text(text),)), "end_turn", usage or Usage())


def calls(*tools: tuple[str, Mapping[str, Json]], text: str = "", usage: Usage | None = None) -> Reply:
    """A reply that calls tools, all at once."""
    words = (Text(text),) if text else ()
    uses = tuple(ToolUse(f"call_{number}", name, arguments) for number, (name, arguments) in enumerate(tools))
    return Reply(Message("assistant", (*words, *uses)), "tool_use", usage or Usage())
