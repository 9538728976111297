"""What every command shares: its parser's common options, the opened memory, the terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys

from memdir.cli.terminal import Progress, Terminal, clean, folded
from memdir.errors import BadMemoryFile, DiskError, LockBusy, MemdirError, MemoryNotFound, SeveralFit, UsageError
from memdir.settings import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import NoReturn

    from _typeshed import SupportsWrite

    from memdir.cli.entry import Command
    from memdir.events import Event
    from memdir.layout import Place
    from memdir.memdir import MemDir
    from memdir.store.store import MemoryStore


TYPES = ("user", "feedback", "project", "reference")
HELP_WIDTH = 100  # the width the help texts and examples are written for
_NO_OPTION = "\0"  # before a word that is none, whatever it begins with: no word of a command line has it
ANYWHERE = "; without --scope the project's, or else yours for all projects"
OF_USER = "  yours, for all projects (--scope user)"  # behind a memory that is listed among the project's


def build_parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser of one command: its docstring is the description, `EXAMPLES` the epilogue."""
    description = "\n".join(line.strip() for line in (command.__doc__ or "").splitlines()).strip()
    examples = "\n".join(f"  {line}" for line in command.EXAMPLES)
    parser = _Parser(
        prog=f"memdir {name}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    common = parser.add_argument_group("common options, before or after the command")
    common.add_argument("--json", action="store_true", help="print JSON for programs (docs/reference/json.md)")
    common.add_argument("--project", metavar="DIR", default=".", help="the project's folder (default: this one)")
    common.add_argument("--home", metavar="DIR", help="memdir's home (default: MEMDIR_HOME or ~/.memdir)")
    common.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a setting for this call")
    common.add_argument("--bare", action="store_true", help="memory off: read and write nothing")
    common.add_argument("--no-color", action="store_true", help="no colours")
    return parser


def parse(name: str, command: Command, words: list[str]) -> argparse.Namespace:
    """What was asked for. Options may stand anywhere among the words, and behind `--` there are none."""
    parser = build_parser(name, command)
    at = words.index("--") if "--" in words else len(words)
    parser.set_defaults(as_json="--json" in words[:at])
    plain = [f"{_NO_OPTION}{word}" for word in words[at + 1 :]]
    options, more = parser.parse_known_intermixed_args([*words[:at], *plain])
    if more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    for dest, value in vars(options).items() if plain else ():
        said = [one.removeprefix(_NO_OPTION) for one in value] if isinstance(value, list) else value
        setattr(options, dest, said.removeprefix(_NO_OPTION) if isinstance(said, str) else said)
    return options


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        if self.get_default("as_json"):
            import json

            print(json.dumps({"ok": True, "command": self.prog.removeprefix("memdir "), "help": self.format_help()}))
            return
        width = Terminal(sys.stdout, Environment.read()).width or HELP_WIDTH
        self.formatter_class = lambda prog: Formatter(prog, min(width, HELP_WIDTH))
        self.usage = None  # which was made for another width, in case of an error
        print(self.format_help(), end="", file=file)  # argparse keeps to itself that it could not

    def error(self, message: str) -> NoReturn:
        """One style for all errors: what is wrong, and what to do about it."""
        told, remedy = message.removeprefix("argument "), f"`{self.prog} --help` shows how it is used"
        if message.startswith("unrecognized arguments: "):
            import difflib

            from memdir.cli.entry import command_places

            first, *_ = message.removeprefix("unrecognized arguments: ").split(" ")
            told = f"`{self.prog}` has no option {first}" if first.startswith("-") else f"what is {first!r} there for?"
            start = f"{self.prog.removeprefix('memdir ')} "
            family = [name.removeprefix(start) for name in command_places() if name.startswith(start)]
            close = difflib.get_close_matches(first, (*self._option_string_actions, *family), n=1)
            remedy = f"Did you mean {close[0]}? {remedy}" if close else f"{remedy}; words follow behind --"
        elif message.startswith("the following arguments are required: "):
            told = f"{message.rpartition(': ')[2]} is missing"
        raise UsageError(told, remedy=remedy)


def add_scope(
    parser: argparse.ArgumentParser, *, default: str = "project", more: str = "", has_docs: bool = False
) -> None:
    scopes = (*(("all",) if more else ()), "project", "user", "team", *(("docs",) if has_docs else ()))
    scopes += ("agent:NAME", "agent-project:NAME")
    told = ", ".join(f"{scope} (default)" if scope == default else scope for scope in scopes)
    text = f"{told} or agent-local:NAME{f'; all: {more}' if more else '' if default else ANYWHERE}"

    def scope(name: str) -> str:
        if name in ("", "docs", *scopes) or re.match(r"agent(-user|-project|-local)?:", name):
            return name
        raise UsageError(f"there is no scope {name!r}", remedy=f"Choose one of {', '.join(scopes)}, agent-local:NAME")

    parser.add_argument("--scope", default=default, metavar="SCOPE", type=scope, help=text)


def in_scope(scope: str) -> str:
    return "" if scope == "project" else f"  scope {scope}"


def text_of(words: list[str], *, max_bytes: int, what: str) -> str:
    """What was typed, in quotes or without; from standard input for a lone `-`, or for nothing where nobody types."""
    typed = " ".join(words)
    if typed != "-" and typed.strip():
        return typed
    data = b"" if typed != "-" and (words or sys.stdin.isatty()) else sys.stdin.buffer.read(max_bytes + 1)
    if not data.strip():
        raise UsageError(f"there is nothing to {what}", remedy=f'memdir {what} "some words", or - for standard input')
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        told = "what came by standard input is not UTF-8 text"
        raise BadMemoryFile(told, remedy="Convert it first, for example with iconv") from None


def add_limit(parser: argparse.ArgumentParser, *, default: int = 20) -> None:
    text = f"at most this many (default: {default})"
    parser.add_argument("--limit", type=count, default=default, metavar="N", help=text)


def count(text: str) -> int:
    return number(text, least=1)


def number(text: str, *, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} up")
    return int(text)


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Knows its width: argparse would load half of the standard library's archive modules to find it out."""

    def __init__(self, prog: str, width: int = HELP_WIDTH) -> None:
        super().__init__(prog, width=width, max_help_position=24 if width >= 80 else 8)

    def _format_action_invocation(self, action: argparse.Action) -> str:  # "-p, --print TEXT", as Python 3.13 has it
        return re.sub(r"^(-\w) .*, (?=--)", r"\1, ", super()._format_action_invocation(action))

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - as argparse calls it
        """Paragraphs fill the lines that there are; of an example that is too long, the remark goes before it."""
        import textwrap

        lines = (line.partition(" # ") if len(line) > width else (line, "", "") for line in text.split("\n"))
        shown = "\n".join(f"  # {remark}\n{line.rstrip()}" if remark else line for line, _, remark in lines)
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in shown.split("\n\n"))


