"""Two programs on the same files, for the test that lets them race.

`python editor.py person ROOT` is an editor that knows nothing of memdir: it saves by renaming a new file into place,
or by writing over the old one in pieces. `python editor.py memdir ROOT` is memdir. Each waits for a line with a seed,
works, and answers with one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys

from memdir.errors import BadMemoryFile, EditConflict, MemoryNotFound
from memdir.layout import Place
from memdir.store.history import Origin
from memdir.store.index import Entry
from memdir.store.memories import forget_memories, save_memory
from memdir.store.store import MemoryStore

TOPIC = "note.md"
INDEX = "MEMORY.md"
HEAD = "---\nname: Note\ndescription: A note\ntype: project\n---\n\n"


def person(root: str, seed: str) -> dict[str, str]:
    """Save a few times; the last text of each file is the answer."""
    dice = random.Random(f"person {seed}")
    last: dict[str, str] = {}
    for number in range(dice.randint(1, 6)):
        name = dice.choice((TOPIC, INDEX))
        text = f"{HEAD}Person {seed} {number}\n" if name == TOPIC else f"- [Person](p.md) — {seed} {number}\n"
        dice.choice((_rename, _in_place, _in_pieces))(os.path.join(root, name), text)
        last[name] = text
        for _ in range(dice.randint(0, 60_000)):  # think for up to a few milliseconds
            pass
    return last


def _rename(path: str, text: str) -> None:
    with open(path + "~", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + "~", path)


def _in_place(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _in_pieces(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", buffering=1) as file:
        for at in range(0, len(text), 10):
            file.write(text[at : at + 10])
            file.flush()


def memdir(root: str, seed: str) -> list[str]:
    """Write a few times; what was written, by memdir's own word, is the answer."""
    dice = random.Random(f"memdir {seed}")
    store = MemoryStore(Place(root))
    done: list[str] = []
    for number in range(dice.randint(1, 4)):
        text = f"{HEAD}Memdir {seed} {number}\n"
        try:
            step = dice.choice(("save", "save", "merge", "forget", "index"))
            if step == "save":
                save_memory(store, TOPIC, text.encode(), origin=Origin("cli"))
                done.append(text)
            elif step == "merge":
                base = store.read(TOPIC).topic.data
                save_memory(store, TOPIC, base + b"\nMerged.\n", origin=Origin("cli"), base=base)
            elif step == "forget":
                forget_memories(store, [TOPIC], origin=Origin("cli"))
            else:
                entry = Entry(f"link_{seed}_{number}.md", "Link", "")
                with store.changing(Origin("cli"), "a line") as change:
                    change.edit_index(lambda index, entry=entry: index.with_entries([entry]))
        except (BadMemoryFile, EditConflict, MemoryNotFound):
            continue  # refused, and said so: half a file is no memory
    return done


def main(words: list[str]) -> int:
    who, root = words
    for line in sys.stdin:
        answer = person(root, line.strip()) if who == "person" else memdir(root, line.strip())
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
