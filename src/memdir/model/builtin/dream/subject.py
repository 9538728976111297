"""The veto: whether two texts may be about two things. Every step that merges, corrects or takes in asks here (D3).

The test is positive (ADR 0045): whatever can name a subject must be matched on the other side, and only the value that
changed may differ. What is left over on both sides, or narrows a word that both share ("staging API" beside "API"), is
or may be a subject of its own: then nothing is touched. There is no list of subjects and no grammar in it, so it
holds in every language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memdir.model.builtin.dream.dream_words import DreamWords
from memdir.model.builtin.dream.later_statement import LaterStatement
from memdir.model.builtin.dream.marks import Mark, Marks, Pool, tongues
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.values import Value, Values, base_kind
from memdir.text.body_text import clauses, split
from memdir.text.date_words import month_of
from memdir.text.words import plain_words

MAX_CLAIMS = 3  # sentences of a body that may say what the page is about

SHORT = 4  # words of a description in which every one may be the subject
MIN_TURNED = 2  # words that two sentences share before one more, or a "not", counts

_CODES = frozenset(("us", "it", "go", "will", "may", "plus"))  # in the name of a file they are no small words

_YEAR = re.compile(r"(?:19|20)\d\d")  # the budget of 2025 is not the one of 2026
_PAUSE = re.compile(r"[,;:]\s+|\s[—–]\s|\s\(|[，；：]")
_LIST = re.compile(r",\s+|[，、]|\s+(?:and|or|und|oder|et|ou|y|o|e|en|of|och|eller|и|или)\s+")
_DAYS = frozenset(("date", "month", "quarter", "weekday", "often"))
_MEASURES = frozenset(("weekday", "time", "hours", "utc", "money"))  # they name nothing unless they stand before it
_RECURRING = frozenset(("weekday", "often"))


@dataclass(frozen=True)
class Claim:
    """A clause of a page that is to be corrected: what of it goes, and whether the evidence names that as old."""

    clause: str
    gone: tuple[Value, ...]
    is_named: bool


class Subjects:
    """The veto itself. Asked about two texts, it reads both in the language that they are written in."""

    def __init__(self, lexicon: DreamWords, values: Values) -> None:
        self._readers = [(tongue, Comparison(Marks(values, tongue))) for tongue in tongues(lexicon)]

    def may_merge(self, one: Page, two: Page) -> bool:
        """Whether two pages are surely about one thing and say the same of it: at most one of them says more."""
        return self._reader(one.words | two.words).may_merge(one, two)

    def may_correct(self, page: Page, claim: Claim, evidence: LaterStatement) -> bool:
        """Whether the evidence speaks of the very thing that the clause is about, and only the value differs."""
        return self._reader(page.words.union(plain_words(evidence.text))).may_correct(page, claim, evidence)

    def _reader(self, words: frozenset[str]) -> Comparison:
        """The one whose small words stand there most often; the first, English, where none does."""
        return max(self._readers, key=lambda reader: len(reader[0].words & words))[1]


class Comparison:
    """Holds two texts of one language against each other."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def may_merge(self, one: Page, two: Page) -> bool:
        """Whether two pages are surely about one thing and say the same of it: at most one of them says more."""
        (left, apart), (right, besides) = self._more(one, two), self._more(two, one)
        if (left and right) or (apart and besides):
            return False
        sizes = [len(self._marks.of(page.description)) for page in (one, two)]
        if (left or right) and max(sizes) <= SHORT:
            return False
        if not left and not right and self._are_filed_apart(one, two):
            return False
        if self._narrows(_heads(one), left, self._pool(two)) or self._narrows(_heads(two), right, self._pool(one)):
            return False
        if self._tell_apart(_claims(one), _claims(two), is_value_too=True):
            return False
        (name, *said), (other, *told) = _heads(one), _heads(two)
        pairs = [(a, b) for a in said for b in told]
        return not self._clash(name, other) and not any(self._is_nearly(a, b) or self._clash(a, b) for a, b in pairs)

    def may_correct(self, page: Page, claim: Claim, evidence: LaterStatement) -> bool:
        """Whether the evidence speaks of the very thing that the clause is about, and only the value differs."""
        if not claim.is_named and any(
            value.kind == "num" or self._is_naming(value, claim.clause) for value in claim.gone
        ):
            return False  # a bare number may count, date or name anything
        is_word = any(value.kind == "word" for value in claim.gone)
        if evidence.title and not is_word:
            texts = [evidence.text[start:end] for start, end in split(evidence.text)]
            if self._tell_apart(texts, _claims(page), is_value_too=False):
                return False
        return any(self._agrees(page, claim, evidence, news) for news in self._news(claim, evidence))

    def _pool(self, page: Page) -> Pool:
        """What a page says itself; its reasons may name anything."""
        main = "\n".join(sentence.text for sentence in page.sentences if sentence.label not in ("why", "before"))
        return Pool(self._marks.of(f"{_head(page)}\n{main}"))

    def _more(self, page: Page, other: Page) -> tuple[set[Mark], set[Mark]]:
        """What the head of a page names and the other page does not; apart from it what speaks of something else."""
        pool = self._pool(other)
        found: set[Mark] = set()
        apart: set[Mark] = set()
        for number, text in enumerate(_heads(page)):
            marks = [mark for mark in self._marks.of(text) if mark.is_telling]
            unmatched = {mark for mark in marks if mark not in pool}
            (found if number == 0 or len(unmatched) < len(set(marks)) else apart).update(unmatched)
        return found, apart

    def _narrows(self, texts: Iterable[str], unmatched: set[Mark], pool: Pool) -> bool:
        return any(True for _ in self._narrowing(texts, unmatched, pool))

    def _narrowing(self, texts: Iterable[str], unmatched: set[Mark], pool: Pool) -> Iterator[tuple[Mark, Mark]]:
        """Unmatched marks that hang on one of the pool, with that one: they tell which of several things is meant."""
        for text in texts:
            for before, after in pairwise(self._marks.of(_plain(text))):
                known = after if before in unmatched else before
                if known in pool and _is_narrowed(before, after, unmatched):
                    yield before, after

    def _is_phrase(self, pair: tuple[Mark, Mark], name: str) -> bool:
        """Whether a name holds both marks side by side: then they tell nothing new."""
        return any(pair[0].matches(a) and pair[1].matches(b) for a, b in pairwise(self._marks.of(_plain(name))))

    def _are_filed_apart(self, one: Page, two: Page) -> bool:
        """Whether two pages that say the same carry different things in the names of their files."""
        files = [_plain(page.key.rsplit("/", 1)[-1].removesuffix(".md")) for page in (one, two)]
        left, right = (
            {mark for mark in self._marks.of(file) if mark.kind == "word" and mark not in self._pool(page)}
            for file, page in zip(files, (two, one), strict=True)
        )
        return bool(left and right)

    def _is_nearly(self, one: str, two: str) -> bool:
        """Whether two clauses are the same but for one word, or but for their order: that tells them apart."""
        left, right = ([mark for mark in self._marks.of(text) if not mark.value] for text in (one, two))
        pool = Pool(right)
        shared = sum(mark in pool for mark in left)
        is_turned = shared == len(left) == len(right) and any(
            not a.matches(b) for a, b in zip(left, right, strict=True)
        )
        return is_turned or (shared > 0 and max(len(left), len(right)) - shared == 1)

    def _clash(self, one: str, two: str) -> bool:
        """Whether two clauses are about different things, turn the same ones round, or deny one another."""
        left, right = self._marks.of(one), self._marks.of(two)
        shared_left = [mark for mark in left if mark in Pool(right)]
        shared_right = [mark for mark in right if mark in Pool(left)]
        if 2 * len(shared_left) > min(len(left), len(right)) and (
            self._marks.is_denied(one) != self._marks.is_denied(two) or _are_swapped(shared_left, shared_right)
        ):
            return True
        return _is_contrast(left, right)

    def _is_turned(self, one: str, two: str) -> bool:
        """Whether two sentences are the same but for a denial, or a word that only one of them has."""
        left, right = ([mark for mark in self._marks.of(text) if not mark.value] for text in (one, two))
        shared = sum(mark in Pool(right) for mark in left)
        if shared < min(len(left), len(right)) or shared < MIN_TURNED:
            return False
        return max(len(left), len(right)) == shared + 1 or self._marks.is_denied(one) != self._marks.is_denied(two)

    def _tell_apart(self, ones: Iterable[str], twos: Sequence[str], *, is_value_too: bool) -> bool:
        """Whether two sentences say much the same of different things."""
        for one in ones:
            for two in twos:
                left, right = (
                    [mark for mark in self._marks.of(text) if is_value_too or not mark.value] for text in (one, two)
                )
                shared = sum(mark in Pool(right) for mark in left)
                if max(len(left), len(right)) <= 2 * shared and _is_contrast(left, right):
                    return True
                if is_value_too and self._is_turned(one, two):
                    return True
        return False

    def _is_naming(self, value: Value, clause: str) -> bool:
        """Whether a value may be part of a name: "sensor 4", "v2", "Monday meeting"; not "16 A100"."""
        marks = self._marks.of(clause)
        for mark, after in zip(marks, (*marks[1:], None), strict=False):
            if mark.start != value.start:
                continue
            if value.kind in _DAYS:
                return self._is_leading(value, clause)
            is_count = after is not None and after.bond == "tight" and after.kind in ("name", "value")
            is_behind = mark.bond == "tight" and not is_count and re.fullmatch(r"[\d.,]+", value.text) is not None
            return base_kind(value.kind) == "id" or is_behind or _is_year(value)
        return False

    def _news(self, claim: Claim, evidence: LaterStatement) -> list[str]:
        """The sentences of the evidence that tell of the change; all of it where one of them names no subject."""
        texts = [evidence.text[start:end] for start, end in split(evidence.text)]
        telling = [text for text in texts if self._tells(claim, evidence, text)]
        pool = Pool(mark for mark in self._marks.of(claim.clause) if _is_name(mark))
        return [text if any(mark in pool for mark in self._marks.of(text)) else evidence.text for text in telling]

    def _tells(self, claim: Claim, evidence: LaterStatement, text: str) -> bool:
        kinds = {_dimension(value) for value in claim.gone}
        if any(_dimension(value) in kinds for value in evidence.reader.values.find(text)):
            return True
        if any(value.kind == "word" and value.value.casefold() in text.casefold() for value in claim.gone):
            return True
        phrases = evidence.reader.phrases
        return not claim.gone and (
            phrases.has("outcome", text) or phrases.has("back", text) or phrases.has("moved", text)
        )

    def _agrees(self, page: Page, claim: Claim, evidence: LaterStatement, news: str) -> bool:
        gone = self._gone(claim, evidence, news)
        here, name = Pool(self._marks.of(claim.clause)), Pool(self._marks.of(_plain(page.name)))
        if not any(mark in here for mark in self._marks.of(news) if _is_name(mark)):
            return False
        told = list(self._told(claim, evidence, news, gone))
        spoken = Pool(self._marks.of(f"{_plain(evidence.title)}\n{evidence.text}"))
        mine = [mark for mark in self._marks.of(claim.clause) if mark.is_telling and not _is_part(mark, gone)]
        more_here = {mark for mark in mine if mark not in spoken}
        more_told = [mark for mark in told if mark.is_telling and mark not in here]
        if not _LIST.search(page.name) and not any(
            mark in name for mark in more_here
        ):  # one that tells of both tells nothing
            more_told = [mark for mark in more_told if mark not in name]
        is_new = claim.is_named and self._is_new_value(claim, told, more_told)
        strange = {mark for mark in told if mark.is_telling and mark not in here and not (is_new and mark in more_told)}
        if any(not self._is_phrase(pair, page.name) for pair in self._narrowing([news, evidence.title], strange, here)):
            return False
        if self._are_kinds_apart(claim.clause, news):
            return False
        if more_here and any(value.kind == "num" for value in claim.gone):
            return False
        if not more_told:
            is_told = claim.is_named or evidence.reader.phrases.has("moves-to", news)
            return (is_told and self._is_repeated(claim, mine, more_here, told)) or all(
                self._is_silent(mark, claim, told) for mark in more_here
            )
        if is_new and (not more_here or more_told[0] is not told[0]):
            return self._is_repeated(claim, mine, more_here, told)
        head = Pool(self._marks.of(page.description if _LIST.search(page.name) else _head(page)))
        return not more_here and all(mark in head for mark in more_told)

    def _are_kinds_apart(self, clause: str, news: str) -> bool:
        """Whether both speak of the same word with another small one before it: the old office, the new office."""
        left, right = (
            [(a, b) for a, b in pairwise(self._marks.of(text)) if b.bond == "tight" and not a.is_telling]
            for text in (clause, news)
        )
        return any(b.matches(d) and not a.matches(c) for a, b in left for c, d in right)

    def _is_repeated(self, claim: Claim, mine: Sequence[Mark], more: set[Mark], told: Sequence[Mark]) -> bool:
        """Whether the news names the same thing in fewer words: what it leaves out narrows nothing that it names."""
        old = Pool(mark for value in claim.gone for mark in self._marks.of(value.text))
        pool = Pool(mark for mark in told if mark not in old)
        if claim.is_named:
            return not self._narrows([self._piece(claim, told)], more, pool)
        return bool(mine) and mine[0] not in more and not self._narrows([claim.clause], more, pool)

    def _piece(self, claim: Claim, told: Sequence[Mark]) -> str:
        """The part of a list that holds what goes, where it has something in common with the news; else the clause."""
        pool = Pool(told)
        start = 0
        for gap in (*_LIST.finditer(claim.clause), None):
            end = gap.start() if gap else len(claim.clause)
            piece = claim.clause[start:end]
            if any(start <= value.start < end for value in claim.gone) and any(
                _is_name(mark) and mark in pool for mark in self._marks.of(piece)
            ):
                return piece
            start = gap.end() if gap else end
        return claim.clause

    def _is_silent(self, mark: Mark, claim: Claim, told: Iterable[Mark]) -> bool:
        """Whether a mark of the clause is a measure of which the news says nothing."""
        if not mark.value or self._is_naming(mark.value, claim.clause):
            return False
        return not any(other.value and _dimension(other.value) == _dimension(mark.value) for other in told)

    def _is_new_value(self, claim: Claim, told: Sequence[Mark], more: Sequence[Mark]) -> bool:
        """Whether all that is left over is one run of words that stands for the new value.

        It stands behind something known ("on Zed" after "no longer Vim"), or first where the old one stood first.
        """
        if not more or not claim.gone or claim.gone[0].kind != "word":
            return False
        at = told.index(more[0])
        tail = [mark for mark in self._marks.of(claim.clause) if mark.start >= claim.gone[0].start]
        bonds = {"tight", *(mark.bond for mark in tail if mark.bond)}  # "on the tape robot in Bologna"
        run = list({mark.form: mark for mark in reversed(more)}.values())[::-1]  # what the title repeats counts once
        is_one = told[at : at + len(run)] == run and all(mark.bond in bonds for mark in run[1:])
        is_behind = at > 0 and more[0].bond in ("", "at") and told[at - 1] not in more
        is_first = at == 0 and claim.gone[0].start <= self._marks.of(claim.clause)[0].start
        return is_one and (is_behind or is_first)

    def _gone(self, claim: Claim, evidence: LaterStatement, news: str) -> tuple[Value, ...]:
        """What of the clause goes: the values in question, and other measures for which the news has another one."""
        values = evidence.reader.values
        told = {_dimension(value) for value in values.find(f"{_plain(evidence.title)}\n{news}")}
        more = [
            value
            for value in values.find(claim.clause)
            if _dimension(value) in told & _MEASURES and not self._is_leading(value, claim.clause)
        ]
        return (*claim.gone, *more)

    def _is_leading(self, value: Value, clause: str) -> bool:
        """Whether a value stands right before a word and may be its name: "the 17:00 train"."""
        return any(
            before.start == value.start and after.bond == "tight" and not after.value
            for before, after in pairwise(self._marks.of(clause))
        )

    def _told(self, claim: Claim, evidence: LaterStatement, news: str, gone: Sequence[Value]) -> Iterable[Mark]:
        """What the evidence names besides the new value: its title, and its words up to where the change is told."""
        has_days = any(
            (value.kind in _DAYS or _is_year(value)) and value not in gone
            for value in evidence.reader.values.find(claim.clause)
        )
        spared, farewell = self._spared(evidence, news), self._farewell(claim, news)
        end = self._end(claim, evidence, news, farewell)
        begin = self._marks.speech(news)
        begin = begin if begin < end else 0  # what stands before a colon is the news itself, and not who tells it
        reasons = self._reasons(news, end)
        marks = [
            mark for mark in self._marks.of(news) if begin <= mark.start and not _is_inside(mark, (*farewell, *reasons))
        ]
        for mark, after in zip(marks, (*marks[1:], None), strict=False):
            is_bound = after is not None and after.bond == "tight"
            is_day = (mark.value and mark.value.kind in _DAYS) or month_of(mark.form)
            if _is_rival(mark, gone):
                continue
            if _is_inside(mark, spared) or (is_day and not has_days and not is_bound):
                continue  # words of the change, and the day on which it came
            yield mark
        new = {mark.value.value for mark in self._marks.of(news) if mark.value and _is_rival(mark, gone)}
        for mark in self._marks.of(_plain(evidence.title)):
            is_own_year = mark.form == str(evidence.day.year) and not has_days  # "shift plan 2026", written in 2026
            is_new = mark.value is not None and mark.value.value in new  # "trial 30", where the news is 30 days
            if not (is_own_year or is_new or _is_rival(mark, gone)) and not month_of(mark.form):
                yield mark

    def _reasons(self, news: str, end: int) -> list[tuple[int, int]]:
        """What follows the news and only gives reasons; ", for admins only" is no reason."""
        found, start = [], end
        for gap in (*_PAUSE.finditer(news, end), None):
            stop = gap.start() if gap else len(news)
            if not self._marks.is_hung_on(news[start:stop]):
                found.append((start, stop))
            start = gap.end() if gap else stop
        return found

    def _farewell(self, claim: Claim, news: str) -> list[tuple[int, int]]:
        """What is told of nothing but the thing that is gone: "to data" in "Ola went to data"."""
        here = Pool(mark for mark in self._marks.of(claim.clause) if _is_name(mark) and not _is_part(mark, claim.gone))
        found, start = [], 0
        for gap in (*_PAUSE.finditer(news), None):
            end = gap.start() if gap else len(news)
            piece = news[start:end].casefold()
            old = max((piece.find(value.text.casefold()) for value in claim.gone if value.kind == "word"), default=-1)
            if old >= 0 and not any(mark in here for mark in self._marks.of(news[start:end])):
                found.append((start + old, end))
            start = gap.end() if gap else end
        return found

    def _spared(self, evidence: LaterStatement, news: str) -> list[tuple[int, int]]:
        """Where the news tells that, when and to what something changed."""
        phrases = evidence.reader.phrases
        kinds = ("outcome", "back", "starts", "moves-to")
        found = [match.span() for kind in kinds for match in phrases.pattern(kind).finditer(news)]
        for _, new in evidence.change.word_pairs:
            at = news.find(new)
            found += [(at, at + len(new))] if at >= 0 else []
        return found

    def _end(self, claim: Claim, evidence: LaterStatement, news: str, farewell: list[tuple[int, int]]) -> int:
        """Where the segment ends in which the news stands; what follows gives reasons."""
        kinds = {_dimension(value) for value in claim.gone}
        at = [value.start for value in evidence.reader.values.find(news) if _dimension(value) in kinds]
        if any(value.kind == "word" for value in claim.gone):
            here = Pool(mark for mark in self._marks.of(claim.clause) if _is_name(mark))
            at += [mark.start for mark in self._marks.of(news) if mark in here and not _is_inside(mark, farewell)]
        for kind in () if claim.gone else ("outcome", "back", "moved"):
            at += [match.start() for match in evidence.reader.phrases.pattern(kind).finditer(news)]
        pause = _PAUSE.search(news, max(at)) if at else None
        return pause.start() if pause else len(news)


