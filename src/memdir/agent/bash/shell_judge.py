"""Judge a shell command: Allow when it is provably read-only, else Deny with a reason a model can act on (G4).

Layer 1 reads the syntax twice (`shell_words.py`, `syntax_tree.py`), layer 2 the words of each command
(`command_arguments.py` and the rules). Layer 3, the sandbox that runs an allowed command, is `sandbox_run.py`. See
docs/shell-gate.md and ADR 0010.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from memdir.agent.bash import small_rules
from memdir.agent.bash.command_arguments import check_command
from memdir.agent.bash.find_rules import check_find
from memdir.agent.bash.git_rules import check_git
from memdir.agent.bash.option_tables import COMMANDS, HINTS
from memdir.agent.bash.script_rules import check_awk, check_sed
from memdir.agent.bash.shell_words import Refused, Simple, read_commands, shown
from memdir.agent.bash.syntax_tree import check_tree
from memdir.agent.bash.xargs_rules import check_xargs
from memdir.agent.gate import Allow, Deny

MAX_CHARS = 4_000  # a screenful of file names; longer lines are generated, and nobody reviews them
MAX_COMMANDS = 20  # more than anyone chains by hand
MAX_WORDS = 300  # what a long list of files needs

_RULES: Mapping[str, Callable[[Simple], None]] = MappingProxyType(
    {
        "any": small_rules.check_nothing,
        "awk": check_awk,
        "date": small_rules.check_date,
        "find": check_find,
        "git": check_git,
        "printf": small_rules.check_printf,
        "sed": check_sed,
        "test": small_rules.check_test,
        "version": small_rules.check_version,
        "xargs": check_xargs,
    }
)


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
