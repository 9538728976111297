"""The prompt files that are shipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memdir.prompts import compose


def prompt_names() -> Iterator[str]:
    """Every prompt file there is."""
    for path in sorted(Path(compose.FOLDER).rglob("*.md")):
        yield path.relative_to(compose.FOLDER).as_posix()
