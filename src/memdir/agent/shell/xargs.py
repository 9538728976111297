"""Judge `xargs`: names that find, ls, grep -l, rg or git ls-files printed, for a command that no word can hurt."""

from __future__ import annotations

from memdir.agent.shell.check import check_command, read_arguments
from memdir.agent.shell.options import COMMANDS
from memdir.agent.shell.refusal import Refused, shown
from memdir.agent.shell.spec import Spec, names
from memdir.agent.shell.words import Simple, Word

_SPEC = Spec(
    short="0rtn:L:I:d:", long="null no-run-if-empty verbose max-args= delimiter=", operands="text", options_first=True
)
_PRINTERS = names("echo basename dirname")  # they open nothing, so any words will do
_NAMES_ONLY = "l L files-with-matches files-without-match files"
_FILTERS = names("head tail sort uniq tac")
_SEARCHES = names("grep egrep fgrep rg")


def check_xargs(command: Simple) -> None:
    """Refused unless the input is file names and the inner command is harmless whatever its words."""
    arguments = read_arguments("xargs", _SPEC, command.arguments)
    if any(value != "{}" for value in arguments.values("I")):
        raise Refused("`xargs -I` could replace the command itself: use `{}` as the placeholder.")
    if arguments.operands:
        _check_inner(arguments.operands)
    prints_only = not arguments.operands or arguments.operands[0].raw in _PRINTERS
    if not command.earlier or not (prints_only or _gets_names(command.earlier)):
        raise Refused(
            "`xargs` may only take file names from find, ls, grep -l, rg or git ls-files: pipe one of those into it."
        )


def _check_inner(words: list[Word]) -> None:
    name = words[0].raw
    spec = COMMANDS.get(name)
    if spec is None or not spec.harmless:
        raise Refused(
            f"{shown('xargs ' + words[0].text)} is not provably read-only: use cat, head, wc, grep or ls there."
        )
    if not spec.rule:
        check_command(name, spec, tuple(words[1:]), reads_pipe=True)


def _gets_names(earlier: tuple[Simple, ...]) -> bool:
    return _prints_names(earlier[0]) and all(_filters_names(stage) for stage in earlier[1:])


def _prints_names(stage: Simple) -> bool:
    texts = [word.text for word in stage.arguments]
    if stage.name == "git":
        return texts[:1] == ["ls-files"]
    if stage.name in _SEARCHES:
        return read_arguments(stage.name, COMMANDS[stage.name], stage.arguments).has_any(_NAMES_ONLY)
    return stage.name in ("find", "fd", "ls") and "-printf" not in texts


def _filters_names(stage: Simple) -> bool:
    """Whether the stage passes on some of the lines it gets, and reads no file of its own."""
    if stage.name not in _FILTERS | {"grep", "egrep", "fgrep"}:
        return False
    arguments = read_arguments(stage.name, COMMANDS[stage.name], stage.arguments)
    files = len(arguments.operands) - (stage.name not in _FILTERS and not arguments.has_any("e regexp"))
    return files == 0 and not arguments.has_any("f file r R recursive")
