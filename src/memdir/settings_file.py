"""Changing a settings file: one setting put into it or taken out, everything else as it was."""

from __future__ import annotations

from contextlib import suppress

from memdir.errors import SettingsError
from memdir.settings import read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memdir.settings import Value


def put_setting(path: str, name: str, value: Value) -> None:
    """Write a setting into a file, or take it out of it; what else is there, or is written there meanwhile, stays."""
    import os

    from memdir.disk.lock import locked

    with locked(lock := f"{path}.lock"):
        found = found_in(path)
        _drop(found, name)
        if value is not None:
            _put(found, name, value)
        write_settings(path, found)
        with suppress(OSError):  # it may lie in a repository; who waits for it sees that it is gone, and makes its own
            os.unlink(lock)


def found_in(path: str) -> dict[str, Any]:
    try:
        return read_settings(path)
    except SettingsError as error:
        told = f"the settings file {path} cannot be used: {error.message}"
        raise SettingsError(told, remedy="`memdir config edit` opens it") from None


def _drop(found: dict[str, Any], name: str) -> None:
    """Take a setting out of an object, written with a dot or nested."""
    found.pop(name, None)
    first, dot, rest = name.partition(".")
    inner = found.get(first)
    if dot and isinstance(inner, dict):
        _drop(inner, rest)
        if not inner:
            del found[first]


def _put(found: dict[str, Any], name: str, value: object) -> None:
    """Nested where its neighbours are, else with a dot."""
    first, dot, rest = name.partition(".")
    inner = found.get(first)
    if dot and isinstance(inner, dict):
        _put(inner, rest, value)
    else:
        found[name] = value


def write_settings(path: str, found: Mapping[str, object]) -> None:
    import json

    from memdir.disk.atomic import keep_bytes

    keep_bytes(path, json.dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
