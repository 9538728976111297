"""What other programs ask for: the directory, the section of a prompt, a completion script."""

from __future__ import annotations

import argparse

from memdir.cli.context import add_scope, build_parser
from memdir.disk.shipped import shipped_text
from memdir.errors import UsageError
from memdir.settings import OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memdir.cli.context import Context


class Path:
    """Print the memory directory as the last line of the output. It is created if it does not exist, unless memory is
    off."""

    EXAMPLES = ("memdir path", 'cd "$(memdir path)"', "memdir path --scope user", "memdir path --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_scope(parser)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        is_on = context.memory.settings.enabled
        store = context.store(for_writing=True) if is_on else context.state()
        if is_on:
            store.ensure()
        it = store.place
        if options.json:
            return context.print_json(
                {"directory": it.root, "index": it.index, "history": it.history, "state": it.state}
            )
        context.terminal.verbatim(store.root)
        return 0


class PrintPrompt:
    """Print the memory section of a system prompt, and with --index the index as it goes into the user context.

    Empty when memory is off, so that a host can append it without asking."""

    EXAMPLES = ("memdir prompt", "memdir prompt --index", "memdir prompt --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--index", action="store_true", help="also the index, below the section")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.start() if context.memory.settings.enabled else context.memory
        section, index = memory.prompt(), memory.context()
        if options.json:
            return context.print_json({"enabled": memory.settings.enabled, "section": section, "index": index})
        parts = [section, index] if options.index else [section]
        text = "\n\n".join(part.strip("\n") for part in parts if part)
        if text:
            context.terminal.verbatim(text)
        return 0


class Completion:
    """Print a completion script for your shell. It completes commands, options and their values, and the names of
    memories (by any part of them), sessions and settings."""

    EXAMPLES = (
        'eval "$(memdir completion bash)"        # in ~/.bashrc',
        'eval "$(memdir completion zsh)"         # in ~/.zshrc',
        "memdir completion fish > ~/.config/fish/completions/memdir.fish",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
        parser.add_argument("--words", nargs=argparse.REMAINDER, dest="typed", help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        if options.typed is None:
            script = shipped_text(f"cli/completions/memdir.{options.shell}").rstrip("\n")
            if options.json:
                return context.print_json({"script": script})
            context.terminal.verbatim(script)
            return 0
        for candidate in _candidates(options.typed, context):
            context.terminal.verbatim(candidate)
        return 0


def _candidates(words: list[str], context: Context) -> list[str]:
    """What may follow: `words` is the line so far, the last one still being typed. What begins as it was typed goes
    before what merely holds it."""
    *before, typed = words or [""]
    offered = list(dict.fromkeys(_offered(before, typed, context)))
    begun = [one for one in offered if one.startswith(typed)]
    if begun or not typed or typed.startswith("-"):
        return begun
    return [one for one in offered if typed.casefold() in one.casefold()]


def _offered(before: list[str], typed: str, context: Context) -> Iterable[str]:
    from memdir.cli.entry import ALIASES, command_places, load_command, split_at_command

    places = command_places()
    value_of = before[-1] if before else ""
    if value_of in _VALUES:
        return _VALUES[value_of](context)
    try:
        _, before = split_at_command(before)
    except UsageError:
        return ()
    if not before or before == ["help"]:
        options = ("--json", "--project", "--home", "--set", "--bare", "--no-color", "--help", "--version")
        return options if typed.startswith("-") else [name for name in (*places, *ALIASES) if " " not in name]
    before = [*ALIASES.get(before[0], before[0]).split(" "), *before[1:]]
    name = " ".join(before[:2]) if " ".join(before[:2]) in places else before[0]
    if name not in places:
        return ()
    further = [other.removeprefix(f"{name} ") for other in places if other.startswith(f"{name} ")]
    if before == [name] and further and not typed.startswith("-"):
        return further
    actions = build_parser(name, load_command(places[name]))._actions
    for action in actions:
        if action.choices and (value_of in action.option_strings or not (action.option_strings or typed[:1] == "-")):
            return [str(choice) for choice in action.choices]
    if typed.startswith("-"):
        return sorted(option for action in actions for option in action.option_strings if option.startswith("--"))
    return _NAMED[name](context, before) if name in _NAMED else ()


def _memories(context: Context, _: object = None) -> list[str]:
    stores = context.require_enabled().stores
    return [one.key for scope in ("project", "user") for one in stores.of(scope).scan(limit=None).headers]


def _memories_ever(context: Context, _: object = None) -> list[str]:
    store = context.store()
    history = store.history.log() if store.history.is_readable else ()  # those that are gone, too, where it can tell
    gone = [file.path.removeprefix(store.place.prefix) for commit in history for file in commit.files]
    return [*_memories(context), *gone]


def _sessions(context: Context, _: object = None) -> list[str]:
    from memdir.cli.sessions import sessions

    return ["latest", *(ref.id for ref in sessions(context))]


def _settings(_: Context, before: list[str]) -> list[str]:
    if len(before) <= 2:
        return [option.name for option in OPTIONS]
    chosen = next((option for option in OPTIONS if option.name == before[2]), None)
    return [] if chosen is None else list(chosen.choices) or (["true", "false"] if chosen.kind == "bool" else [])


def _flags(_: Context) -> list[str]:
    return [f"{option.name}=" for option in OPTIONS]


_SCOPES = ["project", "user", "team", "docs", "all", "agent:", "agent-project:", "agent-local:"]
_VALUES: dict[str, Callable[[Context], list[str]]]
_VALUES = {"--scope": lambda _: _SCOPES, "--set": _flags, "--expect": _memories}
_NAMED: dict[str, Callable[[Context, list[str]], list[str]]] = {
    **dict.fromkeys(("show", "edit", "forget", "move", "why"), _memories),
    **dict.fromkeys(("log", "diff", "restore"), _memories_ever),
    **dict.fromkeys(("sessions show", "sessions export", "sessions files", "resume", "fork"), _sessions),
    **dict.fromkeys(("config get", "config set"), _settings),
}
