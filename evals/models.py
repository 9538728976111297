"""The model that an eval runs with, by name: `builtin`, or PROVIDER[:NAME] as in `anthropic:claude-sonnet-4-5`."""

from __future__ import annotations

import tempfile

from memdir.layout import Layout
from memdir.model.choose import choose_model, model_name
from memdir.model.model import Model
from memdir.settings import Environment, load_settings

HELP = (
    "builtin, or PROVIDER[:NAME]: anthropic, openai or command; keys and addresses come from environment and settings"
)


def named_model(text: str) -> tuple[Model, str]:
    """The model and its name at its provider. A MemdirError names what is missing."""
    provider, _, name = text.partition(":")
    environment = Environment.read()
    flags = {"model.provider": provider} | ({"model.name": name} if name else {})
    with tempfile.TemporaryDirectory() as nowhere:  # a project without settings of its own
        settings = load_settings(environment, Layout(environment.home, nowhere), flags=flags)
    return choose_model(settings, environment), model_name(settings)
