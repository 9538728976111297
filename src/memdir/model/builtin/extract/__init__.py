"""Extraction by the built-in model: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from memdir.model.builtin.extract.draft import draft_memories
from memdir.model.builtin.extract.talk import Existing, MemoryDraft, Talk, TalkLine, lines_of

__all__ = ["Existing", "MemoryDraft", "Talk", "TalkLine", "draft_memories", "lines_of"]
