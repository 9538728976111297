"""A host's own model: whatever it raises is a ModelError, whatever it returns is a Reply, and it comes to an end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memdir.errors import MemdirError, ModelError
from memdir.host import tell
from memdir.model.model import Model, Reply, Request, Usage
from memdir.model.retry import RetryingModel
from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse

GRACE_SECONDS = 10.0  # beyond the limit of a reply: a provider that keeps it by itself tells more of what went wrong


@dataclass(frozen=True)
class CarefulModel:
    """A host's model, held to the contract of `Model`."""

    model: Model

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        longest = request.settings.longest_seconds + GRACE_SECONDS
        try:
            async with asyncio.timeout(longest):
                return await ask(self.model, request, on_text=on_text)
        except TimeoutError:
            raise ModelError(f"the model did not answer in {longest:g} s", kind="timeout") from None

    async def close(self) -> None:
        await self.model.close()


def careful_model(model: Model) -> Model:
    """The model, held to its contract; one that tries again by itself goes on doing so."""
    if isinstance(model, RetryingModel):
        return replace(model, model=careful_model(model.model))
    return model if isinstance(model, CarefulModel) else CarefulModel(model)


async def ask(model: Model, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
    """A model's reply; ModelError when it raises something else than our errors, or gives something else."""
    try:
        outcome: object = model.complete(request, on_text=_listener(on_text))
        reply = await outcome if inspect.isawaitable(outcome) else outcome
    except MemdirError:
        raise
    except Exception as error:
        raise ModelError(f"the model failed ({type(error).__name__})", kind="bad_reply") from error
    if not isinstance(reply, Reply):
        raise ModelError(f"the model gave no reply but {type(reply).__name__}", kind="bad_reply")
    fault = _fault(reply)
    if fault:
        raise ModelError(f"the model gave a reply that cannot be used: {fault}", kind="bad_reply")
    return reply


def _listener(on_text: Callable[[str], None] | None) -> Callable[[str], None] | None:
    return (lambda text: tell(on_text, text)) if on_text else None


def _fault(reply: Reply) -> str:
    """Why a reply is none that the loop can go on with; types of a host's own code are promises only."""
    message: object = reply.message
    if not isinstance(message, Message) or message.role != "assistant":
        return "its message is not the assistant's"
    content: object = message.content
    if not isinstance(content, tuple):
        return "its content is no tuple of blocks"
    if not _is_count(reply.usage):
        return "its usage is no count of tokens"
    return next((fault for block in content if (fault := _fault_of_block(block))), "")


def _fault_of_block(block: object) -> str:
    match block:
        case Text(str()) | Opaque(str(), str()) | ToolResult(str(), str()):
            return ""
        case ToolUse(str(), str(), arguments) if isinstance(arguments, Mapping):
            return ""
    return f"a block of it is {type(block).__name__}, or holds something else than it should"


def _is_count(usage: object) -> bool:
    if not isinstance(usage, Usage):
        return False
    return all(isinstance(n, int) for n in (usage.input, usage.output, usage.cache_read, usage.cache_created))
