"""Judge `awk`: programs made of a small set of tokens, none of which can write, run, loop or read another file.

No `|`, no `>` inside an action (it would be a redirection), no division (so `/` always starts a regex), no function but
those named here, no getline, no loops, no comments.
"""

from __future__ import annotations

import re

from memdir.agent.shell.check import check_command, need_files
from memdir.agent.shell.refusal import Refused, shown
from memdir.agent.shell.spec import Spec, names
from memdir.agent.shell.words import Simple

# The first operand is the program.
_SPEC = Spec(short="F:v:", operands="pattern", least=1, options_first=True)
_NAMES = names("BEGIN END NR NF FNR FS OFS FILENAME print printf length tolower toupper substr index if else next")
_COUNTERS = names("n s i c x sum total count lines words")
_TOKEN = re.compile(
    r"""[ \t\n]+ | "(?:\\["\\nt/]|[^"\\\n])*" | \d{1,7}(?:\.\d{1,7})? | [A-Za-z_]\w*
    | /(?:\\[^\n]|[^\\/\n])+/ | \+\+ | \+= | == | != | <= | >= | && | \|\| | !~ | [$~!<>(){};,+*%=-]""",
    re.VERBOSE | re.ASCII,
)
# What may stand before a regex; after anything else a slash would divide.
_BEFORE_REGEX = ("", "{", "(", ",", "!", "~", "!~", "&&", "||", ";")
_BEGIN_ONLY = re.compile(r"\s*BEGIN\s*\{[^}]*\}\s*")
_VARIABLE = re.compile(r"[a-z]\w*=[^\\]*", re.ASCII)
_BRACKET = re.compile(r"\[\^?\]?[^\]]*\]")


def check_awk(command: Simple) -> None:
    """Refused unless the program is a filter made of known tokens."""
    arguments = check_command("awk", _SPEC, command.arguments, reads_pipe=True)  # whether it waits is judged below
    if not arguments.operands or arguments.operands[0].is_pattern:
        raise Refused("`awk` needs a quoted program: add it, as in `awk '{print $1}' FILE`.")
    for value in arguments.values("v"):
        if not _VARIABLE.fullmatch(value) or value.split("=")[0] not in _COUNTERS:
            raise Refused(f"The awk variable {shown(value)} is not plain: write its value into the program.")
    program, files = arguments.operands[0].text, arguments.operands[1:]
    need_files("awk", files, least=0 if _BEGIN_ONLY.fullmatch(program) else 1, reads_pipe=command.reads_pipe)
    _check_program(program)


def _check_program(program: str) -> None:
    at, depth, before = 0, 0, ""
    while at < len(program):
        found = _TOKEN.match(program, at)
        piece = found[0] if found else ""
        depth += (piece == "{") - (piece == "}")
        if not piece or depth < 0 or not _fits(piece, before, depth):
            raise Refused(
                f"The awk program uses {shown(program[at : at + 20])}, which is not provably read-only: select and "
                "print fields only, or use grep, cut and sort."
            )
        before = before if piece.isspace() else piece
        at += len(piece)


def _fits(piece: str, before: str, depth: int) -> bool:
    if piece[0].isalpha() or piece[0] == "_":
        return piece in _NAMES or piece in _COUNTERS
    if piece[0] == "/":
        return before in _BEFORE_REGEX and "[" not in _BRACKET.sub("", re.sub(r"\\.", "", piece))
    if piece[0] == ">":
        return depth == 0 and before != ""
    if piece in ("+=", "++"):
        return before in _COUNTERS  # numbers only grow by adding; strings would double
    if piece == "=":
        return before in ("FS", "OFS")
    return True
