"""The scripted model: what it is told to say, in order, and not a step more."""

from __future__ import annotations

import pytest

from memdir.errors import ModelError
from memdir.model.model import Request, ScriptedModel, calls, says
from memdir.transcript.message import user

REQUEST = Request("scripted", messages=(user("Hi"),))


async def test_a_step_is_a_reply_an_error_or_a_function() -> None:
    error = ModelError("no", kind="overloaded")
    model = ScriptedModel([says("one"), error, lambda request: says(request.messages[0].text), calls(("Read", {}))])
    heard: list[str] = []
    assert (await model.complete(REQUEST, on_text=heard.append)).message.text == "one"
    with pytest.raises(ModelError):
        await model.complete(REQUEST)
    assert (await model.complete(REQUEST)).message.text == "Hi"
    assert (await model.complete(REQUEST)).stop_reason == "tool_use"
    assert heard == ["one"]
    assert model.requests == [REQUEST] * 4


async def test_a_loop_that_goes_on_too_long_is_seen() -> None:
    model = ScriptedModel([says("only one")])
    await model.complete(REQUEST)
    with pytest.raises(ModelError, match="only 1 steps"):
        await model.complete(REQUEST)
