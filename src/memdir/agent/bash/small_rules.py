"""The small commands whose words do not fit a row of the option tables: test, printf, date, ps, tar and the like."""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import check_command, need_files
from memdir.agent.bash.option_tables import Spec, names
from memdir.agent.bash.refusal import Refused, shown
from memdir.agent.bash.shell_paths import check_word
from memdir.agent.bash.shell_words import Simple, Word

# Not -v and -R: they evaluate array subscripts, and with them commands.
_UNARY = names("-e -f -d -r -w -x -s -L -h -b -c -g -k -p -u -S -O -G -N -n -z")
_BINARY = names("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef")
_DATE = Spec(
    short="uRd:r:I::", long="utc universal rfc-email date= reference= iso-8601[=] rfc-3339=", operands="text", most=1
)
# Not %n: it assigns a variable.
_PRINTF = re.compile(r"(?:[^%\\]|\\[nt\\\"'a-z0-7]|%%|%[-+ #0]*\d{0,3}(?:\.\d{1,3})?[sdiuxXoqbcfeg])*")
_WHOLE_NUMBER = re.compile(r"-?\d{1,5}")
# Not `e` without a dash: it shows the environment of every process.
_PS_WORD = re.compile(r"[auxwflj]{1,6}|-[AefFlwjHT]{1,6}|-aux|-p|-o|-eo|--forest|--no-headers|--sort=-?[a-z%]{1,10}")
_PS_FIELDS = re.compile(
    r"(?:(?:pid|ppid|user|uid|cmd|comm|args|pcpu|pmem|%cpu|%mem|rss|vsz|stat|state|time|etime|lstart|tty|nice|ni)(?:,|$))+"
)
_LSOF_WORD = re.compile(r"-v|-h|-[nPlt]{1,4}|-i(?::\d{1,5})?|:\d{1,5}")
_XXD_ALONE = re.compile(r"-(?:[abeiu]|p|ps|plain)|-[cglso]\d{1,7}")
_XXD_VALUE = re.compile(r"-(?:c|cols|g|l|len|s|seek)")
_TAR_LIST = re.compile(r"-?t[vzjJ]{0,3}f")


def check_nothing(_: Simple) -> None:
    """`echo`, `true` and `false`: any words are harmless."""


def check_test(command: Simple) -> None:
    """`test`, `[ ]` and `[[ ]]` with one condition; conditions are joined with && and ||."""
    words = _test_words(command)
    if any(word.is_pattern for word in words):
        raise Refused(f"A wildcard in `{command.name}` expands to several words: name one file.")
    texts = [word.text for word in words]
    if texts[:1] == ["!"] and len(texts) > 1:
        texts = texts[1:]
    is_unary = len(texts) == 2 and texts[0] in _UNARY
    is_binary = len(texts) == 3 and texts[1] in _BINARY and command.name != "[["
    if not (is_unary or is_binary or (len(texts) == 1 and command.name != "[[")):
        raise Refused(f"`{command.name}` takes one plain condition here: join several with && and ||.")


def _test_words(command: Simple) -> tuple[Word, ...]:
    closing = {"[": "]", "[[": "]]"}.get(command.name)
    if closing is None:
        return command.arguments
    if not command.arguments or command.arguments[-1].raw != closing:
        raise Refused(f"`{command.name}` is not closed with `{closing}`: close it.")
    words = command.arguments[:-1]
    if closing == "]]" and any(not re.fullmatch(r"[\w./-]+", word.raw, re.ASCII) for word in words):
        raise Refused("`[[` takes plain words only here: use `[` with quotes.")
    return words


def check_printf(command: Simple) -> None:
    """A plain format first, then anything."""
    words = command.arguments
    is_plain = words and not words[0].is_pattern and not words[0].text.startswith("-")
    if not is_plain or not _PRINTF.fullmatch(words[0].text):
        raise Refused("`printf` takes a plain format here (%s, %d, \\n, no options): use `echo` instead.")


def check_seq(command: Simple) -> None:
    """One to three whole numbers, small enough not to flood."""
    words = [word.text for word in command.arguments if word.raw != "-w"]
    if not 1 <= len(words) <= 3 or not all(_WHOLE_NUMBER.fullmatch(text) for text in words):
        raise Refused("`seq` takes one to three whole numbers of at most five digits here: use smaller ones.")


def check_date(command: Simple) -> None:
    """Shows a date; an operand that is not a +FORMAT would set the clock."""
    arguments = check_command(command, _DATE)
    for word in arguments.operands:
        if not word.text.startswith("+"):
            raise Refused(f"{shown('date ' + word.text)} would set the clock: use `date` or `date +FORMAT`.")


def check_words(command: Simple) -> None:
    """`ps` and `lsof`: every word from a short list."""
    allowed = _PS_WORD if command.name == "ps" else _LSOF_WORD
    before = ""
    for word in command.arguments:
        is_value = (
            _PS_FIELDS.fullmatch(word.raw) if before in ("-o", "-eo") else before == "-p" and word.raw.isdecimal()
        )
        before = word.raw
        if not allowed.fullmatch(word.raw) and not (command.name == "ps" and is_value):
            raise Refused(
                f"{shown(f'{command.name} {word.raw}')} is not on the list of read-only options: leave it out."
            )


def check_version(command: Simple) -> None:
    """Interpreters may say which version they are, and nothing more."""
    if [word.raw for word in command.arguments] != ["--version"]:
        raise Refused(f"`{command.name}` could run any program: only `{command.name} --version` is allowed.")


def check_command_builtin(command: Simple) -> None:
    """`command -v NAME` says where a program is; without -v it would run it."""
    words = command.arguments
    if len(words) < 2 or words[0].raw not in ("-v", "-V") or any(word.raw != word.text for word in words):
        raise Refused("`command` would run a program: only `command -v NAME` is allowed.")


def check_archive(command: Simple) -> None:
    """`tar tf FILE` and `unzip -l FILE` list; every other form may write or run."""
    words = command.arguments
    is_list = bool(words) and (
        _TAR_LIST.fullmatch(words[0].raw) if command.name == "tar" else words[0].raw in ("-l", "-v", "-Z1")
    )
    names = words[1:]
    is_plain = not any(word.is_pattern or word.text.startswith("-") or ":" in word.text for word in names)
    if not is_list or not is_plain or not names or (command.name == "unzip" and len(names) != 1):
        usage = "tar -tvf FILE" if command.name == "tar" else "unzip -l FILE"
        raise Refused(f"`{command.name}` may only list an archive here: use `{usage}`.")
    for word in names:
        check_word(word, command.cwd)


def check_xxd(command: Simple) -> None:
    """A dump; a second file would be written, and so would an option after the first."""
    words = list(command.arguments)
    while words and words[0].text.startswith("-") and words[0].text != "-":
        option = words.pop(0)
        if _XXD_VALUE.fullmatch(option.raw) and words and _WHOLE_NUMBER.fullmatch(words[0].raw):
            words.pop(0)
        elif not _XXD_ALONE.fullmatch(option.raw):
            raise Refused(f"{shown('xxd ' + option.text)} is not on the list of read-only options: leave it out.")
    if len(words) > 1 or any(word.is_pattern for word in words):
        raise Refused("`xxd` would write its second file: give one file, after the options.")
    need_files("xxd", words, least=1, reads_pipe=command.reads_pipe)
    for word in words:
        check_word(word, command.cwd)
