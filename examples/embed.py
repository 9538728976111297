"""The smallest complete use of the library: open a project's memory, show what a model would get, keep something.

python examples/embed.py path/to/project
"""

from __future__ import annotations

import sys

from memdir import MemoryType, Origin, add_memory, open_memory


def main(project: str) -> None:
    memory = open_memory(project)
    memory.start()
    added = add_memory(
        memory.store,
        "The staging database is reset every Monday at 06:00 UTC.",
        kind=MemoryType.PROJECT,
        origin=Origin("embed-example", trust="user"),
    )
    print(f"kept {added.memory.path}")
    print(f"system prompt: {len(memory.prompt())} characters; context:\n{memory.index_context()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
