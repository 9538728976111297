"""Checks claims about the project: paths that a memory names and that are not there (any more)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from memdir.doctor.finding import Finding
from memdir.store.store import Memory

_PATH = re.compile(r"(?<![\w/.~:@-])((?:[\w.-]+/)+[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w/])")
_HOST_LIKE = re.compile(
    r"^(?:[\w-]+\.)+(?:com|org|net|io|dev|local|internal|example|app|ai|de|fr|uk|jp|cn)/", re.IGNORECASE
)


def check_paths(memory: Memory, project: str) -> Iterator[Finding]:
    """Relative paths with a folder and an ending; whatever looks like an address on the web is left out."""
    text = re.sub(r"\w+://\S+", " ", f"{memory.topic.description}\n{memory.topic.body}")
    named = {match[1] for match in _PATH.finditer(text)}
    gone = sorted(path for path in named if not _HOST_LIKE.match(path) and not _is_there(project, path))
    for path in gone:
        message = f"it names {path}, which is not in the project"
        yield Finding("reference", "note", message, memory.key, "Check the claim, then mend or delete the memory")


def _is_there(project: str, path: str) -> bool:
    return os.path.lexists(os.path.join(project, path))
