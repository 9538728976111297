"""Judge `xargs`: names that find, ls, grep -l, rg or git ls-files printed, for a command that no word can hurt."""

from __future__ import annotations

from memdir.agent.bash.command_arguments import check_command, read_arguments
from memdir.agent.bash.find_rules import starting_points
from memdir.agent.bash.option_tables import COMMANDS, GIT_COMMANDS, WORDS, Spec, names
from memdir.agent.bash.shell_paths import check_contents, check_path, check_word
from memdir.agent.bash.shell_words import HERE, Refused, Simple, Word, shown

_PRINTERS = names("echo basename dirname")  # they open nothing, so any words will do
_FILTERS = names("head tail sort uniq tac")
_SEARCHES = names("grep egrep fgrep rg")
_NAMES_ONLY = "l L files-with-matches files-without-match files"


def check_xargs(command: Simple) -> None:
    """Refused unless the input is file names and the inner command is harmless whatever its words."""
    arguments = read_arguments("xargs", COMMANDS["xargs"], command.arguments)
    is_part = any(
        word.text != "{}" and "{}" in word.text for word in arguments.operands
    )  # `.e{}` becomes what a name makes of it
    if any(value != "{}" or is_part for value in arguments.values("I")):
        raise Refused("`xargs -I` could make any word: use `{}` as the placeholder, and as a word of its own.")
    inner = command.inner(len(command.words) - len(arguments.operands))
    if inner.words:
        _check_inner(inner)
    if command.earlier and (not inner.words or inner.name in _PRINTERS):
        return
    if not command.earlier or not all(_filters_names(stage) for stage in command.earlier[1:]):
        raise _not_names()
    is_null = arguments.has_any("0 null")
    for root in _roots(command.earlier[0]):
        check_word(root, command.cwd)
        check_contents(root, command.cwd, one_name=not is_null)


def _check_inner(inner: Simple) -> None:
    spec = COMMANDS.get(inner.name)
    if spec is None or not spec.harmless:
        raise Refused(f"{shown('xargs ' + inner.name)} is not provably read-only: use cat, head, wc, grep or ls there.")
    if not spec.rule:
        check_command(inner, spec, may_wait=False)


def _roots(stage: Simple) -> list[Word]:
    """The folders whose files the stage names, and the one in which the names are read; Refused if it prints more."""
    if stage.name == "find":
        texts = [word.text for word in stage.arguments]
        if "-printf" in texts or "-ls" in texts:
            raise _not_names()
        for text in texts:  # `-name .env` asks for it by name
            check_path(text, None)
        return starting_points(stage) or [HERE]
    if stage.name == "git":
        spec, stage = GIT_COMMANDS["ls-files"], stage.inner(1)
    else:
        spec = COMMANDS.get(stage.name, Spec())
    if stage.name not in _SEARCHES | {"ls", "fd", "ls-files"}:
        raise _not_names()
    arguments = read_arguments(stage.name, spec, stage.arguments)
    is_plain = all(option in WORDS["list_options"] for option, _ in arguments.options)
    if not is_plain or (stage.name in _SEARCHES and not arguments.has_any(_NAMES_ONLY)):
        raise _not_names()
    return [HERE, *arguments.operands]


def _filters_names(stage: Simple) -> bool:
    """Whether the stage passes on some of the lines it gets, whole, and reads no file of its own."""
    if stage.name not in _FILTERS | {"grep", "egrep", "fgrep"}:
        return False
    arguments = read_arguments(stage.name, COMMANDS[stage.name], stage.arguments)
    files = len(arguments.operands) - (stage.name not in _FILTERS and not arguments.has_any("e regexp"))
    return files == 0 and all(option in WORDS["filter_options"] for option, _ in arguments.options)


def _not_names() -> Refused:
    return Refused(
        "`xargs` may only take plain file names from find, ls, grep -l, rg -l or git ls-files: pipe one into it."
    )
