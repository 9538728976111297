"""The conversations that extraction is trained and judged on, by author (evals/data/extract/README.md).

The authors of the unread fold's conversations are read by programs only: nobody looks at them, only at their score.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from memdir.model.builtin.extract.talk import Existing, Talk, lines_of
from memdir.transcript.message import Message
from memdir.transcript.record import blocks_from

DATA = Path(__file__).parent / "data" / "extract"
TRAINED = (
    "written",
    "xa",
    "xb",
    "requests",
    "c1",
    "c2",
    "c3",
    "c4",
    "c7",
    "c9",
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "m6",
    "m7",
    "m8",
    "m9",
    "m10",
    "m11",
    "m12",
    "m13",
)
DEV = ("c1", "c2", "c3", "c4", "c7", "c9")
UNREAD = ("c5", "c6", "c8", "c10", "c11")

Case = dict[str, Any]


def read(name: str) -> Iterator[Case]:
    """The cases of one author, with made-up secrets where the file only says that there is one."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from (json.loads(_with_secrets(line)) for line in file)


def _with_secrets(line: str) -> str:
    for mark, parts in _SECRETS.items():
        line = line.replace(mark, "".join(parts))
    return line


_SECRETS = {  # put together here: no file holds one
    "{SECRET:aws}": ("AKIA", "ZQ3DRW7YFHJ2LMNP"),
    "{SECRET:github}": ("ghp_", "a8Kd03jfLq92mZxV7tYw51bNcRs6uEoH2pQi"),
    "{SECRET:password}": ("hunter2", "!Blue"),
    r"\\{SECRET:aws\\}": ("AKIA", "ZQ3DRW7YFHJ2LMNP"),
    r"\\{SECRET:github\\}": ("ghp_", "a8Kd03jfLq92mZxV7tYw51bNcRs6uEoH2pQi"),
    r"\\{SECRET:password\\}": ("hunter2", "!Blue"),
}


def talk_of(case: Case) -> Talk:
    """The conversation of a case as extraction sees it."""
    return Talk(
        lines_of(Message(one["role"], blocks_from(one["content"])) for one in case["messages"]),
        datetime.fromisoformat(case["now"]),
        case["instructions"],
        tuple(memory_of(one) for one in case["existing"]),
    )


def memory_of(one: Case) -> Existing:
    """A memory of a case, or one that stands by."""
    return Existing(one["file"], one["name"], one["description"], one["type"], one["body"])
