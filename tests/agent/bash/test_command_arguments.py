"""The option tables say the same as the installed programs do about which options take a value (layer 2)."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from memdir.agent.bash.command_arguments import COMMANDS, Arity, long_options, short_options
from memdir.agent.bash.sandbox import ENVIRONMENT, SEARCH_PATH

# Programs whose --help is in the GNU form; the others are compared by running them (test_execution.py).
GNU = [
    *("ls", "cat", "tac", "nl", "head", "tail", "wc", "grep", "md5sum", "sha256sum", "sort", "uniq", "cut", "tr"),
    *("paste", "comm", "cmp", "diff", "fold", "expand", "unexpand", "du", "df", "stat", "realpath", "readlink"),
    *("basename", "dirname", "od", "base64", "uname", "id", "shuf", "nproc"),
]
LINE = re.compile(r"^\s+(?:-(\w)(?:,| )\s*)?--([\w-]+)(\[=|=)?", re.MULTILINE)
ARITIES: dict[str, Arity] = {"": "flag", "=": "value", "[=": "optional"}
# Written in --help as `--context[=NUM]` beside `-C NUM`, or twice with different arities.
SPECIAL = {
    ("diff", "c"),
    ("diff", "C"),
    ("diff", "u"),
    ("diff", "U"),
    ("od", "S"),
    ("du", "time"),
    ("ls", "F"),
    ("ls", "p"),
    ("sort", "check"),
    ("sort", "C"),
    ("diff", "label"),
}


@pytest.mark.parametrize("name", GNU)
def test_table_agrees_with_the_installed_program(name: str) -> None:
    program = shutil.which(name, path=SEARCH_PATH)
    if program is None:
        pytest.skip(f"{name} is not installed")
    text = subprocess.run(
        [program, "--help"], env=dict(ENVIRONMENT), capture_output=True, text=True, check=False
    ).stdout
    if "GNU" not in text and "bug" not in text:
        pytest.skip(f"{name} is not the GNU program")
    spec = COMMANDS[name]
    shorts, longs = short_options(spec.short), long_options(spec.long)
    compared = 0
    for short, long, sign in LINE.findall(text):
        for option, table in ((short, shorts), (long, longs)):
            if option in table and (name, option) not in SPECIAL:
                assert table[option] == ARITIES[sign], f"{name}: {option}"
                compared += 1
    assert compared


def test_getopt_notation_is_read() -> None:
    assert short_options("an:w::") == {"a": "flag", "n": "value", "w": "optional"}
    read = long_options("all width= color[=]")
    assert (read["all"], read["width"], read["color"]) == ("flag", "value", "optional")
