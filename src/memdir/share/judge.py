"""What may travel, on the way out and on the way in alike: name, size, text, what it tells (E2, E3, E5, E6); and the
team's directory as it is read for others.

A remote is not believed: whatever it sends is judged here as if nobody had judged it before. Nor is the directory: a
file is read from the opened folder it lies in, so that no link that is put there makes a stranger's file the team's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import TooLarge, read_with_status, reason_of
from memdir.disk.safe_path import is_index, is_key
from memdir.errors import PathEscape
from memdir.layout import Place, nfc
from memdir.share.remote import Reason, TeamCaps
from memdir.store.scan import walk
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.shared import STAYS_PRIVATE, why_private

_MAX_NUMBER = 1 << 63  # what a database counts to


class GivenJson(dict[str, Any]):
    """An object of JSON that somebody else wrote: what is not of the kind that is asked for counts as nothing."""

    @staticmethod
    def of(found: object) -> GivenJson:
        return GivenJson(found) if isinstance(found, dict) else GivenJson()

    def text(self, name: str) -> str:
        found = self.get(name)
        return found if isinstance(found, str) else ""

    def number(self, name: str) -> int:
        found = self.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < _MAX_NUMBER else 0

    def part(self, name: str) -> GivenJson:
        return GivenJson.of(self.get(name))

    def parts(self, name: str) -> list[GivenJson]:
        found = self.get(name)
        return [GivenJson(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


@dataclass(frozen=True)
class NotShared:
    """A file that does not travel, and why, in words that name no value."""

    file: str  # as it may be told
    reason: Reason | str
    told: str
    remedy: str = ""
    kinds: tuple[str, ...] = ()  # of secrets
    way: str = "push"  # "pull": it was not taken in


def judge(key: str, data: bytes, caps: TeamCaps) -> NotShared | None:
    """Why a memory may neither be given to the team nor taken from it; None where it may."""
    is_in_memory = any(part.lower().endswith(".md") for part in key.split("/")[:-1])  # which a hub refuses
    if not is_key(key) or is_index(key) or is_in_memory:
        return NotShared(harmless_name(key, data), "path", "its name may not name a memory", "Give it another name")
    if len(data) > caps.entry_bytes:
        told = f"it has {len(data):,} bytes, and a shared memory has at most {caps.entry_bytes:,}"
        return NotShared(harmless_name(key, data), "too_large", told, "Split it, or cut it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return NotShared(harmless_name(key, data), "not_text", "it is no UTF-8 text", "Convert it")
    kinds, told = secrets_in(key, data)
    if kinds:
        remedy = "Take it out and say where it is kept instead; what was shown to others must be revoked"
        return NotShared(harmless_name(key, data), "secret", f"it holds a secret: {told}", remedy, kinds)
    if why := why_private(data):
        return NotShared(harmless_name(key, data), "private", why, f"Move it out of team/. {STAYS_PRIVATE}")
    return None


@dataclass
class LocalTexts:
    """What lies in the team's directory by key, when it was saved, and what cannot be given to others."""

    texts: dict[str, bytes] = field(default_factory=dict)
    saved: dict[str, float] = field(default_factory=dict)  # seconds since the epoch
    left_out: dict[str, NotShared] = field(default_factory=dict)

    def stands(self, key: str) -> bool:
        return key in self.texts or key in self.left_out


def read_local(place: Place, caps: TeamCaps, known: Iterable[str] = ()) -> LocalTexts:
    """Every memory of the team's directory, under the name that all systems agree on (NFC).

    What is `known` is asked for by its name where no folder lists it: one that became a link, or that cannot be looked
    into, was not emptied, and nobody deletes for all what lies in it.
    """
    found, closed = LocalTexts(), dict[str, OSError]()
    listed = [path for path, _ in walk(place.root, closed=closed)]
    names = {nfc(path).casefold() for path in listed}  # not every disk tells capitals apart
    paths = [*listed, *(key for key in known if key.casefold() not in names)]
    for folder, error in closed.items():
        found.left_out[folder] = NotShared(harmless_name(folder), "path", f"it cannot be read: {reason_of(error)}")
    for path in sorted(paths, key=lambda path: (nfc(path) != path, path)):
        key = nfc(path)
        try:
            if key in found.texts:
                raise PathEscape("another file has the same name in another spelling", remedy="Rename one of them")
            folder, name = os.path.split(place.prefix + path)  # the team's own folder may have become a link, too
            with held_folder(place.base, folder) as held:
                data, status = read_with_status(os.path.join(held, name), max_bytes=caps.entry_bytes, follow=False)
            if status.st_nlink != 1:
                raise PathEscape("it has a second name (a hard link)", remedy="Put a copy in its place")
            if data.strip():
                found.texts[key], found.saved[key] = data, status.st_mtime
            else:  # what a full disk or a slip leaves: nobody else's text goes for it
                remedy = "Bring it back with `memdir restore`, or delete it for all with `memdir forget`"
                found.left_out[key] = NotShared(harmless_name(path), "not_text", "it is empty", remedy)
        except FileNotFoundError:
            continue  # deleted at this moment
        except PathEscape as error:
            found.left_out[key] = NotShared(harmless_name(path), "path", error.message, error.remedy)
        except TooLarge as error:
            found.left_out[key] = NotShared(harmless_name(path), "too_large", str(error), "Split it, or cut it")
        except OSError as error:
            found.left_out[key] = NotShared(harmless_name(path), "path", f"it cannot be read: {reason_of(error)}")
    return found


def spell_alike(place: Place) -> None:
    """Put what a Mac spelled in its own way, file or folder, under the name that all systems agree on."""
    for path in [path for path, _ in walk(place.root) if not path.isascii() and nfc(path) != path]:
        folder, name = os.path.split(place.prefix + path)
        was, to = held_folder(place.base, folder), held_folder(place.base, nfc(folder), create=True)
        with suppress(OSError, PathEscape), was as old, to as new:
            if not os.path.lexists(os.path.join(new, nfc(name))):
                os.rename(os.path.join(old, name), os.path.join(new, nfc(name)))
