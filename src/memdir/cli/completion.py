"""Print a completion script for your shell. It completes commands, options and the names of memories."""

from __future__ import annotations

import argparse

from memdir.disk.shipped import shipped_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.cli.context import Context

EXAMPLES = (
    'eval "$(memdir completion bash)"        # in ~/.bashrc',
    'eval "$(memdir completion zsh)"         # in ~/.zshrc',
    "memdir completion fish > ~/.config/fish/completions/memdir.fish",
)
_NAMES_MEMORY = frozenset(("show", "edit", "forget", "log", "diff", "restore", "why"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace, context: Context) -> int:
    if options.words is None:
        context.terminal.line(shipped_text(f"cli/completions/memdir.{options.shell}").rstrip("\n"))
        return 0
    for candidate in _candidates(options.words, context):
        context.terminal.line(candidate)
    return 0


def _candidates(words: list[str], context: Context) -> list[str]:
    """What may follow: `words` is the line so far, the last one still being typed."""
    from memdir.cli.commands import MODULES

    *before, typed = words or [""]
    if not before:
        return [name for name in MODULES if name.startswith(typed) and " " not in name]
    name = " ".join(before[:2]) if " ".join(before[:2]) in MODULES else before[0]
    if name not in MODULES:
        return []
    further = [other.removeprefix(f"{name} ") for other in MODULES if other.startswith(f"{name} ")]
    if before == [name] and further and not typed.startswith("-"):
        return [word for word in further if word.startswith(typed)]
    if typed.startswith("-"):
        return [option for option in _options_of(name) if option.startswith(typed)]
    if name in _NAMES_MEMORY:
        return [header.key for header in context.store().scan().headers if header.key.startswith(typed)]
    return []


def _options_of(name: str) -> list[str]:
    from importlib import import_module

    from memdir.cli.commands import MODULES
    from memdir.cli.context import build_parser

    parser = build_parser(name, import_module(f"memdir.cli.{MODULES[name]}"))
    return sorted(option for action in parser._actions for option in action.option_strings if option.startswith("--"))
