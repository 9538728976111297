"""Judge a shell command: Allow when it is provably read-only, else Deny with a reason a model can act on (G4).

Layer 1 reads the syntax twice: `shell_words.py` reads it word by word, and here a tree-sitter-bash syntax tree may hold
whitelisted node kinds only, no errors, and exactly the same commands and words: what two independent parsers read
differently is refused. Layer 2 reads the words of each command (`command_arguments.py`; git has rules here). Layer 3,
the sandbox that runs an allowed command, is `bash_tool.py`. See docs/shell-gate.md and ADR 0010.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from memdir.agent.bash import command_rules
from memdir.agent.bash.command_arguments import (
    COMMANDS,
    GIT_COMMANDS,
    GIT_FORMATS,
    GIT_VALUES,
    HINTS,
    Arguments,
    check_command,
)
from memdir.agent.bash.script_rules import check_awk, check_sed
from memdir.agent.bash.shell_words import Refused, Simple, read_commands, shown
from memdir.agent.gate import Allow, Deny

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_GLOBAL_OPTIONS = ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")
# Of these the first word behind the name says what is done; git takes an option in its place for another verb's.
_VERBS = {"stash": ("list", "show"), "reflog": ("show", "list")}
_LISTING = "list contains no-contains merged no-merged points-at"
_WIDTH = r"%w\(\d{0,3}(?:,\d{1,3}){0,2}\)|%(?:<|>|>>|><|<\||>\|)\(\d{1,3}(?:,[lm]?trunc)?\)"
_PLAIN = r"%x[0-9a-fA-F]{2}|%C\([a-z ]{1,20}\)"
_CODE = re.compile(rf"{_WIDTH}|{_PLAIN}|%[-+ ]?([A-Za-z]{{1,6}}|%)|%")
_FIELD = re.compile(r"%\(\*?([A-Za-z]+)(?::[\w=,./ -]*)?\)|%%|%[0-9a-fA-F]{2}")
_SORT = re.compile(r"-?\*?([A-Za-z]+)(?::[\w=,-]*)?")

Span = tuple[int, int]

_KINDS = (
    "program list pipeline command command_name negated_command redirected_statement file_redirect file_descriptor "
    "word string string_content raw_string ansi_c_string concatenation number comment brace_expression "
    "test_command unary_expression binary_expression test_operator"
)
_SIGNS = '; && || | |& " ! > >> &> &>> >& < $ [ ] [[ ]] = == != -a -o { } ..'
NAMED_KINDS, TOKENS = frozenset(_KINDS.split()), frozenset((*_SIGNS.split(), "\n"))
MAX_CHARS = 4_000  # a screenful of file names; longer lines are generated, and nobody reviews them
MAX_COMMANDS = 20  # more than anyone chains by hand
MAX_WORDS = 300  # what a long list of files needs


# What the repository's own configuration may make git run (fsmonitor, filters, a diff driver) cannot be seen in words:
# the sandbox keeps git from reading it (ADR 0040).


def check_git(command: Simple) -> None:
    """Refused unless sub-command, options and operands are on the list."""
    words = command.words
    at = 1
    while at < len(words) and words[at].raw in _GLOBAL_OPTIONS:
        at += 1
    name = words[at].raw if at < len(words) else ""
    if name == "--version" and len(words) == 2:
        return
    spec = GIT_COMMANDS.get(name)
    if spec is None:
        raise Refused(
            f"{shown(f'git {name}'.strip())} is not on the list of read-only git commands: use log, show, diff, "
            "status, blame, grep or ls-files, in the current folder."
        )
    inner = command.inner(at)
    _check_verb(name, inner)
    arguments = check_command(inner, spec, title=f"git {name}")
    if arguments.has_any("help version"):
        raise Refused(f"`git {name} --help` opens a manual: leave it out.")
    _check_values(arguments)
    _check_formats(name, arguments)
    _check_names(name, arguments)
    _check_paths(name, arguments, inner)


def _check_verb(name: str, inner: Simple) -> None:
    verb = inner.arguments[0].raw if inner.arguments else ""
    if name not in _VERBS or verb in _VERBS[name]:
        return
    is_bare = name == "reflog" and all(word.raw.startswith("-") or word.raw == "HEAD" for word in inner.arguments)
    if not is_bare:
        raise Refused(f"{shown(f'git {name} {verb}'.strip())} may change the repository: leave it out.")


def _check_values(arguments: Arguments) -> None:
    """Some values make an option run a program or write: `shortlog --group=format:%G?`, `--diff-merges=remerge`."""
    for option, value in arguments.options:
        if value not in GIT_VALUES.get(option, {value}):
            raise Refused(f"{shown(f'--{option}={value}')} may run a program or write: leave it out.")


def _check_formats(name: str, arguments: Arguments) -> None:
    """`%G?` and `%(signature)` run the program the repository calls gpg; an unknown name may be defined as that."""
    is_of_refs = name in ("branch", "tag", "for-each-ref")
    for value in arguments.values("format", "pretty"):
        if not (_has_fields_only(value) if is_of_refs else _has_codes_only(value)):
            raise Refused(f"The git format {shown(value)} may run a program: use plain placeholders such as %h %an %s.")
    for value in arguments.values("sort"):
        found = _SORT.fullmatch(value)
        if not found or found[1] not in GIT_FORMATS["field"]:
            raise Refused(f"The git order {shown(value)} may run a program: use refname or creatordate.")


def _has_codes_only(value: str) -> bool:
    if not value or value in GIT_FORMATS["pretty"]:
        return True
    template = re.sub(r"^t?format:", "", value)
    if template == value and "%" not in value:
        return False
    return all(_is_code(found) for found in _CODE.finditer(template))


def _is_code(found: re.Match[str]) -> bool:
    """Whether a known code stands at the start of what was found; the letters behind it are plain text."""
    if found[0] == "%" or found[1] is None:
        return found[0] != "%"
    return any(found[1][:width] in GIT_FORMATS["commit"] for width in range(1, len(found[1]) + 1))


def _has_fields_only(value: str) -> bool:
    fields = re.sub(_FIELD, lambda found: "" if found[1] is None or found[1] in GIT_FORMATS["field"] else "%", value)
    return "%" not in fields


def _check_names(name: str, arguments: Arguments) -> None:
    """A bare name makes `branch` and `tag` create it."""
    operands = arguments.operands
    lists = _LISTING + (" l" if name == "tag" else "")
    if name in ("branch", "tag") and operands and not arguments.has_any(lists):
        raise Refused(f"{shown(f'git {name} {operands[0].text}')} would create it: use `git {name} --list PATTERN`.")


def _check_paths(name: str, arguments: Arguments, inner: Simple) -> None:
    """What is in the repository is for all to read; `diff` of two paths looks beyond it."""
    if name == "diff" and inner.cwd is not None:
        operands = arguments.operands
        plain = [word for word in operands if not word.is_pattern]
        is_revision = [word.text != "-" and not os.path.lexists(os.path.join(inner.cwd, word.text)) for word in plain]
        if not any(is_revision) and (len(operands) > 1 or len(plain) < len(operands)):
            raise Refused("`git diff` of two paths may leave the repository: use `git diff HEAD -- PATH` or `diff`.")


def check_tree(source: str, commands: list[Simple]) -> None:
    """Refused unless the syntax tree is whole, whitelisted, and says the same as the first reader."""
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    root = Parser(Language(language())).parse(source.encode()).root_node
    if root.has_error:
        raise Refused("The shell syntax is not complete or not plain: check quotes and operators.")
    for node in _walk(root):
        _check_kind(node)
    if list(_tree_spans(root)) != list(_read_spans(source, commands)):
        raise Refused("The command can be read in more than one way: put blanks around operators and quote the words.")


def _walk(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children)


def _check_kind(node: Node) -> None:
    if node.is_missing or node.is_error or (node.is_extra and node.type != "comment"):
        raise Refused("The shell syntax is not complete or not plain: check quotes and operators.")
    if node.type not in (NAMED_KINDS if node.is_named else TOKENS):
        text = (node.text or b"").decode(errors="replace")
        raise Refused(f"{shown(text)} is shell syntax beyond plain commands ({node.type}): write plain commands only.")


def _tree_spans(root: Node) -> Iterator[tuple[Span, ...]]:
    """Where each command's words stand, in source order; of `[ … ]` only where the whole stands."""
    commands = [node for node in _walk(root) if node.type in ("command", "test_command")]
    for node in sorted(commands, key=lambda found: found.start_byte):
        if node.type == "test_command":
            yield ((node.start_byte, node.end_byte),)
        else:
            yield tuple((c.start_byte, c.end_byte) for c in node.children if c.type != "file_redirect")


