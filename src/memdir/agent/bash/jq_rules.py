"""Judge `jq`: filters made of known words, none of which reads the environment or another file, or runs on for ever."""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import check_command
from memdir.agent.bash.option_tables import Spec, names
from memdir.agent.bash.refusal import Refused, shown
from memdir.agent.bash.shell_words import Simple

MAX_TOKENS = 120  # each `[., .]` doubles the output: this many tokens cannot double it often

# The first operand is the filter.
_SPEC = Spec(
    short="crsSCMeja",
    long="compact-output raw-output join-output ascii-output slurp sort-keys color-output monochrome-output "
    "exit-status tab",
    operands="pattern",
    least=1,
)
_WORDS = names(
    "add all and any as ascii_downcase ascii_upcase capture contains del elif else empty end endswith first flatten "
    "floor from_entries fromjson group_by has if in index inside join keys keys_unsorted last length limit ltrimstr "
    "map map_values max max_by min min_by not null or path paths reverse rtrimstr scan select sort sort_by split "
    "startswith sub test then to_entries tojson tonumber tostring true false type unique unique_by values with_entries"
)
_TOKEN = re.compile(
    r"""[ \t\n]+ | "(?:\\["\\/nt]|\\\(\.[\w.\[\]]*\)|[^"\\\n])*" | \d{1,7}(?:\.\d{1,7})?
    | \.[A-Za-z_]\w* | @(?:csv|tsv|json|text|base64)\b | \$[a-z]\w* | [A-Za-z]\w*
    | \.\. | \?// | // | == | != | <= | >= | [.\[\]{}(),:;|<>+?-]""",
    re.VERBOSE | re.ASCII,
)


def check_jq(command: Simple) -> None:
    """Refused unless options and filter are on the whitelist."""
    arguments = check_command(command, _SPEC)
    if not arguments.operands or arguments.operands[0].is_pattern:
        raise Refused("`jq` needs a quoted filter: add it, as in `jq '.name' FILE`.")
    _check_filter(arguments.operands[0].text)


def _check_filter(program: str) -> None:
    at = count = 0
    open_brackets: list[str] = [""]
    before = ""
    while at < len(program):
        found = _TOKEN.match(program, at)
        piece = found[0] if found else ""
        is_key = open_brackets[-1] == "{" and before in ("{", ",")
        count += 1
        if not piece or count > MAX_TOKENS or (piece[0].isalpha() and piece not in _WORDS and not is_key):
            raise Refused(
                f"The jq filter uses {shown(program[at : at + 20])}, which is not on the list: use a plainer one."
            )
        if piece in ("{", "[", "("):
            open_brackets.append(piece)
        elif piece in ("}", "]", ")") and len(open_brackets) > 1:
            open_brackets.pop()
        before = before if piece.isspace() else piece
        at += len(piece)
