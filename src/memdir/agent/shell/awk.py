"""Judge `awk`: programs made of a small set of tokens, none of which can write, run, or loop without end.

A `>` outside parentheses in an action would be a redirection, so it is refused; so are `|`, getline, comments, loops
but `for (k in a)`, calls but of the functions named here, variables in capitals but those named here (not ENVIRON),
and assignments of strings, which could double them at every line.
"""

from __future__ import annotations

import re

from memdir.agent.shell.check import check_command, need_files
from memdir.agent.shell.refusal import Refused, shown
from memdir.agent.shell.spec import Spec, names
from memdir.agent.shell.words import Simple

# The first operand is the program.
_SPEC = Spec(short="F:v:", operands="pattern", least=1, options_first=True)
_FUNCTIONS = names("length tolower toupper substr index int print printf if else next in for")
_CAPITALS = names("BEGIN END NR NF FNR FS OFS FILENAME")
_KEYWORDS = names(
    "getline function func delete exit return while do break continue nextfile switch case default system close fflush"
)
_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*")
_TOKEN = re.compile(
    r"""[ \t\n]+ | "(?:\\["\\nt/]|[^"\\\n])*" | \d{1,7}(?:\.\d{1,7})? | [A-Za-z_]\w*
    | \+\+ | \+= | == | != | <= | >= | && | \|\| | !~ | [$~!<>(){}\[\];,+*%=/?:-]""",
    re.VERBOSE | re.ASCII,
)
_REGEX = re.compile(r"/(?:\\[^\n]|[^\\/\n])+/")
_FOR_IN = re.compile(r"for\s*\(\s*[a-z_]\w*\s+in\s+[a-z_]\w*\s*\)")
# What may stand before a regex; after anything else a slash divides.
_BEFORE_REGEX = ("", "{", "(", ",", "!", "~", "!~", "&&", "||", ";")
_BEGIN_ONLY = re.compile(r"\s*BEGIN\s*\{[^}]*\}\s*")
_ASSIGNED = re.compile(r"([a-z_][a-z0-9_]*)=[^\\]*")
_LITERAL = re.compile(r'=\s*"[^"\n]*"\s*[;}]')
_BRACKET = re.compile(r"\[\^?\]?[^\]]*\]")


def check_awk(command: Simple) -> None:
    """Refused unless the program is a filter made of known tokens."""
    arguments = check_command("awk", _SPEC, command.arguments, reads_pipe=True)  # whether it waits is judged below
    if not arguments.operands or arguments.operands[0].is_pattern:
        raise Refused("`awk` needs a quoted program: add it, as in `awk '{print $1}' FILE`.")
    for value in arguments.values("v"):
        if not _ASSIGNED.fullmatch(value) or not _is_variable(value.split("=", 1)[0]):
            raise Refused(f"The awk variable {shown(value)} is not plain: write its value into the program.")
    program, files = arguments.operands[0].text, arguments.operands[1:]
    need_files("awk", files, least=0 if _BEGIN_ONLY.fullmatch(program) else 1, reads_pipe=command.reads_pipe)
    _check_program(program)


def _check_program(program: str) -> None:
    at, before = 0, ""
    depth = {"{": 0, "(": 0}
    while at < len(program):
        found = _next(program, at, before)
        piece = found[0] if found else ""
        for opening, closing in ("{}", "()"):
            depth[opening] += (piece == opening) - (piece == closing)
        is_balanced = min(depth.values()) >= 0 and not (piece in ("{", "}") and depth["("])
        if not piece or not is_balanced or not _fits(piece, before, program[at:], in_print=_may_print(depth)):
            raise Refused(
                f"The awk program uses {shown(program[at : at + 20])}, which is not provably read-only: select and "
                "print fields only, or use grep, cut and sort."
            )
        before = before if piece.isspace() else piece
        at += len(piece)


def _next(program: str, at: int, before: str) -> re.Match[str] | None:
    """The token at this place. A slash after an operand divides, which is taken only where no regex could be meant."""
    if program[at] == "/" and before in _BEFORE_REGEX:
        return _REGEX.match(program, at)
    if program[at] == "/" and program.count("/") > 1:
        return None
    return _TOKEN.match(program, at)


def _may_print(depth: dict[str, int]) -> bool:
    return depth["{"] > 0 and depth["("] == 0


def _fits(piece: str, before: str, rest: str, *, in_print: bool) -> bool:
    if piece[0].isalpha() or piece[0] == "_":
        return _is_name(piece, rest)
    if piece[0] == "/" and len(piece) > 1:
        return "[" not in _BRACKET.sub("", re.sub(r"\\.", "", piece))
    if piece[0] == ">":
        return not in_print and before != ""
    if piece in ("+=", "++"):
        return before == "]" or _is_variable(before)  # numbers only grow by adding
    if piece == "=":
        return before in ("FS", "OFS") and bool(_LITERAL.match(rest))
    return True


def _is_name(piece: str, rest: str) -> bool:
    if piece == "for":
        return bool(_FOR_IN.match(rest))
    if piece in _FUNCTIONS or piece in _CAPITALS:
        return True
    return _is_variable(piece) and not rest[len(piece) :].lstrip().startswith("(")


def _is_variable(piece: str) -> bool:
    return bool(_VARIABLE.fullmatch(piece)) and piece not in _KEYWORDS and piece not in _FUNCTIONS
