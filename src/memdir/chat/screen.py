"""What a chat prints into the terminal's own scrollback: finished blocks, in colour, without anything that a model, a
file or a command could smuggle in. Loaded after the first prompt: rich takes its time."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

from memdir.chat.host import saved_and_deleted
from memdir.transcript import one_line, printable

MAX_LINE = 200  # characters of one tool's line
MAX_COLOURED = 2_000  # characters of code: for some languages twice as many take four times as long
MIN_COLUMN = 14  # of a table in a reply, in cells of the screen
_MARKS = {True: ("✗ ", "red"), False: ("✓ ", "green")}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_OTHER_ENDS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # what ends a line on a screen, and in no diff


class _LeftHeading(Heading):
    """A heading where a text begins, at every level."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        yield self.text


class _WholeTable(TableElement):
    """A table none of whose words is cut. Where its columns would be too narrow to read, each row is a list."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = self.header.row.cells if self.header and self.header.row else []
        rows = [row.cells for row in self.body.rows] if self.body else []
        for cell in (*heads, *(cell for row in rows for cell in row)):
            cell.content.overflow = "fold"
        if options.max_width >= MIN_COLUMN * len(heads):
            yield from super().__rich_console__(console, options)
            return
        for row in rows:
            for head, cell in zip(heads, row, strict=False):
                yield Text.assemble((f"{head.content.plain}: ", "bold"), cell.content, overflow="fold")
            yield Text()


class _ReplyText(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading, "table_open": _WholeTable}


class Screen:
    """Renders to text with escapes of our own; `write` puts it above the prompt."""

    def __init__(self, write: Callable[[str], None] | None = None, *, is_coloured: bool = True) -> None:
        self._write, self._is_coloured = write or (lambda text: print(text, end="")), is_coloured

    def show(self, *parts: RenderableType, is_tight: bool = True) -> None:
        """Print these as one finished block, without empty lines around it but for one below where it is not tight."""
        width = shutil.get_terminal_size().columns
        out = io.StringIO()
        console = Console(
            file=out, force_terminal=True, width=width, no_color=not self._is_coloured, highlight=False, markup=False
        )
        for part in parts:
            console.print(part)
        lines = [line.rstrip(" ") for line in out.getvalue().split("\n")]
        seen = [at for at, line in enumerate(lines) if _ESCAPE.sub("", line).strip()] or [0]
        self._write("\n".join([*lines[seen[0] : seen[-1] + 1], "" if is_tight else "\n"]))

    def reply(self, block: str) -> None:
        """A block of what the model says."""
        text = _ReplyText(printable(block), code_theme="ansi_dark", hyperlinks=False)
        for part in text.parsed:
            part.info = part.info if len(part.content) <= MAX_COLOURED else ""  # long code is in no language
        self.show(text, is_tight=False)

    def notice(self, text: str, *, style: str = "dim") -> None:
        self.show(Text(printable(text), style=style))

    def failed(self, message: str, remedy: str, hint: str) -> None:
        told = Text.assemble(("✗ ", "bold red"), (printable(message), "red"))
        self.show(told, *(self._lines(line, "  ") for line in (remedy, hint) if line))

    def tool(self, number: int, line: str, content: str, *, is_error: bool) -> None:
        """One line for a call of a tool, however narrow the terminal is; `/open` shows the rest."""
        count, opens = content.count("\n") + 1, Text(f"  /open {number}", style="dim cyan")
        result = one_line(content) if is_error or count == 1 else f"{count} lines"
        is_said = not is_error and line.startswith(("Edit ", "Write "))  # by the line itself
        told = Text("" if is_said else f"  {result}", style="dim")
        call, room = Text.assemble(_MARKS[is_error], line), shutil.get_terminal_size().columns - opens.cell_len
        call.truncate(max(room - told.cell_len, room * 2 // 3), overflow="ellipsis")
        told.truncate(max(room - call.cell_len, 0), overflow="ellipsis")
        self.show(call + told + opens)

    def opened(self, line: str, content: str) -> None:
        """A text of somebody's, all of it, below a line of ours."""
        self.show(Text(printable(line), style="bold"), self._lines(content, "  "))

    def diff(self, text: str) -> None:
        """A unified diff in colour. Where a line wraps, its rest stands behind the column of the signs."""
        self.show(self._lines(self.spelled(text).rstrip("\n")))

    def command(self, text: str, sign: str = "$ ") -> None:
        """A command, or another text of somebody's, whole, and never where our lines begin."""
        self.show(self._lines(text, f"  {sign}", "bold"))

    @staticmethod
    def _lines(text: str, before: str = "", style: str = "dim") -> Segments:
        """Lines of somebody's: wherever one wraps, its rest stands where none begins. To print each by itself takes
        rich many times as long."""
        width, indent = shutil.get_terminal_size().columns, 2 if before else 1
        lines = [f"{before}{line}" for line in printable(text).split("\n")]
        rows = ((row, line[:1]) for line in lines for row in Screen.rows(line, width, indent))
        return Segments(Segment(f"{row}\n", Style.parse(_DIFF.get(sign, style))) for row, sign in rows)

    def table(self, rows: Iterable[Sequence[str]], *, headers: Sequence[str] = ()) -> None:
        table = Table(*headers, box=None, pad_edge=False, show_header=bool(headers), header_style="dim")
        for row in rows:
            table.add_row(*(Text(printable(cell), overflow="fold") for cell in row))
        self.show(table)

    def tell(self, name: str, fields: Mapping[str, Any]) -> None:
        """An event of the host in words."""
        if name == "recalled":
            self.notice(f"recalled {_names(fields['files'])}  (F3 shows)")
        elif name == "saved":
            self.notice(f"{saved_and_deleted(fields, _names)}  (F4 diff · F5 undo)", style="green")
        elif name == "updated":
            self.notice(f"Doc updated: {_names([fields['file']])}  (F4 diff · F5 undo)", style="green")
        elif name == "dreamt":
            count, asked, reason = len(fields["files"]), fields["questions"], fields["reason"]
            told = f"{count} file{'s' * (count != 1)} changed  (F4 diff · F5 undo)" if count else "nothing to change"
            review = f"  {asked} question{'s' * (asked != 1)}: /review" if asked else ""
            self.notice(f"No dream: {reason}" if reason else f"Dreamt: {told}{review}", style="green")
        elif name == "failed":
            hint = "Nothing is lost: /retry tries again." if fields["can_retry"] else ""
            self.failed(fields["message"], fields["remedy"], hint)
        elif name == "compacted":
            told = f"{fields['tokens_before']:,} → {fields['tokens_after']:,} tokens"
            self.notice(f"The conversation was compacted: {told}. All of it is still in the transcript.")
        elif name == "notice":
            self.notice(fields["text"], style="yellow")

    @staticmethod
    def spelled(diff: str) -> str:
        """A diff whose lines are all that is shown as one: other ends are spelled, but for a return behind each."""
        lines = diff.split("\n")
        texts = [line for line in lines if line[:1] in ("+", "-", " ") and not line.startswith(("--- ", "+++ "))]
        if all(line.endswith("\r") for line in texts):
            lines = [line.removesuffix("\r") for line in lines]
        return _OTHER_ENDS.sub(lambda end: end[0].encode("unicode_escape").decode(), "\n".join(lines))

    @staticmethod
    def rows(text: str, width: int, indent: int = 0) -> list[str]:
        """A text as lines that do not wrap at this width, broken between words; all but the first are indented."""
        text = text.expandtabs()
        if cell_len(text) < width and "\n" not in text:
            return [text]
        lines = Text(text[indent:]).wrap(Console(width=width), max(1, width - 1 - indent))
        return [f"{' ' * indent if at else text[:indent]}{line.plain.rstrip()}" for at, line in enumerate(lines)]

    @staticmethod
    def fitted(text: str, width: int) -> str:
        """A line that does not wrap: cut where it is wider."""
        line = Text(" ".join(text.split("\n")))
        line.truncate(width, overflow="ellipsis")
        return line.plain

    @staticmethod
    def tool_line(name: str, arguments: Mapping[str, object]) -> str:
        """A call of a tool in a line: what it does to what."""
        named = next((arguments[key] for key in ("file_path", "command", "pattern", "task") if arguments.get(key)), "")
        if isinstance(named, str) and os.path.isabs(named):
            near = os.path.relpath(named)
            named = near if not near.startswith("..") else f"…/{os.path.basename(named)}"
        told = one_line(" ".join(filter(None, (name, str(arguments.get("agent", "")), str(named)))))
        return told if len(told) <= MAX_LINE else f"{told[:MAX_LINE]}…"


def _names(files: Sequence[str]) -> str:
    """Files by their names: at most three, and how many more."""
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(os.path.basename(path) for path in files[:3]) + more
