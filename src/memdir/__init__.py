"""Memory for LLM agents as plain Markdown files that a person can read, edit, diff and undo.

The public names; everything else is private, whatever its name. Importing does nothing: each name is loaded when used.
For an agent of one's own there are more in `memdir.agent`, `memdir.model` and `memdir.transcript`; errors are in
`memdir.errors`, and what signatures name besides in `memdir.types`. `memdir.chat.host` is the chat without a screen.
"""

import sys

if "".join(getattr(sys, "argv", ())[:1]).removesuffix(".exe").endswith(("/memdir", "\\memdir")):
    # Our own command, which loads from here on: Ctrl-C ends it without a traceback (docs/exit-codes.md).
    _told = sys.excepthook
    sys.excepthook = lambda kind, *error: None if kind is KeyboardInterrupt else _told(kind, *error)

from memdir.disk.shipped import lazily

# Names that were here before there was a front door, for who still imports them.
_MOVED = """
Abort Allow AnthropicModel BuiltinModel Conversation Deny DiskFiles FinishedTurn Hands Job MemoryStore Model OpenAIModel
Origin RawCall Reply Request ScriptedModel SystemBlock Text ToolContext ToolResult ToolUse Toolbox Workspace add_memory
assistant choose_model context_tokens fork load_settings memory_gate memory_tools model_name reply_of run_agent user
"""
__getattr__ = lazily(__name__, moved=_MOVED)


def __dir__() -> list[str]:
    return __getattr__("__all__")
