"""Memory for LLM agents as plain Markdown files that a person can read, edit, diff and undo.

The public names; everything else is private, whatever its name. Importing does nothing: each name is loaded when used.
"""

from __future__ import annotations

from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.agent.file_access import DiskFiles as DiskFiles
    from memdir.agent.fork import ForkTools as ForkTools
    from memdir.agent.fork import Job as Job
    from memdir.agent.fork import fork as fork
    from memdir.agent.gate import Allow as Allow
    from memdir.agent.gate import Deny as Deny
    from memdir.agent.gate import memory_gate as memory_gate
    from memdir.agent.loop import Abort as Abort
    from memdir.agent.loop import run_agent as run_agent
    from memdir.agent.tools.tool import Toolbox as Toolbox
    from memdir.agent.tools.tool import ToolContext as ToolContext
    from memdir.agent.tools.tool import memory_tools as memory_tools
    from memdir.agent.workspace import Workspace as Workspace
    from memdir.errors import BudgetReached as BudgetReached
    from memdir.errors import MemdirError as MemdirError
    from memdir.errors import ModelError as ModelError
    from memdir.events import Event as Event
    from memdir.memdir import MemDir as MemDir
    from memdir.memdir import open_memory as open_memory
    from memdir.model.anthropic import AnthropicModel as AnthropicModel
    from memdir.model.builtin.builtin_model import BuiltinModel as BuiltinModel
    from memdir.model.choose import choose_model as choose_model
    from memdir.model.choose import model_name as model_name
    from memdir.model.model import Model as Model
    from memdir.model.model import RawCall as RawCall
    from memdir.model.model import Reply as Reply
    from memdir.model.model import Request as Request
    from memdir.model.model import SystemBlock as SystemBlock
    from memdir.model.openai import OpenAIModel as OpenAIModel
    from memdir.model.raw import reply_of as reply_of
    from memdir.model.scripted import ScriptedModel as ScriptedModel
    from memdir.model.window import context_tokens as context_tokens
    from memdir.remember.turn import FinishedTurn as FinishedTurn
    from memdir.settings import Environment as Environment
    from memdir.settings import Settings as Settings
    from memdir.settings import load_settings as load_settings
    from memdir.store.history import Origin as Origin
    from memdir.store.memories import add_memory as add_memory
    from memdir.store.store import Memory as Memory
    from memdir.store.store import MemoryStore as MemoryStore
    from memdir.store.taxonomy import MemoryType as MemoryType
    from memdir.transcript.conversation import Conversation as Conversation
    from memdir.transcript.message import Message as Message
    from memdir.transcript.message import Text as Text
    from memdir.transcript.message import ToolResult as ToolResult
    from memdir.transcript.message import ToolUse as ToolUse
    from memdir.transcript.message import assistant as assistant
    from memdir.transcript.message import user as user

_HOMES = {
    "Abort": "memdir.agent.loop",
    "Allow": "memdir.agent.gate",
    "AnthropicModel": "memdir.model.anthropic",
    "BudgetReached": "memdir.errors",
    "BuiltinModel": "memdir.model.builtin.builtin_model",
    "Conversation": "memdir.transcript.conversation",
    "Deny": "memdir.agent.gate",
    "DiskFiles": "memdir.agent.file_access",
    "Environment": "memdir.settings",
    "Event": "memdir.events",
    "FinishedTurn": "memdir.remember.turn",
    "ForkTools": "memdir.agent.fork",
    "Job": "memdir.agent.fork",
    "MemDir": "memdir.memdir",
    "MemdirError": "memdir.errors",
    "Memory": "memdir.store.store",
    "MemoryStore": "memdir.store.store",
    "MemoryType": "memdir.store.taxonomy",
    "Message": "memdir.transcript.message",
    "Model": "memdir.model.model",
    "ModelError": "memdir.errors",
    "OpenAIModel": "memdir.model.openai",
    "Origin": "memdir.store.history",
    "RawCall": "memdir.model.model",
    "Reply": "memdir.model.model",
    "Request": "memdir.model.model",
    "ScriptedModel": "memdir.model.scripted",
    "Settings": "memdir.settings",
    "SystemBlock": "memdir.model.model",
    "Text": "memdir.transcript.message",
    "ToolContext": "memdir.agent.tools.tool",
    "ToolResult": "memdir.transcript.message",
    "ToolUse": "memdir.transcript.message",
    "Toolbox": "memdir.agent.tools.tool",
    "Workspace": "memdir.agent.workspace",
    "add_memory": "memdir.store.memories",
    "assistant": "memdir.transcript.message",
    "choose_model": "memdir.model.choose",
    "context_tokens": "memdir.model.window",
    "fork": "memdir.agent.fork",
    "load_settings": "memdir.settings",
    "memory_gate": "memdir.agent.gate",
    "memory_tools": "memdir.agent.tools.tool",
    "model_name": "memdir.model.choose",
    "open_memory": "memdir.memdir",
    "reply_of": "memdir.model.raw",
    "run_agent": "memdir.agent.loop",
    "user": "memdir.transcript.message",
}

__all__ = [
    "Abort",
    "Allow",
    "AnthropicModel",
    "BudgetReached",
    "BuiltinModel",
    "Conversation",
    "Deny",
    "DiskFiles",
    "Environment",
    "Event",
    "FinishedTurn",
    "ForkTools",
    "Job",
    "MemDir",
    "MemdirError",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "Message",
    "Model",
    "ModelError",
    "OpenAIModel",
    "Origin",
    "RawCall",
    "Reply",
    "Request",
    "ScriptedModel",
    "Settings",
    "SystemBlock",
    "Text",
    "ToolContext",
    "ToolResult",
    "ToolUse",
    "Toolbox",
    "Workspace",
    "__version__",
    "add_memory",
    "assistant",
    "choose_model",
    "context_tokens",
    "fork",
    "load_settings",
    "memory_gate",
    "memory_tools",
    "model_name",
    "open_memory",
    "reply_of",
    "run_agent",
    "user",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'memdir' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
