"""Everything that can go wrong, as one tree.

MemdirError              any failure a person can act on
├─ UsageError            a call or a command line is wrong: no such scope, type or option
├─ SettingsError         a settings file or value cannot be used
├─ PathEscape            a key or path from outside that may not be touched
├─ BadMemoryFile         a file that is not what a memory must be
│  └─ SecretRefused      a text that holds a secret; its kind and line, never its value
├─ MemoryNotFound        no memory of that name, or more than one
│  └─ SeveralFit         a part of a name that fits more than one
├─ EditConflict          the file changed meanwhile and the two versions do not merge
├─ ImportRefused         an archive or folder that will not be taken in
├─ DiskError             the disk refused: full, read-only, no permission, broken
├─ LockBusy              another process is writing to the same directory
├─ HistoryError          git is missing, or refused
├─ PromptError           a prompt file is broken, or was given the wrong variables
├─ ModelError            a model could not answer; `kind` says why
├─ RemoteError           a team's remote cannot be used now; `kind` says why
└─ BudgetReached         background work has used up what it may today

A message names the thing and what is wrong; `remedy` says what to do about it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

ModelFailure: TypeAlias = """
    Literal["no_sdk", "no_key", "wrong_key", "no_credit", "no_network", "unknown_model", "context_too_long"]
    | Literal["rate_limit", "overloaded", "timeout", "interrupted", "bad_request", "bad_reply", "memory_off"]
"""
RemoteFailure: TypeAlias = 'Literal["offline", "not_allowed", "rate", "broken"]'
RETRYABLE = frozenset(("rate_limit", "overloaded", "timeout", "interrupted", "no_network"))


class MemdirError(Exception):
    """A failure that a person can act on. `exit_code` is what the command line returns (docs/exit-codes.md)."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message  # what is wrong, naming the thing
        self.remedy = remedy  # what to do about it, where that is known

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message

    def for_programs(self) -> dict[str, object]:
        """As JSON tells it (docs/reference/json.md)."""
        told = {"kind": type(self).__name__, "message": self.message, "remedy": self.remedy or None}
        return {**told, "exitCode": self.exit_code}


class UsageError(MemdirError):
    exit_code = 2


class SettingsError(MemdirError):
    exit_code = 3


class PathEscape(MemdirError):
    exit_code = 4


class BadMemoryFile(MemdirError):
    exit_code = 5


class SecretRefused(BadMemoryFile):
    """A text that holds a secret. `kinds` says what was found; the value is nowhere in this error."""

    exit_code = 15

    def __init__(self, message: str, *, remedy: str = "", kinds: tuple[str, ...] = ()) -> None:
        super().__init__(message, remedy=remedy)
        self.kinds = kinds  # what was found, never its value


class MemoryNotFound(MemdirError):
    exit_code = 6


class SeveralFit(MemoryNotFound): ...


class EditConflict(MemdirError):
    exit_code = 7


class ImportRefused(MemdirError):
    exit_code = 8


class DiskError(MemdirError):
    """The disk refused. `code` is the system's error number, 0 where it was ourselves who would not go on."""

    exit_code = 9

    def __init__(self, message: str, *, remedy: str = "", code: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code  # the system's error number, or 0


class LockBusy(MemdirError):
    exit_code = 10


class HistoryError(MemdirError):
    exit_code = 11


class PromptError(MemdirError):
    exit_code = 12


class ModelError(MemdirError):
    """A model could not answer. `kind` is for callers that branch; `retry_after` is the provider's wish in seconds."""

    exit_code = 13

    def __init__(self, message: str, *, kind: ModelFailure, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind  # for callers that branch
        self.retry_after = retry_after  # the provider's wish, in seconds

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in RETRYABLE


class RemoteError(MemdirError):
    """A team's remote cannot be used now. `kind` is for callers that branch: offline, not_allowed, rate or broken."""

    exit_code = 16

    def __init__(self, message: str, *, kind: RemoteFailure = "offline", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind  # for callers that branch


class BudgetReached(MemdirError):
    """Background work has used up what it may today. `resumes_at` is when it may go on, in seconds since the epoch."""

    exit_code = 14

    def __init__(self, message: str, *, resumes_at: float) -> None:
        super().__init__(message, remedy="It runs later by itself; `memdir budget` shows where it went")
        self.resumes_at = resumes_at  # seconds since the epoch
