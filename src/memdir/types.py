"""Types that signatures name.

Types that the signatures and fields of the public names mention, for annotations of one's own.
"""

from __future__ import annotations

from memdir.agent.file_access import Files, FileState
from memdir.agent.fork import ForkReport
from memdir.agent.gate import Gate
from memdir.agent.loop import AgentRun, Ending
from memdir.agent.workspace import Draft
from memdir.dream.dream import Confirm, DreamReport, DreamTask, NotDreamt, Phase
from memdir.dream.questions import Answer, OpenQuestion
from memdir.errors import ModelFailure
from memdir.events import FieldValue, Sink
from memdir.model.budget import AtCap, Budget
from memdir.model.command import Program
from memdir.model.failures import RetryPolicy
from memdir.model.job import ChatJob, TypedJob
from memdir.model.model import CachePolicy, ModelSettings, Provider, Step, StopReason
from memdir.model.openai import Dialect
from memdir.model.raw import Content, Form
from memdir.remember.compaction import Method
from memdir.remember.magic_docs import DocUpdate
from memdir.remember.purge import PurgedFile, PurgeReport
from memdir.remember.purge_source import PurgeSource
from memdir.search.index_store import OnProgress
from memdir.search.session_search import Hit, SessionSearch
from memdir.share.sync import SyncReport
from memdir.store.history import FileChange
from memdir.store.identity import Adoption, Identity, StoreRecord
from memdir.store.move import Moved
from memdir.store.shared import TeamAuthors
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.team_memory import TeamMemory
from memdir.transcript.message import Block, Json, Opaque, Role
from memdir.transcript.session_list import SessionSummary
from memdir.transcript.sources.source import SessionRef

__all__ = ["Adoption", "AgentRun", "Answer", "AtCap", "Block", "Budget", "CachePolicy", "ChatJob", "Confirm"]
__all__ += ["Content", "Dialect", "DocUpdate", "Draft", "DreamReport", "DreamTask", "Ending", "FieldValue"]
__all__ += ["FileChange", "FileState", "Files", "ForkReport", "Form", "Gate", "Hit", "Identity", "Json"]
__all__ += ["MemoryStore", "Method", "ModelFailure", "ModelSettings", "Moved", "NotDreamt", "OnProgress", "Opaque"]
__all__ += ["OpenQuestion", "Phase", "Program", "Provider", "PurgeReport", "PurgeSource", "PurgedFile"]
__all__ += ["RetryPolicy", "Role", "SessionRef", "SessionSearch", "SessionSummary", "Sink", "Step", "StopReason"]
__all__ += ["StoreRecord", "SyncReport", "TeamAuthors", "TeamMemory", "Topic", "TypedJob"]
