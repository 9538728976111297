"""The smallest complete use of the library: keep something, find it, change it, take it back. No model, no loop.

python examples/embed.py path/to/project
"""

from __future__ import annotations

import sys

from memdir import open_memory


def main(project: str) -> None:
    memory = open_memory(project)
    added = memory.add("The staging database is reset every Monday at 06:00 UTC.")
    print(f"kept {added.memory.path}")
    memory.update(added.memory.key, "The staging database is reset every Friday at 06:00 UTC.")
    memory.undo()
    for match in memory.search("staging"):
        print(f"{match.key}: {match.topic.body.strip()}")
    print(f"system prompt: {len(memory.prompt())} characters; context:\n{memory.context()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
