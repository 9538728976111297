"""Whether a statement is worth a memory of its own: a dated fact, a decision, a wish; not small talk, not a request."""

from __future__ import annotations

import re
from datetime import date

from memdir.model.builtin.dream.cues import SentenceKinds
from memdir.model.builtin.dream.values import Value, Values

ENOUGH_LOGGED = 2  # points that make a log line last: it was already worth writing down once
MAX_SAID_TO_KEEP = 260  # characters: a longer message argues, tells or pastes, and extraction has read it

MIN_DAYS_AWAY = 2  # what is about yesterday or tomorrow is over before it is read again

_NAME = re.compile(r"(?<=[\w,:] )[A-ZÀ-ÖØ-Þ][\w'’.-]*\w|^[A-ZÀ-ÖØ-Þ][\w'’-]+(?= \w+:|:)")
_FULL_DATE = frozenset(("date", "month"))


class Worth:
    """Judges statements by their words and values."""

    def __init__(self, phrases: SentenceKinds, values: Values) -> None:
        self._phrases = phrases
        self._values = values

    def is_request(self, sentence: str) -> bool:
        """Whether a sentence asks, or tells the assistant to do something now."""
        if self._phrases.has("question", sentence):
            return True
        return self._phrases.has("request", sentence) and not self.is_wish(sentence)

    def is_wish(self, text: str) -> bool:
        """Whether somebody says how work should be done from now on."""
        return self._phrases.has("wish", text)

    def is_unsure(self, text: str) -> bool:
        """Whether it is a rumour, a thought or somebody else's words: no evidence of anything."""
        return self._phrases.has("unsure", text)

    def is_settled(self, text: str, said_on: date) -> bool:
        """Whether a spoken sentence states something that was decided or dated, beyond the day it was said."""
        if len(text) > MAX_SAID_TO_KEEP or self._phrases.has("passing", text) or not self._phrases.has("settled", text):
            return False
        found = self._values.find(text)
        dated = any(_days_away(value, said_on) >= MIN_DAYS_AWAY for value in found)
        measured = any(value.kind not in (*_FULL_DATE, "num", "weekday") for value in found)
        return dated or (measured and _NAME.search(text) is not None)

    def lasts(self, text: str) -> bool:
        """Whether a log line is more than the weather of the day: dates, amounts, names, decisions, wishes."""
        if self._phrases.has("passing", text):
            return False
        kinds = {value.kind for value in self._values.find(text)}
        points = 2 if kinds & _FULL_DATE else 0
        points += 1 if kinds - _FULL_DATE - {"num"} else 0
        points += 1 if _NAME.search(text) else 0
        points += 1 if self._phrases.has("durable", text) else 0
        points += 2 if self.is_wish(text) else 0
        return points >= ENOUGH_LOGGED


def _days_away(value: Value, day: date) -> int:
    """How far a date is from `day`; a month counts by its beginning, anything else is no date."""
    if value.kind not in _FULL_DATE:
        return 0
    try:
        return abs((date.fromisoformat(value.value if value.kind == "date" else f"{value.value}-01") - day).days)
    except ValueError:
        return 0
