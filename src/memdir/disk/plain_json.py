"""JSON in the few forms that a hook reads and writes, by what the standard library's `json` is made of: the package
itself costs a third of a bare start (ADR 0003)."""

from __future__ import annotations

from _json import encode_basestring, make_scanner

_MOST = float("inf")


class _Plain:
    """How the scanner reads: as `json.loads` does, but for control characters, which it lets pass."""

    strict = False
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int


def decode(data: bytes) -> object:
    """The value that a text stands for; None for one that is no JSON, or no value alone."""
    text = data.decode("utf-8", "replace").strip("\ufeff \t\r\n\0")
    try:
        found, end = make_scanner(_Plain())(text, 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError, TypeError, SystemError):
        return None  # SystemError: the scanner has no other while nobody has loaded `json`
    return found if end == len(text) else None


def encode(value: object) -> str:
    """A value of objects, lists, texts, numbers, true, false and nothing as JSON in one line."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        return "{" + ", ".join([f"{encode(str(name))}: {encode(one)}" for name, one in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([encode(one) for one in value]) + "]"
    words = {True: "true", False: "false", None: "null"}
    if isinstance(value, float) and not -_MOST < value < _MOST:
        raise ValueError("that number is none that JSON has")
    return words[value] if value is None or isinstance(value, bool) else repr(value)
