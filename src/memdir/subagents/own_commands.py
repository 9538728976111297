"""Commands that are Markdown files: the person's own below `commands/` in memdir's home, and those that came with the
project below `.memdir/commands/`. `/name words` sends the text to the model, `$ARGUMENTS` in it standing for the words.
It is material of a file and not the person speaking: nothing is learned from it as theirs (X12). A project's is sent as
a quotation, after the person has seen it; it has no name that another command has (L3).
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.disk.plain_file import read_beginning, read_plain, reason_of
from memdir.disk.safe_path import has_link_below
from memdir.errors import MemdirError
from memdir.prompts.compose import load_prompt
from memdir.prompts.door import quoted
from memdir.store.topic import Topic
from memdir.text.printable import one_line
from memdir.transcript import Message, user

if TYPE_CHECKING:
    from memdir.memdir import MemDir

MAX_BYTES = 100_000  # of one file: about 25,000 tokens
MAX_PROJECT_BYTES = 8_000  # of one that came with a project: it is read before it is sent
HEAD_BYTES = 2_000  # in which a description stands
MAX_COMMANDS = 200
_NAME = re.compile(r"[^\W_][\w-]{0,39}")
_PROJECT_NAME = re.compile(_NAME.pattern, re.ASCII)  # no letter that only looks like another one


@dataclass(frozen=True)
class OwnCommand:
    """A command that is a Markdown file: the person's own, or one that came with the project."""

    name: str  # what a person types behind the slash
    path: str  # of the file
    is_project: bool  # whether it came with the project

    @property
    def told(self) -> str:
        """What it does, in a line; where it is from stands before what it says of itself."""
        try:
            head = read_beginning(self.path, max_bytes=HEAD_BYTES, follow=not self.is_project)
        except OSError as error:
            head = f"({reason_of(error)})".encode()
        described, body = _parted(head)
        first = described or next((line for line in body.splitlines() if line.strip()), "")
        return ("from the project: " if self.is_project else "") + one_line(first)[:100]

    def text(self, arguments: str) -> str:
        """What it stands for."""
        limit = MAX_PROJECT_BYTES if self.is_project else MAX_BYTES
        try:
            data = read_plain(self.path, max_bytes=limit, follow=not self.is_project)
        except OSError as error:
            raise MemdirError(f"/{self.name} cannot be read: {reason_of(error)}", remedy=self.path) from None
        return _parted(data)[1].strip().replace("$ARGUMENTS", arguments)

    def message(self, text: str) -> Message:
        """What the model is told behind the person's words."""
        prompt = load_prompt("chat/project_command.md" if self.is_project else "chat/command.md")
        told = prompt.render(name=self.name, text=quoted(text) if self.is_project else text)
        return user(told.strip(), is_meta=True)


def own_commands(memory: MemDir, taken: Collection[str]) -> dict[str, OwnCommand]:
    """All that there are, by name: those of the person, whatever they are called, and those of the project whose names
    are neither theirs nor taken."""
    layout, folder = memory.layout, os.path.join(memory.environment.home, "commands")  # with memory off, too
    own = {name: OwnCommand(name, path, is_project=False) for name, path in _files(folder, _NAME)}
    known = {name.casefold() for name in (*own, *taken)}
    for name, path in _files(layout.project_commands, _PROJECT_NAME):
        if name.casefold() not in known and not has_link_below(layout.work_tree, path):
            own[name] = OwnCommand(name, path, is_project=True)
    return own


def _files(folder: str, names: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(folder) as found:
            files = sorted(entry.name for entry in itertools.islice(found, 10 * MAX_COMMANDS))
    except OSError:
        return
    named = [file.removesuffix(".md") for file in files if file.endswith(".md")]
    yield from ((name, os.path.join(folder, f"{name}.md")) for name in filter(names.fullmatch, named[:MAX_COMMANDS]))


def _parted(data: bytes) -> tuple[str, str]:
    """What the frontmatter describes it as, if it has one, and the text behind it."""
    topic = Topic(data.decode("utf-8", "replace").encode())  # its head is that of a memory
    return topic.description, topic.body.replace("\r\n", "\n")