class Context:
    """Opens what a command asks for, when it asks for it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._memory: MemDir | None = None
        self._failed_because = ""
        if "" in (options.home, options.project):
            raise UsageError("--home or --project is empty", remedy="Name a folder, or leave the option out")
        _require_place(options.project, options.home or "/")
        self.environment = Environment.read(bare=options.bare, home=options.home or "")
        if options.no_color:
            self.environment.colour = False
        self.terminal = Terminal(sys.stdout, self.environment)

    @property
    def memory(self) -> MemDir:
        """The project's memory, opened. A project that was moved finds its store again, whatever is asked for."""
        if self._memory is None:
            self._memory = self.opened("cli")
            self._look_for_store(self._memory)
            if ":" in (scope := str(getattr(self._options, "scope", ""))):
                from memdir.subagents.definitions import doubt_about

                if doubt := doubt_about(scope, self._memory):
                    self.note(doubt)
        return self._memory

    def opened(self, source: str) -> MemDir:
        """The project's memory for somebody whom the history calls `source`."""
        from memdir.memdir import open_memory

        flags = self._flags()
        return open_memory(self._options.project, environment=self.environment, flags=flags, sink=self, source=source)

    def reopened(self) -> MemDir:
        """The memory as the settings are now."""
        self._memory = None
        return self.memory

    def ask(self, question: str, *, otherwise: bool = False) -> bool:
        """Whether a person says yes."""
        return (self.answer(question) or ("y" if otherwise else "n")) in ("y", "yes")

    def answer(self, question: str) -> str:
        """What a person says. Ctrl-C ends the command here and now, whatever loop runs around the question."""
        import signal

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return input(folded(question, self.terminal.width or len(question)).rstrip() + " ").strip().lower()
        finally:
            signal.signal(signal.SIGINT, before)

    def key(self, question: str, keys: Collection[str]) -> str:
        """One of these keys that a person presses, without Enter; "" for Enter alone. What was typed before the
        question answers nothing."""
        if os.name == "nt":
            return self.answer(question)[:1]
        import termios
        import tty

        print(folded(question, self.terminal.width or len(question)), end=" ", flush=True)
        before = termios.tcgetattr(sys.stdin)
        try:
            tty.setcbreak(sys.stdin)  # forgets what was typed ahead; Ctrl-C stays what it is
            pressed = "?"
            while pressed not in keys and pressed not in ("\n", "\r", "\x04", ""):
                pressed = os.read(sys.stdin.fileno(), 1).decode("ascii", "replace").lower()
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        if pressed in ("\x04", ""):
            raise EOFError
        print(pressed.strip())
        return pressed.strip()

    def emit(self, event: Event) -> None:
        """Say at once what happened to the history (S14), and what was saved by hand with a secret in it (S15)."""
        if event.name in ("history.set_aside", "history.repaired", "journal.set_aside"):
            from memdir.store.repair import repair_in_words

            self.note(repair_in_words(event))
        elif event.name == "model.builtin" and self.memory.settings.model_provider != "auto":
            self.note(f"the built-in model serves: {event.fields['reason']}")
        elif event.name == "history.failed":
            self._failed_because = str(event.fields["reason"])
        elif event.name == "memory.secret":
            file, found = event.fields["file"], event.fields["found"]
            self.note(f"{file} was saved with a secret in it: {found}. Take it out with `memdir edit` and revoke it")
        elif event.name == "memory.changed" and event.fields["source"] != "team":
            self._sync_later()

    def _sync_later(self) -> None:
        """Have what was changed given to the team by a process of its own, once for several changes: a command ends at
        once (E4). What it cannot give waits for the next sync."""
        if not self.memory.places.syncs or self.environment.no_daemon or os.name == "nt":
            return
        from memdir.process import detach

        if note_change(self.memory.place):
            detach("sync", "--later", "--project", self.memory.layout.work_tree, "--home", self.environment.home)

    def tell_waiting(self) -> None:
        """Whatever was asked for: say that a change is not in the history yet (S14)."""
        if self._memory is None or not self._memory.settings.enabled:
            return
        because = f" ({self._failed_because})" if self._failed_because else ""
        if because or any(map(_is_left_waiting, self._places())):
            self.note(f"a change is not in the history yet, and cannot be undone{because}: `memdir doctor` tells more")

    def _places(self) -> list[Place]:
        assert self._memory
        scopes = {"project", "user", getattr(self._options, "scope", "project")} - {"", "all"}
        try:
            return [self._memory.places.of(scope) for scope in scopes]
        except MemdirError:
            return []  # there is no such scope, as the command has said

    def start(self) -> MemDir:
        """The memory, on and ready to be written to."""
        memory = self.require_enabled()
        memory.start()
        return memory

    def require_enabled(self) -> MemDir:
        """The memory, on."""
        self.memory.places.require_enabled()
        return self.memory

    def _look_for_store(self, memory: MemDir) -> None:
        """Say so when a lost store was found (I1). One that cannot be moved now keeps nobody from asking."""
        try:
            found = memory.stores.find_lost() if memory.settings.enabled else None
        except (DiskError, LockBusy) as error:
            self.note(f"this project was moved, and its memory could not follow yet: {error.message}")
            return
        if found and found.adopted:
            before = found.adopted.identity.root
            self.note(f"found the memory of this project under its old path {before} and took it over")
        elif found:
            roots = ", ".join(record.identity.root for record in found.candidates)
            self.note(f"other stores may belong to this project: {roots} (`memdir adopt` shows and takes them over)")

    def with_model(self) -> MemDir:
        """The memory, on, for a command that asks a model: where nobody chose one, a person who sits there does now."""
        settings = self.require_enabled().settings
        is_seen = sys.stdin.isatty() and sys.stdout.isatty() and not self._options.json
        is_open = settings.model_provider == "auto" and settings.origins.get("model.provider", "user") == "user"
        if is_seen and is_open:  # and what they choose would be in force
            _ask_which_model(self)
        return self.memory

    def store(self, *, for_writing: bool = False) -> MemoryStore:
        """The store of the scope that was asked for."""
        memory = self.start() if for_writing else self.require_enabled()
        return memory.stores.of(getattr(self._options, "scope", "project"))

    def named(
        self, *names: str, find: Callable[[MemoryStore, str], str], for_writing: bool = False
    ) -> tuple[MemoryStore, list[str]]:
        """The memories that are meant, and their store: of the scope that was asked for, or else the project's, or the
        person's own for all projects where the project has none by these names."""
        memory, unknown = self.start() if for_writing else self.require_enabled(), list[MemoryNotFound]()
        for scope in [self._options.scope] if self._options.scope else ("project", "user"):
            try:
                store = memory.stores.of(scope)
                return store, list(dict.fromkeys(find(store, name) for name in names))
            except SeveralFit:
                raise
            except MemoryNotFound as error:
                unknown.append(error)
        raise unknown[0]

    def state(self) -> MemoryStore:
        """The same for commands that tell how things stand."""
        return self.at_hand().stores.of(getattr(self._options, "scope", "project"))

    def at_hand(self) -> MemDir:
        """The memory, though a setting turned it off. Whom the caller himself told to keep off reads nothing (S5)."""
        if self.environment.disabled or self.environment.bare or self.environment.remote:
            self.require_enabled()
        return self.memory

    def tolerate_settings(self) -> None:
        """For commands that tell what is wrong with the settings: what cannot be used is no error."""
        self.environment.is_forgiving = True

    def note(self, text: str) -> None:
        """A remark beside the output."""
        Terminal(sys.stderr, self.environment).line(f"memdir: {clean(text)}")

    def progress(self, what: str) -> Progress:
        """How far long work is, where a person looks."""
        is_seen = sys.stderr.isatty() and not self._options.json
        return Progress(sys.stderr if is_seen else None, what)

    def print_json(self, answer: Mapping[str, object], status: int = 0) -> int:
        """What a program gets: one object, `ok` exactly where the exit status is 0 (docs/reference/json.md). Gives the
        exit status of a command that has no more to do."""
        import json

        self.terminal.verbatim(json.dumps({"ok": not status, **answer}, indent=2))
        return status

    def _flags(self) -> dict[str, str]:
        flags = {}
        for text in self._options.set:
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"--set {text} has no value", remedy="Write --set name=value")
            flags[name] = value
        return flags


