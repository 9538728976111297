"""A selector that takes long to load or to warm, asked beside the conversation and never waited for beyond a limit.

What it was embedding when the process ends is embedded by the next one. One question at a time; while it is busy the
caller answers from the table alone.
"""

from __future__ import annotations

import os
import threading

from memdir.recall.recall import Stopped
from memdir.recall.selection import LocalSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.recall.prefetch import RecallThreads
    from memdir.recall.selection import Recalled

    Check = Callable[[], None]  # raises Stopped when the work is no longer wanted
    Opened = Callable[[Check], LocalSelector | None]

MAX_SECONDS = 1.0  # a loaded selector answers in hundredths; the first question of a process may load it


class WarmSelector:
    """Holds the selector that `opened` gives; None from there means that it is not installed."""

    def __init__(self, opened: Opened, threads: RecallThreads) -> None:
        self._opened = opened
        self._threads = threads
        self._selector: LocalSelector | None = None
        self._is_missing = False
        self._busy = threading.Lock()

    def ask(
        self, question: Callable[[LocalSelector], Recalled], *, max_seconds: float = MAX_SECONDS
    ) -> Recalled | None:
        """The selector's answer; None when it is missing, busy or late, or fails. Stopped when its owner closes."""
        if self._is_missing or not self._busy.acquire(blocking=False):
            return None

        def work() -> Recalled | None:
            try:
                return self._answer(question)
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - the runtime has exceptions of its own; the table still answers
                return None
            finally:
                self._busy.release()

        try:
            return self._threads.run(work).result(max_seconds)
        except TimeoutError:
            return None

    def _answer(self, question: Callable[[LocalSelector], Recalled]) -> Recalled | None:
        if self._selector is None:
            self._is_missing = True  # and stays so, where the runtime or the weights do not load
            self._selector = self._opened(self._threads.check)
            self._is_missing = self._selector is None
        self._threads.check()
        return question(self._selector) if self._selector is not None else None


def open_selector(root: str, place: str, *, check: Check | None = None) -> LocalSelector | None:
    """A selector with the sentence model over a directory, with an index of its own; None without the extra."""
    from memdir.search import has_sentence_model
    from memdir.search.minilm import PairEncoder, SentenceModel
    from memdir.text.embedding import open_table

    if not has_sentence_model():
        return None
    encoder = PairEncoder(open_table(), SentenceModel(check=check))
    return LocalSelector(root, os.path.join(place, "minilm"), encoder=encoder)
