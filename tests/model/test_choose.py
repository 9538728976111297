"""Which model: the one that a person chose, and the built-in one until then (S2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memdir.errors import ModelError
from memdir.layout import Layout
from memdir.model.anthropic import AnthropicModel
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.choose import choose_model, model_name, provider_of
from memdir.model.command import CommandModel
from memdir.model.failures import RetryingModel
from memdir.model.openai import OpenAIModel
from memdir.settings import Environment, Settings, load_settings

ANTHROPIC_KEY = {"ANTHROPIC_API_KEY": "a"}
OPENAI_KEY = {"OPENAI_API_KEY": "o"}


def settings(project: Path, **values: str) -> Settings:
    environment = Environment({})
    return load_settings(environment, Layout(environment.home, str(project)), flags=values, managed_path="")


@pytest.mark.parametrize(
    ("variables", "values", "provider"),
    [
        ({}, {}, "builtin"),
        (ANTHROPIC_KEY, {}, "builtin"),
        (OPENAI_KEY, {"model.provider": "auto"}, "builtin"),
        (ANTHROPIC_KEY | OPENAI_KEY, {"model.name": "claude-haiku-5-5"}, "builtin"),
        (OPENAI_KEY, {"model.baseUrl": "http://127.0.0.1:11434/v1"}, "builtin"),
        (ANTHROPIC_KEY, {"model.provider": "builtin"}, "builtin"),
        (ANTHROPIC_KEY, {"model.provider": "command"}, "command"),
        ({}, {"model.provider": "anthropic"}, "anthropic"),
    ],
)
def test_a_key_is_no_choice(project: Path, variables: dict[str, str], values: dict[str, str], provider: str) -> None:
    found = settings(project, **values)
    assert provider_of(found) == provider
    if provider == "builtin":
        assert isinstance(choose_model(found, Environment(variables)), BuiltinModel)


async def test_each_provider_is_opened_with_retries_and_without_a_request(project: Path) -> None:
    environment = Environment(ANTHROPIC_KEY | OPENAI_KEY)
    for values, kind in (
        ({"model.provider": "anthropic"}, AnthropicModel),
        ({"model.provider": "openai", "model.api": "responses"}, OpenAIModel),
    ):
        model = choose_model(settings(project, **values), environment)
        assert isinstance(model, RetryingModel)
        assert isinstance(model.model, kind)
        await model.close()
    assert isinstance(choose_model(settings(project), Environment({})), BuiltinModel)


def test_a_program_that_is_not_installed_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModelError) as raised:
        choose_model(settings(project, **{"model.provider": "command", "model.command": "codex"}), Environment({}))
    assert raised.value.kind == "no_sdk"
    assert "codex" in raised.value.remedy


def test_a_program_that_is_installed_is_the_model(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    model = choose_model(settings(project, **{"model.provider": "command"}), Environment({}))
    assert isinstance(model, RetryingModel)
    assert isinstance(model.model, CommandModel)


def test_the_model_s_name_is_the_user_s_or_a_current_one(project: Path) -> None:
    assert model_name(settings(project, **{"model.name": "llama4", "model.provider": "openai"})) == "llama4"
    assert model_name(settings(project)) == "builtin"
    assert model_name(settings(project, **{"model.provider": "anthropic"})).startswith("claude-")


def test_a_repository_does_not_choose_whom_we_talk_to(project: Path) -> None:
    """S2."""
    folder = project / ".memdir"
    folder.mkdir()
    hostile = {"model": {"provider": "openai", "baseUrl": "http://evil.invalid/v1", "command": "codex"}}
    (folder / "settings.json").write_text(json.dumps(hostile), encoding="utf-8")
    found = settings(project)
    assert provider_of(found) == "builtin"
    assert {refusal.name for refusal in found.refused} == {"model.provider", "model.baseUrl", "model.command"}