def _read_spans(source: str, commands: list[Simple]) -> Iterator[tuple[Span, ...]]:
    for command in commands:
        spans = dict.fromkeys((_bytes(source, word.start), _bytes(source, word.end)) for word in command.words)
        if command.name in ("[", "[["):
            yield ((next(iter(spans))[0], list(spans)[-1][1]),)
        else:
            yield tuple(spans)


def _bytes(source: str, chars: int) -> int:
    return len(source[:chars].encode())


_RULES: Mapping[str, Callable[[Simple], None]] = {
    "any": command_rules.check_nothing,
    "awk": check_awk,
    "date": command_rules.check_date,
    "find": command_rules.check_find,
    "git": check_git,
    "printf": command_rules.check_printf,
    "sed": check_sed,
    "test": command_rules.check_test,
    "version": command_rules.check_version,
    "xargs": command_rules.check_xargs,
}


def judge(command: str, *, cwd: str | None = None) -> Allow | Deny:
    """Whether this command line may run in the sandbox, in this folder if known. Never raises, and runs nothing."""
    try:
        _check(command, cwd)
    except Refused as refusal:
        return Deny(refusal.reason)
    except ImportError:
        return Deny(
            "The shell parser is not installed, so no command can be judged: use the Read, Grep and Glob tools."
        )
    return Allow()


def _check(command: str, cwd: str | None) -> None:
    if len(command) > MAX_CHARS:
        raise Refused(f"The command is longer than {MAX_CHARS} characters: split it.")
    commands = read_commands(command, cwd)
    if len(commands) > MAX_COMMANDS:
        raise Refused(f"There are more than {MAX_COMMANDS} commands in one call: split it.")
    if sum(len(simple.words) for simple in commands) > MAX_WORDS:
        raise Refused(f"There are more than {MAX_WORDS} words in one call: split it.")
    check_tree(command, commands)
    for simple in commands:
        _check_simple(simple)
        if simple.name == "xargs" and simple.earlier:
            before = command[simple.earlier[0].words[0].start : simple.words[0].start]
            if re.search(r">&|\|&", before):
                raise Refused("Messages among the names that `xargs` takes could become names: leave `2>&1` out.")


def _check_simple(command: Simple) -> None:
    spec = COMMANDS.get(command.name)
    if spec is None:
        hint = HINTS.get(
            command.name, "use ls, cat, head, grep, find, wc and the like, or the Read, Grep and Glob tools"
        )
        raise Refused(f"{shown(command.name)} is not on the list of read-only commands: {hint}.")
    if spec.rule:
        _RULES[spec.rule](command)
    else:
        check_command(command, spec)
