"""Asks a person, once, which model may serve: a key in the environment is an offer, never a choice."""

from __future__ import annotations

from memdir.cli.terminal import clean
from memdir.model.choose import DEFAULT_MODELS, offers
from memdir.settings import settings_files
from memdir.settings_file import put_setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.cli.context import Context


def ask_which_model(context: Context) -> None:
    """Keep the answer in the person's own settings. Nothing is asked where only the built-in model is at hand."""
    memory, terminal = context.memory, context.terminal
    offered = offers(memory.settings, memory.environment)
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
    path = settings_files(memory.environment, memory.layout)["user"]
    put_setting(path, "model.provider", answer)
    context.note(f"model.provider is {answer} in {path}; `memdir config set model.provider …` changes it")
    context.reopened()
