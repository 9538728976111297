"""Which model: what the settings name, else what a key in the environment suggests, else the built-in one."""

from __future__ import annotations

from memdir.settings import provider_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.model.model import Model
    from memdir.settings import Environment, Settings

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.6-luna", "command": "", "builtin": "builtin"}


def model_name(settings: Settings, environment: Environment) -> str:
    """The model's name at its provider."""
    return settings.model_name or DEFAULT_MODELS[provider_of(settings, environment)]


def name_of_model(model: Model) -> str:
    """What a given model is called: as it says by an attribute `name`, else as its class."""
    inner = getattr(model, "model", model)  # whatever tries again holds another
    return str(getattr(inner, "name", "") or type(inner).__name__)


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
