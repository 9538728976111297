"""Models: one protocol, and those that speak it. SDKs are extras, imported when used.

The names here are for hosts that choose, wrap or write a model (docs/how-to/models.md).
"""

from __future__ import annotations

from memdir.lazily import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.model.anthropic import AnthropicModel as AnthropicModel
    from memdir.model.budget import BudgetedModel as BudgetedModel
    from memdir.model.builtin.builtin_model import BuiltinModel as BuiltinModel
    from memdir.model.choose import choose_model as choose_model
    from memdir.model.command import CommandModel as CommandModel
    from memdir.model.failures import RetryingModel as RetryingModel
    from memdir.model.model import Model as Model
    from memdir.model.model import RawCall as RawCall
    from memdir.model.model import Reply as Reply
    from memdir.model.model import Request as Request
    from memdir.model.model import SystemBlock as SystemBlock
    from memdir.model.model import ToolSpec as ToolSpec
    from memdir.model.model import Usage as Usage
    from memdir.model.openai import OpenAIModel as OpenAIModel
    from memdir.model.raw import reply_of as reply_of
    from memdir.model.scripted import ScriptedModel as ScriptedModel
    from memdir.model.window import context_tokens as context_tokens

    __all__: list[str]
else:
    __getattr__, __all__ = lazily(
        __name__,
        {
            "memdir.model.anthropic": "AnthropicModel",
            "memdir.model.budget": "BudgetedModel",
            "memdir.model.builtin.builtin_model": "BuiltinModel",
            "memdir.model.choose": "choose_model",
            "memdir.model.command": "CommandModel",
            "memdir.model.failures": "RetryingModel",
            "memdir.model.model": "Model RawCall Reply Request SystemBlock ToolSpec Usage",
            "memdir.model.openai": "OpenAIModel",
            "memdir.model.raw": "reply_of",
            "memdir.model.scripted": "ScriptedModel",
            "memdir.model.window": "context_tokens",
        },
    )