def _plain(name: str) -> str:
    """A name as words, also where it is written like a file's: "trial-length", "us-tenant"."""
    if " " in name:
        return name
    return " ".join(word.upper() if word in _CODES else word for word in re.split(r"[-_]+", name))


def _head(page: Page) -> str:
    return f"{_plain(page.name)}\n{page.description}"


def _heads(page: Page) -> list[str]:
    """A page's name and the clauses of its description."""
    found = [_plain(page.name)]
    for start, end in split(page.description):
        sentence = page.description[start:end]
        found += [sentence[first:last] for first, last in clauses(sentence)]
    return found


def _claims(page: Page) -> list[str]:
    """A page's head, and what its body begins with."""
    main = [sentence.text for sentence in page.sentences if sentence.label == "main"]
    return [*_heads(page)[1:], *main[:MAX_CLAIMS]]


def _dimension(value: Value) -> str:
    """What a value measures: a day of the week and "daily" both say how often, "99.1" may be "99.1 %"."""
    kind = base_kind(value.kind)
    return "weekday" if kind in _RECURRING else "num" if kind == "percent" else kind


def _is_year(value: Value) -> bool:
    return base_kind(value.kind) == "num" and _YEAR.fullmatch(value.text) is not None


def _is_rival(mark: Mark, gone: Iterable[Value]) -> bool:
    """Whether a value of the news can stand in the place of one that goes; a number behind a word may be its name."""
    if not mark.value or _is_year(mark.value):
        return False
    is_loose = mark.value.kind in _RECURRING or (mark.value.kind in ("num", "percent") and mark.bond != "tight")
    return any(
        mark.value.kind == value.kind or (is_loose and _dimension(mark.value) == _dimension(value)) for value in gone
    )


