"""Memory for LLM agents as plain Markdown files that a person can read, edit, diff and undo.

The public names; everything else is private, whatever its name. Importing does nothing: each name is loaded when used.
For an agent of one's own there are more in `memdir.agent`, `memdir.model` and `memdir.transcript`; errors are in
`memdir.errors`, and what signatures name besides in `memdir.types`.
"""

from __future__ import annotations

from memdir.lazily import lazily

_MOVED = {  # names that were here once, for who still imports them (docs/how-to/upgrade.md)
    "in memdir.agent": "Abort Allow Deny DiskFiles Job Origin ToolContext Toolbox Workspace memory_gate memory_tools "
    "run_agent",
    "in memdir.model": "AnthropicModel BuiltinModel Model OpenAIModel RawCall Reply Request ScriptedModel SystemBlock "
    "choose_model context_tokens reply_of",
    "in memdir.transcript": "Conversation Text ToolResult ToolUse assistant user",
    "in memdir.types": "MemoryStore",
    "memdir.agent.ForkTools": "Hands",
    "memdir.agent.run_fork": "fork",
    "MemDir.add": "add_memory",
    "MemDir.model_name": "model_name",
    "MemDir.settings": "load_settings",
    "what Session.turn_ended takes": "FinishedTurn",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.errors import BudgetReached as BudgetReached
    from memdir.errors import MemdirError as MemdirError
    from memdir.errors import ModelError as ModelError
    from memdir.events import Event as Event
    from memdir.memdir import MemDir as MemDir
    from memdir.memdir import open_memory as open_memory
    from memdir.recall.prefetch import Prefetch as Prefetch
    from memdir.remember.compaction import Compacted as Compacted
    from memdir.remember.turn import Skipped as Skipped
    from memdir.search.memory_search import Match as Match
    from memdir.session import Session as Session
    from memdir.settings import Environment as Environment
    from memdir.settings import Settings as Settings
    from memdir.store.history import Commit as Commit
    from memdir.store.memories import Added as Added
    from memdir.store.scan import Header as Header
    from memdir.store.store import Memory as Memory
    from memdir.store.taxonomy import MemoryType as MemoryType
    from memdir.store.undo import Undone as Undone
    from memdir.transcript.message import Message as Message
    from memdir.version import __version__ as __version__

    __all__: list[str]
else:
    __getattr__, __all__ = lazily(
        __name__,
        {
            "memdir.errors": "BudgetReached MemdirError ModelError",
            "memdir.events": "Event",
            "memdir.memdir": "MemDir open_memory",
            "memdir.recall.prefetch": "Prefetch",
            "memdir.remember.compaction": "Compacted",
            "memdir.remember.turn": "Skipped",
            "memdir.search.memory_search": "Match",
            "memdir.session": "Session",
            "memdir.settings": "Environment Settings",
            "memdir.store.history": "Commit",
            "memdir.store.memories": "Added",
            "memdir.store.scan": "Header",
            "memdir.store.store": "Memory",
            "memdir.store.taxonomy": "MemoryType",
            "memdir.store.undo": "Undone",
            "memdir.transcript.message": "Message",
            "memdir.version": "__version__",
        },
        _MOVED,
    )


def __dir__() -> list[str]:
    return __all__
