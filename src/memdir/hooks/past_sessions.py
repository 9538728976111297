"""What was said to other agents before memdir was attached: counted, told, and learned from when the user says so."""

from __future__ import annotations

import os
from dataclasses import dataclass

from memdir.hooks.work_queue import WorkQueue, detach
from memdir.memdir import MemDir
from memdir.transcript.attended import Attended
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.source import SessionRef

BYTES_A_TOKEN = 12  # of a transcript: most of it is tool output and bookkeeping, which nobody is shown
FROM_THE_BEGINNING = 1.0  # a time before everything that was ever said


@dataclass(frozen=True)
class PastSessions:
    """The sessions of this project that memdir has not attended to, the oldest first."""

    refs: tuple[SessionRef, ...]

    @staticmethod
    def of(memory: MemDir) -> PastSessions:
        sources = all_sources(memory.environment).items()
        folder, layout = memory.layout.work_tree, memory.layout
        found = [ref for agent, source in sources if agent != "memdir" for ref in source.sessions(folder)]
        new = [ref for ref in found if not os.path.exists(layout.attended(ref.id))]
        return PastSessions(tuple(sorted(new, key=lambda ref: ref.modified)))

    @property
    def estimate(self) -> str:
        """How many, and about how much there is to read."""
        size = sum(ref.size for ref in self.refs)
        count = f"{len(self.refs)} past session{'' if len(self.refs) == 1 else 's'} of this project"
        return f"{count}, {size / 1e6:.1f} MB, about {max(1, size // BYTES_A_TOKEN // 1000)},000 tokens to read"

    def learn(self, memory: MemDir) -> None:
        """Let the worker learn from all of them, behind whatever else happens; within the day's budget."""
        memory.start()
        queue = WorkQueue(memory.layout)
        for ref in self.refs:
            Attended(ref.id, ref.agent, ref.path, begun=FROM_THE_BEGINNING).save(memory.layout)
            queue.add(ref.id)
        if self.refs:
            detach("--work", memory.layout.work_tree)
