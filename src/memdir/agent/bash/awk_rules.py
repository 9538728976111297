"""Judge `awk`: programs made of a small set of tokens, none of which can write, run, or loop without end.

Every awk must split the program into the same tokens: so no comments, no line continued by a backslash, no quotes in a
regular expression, no number that runs into a name, and a slash divides only where no second slash follows it. A `>` in
an action compares only in parentheses behind a word that cannot print, else it would be a redirection. Not there at
all: `|`, `@`, getline, calls but of the functions named here, loops but `for (k in a)`, capitals but those named here
(not ENVIRON), and assignments of strings, which could double them at every line.
"""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import check_command, need_files
from memdir.agent.bash.option_tables import Spec, names
from memdir.agent.bash.patterns import pattern_between
from memdir.agent.bash.refusal import Refused, shown
from memdir.agent.bash.shell_words import Simple

# The first operand is the program.
_SPEC = Spec(short="F:v:", operands="pattern", options_first=True)
_FUNCTIONS = names("length tolower toupper substr index int")
_STATEMENTS = names("print printf if else next exit in for")
_CAPITALS = names("BEGIN END NR NF FNR FS OFS FILENAME")
# Words that mean something to some awk, so that none of them is a variable.
_RESERVED = _FUNCTIONS | names(
    "getline function func delete return while do break continue nextfile switch case default system close fflush "
    "print printf if else next exit in for and asort asorti atan2 bindtextdomain compl cos dcgettext dcngettext exp "
    "gensub gsub isarray log lshift match mkbool mktime namespace or patsplit rand rshift sin split sprintf sqrt srand "
    "strftime strtonum sub systime typeof xor include load"
)
_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*")
_TOKEN = re.compile(
    r"""[ \t\n]+ | "(?:\\["\\nt/]|[^"\\\n])*" | \d{1,7}(?:\.\d{1,7})?(?![\w.]) | [A-Za-z_]\w*
    | \+\+ | \+= | == | != | <= | >= | && | \|\| | !~ | [$~!<>(){}\[\];,+*%=?-] | :(?!:) | /(?!=)""",
    re.VERBOSE | re.ASCII,
)
_REGEX = re.compile(pattern_between("/"))
_NOT_IN_REGEX = re.compile(r'["\n]|^/[=*?+]|^//')
_FOR_IN = re.compile(r"for\s*\(\s*[a-z_]\w*\s+in\s+[a-z_]\w*\s*\)")
# What may stand before a regular expression; after anything else a slash divides.
_BEFORE_REGEX = ("", "{", "(", ",", "!", "~", "!~", "&&", "||", ";")
# What may stand before the parenthesis in which `>` compares.
_BEFORE_COMPARISON = ("", "{", "}", "(", ";", "&&", "||", "!", "if", "print", ",", "?", ":")
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{4}|\*)")
_BEGIN_ONLY = re.compile(r"\s*BEGIN\s*\{[^}]*\}\s*")
_ASSIGNED = re.compile(r"((?:[a-z_][a-z0-9_]*)|O?FS)=[^\\]*")
_LITERAL = re.compile(r'=\s*"[^"\n]*"\s*[;}]')


def check_awk(command: Simple) -> None:
    """Refused unless the program is a filter made of known tokens."""
    arguments = check_command(command, _SPEC, may_wait=False)  # whether it waits is judged below
    if not arguments.operands or arguments.operands[0].is_pattern:
        raise Refused("`awk` needs a quoted program: add it, as in `awk '{print $1}' FILE`.")
    program, files = arguments.operands[0].text, arguments.operands[1:]
    for value in [*arguments.values("v"), *(word.text for word in files if "=" in word.text)]:
        found = _ASSIGNED.fullmatch(value)
        if not found or found[1] in _RESERVED:
            raise Refused(f"The awk variable {shown(value)} is not plain: write its value into the program.")
    need_files("awk", files, least=0 if _BEGIN_ONLY.fullmatch(program) else 1, reads_pipe=command.reads_pipe)
    _Program(program).check()


class _Program:
    """One pass over the tokens of a program."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._before = ""  # the last token that was no blank
        self._braces = 0
        self._parentheses: list[str] = []  # what stood before each that is open

    def check(self) -> None:
        while self._at < len(self._text):
            piece = self._next()
            if not piece or not self._fits(piece) or not self._nests(piece):
                raise Refused(
                    f"The awk program uses {shown(self._text[self._at : self._at + 20])}, which is not provably "
                    "read-only: select and print fields only, or use grep, cut and sort."
                )
            self._before = self._before if piece.isspace() else piece
            self._at += len(piece)

    def _next(self) -> str:
        """The token at this place; nothing where awks may differ."""
        if self._text[self._at] != "/":
            found = _TOKEN.match(self._text, self._at)
        elif self._before in _BEFORE_REGEX:
            found = _REGEX.match(self._text, self._at)
            if found and _NOT_IN_REGEX.search(found[0]):
                found = None
        else:
            found = _TOKEN.match(self._text, self._at) if self._text.count("/") == 1 else None
        return found[0] if found else ""

    def _nests(self, piece: str) -> bool:
        if piece in ("{", "}"):
            self._braces += 1 if piece == "{" else -1
            return self._braces >= 0 and not self._parentheses
        if piece == "(":
            self._parentheses.append(self._before)
        elif piece == ")":
            return bool(self._parentheses and self._parentheses.pop() is not None)
        return True

    def _fits(self, piece: str) -> bool:
        rest = self._text[self._at :]
        if piece[0].isalpha() or piece[0] == "_":
            return _is_name(piece, rest)
        if piece[0] == ">":
            return self._compares()
        if piece in ("+=", "++"):
            return self._before == "]" or _is_variable(self._before)  # numbers only grow by adding
        if piece == "=":
            return self._before in ("FS", "OFS") and bool(_LITERAL.match(rest))
        return not (piece[0] == '"' and _WIDE.search(piece))

    def _compares(self) -> bool:
        if self._parentheses:
            return self._parentheses[-1] in _BEFORE_COMPARISON
        return self._braces == 0 and self._before != ""


def _is_name(piece: str, rest: str) -> bool:
    if piece == "for":
        return bool(_FOR_IN.match(rest))
    if piece in _FUNCTIONS or piece in _STATEMENTS or piece in _CAPITALS:
        return True
    return _is_variable(piece) and not rest[len(piece) :].lstrip().startswith("(")


def _is_variable(piece: str) -> bool:
    return bool(_VARIABLE.fullmatch(piece)) and piece not in _RESERVED
