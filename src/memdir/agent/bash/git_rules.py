"""Judge `git`: a sub-command from the list, in the folder it runs in, and nothing that makes git run another program.

What the repository's own configuration may make git run (fsmonitor, filters, a diff driver) cannot be seen in words:
the sandbox keeps git from reading it (ADR 0040).
"""

from __future__ import annotations

import os
import re

from memdir.agent.bash.command_arguments import GIT_COMMANDS, GIT_FORMATS, GIT_VALUES, Arguments, check_command
from memdir.agent.bash.shell_words import Refused, Simple, shown

_GLOBAL_OPTIONS = ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")
# Of these the first word behind the name says what is done; git takes an option in its place for another verb's.
_VERBS = {"stash": ("list", "show"), "reflog": ("show", "list")}
_LISTING = "list contains no-contains merged no-merged points-at"
_WIDTH = r"%w\(\d{0,3}(?:,\d{1,3}){0,2}\)|%(?:<|>|>>|><|<\||>\|)\(\d{1,3}(?:,[lm]?trunc)?\)"
_PLAIN = r"%x[0-9a-fA-F]{2}|%C\([a-z ]{1,20}\)"
_CODE = re.compile(rf"{_WIDTH}|{_PLAIN}|%[-+ ]?([A-Za-z]{{1,6}}|%)|%")
_FIELD = re.compile(r"%\(\*?([A-Za-z]+)(?::[\w=,./ -]*)?\)|%%|%[0-9a-fA-F]{2}")
_SORT = re.compile(r"-?\*?([A-Za-z]+)(?::[\w=,-]*)?")


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
