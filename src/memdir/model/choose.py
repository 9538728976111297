"""Which model: the one that a person chose, and the built-in one until then. A key in the environment is an offer."""

from __future__ import annotations

from memdir.settings import provider_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.model.model import Model
    from memdir.settings import Environment, Settings

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.6-luna", "command": "", "builtin": "builtin"}
NO_KEY = "#no-key"  # behind an address: no key goes there, as to one that was found and named by nobody
_FAMILIES = {"claude": "anthropic", "gpt": "openai", "o3": "openai", "o4": "openai"}


def family_of(name: str) -> str:
    """The provider whose models have such names; empty where nobody knows."""
    return next((provider for beginning, provider in _FAMILIES.items() if name.startswith(beginning)), "")


def model_name(settings: Settings) -> str:
    """The model's name at its provider."""
    return settings.model_name or DEFAULT_MODELS[provider_of(settings)]


def name_of_model(model: Model) -> str:
    """What a given model is called: as it says by an attribute `name`, else as its class."""
    inner = getattr(model, "model", model)  # whatever tries again holds another
    return str(getattr(inner, "name", "") or type(inner).__name__)


def offered_providers(settings: Settings, environment: Environment) -> dict[str, str]:
    """The providers that a person could choose as things are, besides the built-in model, and how each is reached."""
    where = f" at {settings.model_base_url}" if settings.model_base_url else ""
    found = {key.partition("_")[0].lower(): f"{where} with the key in {key}" for key in environment.keys}
    return found | ({"openai": where} if where and "openai" not in found else {})


def who_serves(settings: Settings, environment: Environment) -> str:
    """The model that answers, and why it is that one."""
    if settings.model_provider == "auto":
        unused = ", ".join(environment.keys)
        return f"the built-in model, because nobody chose another{f' ({unused}: not used unasked)' if unused else ''}"
    provider, layer = settings.model_provider, settings.origins.get("model.provider", "user")
    name = model_name(settings) or settings.model_command
    who = "the built-in model" if provider == "builtin" else f"{name} ({provider})"
    return f"{who}, chosen in the {layer} settings"


def choose_model(settings: Settings, environment: Environment) -> Model:
    """The model that the settings name. ModelError when its key, SDK or program is missing.

    Only what is chosen is loaded: every recall asks who the provider is.
    """
    model: Model
    base_url = (settings.model_base_url or "").removesuffix(NO_KEY)
    keys = (environment.anthropic_key, environment.openai_key)
    anthropic_key, openai_key = keys if base_url == (settings.model_base_url or "") else ("", "")
    match provider_of(settings):
        case "anthropic":
            from memdir.model.anthropic import AnthropicModel

            model = AnthropicModel(api_key=anthropic_key, base_url=base_url)
        case "openai":
            from memdir.model.openai import Dialect, OpenAIModel

            dialect: Dialect = "responses" if settings.model_api == "responses" else "chat"
            model = OpenAIModel(api_key=openai_key, base_url=base_url, dialect=dialect)
        case "command":
            from memdir.model.command import CommandModel

            model = CommandModel("codex" if settings.model_command == "codex" else "claude", folder=environment.home)
        case _:
            from memdir.model.builtin.builtin_model import BuiltinModel

            return BuiltinModel()
    from memdir.model.failures import RetryingModel

    return RetryingModel(model)
