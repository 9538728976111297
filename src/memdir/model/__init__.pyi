from memdir.model.anthropic import AnthropicModel as AnthropicModel
from memdir.model.budget import BudgetedModel as BudgetedModel
from memdir.model.builtin.builtin_model import BuiltinModel as BuiltinModel
from memdir.model.choose import DEFAULT_MODELS as DEFAULT_MODELS
from memdir.model.choose import choose_model as choose_model
from memdir.model.choose import family_of as family_of
from memdir.model.choose import offered_providers as offered_providers
from memdir.model.command import CommandModel as CommandModel
from memdir.model.failures import RetryingModel as RetryingModel
from memdir.model.model import CachePolicy as CachePolicy
from memdir.model.model import Model as Model
from memdir.model.model import RawCall as RawCall
from memdir.model.model import Reply as Reply
from memdir.model.model import Request as Request
from memdir.model.model import ScriptedModel as ScriptedModel
from memdir.model.model import SystemBlock as SystemBlock
from memdir.model.model import ToolSpec as ToolSpec
from memdir.model.model import Usage as Usage
from memdir.model.openai import OpenAIModel as OpenAIModel
from memdir.model.raw import reply_of as reply_of
from memdir.model.window import context_tokens as context_tokens
from memdir.prompts.compose import Prompt as Prompt
from memdir.prompts.compose import load_prompt as load_prompt

__all__: list[str]
