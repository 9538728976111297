"""A host's own model: whatever it raises is a ModelError, whatever it returns is a Reply, and it comes to an end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

from memdir.errors import MemdirError, ModelError
from memdir.host import tell
from memdir.model.model import Model, Reply, Request
from memdir.model.plain_reply import plain_reply
from memdir.model.retry import RetryingModel

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
        return plain_reply(await outcome if inspect.isawaitable(outcome) else outcome)
    except MemdirError:
        raise
    except Exception as error:
        raise ModelError(f"the model failed ({type(error).__name__})", kind="bad_reply") from error


def _listener(on_text: Callable[[str], None] | None) -> Callable[[str], None] | None:
    return (lambda text: tell(on_text, text)) if on_text else None
