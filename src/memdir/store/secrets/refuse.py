"""Whether a text may become a memory: the one place that says no to a secret and names its kind (S15, E5)."""

from __future__ import annotations

import unicodedata

from memdir.errors import SecretRefused
from memdir.store.secrets import find_secrets, new_secrets, redact, redact_parts
from memdir.store.trust import is_of_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memdir.store.secrets import SecretMatch

_APART = " " * 200  # farther than any rule looks around a value
_RECOGNISED = 4  # characters of a value in a row by which it could be known again
MAX_SAVED = 50  # files that are looked through on the way of a command
_REMEDY = "Take it out and say where it is kept instead"
_INSIST = "--allow-secret, or allow_secret=True for `memory.add`, saves it all the same, on this machine only"
_SHARED = "agent-project"  # the scope whose files others get, beside the team's


def refuse_secrets(key: str, data: bytes, before: bytes | None, *, scope: str, is_allowed: bool = False) -> None:
    """SecretRefused when a file would hold a secret that it did not hold before, in its text, its fields or its name.

    `is_allowed`: a person insists. What others get is refused all the same.
    """
    is_shared = scope.partition(":")[0] == _SHARED or is_of_team(scope, key)
    if is_allowed and not is_shared:
        return
    kinds, told = secrets_in(key, data, before)
    if kinds:
        remedy = _REMEDY if is_shared else f"{_REMEDY}; {_INSIST}"
        raise SecretRefused(f"{harmless_name(key, data)} would hold a secret: {told}", remedy=remedy, kinds=kinds)


def harmless_name(key: str, data: bytes = b"") -> str:
    """A file's name as it may be told: of one that repeats a secret of its text, in whatever spelling, only the kind.

    Names are made from the first words of a text, so that a value stands in them in small letters, with underscores for
    its signs, and perhaps cut short: no rule finds it there.
    """
    text = _all_text(data)
    letters = _letters(key)
    for match in find_secrets(text):
        if _shares_letters(letters, _letters(text[match.start : match.end])):
            return f"[removed: {match.kind}].md"
    return "/".join(redact_parts(redact(key).split("/")))


def secrets_in(key: str, data: bytes, before: bytes | None = None) -> tuple[tuple[str, ...], str]:
    """The kinds of the secrets that a file holds and did not hold before, and where they stand; never their values."""
    text = _all_text(data)
    name = "\n".join(key.replace("/", one) for one in "/ \n")  # what is encoded or cut holds slashes, too
    if before is None and not find_secrets(f"{name}\n{_APART}\n{text}"):
        return (), ""  # as most: looked through at once
    found = new_secrets(_all_text(before) if before else "", text)
    named = find_secrets(name) if before is None else ()
    told = [_told(text, found)] if found else []
    told += dict.fromkeys(f"{match.kind} in its file name" for match in named)
    return tuple(dict.fromkeys(match.kind for match in (*found, *named))), ", ".join(told)


def saved_secrets(base: str, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Which of these memories, saved by somebody else, hold a secret, and what was found where; of a few only: many at
    once were copied here, and the doctor looks through them."""
    from memdir.disk.plain_file import read_plain
    from memdir.store.scan import MAX_MEMORY_BYTES

    for path in paths if len(paths) <= MAX_SAVED else ():
        try:
            data = read_plain(f"{base}/{path}", max_bytes=MAX_MEMORY_BYTES) if path.endswith(".md") else b""
        except OSError:
            continue  # deleted, or no memory
        kinds, told = secrets_in(path, data)
        if kinds:
            yield harmless_name(path, data), told


def _all_text(data: bytes) -> str:
    """A file as it stands, and behind it those of its fields that are written otherwise than they read."""
    from memdir.store.topic import Topic

    text = data.decode("utf-8", "replace")
    fields = (f"{name}: {value}" for name, value in Topic(data).fields.items() if value not in text)
    return "\n".join((text, *fields))


def _letters(text: str) -> str:
    """What any spelling of a text has in common: its letters and digits."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def _shares_letters(name: str, value: str) -> bool:
    size = min(_RECOGNISED, len(value))
    return size > 0 and any(value[at : at + size] in name for at in range(len(value) - size + 1))


def _told(text: str, found: tuple[SecretMatch, ...]) -> str:
    """What was found where, without a value: `github-token in line 3, password in line 9`."""
    lines = dict.fromkeys(f"{match.kind} in line {text.count(chr(10), 0, match.start) + 1}" for match in found)
    return ", ".join(lines)
