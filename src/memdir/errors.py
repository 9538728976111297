"""Everything that can go wrong, as one tree.

MemdirError              any failure a person can act on
├─ SettingsError         a settings file or value cannot be used
├─ PathEscape            a key or path from outside that may not be touched
├─ BadMemoryFile         a file that is not what a memory must be
├─ MemoryNotFound        no memory of that name, or more than one
├─ EditConflict          the file changed meanwhile and the two versions do not merge
├─ ImportRefused         an archive or folder that will not be taken in
├─ DiskError             the disk refused: full, read-only, no permission, broken
├─ LockBusy              another process is writing to the same directory
├─ HistoryError          git is missing, or refused
└─ PromptError           a prompt file is broken, or was given the wrong variables

A message names the thing and what is wrong; `remedy` says what to do about it.
"""

from __future__ import annotations


class MemdirError(Exception):
    """A failure that a person can act on. `exit_code` is what the command line returns (docs/exit-codes.md)."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class SettingsError(MemdirError):
    exit_code = 3


class PathEscape(MemdirError):
    exit_code = 4


class BadMemoryFile(MemdirError):
    exit_code = 5


class MemoryNotFound(MemdirError):
    exit_code = 6


class EditConflict(MemdirError):
    exit_code = 7


class ImportRefused(MemdirError):
    exit_code = 8


class DiskError(MemdirError):
    exit_code = 9


class LockBusy(MemdirError):
    exit_code = 10


class HistoryError(MemdirError):
    exit_code = 11


class PromptError(MemdirError):
    exit_code = 12
