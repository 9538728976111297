"""Trying again: only what passes by itself, with growing pauses, never a storm (B2)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from memdir.errors import RETRYABLE, ModelError
from memdir.model.failures import RetryingModel, RetryPolicy
from memdir.model.model import Model, Reply, Request, ScriptedModel, says
from memdir.transcript.message import user
from tests.model.providers import Provider
from tests.provider_server import Drop, ProviderServer, Refusal
from tests.provider_server import says as server_says

REQUEST = Request("scripted", messages=(user("Hi"),))
KINDS = (
    *("no_sdk", "no_key", "wrong_key", "no_credit", "no_network", "unknown_model", "context_too_long", "rate_limit"),
    *("overloaded", "timeout", "interrupted", "bad_request", "bad_reply"),
)


@dataclass
class Naps:
    """Sleeping that takes no time and is remembered."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def failing(kind: str, retry_after: float | None = None) -> ModelError:
    return ModelError("no", kind=kind, retry_after=retry_after)  # type: ignore[arg-type]


def retrying(model: Model, naps: Naps, **policy: float) -> RetryingModel:
    return RetryingModel(model, RetryPolicy(**policy), naps, random.Random(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
async def test_only_passing_problems_are_tried_again(kind: str) -> None:
    naps, model = Naps(), ScriptedModel([failing(kind), says("There.")])
    if kind in RETRYABLE:
        assert (await retrying(model, naps).complete(REQUEST)).message.text == "There."
        assert len(naps.seconds) == 1
    else:
        with pytest.raises(ModelError):
            await retrying(model, naps).complete(REQUEST)
        assert naps.seconds == []


async def test_pauses_grow_are_jittered_and_end() -> None:
    naps, model = Naps(), ScriptedModel([failing("overloaded")] * 9)
    with pytest.raises(ModelError):
        await retrying(model, naps, attempts=6, first_seconds=1, longest_seconds=5).complete(REQUEST)
    assert len(model.requests) == 6
    for pause, full in zip(naps.seconds, (1, 2, 4, 5, 5), strict=True):
        assert 0.75 * full <= pause <= full


async def test_the_provider_s_own_wish_counts() -> None:
    naps, model = Naps(), ScriptedModel([failing("rate_limit", 3.5), failing("rate_limit", 0), says("There.")])
    await retrying(model, naps).complete(REQUEST)
    assert naps.seconds == [3.5, 0]


async def test_who_asks_for_too_much_patience_is_not_asked_again() -> None:
    naps, model = Naps(), ScriptedModel([failing("rate_limit", 3600)])
    with pytest.raises(ModelError):
        await retrying(model, naps).complete(REQUEST)
    assert naps.seconds == []


async def test_words_that_were_heard_are_not_said_again(provider: Provider, server: ProviderServer) -> None:
    """A reply that broke off after its first words is begun again only when nobody has heard them."""
    naps, opened = Naps(), provider.open(server)
    model, heard = retrying(opened, naps), list[str]()
    broken = Drop(server_says("Some words in several pieces, and then no more of them."), after_events=5)
    server.add(broken)
    with pytest.raises(ModelError):
        await model.complete(provider.request(), on_text=heard.append)
    assert heard and not naps.seconds
    server.add(broken, server_says("Whole."))
    assert (await model.complete(provider.request())).message.text == "Whole."
    await model.close()


async def test_over_http_a_limit_with_and_without_a_time_then_a_crash_then_a_reply(
    provider: Provider, server: ProviderServer
) -> None:
    naps = Naps()
    server.add(Refusal("rate_limit", headers={"retry-after": "4"}), Refusal("rate_limit"), Refusal("server_error"))
    server.add(server_says("At last."))
    model = retrying(provider.open(server), naps)
    reply: Reply = await model.complete(provider.request())
    assert reply.message.text == "At last."
    assert naps.seconds[0] == 4
    assert 1.5 <= naps.seconds[1] <= 2 and 3 <= naps.seconds[2] <= 4
    assert len({request.raw for request in server.requests}) == 1, "the same bytes each time"
    await model.close()


async def test_closing_reaches_the_model() -> None:
    inner = ScriptedModel([])
    await RetryingModel(inner).close()
    assert inner.is_closed
