"""Records the pictures of docs/how-to/chat.md, real turns of a chat as its screen draws them, and those of
docs/how-to/story.md, which `make try` printed.

python -m docs.record_pictures [FOLDER]
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from memdir import open_memory
from memdir.agent import Consent, Permission
from memdir.chat.host import ChatEvent, ChatHost, HostOptions
from memdir.chat.screen import Screen
from memdir.model import ScriptedModel
from memdir.model.model import calls, says

FOLDER = Path(__file__).parent / "pictures"
COLUMNS = 96
WALK = Path(__file__).parent.parent / "examples/walkthrough.py"
WALK_COLUMNS = 112
# Without the fonts that rich would fetch from elsewhere.
SVG = re.sub(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
RULE = "From now on, release notes go to the docs team first: last time legal had to recall them."


class Shown:
    """A person's view of a chat, as text with colours."""

    def __init__(self) -> None:
        self.screen = Screen()
        self._running: dict[str, str] = {}
        self._calls = 0

    def person(self, text: str) -> None:
        print(f"\x1b[1;36m› \x1b[0m{text}")

    def heard(self, event: ChatEvent) -> None:
        fields = event.fields
        if event.name == "reply":
            self.screen.reply(str(fields["text"]))
        elif event.name == "tool":
            self._running[str(fields["id"])] = Screen.tool_line(str(fields["tool"]), fields["input"])  # type: ignore[arg-type]
        elif event.name == "result":
            self._calls += 1
            line, content = self._running.pop(str(fields["id"])), str(fields["content"])
            self.screen.tool(self._calls, line, content, is_error=bool(fields["is_error"]))
        elif event.name != "text":
            self.screen.tell(event.name, fields)

    async def yes(self, question: Permission) -> Consent:
        self.screen.notice(question.title, style="bold yellow")
        (self.screen.diff if question.is_diff else self.screen.command)(question.detail)
        answers = ("yes, once", "yes, all edits here until I leave", "no")
        print(f"\x1b[1m{question.title}?\x1b[0m", *(f"  {at}  {one}" for at, one in enumerate(answers, 1)), sep="\n")
        return "once"


async def learned(project: Path, shown: Shown) -> None:
    async with ChatHost(open_memory(project), listen=shown.heard) as host:
        shown.person(RULE)
        await host.say(RULE)


async def recalled(project: Path, shown: Shown) -> None:
    memory = open_memory(project, flags={"recall.encoder": "words"})  # there at once, however busy the machine is
    async with ChatHost(memory, listen=shown.heard) as host:
        asked = "Draft the release notes for the new version."
        shown.person(asked)
        await host.say(asked)


async def asked(project: Path, shown: Shown) -> None:
    (project / "price.py").write_text("TAX = 0.19\n\n\ndef price(net):\n    return net * TAX\n", encoding="utf-8")
    change = {"file_path": "price.py", "old_string": "net * TAX", "new_string": "net * (1 + TAX)"}
    model = ScriptedModel(
        [
            calls(("Read", {"file_path": "price.py"})),
            calls(("Edit", change)),
            says("Fixed: the price is net **plus** tax."),
        ]
    )
    memory = open_memory(project, model=model, flags={"recall.selector": "local"})
    chosen = HostOptions(is_learning=False)
    async with ChatHost(memory, ask=shown.yes, listen=shown.heard, options=chosen) as host:
        shown.person("price() gives only the tax. Fix it.")
        await host.say("price() gives only the tax. Fix it.")


SCENES: dict[str, Callable[[Path, Shown], Awaitable[None]]] = {
    "chat-learned": learned,
    "chat-recalled": recalled,
    "chat-permission": asked,
}


def record(folder: Path) -> list[Path]:
    """Play every scene in a project and a home of its own; gives the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "shop"
        project.mkdir()
        os.environ.update(MEMDIR_HOME=str(Path(place) / "home"), COLUMNS=str(COLUMNS))
        before = Path.cwd()
        os.chdir(project)
        try:
            for name, scene in SCENES.items():
                told = io.StringIO()
                with contextlib.redirect_stdout(told):
                    asyncio.run(scene(project, Shown()))  # type: ignore[arg-type]
                made.append(_draw(folder / f"{name}.svg", told.getvalue()))
        finally:
            os.chdir(before)
    return made


# Each picture of the story, and the headings of the walk that it shows.
STORY = {
    "story-said": ("Session one", "Nobody asked it to"),
    "story-recalled": ("Eleven days later", "This is what the model was given"),
    "story-dreamt": ("The person says how it is now", "A dream puts memories in order"),
    "story-undone": ("Not what you wanted?",),
}


def draw_story(folder: Path, told: str) -> list[Path]:
    """Pictures of what the walk printed, in colour; its temporary folder is the person's home in them."""
    place, slug = re.findall(r"(/\S+)/home/projects/(\S+)/memory", told)[0]
    told = (
        told.replace(slug, "-home-ann-shop").replace(f"{place}/home", "/home/ann/.memdir").replace(place, "/home/ann")
    )
    parts = re.split(r"\n(?=\x1b\[1;35m# )", told)
    made = []
    for name, headings in STORY.items():
        shown = "\n".join(part for part in parts if any(f"# {heading}" in part for heading in headings))
        made.append(_draw(folder / f"{name}.svg", shown, title="make try", columns=WALK_COLUMNS))
    return made


def walked() -> str:
    """What the walk prints in a terminal with colours."""
    environment = {**os.environ, "FORCE_COLOR": "1"}
    return subprocess.run([sys.executable, WALK], capture_output=True, text=True, check=True, env=environment).stdout


def _draw(path: Path, told: str, *, title: str = "memdir chat", columns: int = COLUMNS) -> Path:
    console = Console(file=io.StringIO(), record=True, width=columns, force_terminal=True)
    console.print(Text.from_ansi(told.strip("\n")))
    path.write_text(console.export_svg(title=title, code_format=SVG), encoding="utf-8")
    return path


if __name__ == "__main__":
    to = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else FOLDER
    for picture in (*record(to), *draw_story(to, walked())):
        print(picture)
