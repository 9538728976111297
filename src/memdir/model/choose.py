"""Which model: what the settings name, else what a key in the environment suggests, else the built-in one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.model.model import Model
    from memdir.settings import Environment, Settings

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.6-luna", "command": "", "builtin": "builtin"}


def provider_of(settings: Settings, environment: Environment) -> str:
    """The provider in force; `auto` takes the first whose key is there, and the built-in model without any."""
    if settings.model_provider != "auto":
        return settings.model_provider
    if environment.anthropic_key:
        return "anthropic"
    return "openai" if environment.openai_key or settings.model_base_url else "builtin"


def model_name(settings: Settings, environment: Environment) -> str:
    """The model's name at its provider."""
    return settings.model_name or DEFAULT_MODELS[provider_of(settings, environment)]


def choose_model(settings: Settings, environment: Environment) -> Model:
    """The model that the settings name. ModelError when its key, SDK or program is missing.

    Only what is chosen is loaded: every recall asks who the provider is.
    """
    model: Model
    base_url = settings.model_base_url or ""
    match provider_of(settings, environment):
        case "anthropic":
            from memdir.model.anthropic import AnthropicModel

            model = AnthropicModel(api_key=environment.anthropic_key, base_url=base_url)
        case "openai":
            from memdir.model.openai import Dialect, OpenAIModel

            dialect: Dialect = "responses" if settings.model_api == "responses" else "chat"
            model = OpenAIModel(api_key=environment.openai_key, base_url=base_url, dialect=dialect)
        case "command":
            from memdir.model.command import CommandModel, Program

            program: Program = "codex" if settings.model_command == "codex" else "claude"
            model = CommandModel(program, folder=environment.home)
        case _:
            from memdir.model.builtin.builtin_model import BuiltinModel

            return BuiltinModel()
    from memdir.model.failures import RetryingModel

    return RetryingModel(model)