def _is_inside(mark: Mark, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= mark.start < end for start, end in spans)


def _is_part(mark: Mark, values: Sequence[Value]) -> bool:
    return any(value.start <= mark.start < value.end for value in values)


def _is_name(mark: Mark) -> bool:
    """Whether a mark can be what a text is about: no measure, no date."""
    return mark.is_telling and (mark.value is None or base_kind(mark.value.kind) in ("id", "host"))


def _is_narrowed(before: Mark, after: Mark, unmatched: set[Mark]) -> bool:
    if after.bond == "" or (before in unmatched) == (after in unmatched):
        return False
    if before in unmatched:  # "staging API"
        return after.bond == "tight" and not after.value
    # "node argus", "sensor 4", "on-call of the billing team"
    return not before.value and (after.bond in ("of", "at") or after.kind in ("name", "value"))


def _is_contrast(left: Sequence[Mark], right: Sequence[Mark]) -> bool:
    """Whether both have something else in the same place: a value of one kind, the beginning, beside a shared word."""
    shared_left = [mark for mark in left if mark in Pool(right)]
    shared_right = [mark for mark in right if mark in Pool(left)]
    if not shared_left:
        return False
    kinds = {mark.value.kind for mark in left if mark.value and mark not in shared_left}
    if any(mark.value.kind in kinds for mark in right if mark.value and mark not in shared_right):
        return True
    if left[0] not in shared_left and right[0] not in shared_right:
        return True  # what a sentence begins with is mostly what it is about
    slots = list(_slots(right, shared_right))
    return any(
        side == other and anchor.matches(near) for side, anchor in _slots(left, shared_left) for other, near in slots
    )


def _are_swapped(left: list[Mark], right: list[Mark]) -> bool:
    """Whether names and values stand in another order: "Ana reports to Ben"."""
    mine = [mark for mark in left if mark.kind in ("name", "value")]
    theirs = [mark for mark in right if mark.kind in ("name", "value")]
    return len(mine) == len(theirs) and any(not a.matches(b) for a, b in zip(mine, theirs, strict=True))


def _slots(marks: Sequence[Mark], shared: list[Mark]) -> Iterable[tuple[str, Mark]]:
    """Places right beside a shared mark, or at the beginning, that something else fills."""
    for number, (before, after) in enumerate(pairwise(marks)):
        if before not in shared and after in shared and (after.bond or number == 0):
            yield "before", after
        if before in shared and after not in shared and after.bond:
            yield "after", before
