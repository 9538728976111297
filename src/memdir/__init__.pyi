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
from memdir.store.memory_file import Memory as Memory
from memdir.store.scan import Header as Header
from memdir.store.topic import MemoryType as MemoryType
from memdir.store.undo import Undone as Undone
from memdir.transcript.message import Message as Message
from memdir.version import __version__ as __version__

__all__: list[str]
