"""Regular expressions inside a script of sed or awk: only those that every version reads to the same end."""

from __future__ import annotations

import re

_CLASS = r"\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]"


def pattern_between(delimiter: str) -> str:
    """The regular expression that fits such a pattern, from one delimiter to the next.

    In brackets there is no delimiter, no backslash, and no bracket but those of a named class: some versions take these
    for the end and others do not.
    """
    mark = re.escape(delimiter)
    named = "" if delimiter in _CLASS else f"{_CLASS}|"
    return rf"{mark}(?:\[\^?(?:{named}[^\]\[\\\n{mark}])+\]|\\[^\n]|[^\\\[\n{mark}])*{mark}"
