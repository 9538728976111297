"""Questions of a dream: of two memories that are likely of one subject, or one that has ended; and the answers (D3).

A dream asks in its last words, one line a question, whoever dreams; what is not such a line is no question. They are
kept beside the other derived state. An answer is a change like any other, which `undo` takes back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from memdir.disk.atomic import keep_bytes
from memdir.disk.lock import locked
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import TEAM_PREFIX, is_key
from memdir.errors import BadMemoryFile, MemoryNotFound
from memdir.prompts.door import shown_line
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic

Answer = Literal["same", "replace", "keep", "never"]
MAX_BYTES = 4 << 20  # of the file of questions
MAX_OPEN = 500  # no night asks so much: two memories that a dream has compared it does not compare again
MAX_CLOSED = 5000  # pairs that are not asked about again
MAX_EVIDENCE = 300  # characters
EXPIRES_SECONDS = 30 * 86_400.0  # who did not answer in a month does not want to be asked
_LINE = re.compile(r"^Question: (same|replaces|ended)\? ([^|\n]+) \| ([^|\n]+) \| ([^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class OpenQuestion:
    """Whether two memories say the same, the newer one replaces the older, or what one tells of is over."""

    kind: Literal["same", "replaces", "ended"]  # what the dream holds for likely
    older: str  # the file of the older memory
    newer: str  # the file of the newer one, or of the one that may be over
    evidence: str  # what made the dream ask
    asked: float  # when, in seconds

    @property
    def asks(self) -> str:
        """The question in words."""
        asks = {"same": "Do these say the same?", "ended": "Is this over?"}
        return asks.get(self.kind, "Does the newer one replace the older?")

    @property
    def id(self) -> str:
        """What to answer it by."""
        return hashlib.sha256(f"{self.older}\n{self.newer}".encode()).hexdigest()[:8]


class Questions:
    """The questions about the memories of one directory."""

    def __init__(self, store: MemoryStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._path = store.place.questions
        self._clock = clock

    def waiting(self) -> tuple[OpenQuestion, ...]:
        """Those that wait for an answer: not too old, and both memories are still there."""
        return tuple(one for one in self._read()[0] if self._waits(one))

    def ask(self, words: str) -> tuple[OpenQuestion, ...]:
        """Keep the questions of a dream's last words that were not asked before."""
        now, found = self._clock(), list[OpenQuestion]()
        for kind, older, newer, told in _LINE.findall(words):
            found.append(OpenQuestion(kind, older.strip(), newer.strip(), told.strip()[:MAX_EVIDENCE], now))
        with locked(self._store.place.lock):
            known, closed = self._read()
            expired = [one for one in known if not self._waits(one)]
            closed |= {one.id: "" for one in expired if one.asked + EXPIRES_SECONDS < now}
            waiting = {one.id: one for one in known if one not in expired}
            fresh = {one.id: one for one in found if one.id not in waiting and self._is_new(one, closed)}
            fresh = dict(list(fresh.items())[: max(0, MAX_OPEN - len(waiting))])
            if fresh or expired:
                self._write([*waiting.values(), *fresh.values()], closed)
        return tuple(fresh.values())

    def answer(self, question: str, answer: Answer) -> tuple[str, ...]:
        """Do what a person says about two memories; gives the files that changed."""
        if answer not in get_args(Answer):
            raise BadMemoryFile(
                f"{shown_line(str(answer))} is no answer", remedy=f"Answer {', '.join(get_args(Answer))}"
            )
        found = next((one for one in self.waiting() if one.id == question), None)
        if found is None:
            raise MemoryNotFound(
                f"there is no open question {shown_line(question)}", remedy="List them: memdir review --json"
            )
        if found.kind == "ended" and answer in ("same", "replace"):
            remedy = f"`memdir forget` {found.older}, or `memdir edit` it; keep and never end the question"
            raise BadMemoryFile(f"this asks about one memory: {answer} is no answer", remedy=remedy)
        changed = self._join(found, answer) if answer in ("same", "replace") else ()
        with locked(self._store.place.lock):
            known, closed = self._read()
            closed[found.id] = "" if answer == "never" else self._texts(found)
            self._write([one for one in known if one.id != found.id], closed)
        return changed

    def _join(self, question: OpenQuestion, answer: Answer) -> tuple[str, ...]:
        from memdir.model.builtin.dream.settle import joined

        keys = question.older, question.newer
        with self._store.changing(Origin("review", trust="user"), f"review: {keys[1]} joins {keys[0]}") as change:
            older, newer = (change.read(key) for key in keys)
            times = [self._store.read_with_time(key)[1] or 0 for key in keys]
            if older is None or newer is None:
                raise MemoryNotFound(f"{keys[0]} or {keys[1]} is gone", remedy="Look again: memdir review")
            pages = (keys[0], older, times[0] / 1e9), (keys[1], newer, times[1] / 1e9)
            data = joined(*pages, is_update=answer == "replace")
            if data is None:
                raise BadMemoryFile(
                    f"{keys[0]} and {keys[1]} cannot become one: a field, a pin or a layout is in the way",
                    remedy="Change them by hand: memdir edit",
                )
            change.write(keys[0], data, base=older, mtime_ns=max(times))
            change.put_entry(keys[0], Topic(data))
            change.delete(keys[1])
            change.drop_entry(keys[1])
        return keys

    def _waits(self, one: OpenQuestion) -> bool:
        return bool(self._texts(one)) and one.asked + EXPIRES_SECONDS >= self._clock()

    def _is_new(self, one: OpenQuestion, closed: dict[str, str]) -> bool:
        """Whether it may be asked: both are memories, and nobody said no to it as they stand now."""
        texts = self._texts(one)
        is_one = one.older == one.newer
        return is_one == (one.kind == "ended") and bool(texts) and closed.get(one.id, "-") not in ("", texts)

    def _texts(self, one: OpenQuestion) -> str:
        """What both say now, as a fingerprint; empty when one is gone, or the team's: that is for the team to say."""
        keys = (one.older, one.newer)
        if not all(is_key(key) and not key.startswith(TEAM_PREFIX) for key in keys):
            return ""
        found = [self._store.read_with_time(key)[0] for key in keys]
        return "" if None in found else hashlib.sha256(b"\0".join(data or b"" for data in found)).hexdigest()[:16]

    def _read(self) -> tuple[list[OpenQuestion], dict[str, str]]:
        held = decode(read_if_plain(self._path, max_bytes=MAX_BYTES) or b"")
        state = held if isinstance(held, dict) else {}
        rows, closed = state.get("open"), state.get("closed")
        found = [one for row in (rows if isinstance(rows, list) else []) if (one := _question(row))]
        pairs = closed.items() if isinstance(closed, dict) else ()
        return found, {name: texts for name, texts in pairs if isinstance(name, str) and isinstance(texts, str)}

    def _write(self, questions: Iterable[OpenQuestion], closed: dict[str, str]) -> None:
        state = {"open": [asdict(one) for one in questions], "closed": dict(list(closed.items())[-MAX_CLOSED:])}
        keep_bytes(self._path, f"{encode(state)}\n".encode())


def _question(row: object) -> OpenQuestion | None:
    """A question as it was kept; None for what is none."""
    match row:
        case {
            "kind": "same" | "replaces" | "ended" as kind,
            "older": str(older),
            "newer": str(newer),
            "evidence": str(told),
            "asked": int() | float() as asked,
        }:
            return OpenQuestion(kind, older, newer, told, float(asked))
    return None
