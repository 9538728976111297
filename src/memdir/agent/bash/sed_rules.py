"""Judge `sed`: a whitelist of commands that print, delete or substitute on the way to the output.

Left out on purpose: `w`, `W`, `r`, `R` (files), `e` (programs), labels and `D` (loops), the hold space (it can double
without end), text commands (their end depends on the version).
"""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import check_command
from memdir.agent.bash.option_tables import Spec
from memdir.agent.bash.patterns import pattern_between
from memdir.agent.bash.refusal import Refused, shown
from memdir.agent.bash.shell_words import Simple

MAX_COMMANDS = 10  # substitutions can double a line each time: 2^10 is bounded
MAX_REFERENCES = 2  # & and \1 in one replacement, for the same reason

# The first operand is the script, unless -e gave it.
_SPEC = Spec(
    short="nErsuze:",
    long="quiet silent regexp-extended separate unbuffered null-data expression= sandbox",
    operands="pattern",
    pattern_options="e expression",
    least=1,
)
_REPLACEMENT = r"(?:\\[^\n]|[^\\\n{0}])*"
_REGEX = pattern_between("/") + "I?"
_ADDRESS = rf"(?:\d{{1,7}}(?:~\d{{1,7}})?|\$|{_REGEX})"
_BEFORE = re.compile(rf"[ \t\n;]*(?:{_ADDRESS}(?:[ \t]*,[ \t]*(?:{_ADDRESS}|[+~]\d{{1,7}}))?)?[ \t]*!?[ \t]*")
_PLAIN = re.compile(r"(?:[pdnNPlFz=]|[qQ][ \t]*\d{0,3})")
_AFTER = re.compile(r"[ \t]*(?=[;\n}]|$)")
_FLAGS = re.compile(r"[gpiI\d]{0,6}")
_DELIMITERS = "/|,#:@!%_+~"


def check_sed(command: Simple) -> None:
    """Refused unless options and every script are on the whitelist."""
    arguments = check_command(command, _SPEC)
    scripts = arguments.values("e", "expression")
    if not scripts:
        if not arguments.operands or arguments.operands[0].is_pattern:
            raise Refused("`sed` needs a quoted script: add it, as in `sed -n '1,5p' FILE`.")
        scripts = [arguments.operands[0].text]
    for script in scripts:
        _check_script(script)


def _check_script(script: str) -> None:
    at = depth = count = 0
    while script[at:].strip(" \t\n;"):
        count += 1
        if count > MAX_COMMANDS:
            raise Refused(f"The sed script {shown(script)} is too long: use at most {MAX_COMMANDS} commands.")
        address = _BEFORE.match(script, at)
        assert address is not None  # every part of it is optional
        at, change = _command(script, address.end())
        depth += change
        if depth < 0:
            break
    if depth:
        raise Refused(f"The sed script {shown(script)} has braces that do not match: mend it.")


def _command(script: str, at: int) -> tuple[int, int]:
    """Where the command at this place ends, and whether it opens or closes a group."""
    char = script[at : at + 1]
    if char == "{":
        return at + 1, 1
    if char == "}":
        end, change = at + 1, -1
    elif char in ("s", "y"):
        end, change = _substitution(script, at), 0
    else:
        plain = _PLAIN.match(script, at)
        end, change = plain.end() if plain else -1, 0
    after = _AFTER.match(script, end) if end > 0 else None
    if after is None:
        raise Refused(
            f"The sed script {shown(script)} does more than print, delete or substitute: use p, d, q, = or s only."
        )
    return after.end(), change


def _substitution(script: str, at: int) -> int:
    """Where s/regex/replacement/flags ends; -1 when it is not plain."""
    delimiter = script[at + 1 : at + 2]
    if not delimiter or delimiter not in _DELIMITERS:
        return -1
    mark = re.escape(delimiter)
    found = re.compile(f"{pattern_between(delimiter)}({_REPLACEMENT.format(mark)}){mark}").match(script, at + 1)
    if found is None or len(re.findall(r"&|\\\d", found[1])) > MAX_REFERENCES:
        return -1
    flags = _FLAGS.match(script, found.end()) if script[at] == "s" else None
    return flags.end() if flags else found.end()
