"""Judge `git`: a sub-command from the list, in the folder it runs in, and nothing that makes git run another program.

What the repository's own configuration may make git run (fsmonitor, filters, a diff driver) cannot be seen in words:
the sandbox keeps git from reading it (ADR 0040).
"""

from __future__ import annotations

import re

from memdir.agent.shell.check import Arguments, check_command
from memdir.agent.shell.git_options import GLOBAL_OPTIONS, PRETTY_NAMES, SUBCOMMANDS, VERBS
from memdir.agent.shell.refusal import Refused, shown
from memdir.agent.shell.words import Simple

_LISTING = "list contains no-contains merged no-merged points-at"
_CONFIG_KEY = re.compile(
    r"(?:user|author|committer|core|init|branch|diff|log|merge|pull|push|tag|gc|rebase)(?:\.[\w/-]+)+"
)


def check_git(command: Simple) -> None:
    """Refused unless sub-command, options and operands are on the list."""
    words = command.arguments
    at = 0
    while at < len(words) and words[at].raw in GLOBAL_OPTIONS:
        at += 1
    name = words[at].raw if at < len(words) else ""
    if name == "--version" and len(words) == 1:
        return
    spec = SUBCOMMANDS.get(name)
    if spec is None:
        raise Refused(
            f"{shown(f'git {name}'.strip())} is not on the list of read-only git commands: use log, show, diff, "
            "status, blame, grep or ls-files, in the current folder."
        )
    arguments = check_command(f"git {name}", spec, words[at + 1 :], reads_pipe=True)
    _check_formats(arguments)
    _check_verb(name, arguments)
    _check_names(name, arguments)


def _check_formats(arguments: Arguments) -> None:
    """`%G?` and `%(signature)` run the program the repository calls gpg; an unknown name may be defined as that."""
    for value in arguments.values("format", "pretty"):
        is_template = "%" in value or value.startswith(("format:", "tformat:"))
        if "%G" in value or "signature" in value or (value and not is_template and value not in PRETTY_NAMES):
            raise Refused(f"The git format {shown(value)} may run a program: use plain placeholders such as %h %an %s.")


def _check_verb(name: str, arguments: Arguments) -> None:
    verb = arguments.operands[0].text if arguments.operands else ""
    if name in VERBS and verb not in VERBS[name]:
        raise Refused(f"{shown(f'git {name} {verb}'.strip())} may change the repository: leave it out.")


def _check_names(name: str, arguments: Arguments) -> None:
    """A bare name makes `branch` and `tag` create it, and `config` may show what is secret."""
    operands = arguments.operands
    lists = _LISTING + (" l" if name == "tag" else "")
    if name in ("branch", "tag") and operands and not arguments.has_any(lists):
        raise Refused(f"{shown(f'git {name} {operands[0].text}')} would create it: use `git {name} --list PATTERN`.")
    if name == "config" and not (len(operands) == 1 and _CONFIG_KEY.fullmatch(operands[0].text)):
        raise Refused("`git config` may write or show credentials: use `git config --get user.name` and the like.")
