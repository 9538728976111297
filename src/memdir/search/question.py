"""What is asked: the words, terms and direction of a message, and what kind of message it is."""

from __future__ import annotations

from itertools import pairwise

from memdir.text.stems import pairs, term_of
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.vectors import Encoder
    from memdir.search.when import Moment

MAX_CHARS = 4000  # a pasted log: its beginning says what is asked
MAX_TERMS = 48  # each term is one look-up; the rarest are kept anyway by their weight
MAX_PAIRED = 64  # words of a message that are looked up two by two


class Question:
    """A message made ready for ranking. Made once, read by every segment."""

    __slots__ = ("meaning_weight", "moment", "pairs", "terms", "text", "vector", "words")

    def __init__(self, text: str, encoder: Encoder, *, today: int | None = None) -> None:
        self.text = text[:MAX_CHARS]
        self.words = split_words(self.text)
        self.moment = None if today is None else _moment(self.text, self.words, today)
        self.terms: dict[str, int] = {}  # a term and how common the word is that it came from
        for word in self.words:
            term = term_of(word)
            if term and term not in self.terms and len(self.terms) < MAX_TERMS:
                self.terms[term] = encoder.table.commonness(word)
        self.pairs = pairs(self.words[:MAX_PAIRED])
        self.meaning_weight = encoder.meaning_weight
        self.vector = encoder.query_vector((self.text, self.words))


def _moment(text: str, words: list[str], today: int) -> Moment | None:
    spoken = [name for name, past in PAST_WORDS.items() if _is_said(past.split(), words)]
    if any(word == "last" and (after in _AFTER_LAST or after.endswith("day")) for word, after in pairwise(words)):
        spoken.append("en")
    if not spoken:
        return None
    from memdir.search.when import moment_in  # few messages name a past day

    return moment_in(text, today, spoken)


def _is_said(past: list[str], words: list[str]) -> bool:
    """Whether one of the words, or one that begins like a stem, is in a message."""
    stems = tuple([word[:-1] for word in past if word[-1] == "*"])
    return not set(past).isdisjoint(words) or any(word.startswith(stems) for word in words)


# One of them stands in every message that names a past day; by language, for each has a table to be read.
PAST_WORDS = {
    "en": "ago yesterday*",
    "de": "gestern vorgestern letzt* vorig* vor",
    "fr": "dernier*",
    "es": "ayer anteayer anoche hace pasad*",
    "pt": "ontem anteontem passad*",
    "it": "ieri scors*",
    "nl": "gisteren eergisteren geleden afgelopen",
    "pl": "wczoraj temu zeszl*",
    "sv": "igar forra",
    "ru": "вчера позавчера назад",
    "zh": "昨天 上周 昨日 先週 어제 지난",
}
_AFTER_LAST = frozenset(("week", "weeks", "weekend", "month", "months", "year", "years", "night"))
