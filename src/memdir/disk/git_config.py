"""Reads a git configuration file as data: what stands in it, and nothing that it includes.

What git would refuse is skipped. Nobody acts on what is read here but to learn a format or the name of a remote.
"""

from __future__ import annotations

import re

_LINE = re.compile(
    r"[ \t]*"
    r'(?:\[(?P<section>[\w.-]+)(?:[ \t]+"(?P<part>(?:[^"\\\n]|\\.)*)")?\][ \t]*)?'
    r'(?:(?P<name>[A-Za-z][\w-]*)[ \t]*(?P<value>=(?:"(?:[^"\\\n]|\\[\s\S])*"|\\[\s\S]|[^"\\\n#;])*)?)?'
    r"[^\n]*(?:\n|\Z)"
)
_ESCAPED = re.compile(r'\\([\s\S])|"')
_MEANT = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}


def read_git_config(data: bytes) -> dict[str, list[str]]:
    """The values of each key, such as `remote.origin.url`, in their order; sections and names in lower case."""
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    values: dict[str, list[str]] = {}
    section = ""
    for line in _LINE.finditer(text):
        if line["section"]:
            part = f".{_plain(line['part'])}" if line["part"] is not None else ""
            section = line["section"].lower() + part
        if line["name"]:
            value = "true" if line["value"] is None else _plain(line["value"][1:].strip())
            values.setdefault(f"{section}.{line['name'].lower()}", []).append(value)
    return values


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]) if found[1] else "", text)
