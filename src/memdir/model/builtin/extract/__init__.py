"""Extraction by the built-in model: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from __future__ import annotations

from memdir.model.builtin.extract.conversation import Conversation, Draft, Existing, Line
from memdir.model.builtin.extract.draft import draft_memories
from memdir.model.builtin.extract.messages import lines_from_messages

__all__ = ["Conversation", "Draft", "Existing", "Line", "draft_memories", "lines_from_messages"]
