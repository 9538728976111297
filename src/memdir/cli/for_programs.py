"""What other programs ask for: the directory, the section of a prompt, a completion script."""

from __future__ import annotations

import argparse

from memdir.cli.context import add_scope
from memdir.disk.shipped import shipped_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context

_NAMES_MEMORY = frozenset(("show", "edit", "forget", "log", "diff", "restore", "why"))


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
        if options.json:
            place = store.place
            context.print_json(
                {"directory": place.root, "index": place.index, "history": place.history, "state": place.state}
            )
        else:
            context.terminal.line(store.root)
        return 0


class Prompt:
    """Print the memory section of a system prompt, and with --index the index as it goes into the user context.

    Empty when memory is off, so that a host can append it without asking."""

    EXAMPLES = ("memdir prompt", "memdir prompt --index", "memdir prompt --json")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--index", action="store_true", help="also the index, below the section")

    def run(self, options: argparse.Namespace, context: Context) -> int:
        memory = context.start() if context.memory.settings.enabled else context.memory
        section, index = memory.prompt(), memory.context()
        if options.json:
            context.print_json({"enabled": memory.settings.enabled, "section": section, "index": index})
            return 0
        parts = [section, index] if options.index else [section]
        text = "\n\n".join(part.strip("\n") for part in parts if part)
        if text:
            context.terminal.line(text)
        return 0


class Completion:
    """Print a completion script for your shell. It completes commands, options and the names of memories."""

    EXAMPLES = (
        'eval "$(memdir completion bash)"        # in ~/.bashrc',
        'eval "$(memdir completion zsh)"         # in ~/.zshrc',
        "memdir completion fish > ~/.config/fish/completions/memdir.fish",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", choices=("bash", "zsh", "fish"))
        parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace, context: Context) -> int:
        if options.words is None:
            context.terminal.line(shipped_text(f"cli/completions/memdir.{options.shell}").rstrip("\n"))
            return 0
        for candidate in _candidates(options.words, context):
            context.terminal.line(candidate)
        return 0


def _candidates(words: list[str], context: Context) -> list[str]:
    """What may follow: `words` is the line so far, the last one still being typed."""
    from memdir.cli.entry import command_places

    places = command_places()
    *before, typed = words or [""]
    if not before:
        return [name for name in places if name.startswith(typed) and " " not in name]
    name = " ".join(before[:2]) if " ".join(before[:2]) in places else before[0]
    if name not in places:
        return []
    further = [other.removeprefix(f"{name} ") for other in places if other.startswith(f"{name} ")]
    if before == [name] and further and not typed.startswith("-"):
        return [word for word in further if word.startswith(typed)]
    if typed.startswith("-"):
        return [option for option in _options_of(name) if option.startswith(typed)]
    if name in _NAMES_MEMORY:
        return [header.key for header in context.store().scan().headers if header.key.startswith(typed)]
    return []


def _options_of(name: str) -> list[str]:
    from memdir.cli.context import build_parser
    from memdir.cli.entry import command_places, load_command

    parser = build_parser(name, load_command(command_places()[name]))
    return sorted(option for action in parser._actions for option in action.option_strings if option.startswith("--"))
