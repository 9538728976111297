"""Judge the scripts of `sed` and `awk`: small whitelists of what every version reads alike.

**sed** prints, deletes or substitutes on the way to the output. Left out on purpose: `w`, `W`, `r`, `R` (files), `e`
(programs), labels and `D` (loops), the hold space (it can double without end), text commands (their end depends on the
version).

**awk**: none of its tokens can write, run, or loop without end, and every awk must split the program into the same
ones: so no comments, no line continued by a backslash, no quotes in a regular expression, no number that runs into a
name, and a slash divides only where no second slash follows it. A `>` in an action compares only in parentheses behind
a word that cannot print, else it would be a redirection. Not there at all: `|`, `@`, getline, calls but of the
functions named here, loops but `for (k in a)`, capitals but those named here (not ENVIRON), and assignments of strings,
which could double them at every line.
"""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import COMMANDS, WORDS, check_command, need_files
from memdir.agent.bash.shell_words import Refused, Simple, shown

_CLASS = r"\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]"


def pattern_between(delimiter: str) -> str:
    """The regular expression that fits such a pattern, from one delimiter to the next.

    In brackets there is no delimiter, no backslash, and no bracket but those of a named class: some versions take these
    for the end and others do not.
    """
    mark = re.escape(delimiter)
    named = "" if delimiter in _CLASS else f"{_CLASS}|"
    return rf"{mark}(?:\[\^?(?:{named}[^\]\[\\\n{mark}])+\]|\\[^\n]|[^\\\[\n{mark}])*{mark}"


MAX_COMMANDS = 10  # substitutions can double a line each time: 2^10 is bounded
MAX_REFERENCES = 2  # & and \1 in one replacement, for the same reason

_REPLACEMENT = r"(?:\\[^\n]|[^\\\n{0}])*"
_SED_REGEX = pattern_between("/") + "I?"
_ADDRESS = rf"(?:\d{{1,7}}(?:~\d{{1,7}})?|\$|{_SED_REGEX})"
_BEFORE = re.compile(rf"[ \t\n;]*(?:{_ADDRESS}(?:[ \t]*,[ \t]*(?:{_ADDRESS}|[+~]\d{{1,7}}))?)?[ \t]*!?[ \t]*")
_SED_PLAIN = re.compile(r"(?:[pdnNPlFz=]|[qQ][ \t]*\d{0,3})")
_AFTER = re.compile(r"[ \t]*(?=[;\n}]|$)")
_FLAGS = re.compile(r"[gpiI\d]{0,6}")
_DELIMITERS = "/|,#:@!%_+~"


def check_sed(command: Simple) -> None:
    """Refused unless options and every script are on the whitelist."""
    arguments = check_command(command, COMMANDS["sed"])
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
        raise Refused(f"The sed script {shown(script)} has braces that do not match: correct it.")


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
        plain = _SED_PLAIN.match(script, at)
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


_FUNCTIONS, _STATEMENTS, _CAPITALS, _RESERVED = (
    WORDS[f"awk_{key}"] for key in ("functions", "statements", "capitals", "reserved")
)
_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*")
_TOKEN = re.compile(
    r"""[ \t\n]+ | "(?:\\["\\nt/]|[^"\\\n])*" | \d{1,7}(?:\.\d{1,7})?(?![\w.]) | [A-Za-z_]\w*
    | \+\+ | \+= | == | != | <= | >= | && | \|\| | !~ | [$~!<>(){}\[\];,+*%=?-] | :(?!:) | /(?!=)""",
    re.VERBOSE | re.ASCII,
)
_AWK_REGEX = re.compile(pattern_between("/"))
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
    arguments = check_command(command, COMMANDS["awk"], may_wait=False)  # whether it waits is judged below
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
            found = _AWK_REGEX.match(self._text, self._at)
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
