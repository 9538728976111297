"""What a chat prints into the terminal's own scrollback: finished blocks, in colour, without anything that a model, a
file or a command could smuggle in. Loaded after the first prompt: rich takes its time."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from memdir.text.printable import one_line, printable

MAX_LINE = 200  # characters of one tool's line
MAX_OPENED_LINES = 300  # of one tool's output, when it is opened
_MARKS = {True: ("✗", "red"), False: ("✓", "green")}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


class Screen:
    """Renders to text with escapes of our own; `write` puts it above the prompt."""

    def __init__(self, *, is_coloured: bool = True) -> None:
        self._is_coloured = is_coloured

    def show(self, *parts: RenderableType) -> None:
        """Print these as one finished block."""
        width = shutil.get_terminal_size().columns
        out = io.StringIO()
        console = Console(
            file=out, force_terminal=True, width=width, no_color=not self._is_coloured, highlight=False, markup=False
        )
        for part in parts:
            console.print(part)
        lines = out.getvalue().rstrip("\n").split("\n")
        print("\n".join(line.rstrip(" ") for line in lines), flush=True)

    def reply(self, block: str) -> None:
        """A block of what the model says."""
        self.show(Markdown(printable(block), code_theme="ansi_dark"))
        print(flush=True)

    def notice(self, text: str, *, style: str = "dim") -> None:
        self.show(Text(printable(text), style=style))

    def failed(self, message: str, remedy: str, hint: str) -> None:
        told = Text.assemble(("✗ ", "bold red"), (printable(message), "red"))
        self.show(told, *(Text(f"  {printable(line)}", style="dim") for line in (remedy, hint) if line))

    def tool(self, number: int, line: str, content: str, *, is_error: bool) -> None:
        """One line for a call of a tool; `/open` shows the rest."""
        mark, colour = _MARKS[is_error]
        lines = content.count("\n") + 1
        told = one_line(content)[:80] if is_error or lines == 1 else f"{lines} lines"
        self.show(
            Text.assemble((f"{mark} ", colour), (line, ""), (f"  {told}", "dim"), (f"  /open {number}", "dim cyan"))
        )

    def opened(self, line: str, content: str) -> None:
        """All that a tool told."""
        lines = printable(content).split("\n")
        more = len(lines) - MAX_OPENED_LINES
        body = lines[:MAX_OPENED_LINES] + ([f"… {more} more lines"] if more > 0 else [])
        self.show(Text(line, style="bold"), *(Text(f"  {one}", style="dim") for one in body))

    def diff(self, text: str) -> None:
        """A unified diff in colour."""
        lines = printable(text).rstrip("\n").split("\n")
        self.show(*(Text(line or " ", style=_DIFF.get(line[:1], "dim")) for line in lines))

    def command(self, text: str) -> None:
        self.show(*(Text(f"  $ {line}", style="bold") for line in printable(text).split("\n")))

    def table(self, rows: Iterable[Sequence[str]], *, headers: Sequence[str] = ()) -> None:
        table = Table(*headers, box=None, pad_edge=False, show_header=bool(headers), header_style="dim")
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        self.show(table)

    def tell(self, name: str, fields: Mapping[str, Any]) -> None:
        """An event of the host in words."""
        if name == "recalled":
            self.notice(f"recalled {_names(fields['files'])}  (F3 shows)")
        elif name == "saved":
            self.notice(f"Memory saved: {_names(fields['files'])}  (F4 diff · F5 undo)", style="green")
        elif name == "updated":
            self.notice(f"Doc updated: {_names([fields['file']])}  (F4 diff · F5 undo)", style="green")
        elif name == "failed":
            hint = "Nothing is lost: /retry tries again." if fields["can_retry"] else ""
            self.failed(fields["message"], fields["remedy"], hint)
        elif name == "compacted":
            told = f"{fields['tokens_before']:,} → {fields['tokens_after']:,} tokens"
            self.notice(f"The conversation was compacted: {told}. All of it is still in the transcript.")
        elif name == "notice":
            self.notice(fields["text"], style="yellow")

    @staticmethod
    def tool_line(name: str, arguments: Mapping[str, object]) -> str:
        """A call of a tool in a line: what it does to what."""
        named = next((arguments[key] for key in ("file_path", "command", "pattern", "task") if arguments.get(key)), "")
        if isinstance(named, str) and os.path.isabs(named):
            near = os.path.relpath(named)
            named = near if not near.startswith("..") else f"…/{os.path.basename(named)}"
        told = one_line(f"{name} {named}")
        return told if len(told) <= MAX_LINE else f"{told[:MAX_LINE]}…"


def _names(files: Sequence[str]) -> str:
    """Files by their names: at most three, and how many more."""
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(os.path.basename(path) for path in files[:3]) + more
