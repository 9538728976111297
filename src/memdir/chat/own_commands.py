"""Commands that are Markdown files: the user's own below `commands/` in memdir's home, and those that came with the
project below `.memdir/commands/`. `/name words` sends the text to the model, `$ARGUMENTS` in it standing for the words.
It is material of a file and not the person speaking: nothing is learned from it as theirs (X12)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.disk.plain_file import read_if_plain
from memdir.prompts.compose import load_prompt
from memdir.text.printable import one_line
from memdir.transcript import Message, user

if TYPE_CHECKING:
    from memdir.layout import Layout

MAX_BYTES = 100_000  # of one file: about 25,000 tokens
MAX_COMMANDS = 200


@dataclass(frozen=True)
class OwnCommand:
    """One such file."""

    name: str
    told: str  # what it does, in a line
    text: str

    def message(self, arguments: str) -> Message:
        """What the model is told behind the person's words."""
        text = self.text.replace("$ARGUMENTS", arguments)
        return user(load_prompt("chat/command.md").render(name=self.name, text=text).strip(), is_meta=True)


def own_commands(layout: Layout) -> dict[str, OwnCommand]:
    """All that there are, by name; the user's own go before the project's."""
    found: dict[str, OwnCommand] = {}
    for folder, whose in ((layout.commands, ""), (layout.project_commands, "from the project")):
        if os.path.islink(folder) or not os.path.isdir(folder):
            continue
        for file in sorted(os.listdir(folder))[:MAX_COMMANDS]:
            name, ending = os.path.splitext(file)
            data = read_if_plain(os.path.join(folder, file), MAX_BYTES) if ending == ".md" else None
            if data is not None and name.replace("-", "").replace("_", "").isalnum():
                found.setdefault(name, _parsed(name, data.decode("utf-8", "replace"), whose))
    return found


def _parsed(name: str, text: str, whose: str) -> OwnCommand:
    head, fence, body = text.removeprefix("---\n").partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    if not fence:
        body = text
    fields = dict(line.split(":", 1) for line in head.splitlines() if ":" in line)
    told = fields.get("description", "").strip(" \"'") or next((line for line in body.splitlines() if line.strip()), "")
    return OwnCommand(name, one_line(f"{told} ({whose})" if whose else told)[:100], body.strip())
