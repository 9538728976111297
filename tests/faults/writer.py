"""One of many processes that write into one directory: `python writer.py PROJECT NAME COUNT` with MEMDIR_HOME set.

Writes COUNT times: a new memory, then a new description for it, which changes its line in the index, and so on.
"""

from __future__ import annotations

import sys

from memdir.memdir import open_memory
from memdir.store.history import Origin
from memdir.store.memories import add_memory, save_memory
from memdir.store.topic import MemoryType


def main(words: list[str]) -> int:
    project, name, count = words[0], words[1], int(words[2])
    memory = open_memory(project)
    memory.start()
    origin = Origin("extract", session=name)
    for number in range(0, count, 2):
        title = f"Note {number} of {name}"
        body = f"Text {number} of {name}.\n"
        added = add_memory(memory.store, body, kind=MemoryType.PROJECT, name=title, origin=origin).memory
        if number + 1 < count:
            changed = added.topic.with_field("description", f"Changed {number} by {name}")
            save_memory(memory.store, added.key, changed.data, origin=origin, base=added.topic.data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
