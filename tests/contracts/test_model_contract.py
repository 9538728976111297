"""What any Model must do (memdir.model.model.Model). A new provider is one more subject in model_subjects.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memdir.errors import ModelError
from memdir.model.anthropic import call_arguments
from memdir.model.model import Provider, RawCall, Reply, Request
from memdir.model.openai import chat_arguments, responses_arguments
from memdir.transcript.message import Message, ToolResult
from tests.contracts.model_subjects import NAMES, SUBJECTS, Subject

CONTENT = "---\nname: Deploys\ndescription: d\ntype: project\n---\n\nDeploys are frozen until December.\n"


@pytest.fixture(params=SUBJECTS, ids=NAMES)
def subject(request: pytest.FixtureRequest) -> Subject:
    make: Callable[[], Subject] = request.param
    return make()


def answered(reply: Reply) -> Message:
    return Message("user", tuple(ToolResult(use.id, CONTENT) for use in reply.message.tool_uses))


async def test_it_calls_a_tool_takes_the_result_and_answers(subject: Subject, tmp_path: Path) -> None:
    with subject.model(["call", "words"], tmp_path) as model:
        request = subject.request()
        first = await model.complete(request)
        assert first.stop_reason == "tool_use"
        [use] = first.message.tool_uses
        assert (use.name, dict(use.input), use.fault) == ("Read", {"file_path": "/m/deploys.md"}, "")
        assert use.id
        second = await model.complete(replace(request, messages=(*request.messages, first.message, answered(first))))
        assert second.stop_reason == "end_turn"
        assert "Deploys are frozen until December." in second.message.text
        assert (first.message.role, second.message.role) == ("assistant", "assistant")
        await model.close()


async def test_who_listens_hears_every_word_once_and_nothing_after_the_reply(subject: Subject, tmp_path: Path) -> None:
    with subject.model(["call", "words"], tmp_path) as model:
        request, heard = subject.request(), list[str]()
        first = await model.complete(request, on_text=heard.append)
        assert "".join(heard) == first.message.text
        heard.clear()
        asked = replace(request, messages=(*request.messages, first.message, answered(first)))
        second = await model.complete(asked, on_text=heard.append)
        assert "".join(heard) == second.message.text != ""
        await model.close()


async def test_usage_is_counted_and_never_negative(subject: Subject, tmp_path: Path) -> None:
    with subject.model(["call"], tmp_path) as model:
        usage = (await model.complete(subject.request())).usage
        assert min(usage.input, usage.output, usage.cache_read, usage.cache_created) >= 0
        assert usage.prompt == usage.input + usage.cache_read + usage.cache_created
        await model.close()


async def test_a_request_is_not_changed_and_can_be_sent_again(subject: Subject, tmp_path: Path) -> None:
    """G1: what a fork shares with its parent must stay as it is."""
    with subject.model(["call", "call"], tmp_path) as model:
        request, same = subject.request(), subject.request()
        first, second = await model.complete(request), await model.complete(request)
        assert request == same
        assert [use.input for use in first.message.tool_uses] == [use.input for use in second.message.tool_uses]
        await model.close()


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses"])
async def test_a_host_s_own_arguments_are_understood_whoever_answers(
    subject: Subject, provider: Provider, tmp_path: Path
) -> None:
    """The host may talk to one provider, and its background work to another."""
    with subject.model(["call"], tmp_path) as model:
        request = raw_request(provider, subject.request())
        reply = await model.complete(request)
        assert [dict(use.input) for use in reply.message.tool_uses] == [{"file_path": "/m/deploys.md"}]
        await model.close()


def raw_request(provider: Provider, request: Request) -> Request:
    """The same request as a host would have sent it with that provider's SDK, and a message of ours behind it."""
    *before, last = request.messages
    plain = replace(request, messages=tuple(before))
    render: dict[Provider, Callable[[Request], dict[str, Any]]] = {
        "anthropic": call_arguments,
        "openai-chat": chat_arguments,
        "openai-responses": responses_arguments,
    }
    raw = RawCall(provider, render[provider](plain))
    return Request(request.model, messages=(last,), raw=raw, job=request.job)


async def test_a_failure_is_a_model_error_with_a_kind_and_a_remedy(subject: Subject, tmp_path: Path) -> None:
    if not subject.can_fail:
        return  # nothing outside this process can fail it
    with subject.model(["failure", "call"], tmp_path) as model:
        with pytest.raises(ModelError) as raised:
            await model.complete(subject.request())
        assert (raised.value.kind, raised.value.is_retryable) == ("rate_limit", True)
        assert raised.value.remedy
        assert (await model.complete(subject.request())).message.tool_uses, "one failure does not spoil the model"
        await model.close()


async def test_a_cancelled_request_does_not_spoil_the_next(subject: Subject, tmp_path: Path) -> None:
    with subject.model(["call", "call"], tmp_path) as model:
        task = asyncio.create_task(model.complete(subject.request()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await model.complete(subject.request())).message.tool_uses
        await model.close()
