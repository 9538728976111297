"""The team's directory as it is read for others: every file from the opened folder it lies in, so that no link that is
put there meanwhile makes a stranger's file the team's (E3)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field

from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import TooLarge, read_with_status, reason_of
from memdir.errors import PathEscape
from memdir.layout import nfc
from memdir.share.judge import NotShared
from memdir.share.remote import TeamCaps
from memdir.store.scan import walk
from memdir.store.secrets.refuse import harmless_name


@dataclass(frozen=True)
class LocalText:
    """A file of the team's directory."""

    data: bytes
    saved: float  # seconds since the epoch


@dataclass
class LocalTexts:
    """What lies there by key, and what is there and cannot be given to others."""

    texts: dict[str, LocalText] = field(default_factory=dict)
    left_out: dict[str, NotShared] = field(default_factory=dict)

    def stands(self, key: str) -> bool:
        return key in self.texts or key in self.left_out


def read_local(root: str, caps: TeamCaps) -> LocalTexts:
    """Every memory of the team's directory, under the name that all systems agree on (NFC)."""
    found = LocalTexts()
    for path in sorted(path for path, _ in walk(root)):
        key = nfc(path)
        try:
            if key in found.texts:
                raise PathEscape("another file has the same name in another spelling", remedy="Rename one of them")
            found.texts[key] = _read(root, path, caps)
        except FileNotFoundError:
            continue  # deleted at this moment
        except PathEscape as error:
            found.left_out[path] = NotShared(harmless_name(path), "path", error.message, error.remedy)
        except TooLarge as error:
            found.left_out[path] = NotShared(harmless_name(path), "too_large", str(error), "Split it, or cut it")
        except OSError as error:
            found.left_out[path] = NotShared(harmless_name(path), "path", f"it cannot be read: {reason_of(error)}")
    return found


def spell_alike(root: str) -> None:
    """Give files whose names a Mac spelled in its own way the name that all systems agree on."""
    for path in [path for path, _ in walk(root) if not path.isascii() and nfc(path) != path]:
        folder, name = os.path.split(path)
        with suppress(OSError, PathEscape), held_folder(root, folder) as held:
            if not os.path.lexists(os.path.join(held, nfc(name))):
                os.rename(os.path.join(held, name), os.path.join(held, nfc(name)))


def _read(root: str, path: str, caps: TeamCaps) -> LocalText:
    folder, _, name = path.rpartition("/")
    with held_folder(root, folder) as held:
        data, status = read_with_status(os.path.join(held, name), max_bytes=caps.entry_bytes, follow=False)
    if status.st_nlink != 1:
        raise PathEscape("it has a second name (a hard link)", remedy="Put a copy in its place")
    return LocalText(data, status.st_mtime)
