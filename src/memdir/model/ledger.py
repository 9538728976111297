"""The ledger: every background model call and its sums, one JSON object a line, appended in one write (B1, B2)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import reduce

from memdir.disk.append import append_bytes
from memdir.disk.atomic import disk_error, make_folder
from memdir.disk.plain_file import open_plain
from memdir.model.model import Usage
from memdir.transcript.reader import lines_backwards

# Read back until so many lines in a row are older: processes append in the order they finish, and clocks may be wrong.
_OLDER_LINES = 1000


@dataclass(frozen=True)
class Spent:
    """One line of the ledger: what one model call used. `failure` says why it got no reply."""

    time: float
    job: str
    project: str
    model: str
    usage: Usage
    money: float | None
    failure: str = ""


class Ledger:
    """A file of lines. Whoever may write to it has a line whole or not at all."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, spent: Spent) -> None:
        """Append a call. A line that a crash tore is closed first, so that it spoils only itself."""
        make_folder(os.path.dirname(self._path))
        gap = b"" if self._ends_whole() else b"\n"
        append_bytes(self._path, gap + json.dumps(_plain(spent)).encode("utf-8") + b"\n")

    def since(self, moment: float) -> list[Spent]:
        """What was spent since then, in the order written; lines that cannot be read are skipped."""
        found: list[Spent] = []
        older = 0
        try:
            for spent in filter(None, map(_parse, lines_backwards(self._path))):
                if spent.time >= moment:
                    found.append(spent)
                    older = 0
                elif (older := older + 1) > _OLDER_LINES:
                    break
        except FileNotFoundError:
            pass
        except OSError as error:
            raise disk_error(error, "read", self._path) from error
        return found[::-1]

    def _ends_whole(self) -> bool:
        try:
            with open_plain(self._path) as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) == b"\n"
        except OSError:  # there is none yet, or it is empty
            return True


def _plain(spent: Spent) -> dict[str, object]:
    line: dict[str, object] = {
        "time": datetime.fromtimestamp(spent.time, UTC).isoformat(timespec="milliseconds"),
        "job": spent.job,
        "project": spent.project,
        "model": spent.model,
        **asdict(spent.usage),
        "money": spent.money,
    }
    return {**line, "failure": spent.failure} if spent.failure else line


def _parse(line: bytes) -> Spent | None:
    try:
        found = json.loads(line)
        usage = Usage(*(int(found[kind.name]) for kind in fields(Usage)))
        money = None if found["money"] is None else float(found["money"])
        moment = datetime.fromisoformat(found["time"]).timestamp()
        job, project, model = (str(found[name]) for name in ("job", "project", "model"))
        return Spent(moment, job, project, model, usage, money, str(found.get("failure", "")))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True)
class Sum:
    """What several calls used together. `unpriced` counts the calls of models that have no price."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """What counts against a cap."""
        return self.usage.total

    def with_call(self, spent: Spent) -> Sum:
        return Sum(
            self.calls + 1,
            self.failed + bool(spent.failure),
            self.usage + spent.usage,
            self.money + (spent.money or 0.0),
            self.unpriced + (spent.money is None),
        )


def total(spents: Iterable[Spent]) -> Sum:
    """The sum of all calls."""
    return reduce(Sum.with_call, spents, Sum())


def sums(spents: Iterable[Spent], key: Callable[[Spent], str]) -> dict[str, Sum]:
    """The sums of each group, the largest first."""
    found: dict[str, Sum] = {}
    for spent in spents:
        name = key(spent)
        found[name] = found.get(name, Sum()).with_call(spent)
    return dict(sorted(found.items(), key=lambda item: (-item[1].tokens, item[0])))


def day_of(moment: float) -> str:
    """The day of a moment in local time, as caps count it."""
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()
