"""What every command shares: its parser's common options, the opened memory, the terminal."""

from __future__ import annotations

import argparse
import sys

from memdir.cli.terminal import Progress, Terminal, clean
from memdir.errors import MemdirError, UsageError
from memdir.settings import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.cli.entry import Command
    from memdir.events import Event
    from memdir.layout import Place
    from memdir.memdir import MemDir
    from memdir.store.store import MemoryStore


HELP_WIDTH = 100  # the width the help texts and examples are written for


def build_parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser of one command: its docstring is the description, `EXAMPLES` the epilogue."""
    description = "\n".join(line.strip() for line in (command.__doc__ or "").splitlines()).strip()
    examples = "\n".join(f"  {line}" for line in command.EXAMPLES)
    parser = argparse.ArgumentParser(
        prog=f"memdir {name}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    common = parser.add_argument_group("common options")
    common.add_argument("--project", metavar="DIR", default=".", help="the project's folder (default: this one)")
    common.add_argument("--home", metavar="DIR", help="memdir's home (default: MEMDIR_HOME or ~/.memdir)")
    common.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a setting for this call")
    common.add_argument("--bare", action="store_true", help="memory off: read and write nothing")
    common.add_argument("--no-color", action="store_true", help="no colours")
    return parser


def add_scope(parser: argparse.ArgumentParser) -> None:
    text = "project (default), user, team, agent:NAME, agent-project:NAME or agent-local:NAME"
    parser.add_argument("--scope", default="project", metavar="SCOPE", help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most this many (default: 20)")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Knows its width: argparse would load half of the standard library's archive modules to find it out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_WIDTH)


class Context:
    """Opens what a command asks for, when it asks for it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._memory: MemDir | None = None
        self._failed_because = ""
        self.environment = Environment.read(bare=options.bare, home=options.home or "")
        if options.no_color:
            self.environment.colour = False
        self.terminal = Terminal(sys.stdout, self.environment)

    @property
    def memory(self) -> MemDir:
        """The project's memory, opened; nothing on disk is touched yet."""
        if self._memory is None:
            from memdir.memdir import open_memory

            self._memory = open_memory(
                self._options.project, environment=self.environment, flags=self._flags(), sink=self, source="cli"
            )
        return self._memory

    def emit(self, event: Event) -> None:
        """Say at once what happened to the history (S14), and what was saved by hand with a secret in it (S15)."""
        if event.name in ("history.set_aside", "history.repaired", "journal.set_aside"):
            from memdir.store.repair import repair_in_words

            self.note(repair_in_words(event))
        elif event.name == "history.failed":
            self._failed_because = str(event.fields["reason"])
        elif event.name == "memory.secret":
            file, found = event.fields["file"], event.fields["found"]
            self.note(f"{file} was saved with a secret in it: {found}. Take it out with `memdir edit` and revoke it")

    def tell_waiting(self) -> None:
        """Whatever was asked for: say that a change is not in the history yet (S14)."""
        if self._memory is None or not self._memory.settings.enabled:
            return
        because = f" ({self._failed_because})" if self._failed_because else ""
        if because or any(map(_is_left_waiting, self._places())):
            self.note(f"a change is not in the history yet, and cannot be undone{because}: `memdir doctor` tells more")

    def _places(self) -> list[Place]:
        assert self._memory
        scopes = {"project", "user", getattr(self._options, "scope", "project")}
        try:
            return [self._memory.place_of(scope) for scope in scopes]
        except MemdirError:
            return []  # there is no such scope, as the command has said

    def start(self) -> MemDir:
        """The memory, on and ready to be written to; says so when a lost store was found (I1)."""
        memory = self.require_enabled()
        adoption = memory.start()
        if adoption and adoption.adopted:
            self.note(
                f"found the memory of this project under its old path {adoption.adopted.identity.root} and took it over"
            )
        elif adoption and adoption.candidates:
            roots = ", ".join(record.identity.root for record in adoption.candidates)
            self.note(f"other stores may belong to this project: {roots} (`memdir adopt` shows and takes them over)")
        return memory

    def require_enabled(self) -> MemDir:
        """The memory, on."""
        self.memory.require_enabled()
        return self.memory

    def store(self, *, for_writing: bool = False) -> MemoryStore:
        """The store of the scope that was asked for."""
        memory = self.start() if for_writing else self.require_enabled()
        return memory.store_for(getattr(self._options, "scope", "project"))

    def state(self) -> MemoryStore:
        """The same for commands that tell how things stand: a setting may have turned memory off, and anything may be
        broken. Whom the caller himself told to keep off reads nothing (S5)."""
        environment = self.environment
        if environment.disabled or environment.bare or environment.remote:
            self.require_enabled()
        return self.memory.store_for(getattr(self._options, "scope", "project"))

    def tolerate_settings(self) -> None:
        """For commands that tell what is wrong with the settings: what cannot be used is no error."""
        self.environment.is_forgiving = True

    def note(self, text: str) -> None:
        """A remark beside the output."""
        print(f"memdir: {clean(text)}", file=sys.stderr)

    def progress(self, what: str) -> Progress:
        """How far long work is, where a person looks."""
        is_seen = sys.stderr.isatty() and not getattr(self._options, "json", False)
        return Progress(sys.stderr if is_seen else None, what)

    def print_json(self, value: object) -> None:
        import json

        self.terminal.line(json.dumps(value, indent=2))

    def _flags(self) -> dict[str, str]:
        flags = {}
        for text in self._options.set:
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"--set {text} has no value", remedy="Write --set name=value")
            flags[name] = value
        return flags


def _is_left_waiting(place: Place) -> bool:
    import os

    if not os.path.lexists(place.journal) and not os.path.lexists(place.waiting):
        return False  # as nearly always: nothing has to be loaded to tell
    from memdir.store.journal import is_left_waiting

    try:
        return is_left_waiting(place)
    except MemdirError:
        return True  # it cannot be looked at, so nobody has recorded it
