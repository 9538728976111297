"""Documents, and what the index keeps of each: its terms with their counts, its vectors, its dates, what it is about;
and questions, cut to terms in the same way.

A document (a memory, a session, a turn, a fact) is read once it changes; what is kept of it is all that ranking and
deciding ever look at. The text is read again only to be shown.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from zlib import crc32

from memdir.disk.shipped import shipped_lines
from memdir.text.stems import pairs, term_of
from memdir.text.words import is_unspaced, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memdir.search.vectors import DocVector, Encoder, Part
    from memdir.search.when import Moment


PASSAGE_WORDS = 90  # what one averaged vector can still tell apart
KINDS = ("", "user", "feedback", "project", "reference")
IN_TITLE = 256  # two counts in one small number: a document holds hundreds of them
MAX_COUNT = 255  # counts are kept in a byte; more repeats say no more
MAX_PASSAGES = 64  # a longer document is known by its first parts
WHOLE_WORDS = 160  # up to this length one vector of the whole text is worth having
MAX_DATES = 4
FIRST_DAY = 719_163  # 1 January 1970, as `days_in` counts
MAX_KNOWN_WORDS = 50_000  # of texts that are indexed together: a few MB
MAX_CHARS = 4000  # a pasted log: its beginning says what is asked
MAX_TERMS = 48  # each term is one look-up; the rarest are kept anyway by their weight
MAX_PAIRED = 64  # words of a message that are looked up two by two
HAS_HEAD = 0x80  # set in the kind byte: the first vector is that of title and description

_USAGE_TEXT = (
    "usage use using command commands options option flags flag parameters arguments recipes recipe howto manual "
    "cheat cheatsheet reference subcommands syntax how lanes functions calls running run start notes cli examples "
)
_USAGE = frozenset(_USAGE_TEXT.split())
_GOTCHA_TEXT = (
    "warning warnings trap traps gotcha gotchas pitfall pitfalls caveat caveats danger dangers hazard hazards "
    "quirk quirks beware snag snags surprise surprises caution cautions limits limit silently unless never "
    "instead misled wrong lose loses ignores deletes overwrites careful risk risks bug bugs stale "
)
_GOTCHA = frozenset(_GOTCHA_TEXT.split())
_GOTCHA_WEIGHT = 2  # a warning may well name the command it warns of
_DAYS_BACK, _LAST_OR_AGO, _UNITS = ("D=-", "LU="), ("L ", "G ", "g ", "r "), ("U", "W=", "j=")  # in the tables of dates
_READ_TOGETHER = {"ja": "zh", "ko": "zh"}  # as one language


class Document:
    """Plain text with a key; for a memory `title` is its name and `kind` its type (S6)."""

    def __init__(  # noqa: PLR0913 - one keyword a field, all but the key optional
        self,
        key: str,
        *,
        title: str = "",
        description: str = "",
        body: str = "",
        kind: str = "",
        mtime_ns: int = 0,
        size: int = 0,
        passages: list[str] | None = None,
    ) -> None:
        self.key, self.title, self.description, self.body = key, title, description, body
        self.kind, self.mtime_ns, self.size = kind, mtime_ns, size
        self.passages = passages  # where the caller knows the natural parts (turns); else the body is cut here


class IndexedDocument:
    """One document as ranking sees it."""

    def __init__(self, key: str, kind: int, mtime_ns: int, size: int) -> None:
        self.key, self.kind, self.mtime_ns, self.size = key, kind, mtime_ns, size
        self.counts: dict[int, int] = {}  # by fingerprint: that in the body, plus IN_TITLE for each in the head
        self.length = self.usage = 0
        self.vectors: list[DocVector] = []
        self.dates: list[int] = []


class Terms(dict[str, "tuple[int, bytes] | None"]):
    """Each word's term as a fingerprint and as it follows another in a pair; None for a stop word.

    Texts repeat their words, so that most of them are cut to their stem only once.
    """

    __slots__ = ()

    def __missing__(self, word: str) -> tuple[int, bytes] | None:
        if len(self) >= MAX_KNOWN_WORDS:
            self.clear()
        term = term_of(word).encode()
        found = self[word] = (crc32(term), b" " + term) if term else None
        return found

    def counted(self, words: Iterable[str]) -> list[int]:
        """The fingerprints of the terms, repeats kept."""
        return [found[0] for word in words if (found := self[word]) is not None]

    def pairs(self, words: Iterable[str]) -> list[int]:
        """The fingerprints of every two terms that stand side by side (`stems.pairs`)."""
        found = [self[word] for word in words]
        return [crc32(other[1], one[0]) for one, other in pairwise(found) if one is not None and other is not None]


def index_documents(
    documents: Sequence[Document], encoder: Encoder, known: Terms | None = None
) -> list[IndexedDocument]:
    """Read documents once; everything later works from what is kept here. All directions are asked for together."""
    known = Terms() if known is None else known
    made = [_make(document, known) for document in documents]
    directions = iter(encoder.doc_vectors([part for _, parts in made for part in parts]))
    for indexed, parts in made:
        indexed.vectors = [found for _ in parts if (found := next(directions)) is not None]
    return [indexed for indexed, _ in made]


def _make(document: Document, known: Terms) -> tuple[IndexedDocument, list[Part]]:
    """What is kept, still without directions, and the parts that are to get one."""
    kind = KINDS.index(document.kind) if document.kind in KINDS else 0
    made = IndexedDocument(document.key, kind, document.mtime_ns, document.size)
    title = f"{document.title}. {document.description}"
    head = split_words(title)
    stem_of_name = document.key.rsplit("/", 1)[-1].removesuffix(".md") if document.key.endswith(".md") else ""
    passages = [(part, split_words(part)) for part in _passages_of(document)]
    bodies = [split_words(document.body)] if document.passages is not None else [words for _, words in passages]
    _count(made, known.counted([*head, *split_words(stem_of_name)]), IN_TITLE)
    _count(made, [term for words in bodies for term in known.counted(words)], 1)
    made.length = sum([(count >> 8) + (count & MAX_COUNT) for count in made.counts.values()])
    if sum(map(len, bodies)) > WHOLE_WORDS:  # in a note all words are about one thing; in a talk they meet by chance
        _count(made, [pair for words in bodies for pair in known.pairs(words)], 1)
    made.kind |= HAS_HEAD if head else 0
    made.usage = len(_USAGE.intersection(head)) - _GOTCHA_WEIGHT * len(_GOTCHA.intersection(head))
    made.dates = days_in(f"{document.description} {document.body}")[:MAX_DATES]
    return made, _parts((title, head) if head else None, passages)


def _passages_of(document: Document) -> list[str]:
    """The parts of the body that get a vector of their own: paragraphs joined up to a readable length."""
    if document.passages is not None:
        return document.passages
    out: list[str] = []
    count = 0
    for part in filter(str.strip, document.body.split("\n")):
        words = len(part.split())
        if out and count + words <= PASSAGE_WORDS:
            out[-1] += f" {part}"
            count += words
        else:
            out.append(part)
            count = words
    return out


def _count(document: IndexedDocument, found: list[int], step: int) -> None:
    from collections import Counter  # a start that reads no file does not need it

    counts = document.counts
    for fingerprint, count in Counter(found).items():
        held = counts.get(fingerprint, 0)
        room = MAX_COUNT - (held >> 8 if step == IN_TITLE else held & MAX_COUNT)
        counts[fingerprint] = held + step * (count if count < room else room)  # `min` takes as long as all else


def _parts(head: Part | None, passages: list[Part]) -> list[Part]:
    """First what the title and description say, then the whole where it is short, else its parts."""
    if head is None:
        return passages[:MAX_PASSAGES]
    total = sum([len(words) for _, words in passages])
    if not total or len(head[1]) + total > WHOLE_WORDS:
        return [head, *passages[:MAX_PASSAGES]]
    text = ". ".join([head[0], *[text for text, _ in passages]])
    return [head, (text, head[1] + [word for _, words in passages for word in words])]


def days_in(text: str) -> list[int]:
    """The ISO dates of a text as day numbers (proleptic ordinals), in order, without repeats."""
    out: list[int] = []
    at = text.find("-")
    while at >= 0:
        piece = text[at - 4 : at + 6]
        if at >= 4 and len(piece) == 10 and piece[7] == "-" and (piece[:4] + piece[5:7] + piece[8:]).isdecimal():
            day = _ordinal(int(piece[:4]), int(piece[5:7]), int(piece[8:]))
            if day and day not in out:
                out.append(day)
        at = text.find("-", at + 1)
    return out


def _ordinal(year: int, month: int, day: int) -> int:
    """Days since year 1, near enough to compare; importing datetime would cost a hook a millisecond."""
    if not (1900 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31):
        return 0
    if month <= 2:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 306


def day_of(seconds: float) -> int:
    """The day number of a Unix time, in the same count as `days_in`."""
    return int(seconds // 86_400) + FIRST_DAY


class Question:
    """A message made ready for ranking. Made once, read by every segment."""

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
    spoken = _looking_back(f" {' '.join(words)} {text} ")
    if not spoken:
        return None
    from memdir.search.when import moment_in  # few messages name a past day

    return moment_in(text, today, spoken)


def _looking_back(said: str) -> frozenset[str]:
    """The languages in which a message may name a past day: it says yesterday, or last or ago and somewhere a unit or a
    weekday. Only for these are the dates read."""
    days, last = (_spoken(said, "text/past_words.txt", meanings) for meanings in (_DAYS_BACK, _LAST_OR_AGO))
    units = (_spoken(said, "text/date_words.txt", _UNITS, language) for language in last - days)
    return days.union(*units)


def _spoken(said: str, table: str, meanings: tuple[str, ...], language: str = "") -> frozenset[str]:
    """The languages, or whether it is this one, whose words for some meanings are in a message."""
    words = _words_for(table, meanings, language, is_ascii=said.isascii())
    return frozenset([tongue for tongue, word in words if word in said])


@cache
def _words_for(table: str, meanings: tuple[str, ...], language: str, *, is_ascii: bool) -> list[tuple[str, str]]:
    """Words, each with its language, as they stand among the words of a message or, written without spaces, in it. Of
    a plain message only plain ones are looked for: to fold the others takes longer."""
    found = []
    for line in shipped_lines(table):
        head, _, some = line.partition(": ")
        tongue = _READ_TOGETHER.get(head[-2:], head[-2:])
        if line.startswith(meanings) and language in ("", tongue):
            for word in [one for one in some.split("; ") if one.isascii() or not is_ascii]:
                plain = " ".join(split_words(word.rstrip("*")))
                found.append((tongue, word if is_unspaced(word[0]) else f" {plain}{'' if word[-1] == '*' else ' '}"))
    return found
