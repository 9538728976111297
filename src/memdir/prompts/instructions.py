"""The instruction files of a project as a host puts them beside the index (H3): CLAUDE.md and AGENTS.md, with the files
that they import by `@path`, bounded, and never anything from outside the project.

A repository may be a stranger's: what it imports is prose of its own and nothing else, so that no `@.env` and no link
leads a secret into a prompt.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from memdir.disk.plain_file import read_beginning
from memdir.disk.safe_path import is_inside
from memdir.layout import Layout
from memdir.prompts.door import shown, shown_line

MAX_BYTES = 40_000  # of one file: about 10,000 tokens
MAX_READ_BYTES = 1 << 20  # of one file where no prompt needs room for it; nobody reads more
MAX_TOTAL = 100_000  # characters of all files together
MAX_FILES = 20  # with those that are imported
MAX_IMPORTS = 100  # that are looked for of one file: those that are not there cost a look each
MAX_DEPTH = 5  # imports inside imports
_PROSE = (".md", ".mdc", ".markdown", ".txt", ".rst")
_IMPORT = re.compile(r"(?<![\w`])@([\w./~-][^\s`]*)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_WHAT = "instructions of this project for its agents"


def instructions_of(layout: Layout) -> str:
    """What the instruction files say, each under its path; the same text once, however many files hold it."""
    found: dict[str, str] = {}
    for path in layout.instruction_files:
        if os.path.basename(path) in ("CLAUDE.md", "AGENTS.md"):  # the others are one agent's own
            _take_in(path, layout.work_tree, found, 0)
    told, room = [], MAX_TOTAL
    first = {text: path for path, text in reversed(found.items())}
    for path, text in ((path, text) for path, text in found.items() if first[text] == path):
        safe = shown(text)
        if len(safe) > room:
            safe = f"{safe[: max(0, room)]}\n… [cut here; the rest is in {path}]"
        told.append(f"Contents of {shown_line(path)} ({_WHAT}):\n\n{safe}")
        room -= len(text)
    return "\n\n".join(told)


def instruction_texts(layout: Layout) -> dict[str, str]:
    """The instruction files as they are, by their names."""
    found = {}
    for path in layout.instruction_files:
        if is_inside(path, layout.work_tree):  # and no link that leads out of the project
            with suppress(OSError):
                text = read_beginning(path, max_bytes=MAX_READ_BYTES)
                found[os.path.relpath(path, layout.work_tree)] = text.decode("utf-8", "replace")
    return found


def _take_in(path: str, root: str, found: dict[str, str], depth: int) -> None:
    """Put a file and then those that it imports into what was found, by their real paths, each once."""
    if depth > MAX_DEPTH or len(found) >= MAX_FILES or "\0" in path or (real := os.path.realpath(path)) in found:
        return
    if not is_inside(real, root) or not real.lower().endswith(_PROSE):
        return
    try:
        data = read_beginning(real, max_bytes=MAX_BYTES + 1)
    except OSError:
        return
    text = data[:MAX_BYTES].decode("utf-8", "ignore").strip()
    if not text:
        return
    found[real] = text if len(data) <= MAX_BYTES else f"{text}\n… [cut here; the rest is in {real}]"
    for named in _IMPORT.findall(_CODE.sub("", text))[:MAX_IMPORTS]:
        _take_in(os.path.join(os.path.dirname(real), named.rstrip(".,;:!?)")), root, found, depth + 1)
