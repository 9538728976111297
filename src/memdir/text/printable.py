"""Text without what nobody sees: controls, bidi marks, zero-width signs, hidden tags, escape sequences (S15).

What a script or an emoji needs stays: joiners in Persian, Hindi and their neighbours, the parts of a joined emoji, the
variant of an ideograph.
"""

from __future__ import annotations

import re

_LINE_ENDS = "\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
_TERMINAL = "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[@-_]"
# Flags of England, Scotland and Wales: the only signs that are spelled with hidden tags.
_FLAGS = "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
_FLAGS += "\U000e0077\U000e006c\U000e0073)\U000e007f"
_HIDDEN = (
    "[\0-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_UNPRINTABLE = f"(?P<flag>{_FLAGS})|(?P<end>{_LINE_ENDS})|{_TERMINAL}|{_HIDDEN}"

_SYMBOL = "[#*0-9\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
_JOINING = "[\u0600-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\U00011000-\U00011fff]"  # scripts that need joiners
# A hidden sign, and what must stand before and behind it where it belongs to the writing.
_BELONGS = (
    ("[\u200c\u200d]", _JOINING, ""),
    ("\u200d", f"{_SYMBOL}|\ufe0f", _SYMBOL),
    ("[\ufe00\ufe0e\ufe0f]", _SYMBOL, ""),
    ("[\ufe00-\ufe02\U000e0100-\U000e01ef]", _IDEOGRAPH, ""),
    ("[\u180b-\u180e]", "[\u1810-\u18af]", ""),
)


def printable(text: str) -> str:
    """The text as a person sees it: every way to end a line is a newline, tabs stay, what cannot be seen is gone."""
    if text.replace("—", "").isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub(_UNPRINTABLE, _seen, text)


def one_line(text: str) -> str:
    """A text as a person sees it, in a single line."""
    return printable(text).replace("\n", " ").replace("\t", " ").strip()


def _seen(match: re.Match[str]) -> str:
    if match["end"]:
        return "\n"
    if match["flag"]:
        return match[0]
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    belongs = any(
        re.fullmatch(sign, match[0]) and re.fullmatch(left, before) and re.match(right, after)
        for sign, left, right in _BELONGS
    )
    return match[0] if belongs else ""