def _require_place(*paths: str) -> None:
    """A path that is not a full one begins in a folder that must still be there."""
    try:
        if not all(map(os.path.isabs, paths)):
            os.getcwd()
    except OSError:
        told = "the folder that you are in is gone"
        raise MemdirError(told, remedy="Change to one that exists, or name one: --project DIR") from None


def _is_left_waiting(place: Place) -> bool:
    if not os.path.lexists(place.journal) and not os.path.lexists(place.waiting):
        return False  # as nearly always: nothing has to be loaded to tell
    from memdir.store.journal import is_left_waiting

    try:
        return is_left_waiting(place)
    except MemdirError:
        return True  # it cannot be looked at, so nobody has recorded it


def _ask_which_model(context: Context) -> None:
    """Ask a person, once, which model may serve: a key in the environment is an offer, never a choice. The answer is
    kept in their own settings; nothing is asked where only the built-in model is at hand."""
    from memdir.model.choose import DEFAULT_MODELS, offered_providers

    memory, terminal = context.memory, context.terminal
    offered = offered_providers(memory.settings, memory.environment)
    if not offered:
        return
    choices = ["builtin", *offered]
    terminal.line("Which model may learn, recall and dream in the background?")
    terminal.line("  1  the built-in one, on this machine: nothing is sent and nothing is paid")
    for number, provider in enumerate(offered, 2):
        name = memory.settings.model_name or DEFAULT_MODELS[provider]
        terminal.line(
            clean(f"  {number}  {name} by {provider}{offered[provider]}: what you say is sent there, and paid")
        )
    answer = context.answer("Choose, or press Enter for 1: ") or "1"
    while answer not in choices:
        if answer.isdecimal() and 0 < int(answer) <= len(choices):
            answer = choices[int(answer) - 1]
        else:
            answer = context.answer(f"A number from 1 to {len(choices)}, or Ctrl-C: ") or "1"
    path = memory.keep_settings({"model.provider": answer})
    context.note(f"model.provider is {answer} in {path}; `memdir config set model.provider …` changes it")
    context.reopened()


def note_change(place: Place) -> bool:
    """Note that a command has written something for the team; whether nobody is there yet who will send it."""
    from contextlib import suppress

    from memdir.disk.atomic import keep_bytes
    from memdir.disk.lock import locked

    keep_bytes(place.changed_for_team, b"", durably=False)
    with suppress(LockBusy), locked(f"{place.changed_for_team}.lock", wait_seconds=0.0):
        return True
    return False
