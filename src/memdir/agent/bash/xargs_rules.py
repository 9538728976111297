"""Judge `xargs`: names that find, grep -l or rg -l printed, for a command that no word can hurt."""

from __future__ import annotations

from memdir.agent.bash.command_arguments import Arguments, check_command, read_arguments
from memdir.agent.bash.find_rules import starting_points
from memdir.agent.bash.option_tables import COMMANDS, WORDS, names
from memdir.agent.bash.shell_paths import ONE_NAME, check_contents, check_path, check_word
from memdir.agent.bash.shell_words import HERE, Refused, Simple, Word, shown

_PRINTERS = names("echo basename dirname")  # they open nothing, so any words will do
_FILTERS = {"head": "xargs_head", "tail": "xargs_head", "sort": "xargs_sort", "grep": "xargs_grep"}
_SEARCHES = {"grep": "xargs_grep_names", "rg": "xargs_rg_names"}


def check_xargs(command: Simple) -> None:
    """Refused unless the input is file names and the inner command is harmless whatever its words."""
    arguments = read_arguments("xargs", COMMANDS["xargs"], command.arguments)
    inner = command.inner(len(command.words) - len(arguments.operands))
    if inner.words:
        _check_inner(inner)
    if command.earlier and (not inner.words or inner.name in _PRINTERS):
        return
    if not command.earlier:
        raise _not_names()
    source, *filters = command.earlier
    is_null = arguments.has_any("0 null")
    if is_null != _ends_names_with_null(source) or (is_null and filters):
        raise Refused("`xargs -0` takes the names of `find … -print0`, and of nothing else: pipe it in directly.")
    if not all(_filters_names(stage) for stage in filters):
        raise _not_names()
    for root in _roots(source):
        if root.is_pattern or root.text.startswith("-") or not (is_null or ONE_NAME.fullmatch(root.text)):
            raise Refused(f"{shown(root.text)} may be an option or several words to `xargs`: name one plain folder.")
        check_word(root, command.cwd)
        check_contents(root, command.cwd, one_name=not is_null)


def _check_inner(inner: Simple) -> None:
    spec = COMMANDS.get(inner.name)
    if spec is None or not spec.harmless:
        raise Refused(f"{shown('xargs ' + inner.name)} is not provably read-only: use cat, head, wc, grep or ls there.")
    if not spec.rule:
        check_command(inner, spec, may_wait=False)


def _ends_names_with_null(stage: Simple) -> bool:
    texts = ["", *(word.text for word in stage.arguments)]
    is_action = stage.name == "find" and texts[-1] == "-print0" and texts[-2] not in WORDS["find_with_text"]
    if "-print0" in texts[:-1] or (is_action and "-print" in texts):
        raise _not_names()
    return is_action


def _roots(stage: Simple) -> list[Word]:
    """The files the stage names, and the folders whose files it names; Refused if it prints anything else."""
    if stage.name == "find":
        texts = [word.text for word in stage.arguments]
        if "-printf" in texts or "-ls" in texts:
            raise _not_names()
        for text in texts:  # `-name .env` asks for it by name
            check_path(text, None)
        return starting_points(stage) or [HERE]
    if stage.name not in _SEARCHES:
        raise _not_names()
    arguments = _plain(stage, _SEARCHES[stage.name])
    files = arguments.operands[not arguments.has_any(COMMANDS[stage.name].pattern_options) :]
    if not files or not arguments.has_any("l files-with-matches files"):  # below no folder names are bare: `-r`
        raise _not_names()
    return files


def _filters_names(stage: Simple) -> bool:
    """Whether the stage passes on some of the lines it gets, whole, and reads no file of its own."""
    if stage.name not in _FILTERS:
        return False
    arguments = _plain(stage, _FILTERS[stage.name])
    return len(arguments.operands) == (stage.name == "grep" and not arguments.has_any("e regexp"))


def _plain(stage: Simple, key: str) -> Arguments:
    arguments = read_arguments(stage.name, COMMANDS[stage.name], stage.arguments)
    if not all(option in WORDS[key] for option, _ in arguments.options):
        raise _not_names()
    return arguments


def _not_names() -> Refused:
    return Refused("`xargs` may only take plain file names: pipe `find`, or `grep -l` or `rg -l` of a folder, into it.")
