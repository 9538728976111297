"""The one ranking: words and meaning, each scaled to what a good match would get, then added.

Serves memories, sessions, turns and facts alike. It orders and explains; whether a candidate is worth showing is
`decide`'s question.
"""

from __future__ import annotations

from heapq import nlargest, nsmallest
from math import cos, log, pi

from memdir.recall.embedding import DIMENSIONS, SHIFT, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memdir.recall.embedding import Table
    from memdir.recall.question import Question
    from memdir.recall.segment import Facts, Segment

SATURATION = 1.0  # BM25 k1: how soon repeats of a word stop counting
LENGTH_PENALTY = 0.5  # BM25 b
TITLE_WEIGHT = 2.0  # a word in name or description says what the memory is about
MEANING_WEIGHT = 0.5  # of the scaled similarity, beside 1 for the scaled word score
WORD_CEILING_SHARE = 0.2  # of a perfect word match: below it the best word score does not count as a full one
MEANING_FLOOR_MARGIN = 0.25  # a best similarity less than this above the middle is not stretched to 1
WORD_CANDIDATES = 20  # judged exactly for their words,
NEAR_ROWS = 32  # and for their meaning,
KEPT = 18  # of which so many are compared exactly and judged
PARTS_A_CARD = 3  # of a long document only its nearest parts are compared exactly
SUPERSEDING_PLACES = 5  # only among the best is the order of claims looked at
SUPERSEDING_SHARE = 0.5  # of the older one's score: less is another subject
SAME_SUBJECT = 0.45  # similarity from which two memories are about one thing
STEP = 1e-6  # enough to stand before
COMMON_SHARE = 0.25  # of the cards: a term in more of them says little and costs most
MANY_CARDS = 1000  # below this every term is cheap
GENERAL_SHARE = 0.3  # of a term's weight: how rare it is in text at large
GENERAL_TEXTS = 425_000  # texts the table's word counts come from
MOST_GENERAL = 13.0  # the logarithm of about that count
MIN_REPAIRED = 5  # shorter words have too many neighbours,
MAX_REPAIRED = 12  # longer ones too many to try
MAX_REPAIRS = 2  # unknown words of a message that are tried as typos


class Candidate:
    """One document that might help, with everything that speaks for or against it."""

    __slots__ = (
        "card", "coverage", "facts", "key", "matched", "rarest", "score", "segment", "similarity", "title_coverage",
        "title_similarity",
        "whole_similarity", "word_score",
    )  # fmt: skip

    def __init__(self, segment: Segment, card: int) -> None:
        self.segment = segment
        self.card = card
        self.key = segment.key(card)
        self.facts: Facts = segment.facts(card)
        self.matched: list[str] = []
        self.word_score = 0.0
        self.coverage = 0.0  # share of the question's term weight that the card holds
        self.title_coverage = 0.0
        self.rarest = 0.0
        self.title_similarity = 0.0
        self.whole_similarity = 0.0
        self.similarity = 0.0  # the mean of both
        self.score = 0.0


class Ranking:
    """Candidates, best first, and what is known of the question against all cards."""

    __slots__ = ("candidates", "cards", "middle_similarity", "term_weights", "unknown_terms")

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.cards = 0
        self.middle_similarity = 0.0
        self.term_weights: dict[str, float] = {}
        self.unknown_terms: list[str] = []  # of the question: in no card at all


def rank(
    question: Question,
    segments: Sequence[Segment],
    table: Table,
    *,
    gone: Collection[tuple[int, int]] = (),
    keep: int = KEPT,
) -> Ranking:
    """Order all cards of all segments; `gone` are (segment, card) pairs that no longer count."""
    ranking = Ranking()
    ranking.cards = sum(segment.cards for segment in segments) - len(gone)
    if ranking.cards <= 0:
        return ranking
    _weigh_terms(ranking, question, segments, table)
    average = max(1.0, sum(segment.total_length for segment in segments) / ranking.cards)
    found: list[tuple[Segment, int, float, int]] = []  # segment, card, word score, distance of its nearest row
    distances: list[list[int]] = []
    for at, segment in enumerate(segments):
        near = _distances(question, segment)
        distances.append(near)
        for card, words, distance in _first_look(segment, _word_scores(segment, ranking.term_weights, average), near):
            if not gone or (at, card) not in gone:
                found.append((segment, card, words, distance))
    ranking.middle_similarity = _middle(distances)
    ceiling = _word_ceiling(ranking, max((one[2] for one in found), default=0.0))
    if len(found) > keep:
        floor = ranking.middle_similarity
        best = max(_similarity_of(one[3]) for one in found)
        rate = MEANING_WEIGHT / max(best - floor, MEANING_FLOOR_MARGIN)
        found = nlargest(keep, found, key=lambda one: one[2] / ceiling + rate * _similarity_of(one[3]))
    near_of = dict(zip(map(id, segments), distances, strict=True))
    ranking.candidates = [
        _candidate(question, segment, card, words, near_of[id(segment)]) for segment, card, words, _ in found
    ]
    _add_coverage(ranking)
    _add_up(ranking, ceiling)
    return ranking


def _first_look(segment: Segment, scores: dict[int, float], near: list[int]) -> list[tuple[int, float, int]]:
    """The cards worth a closer look: the best by their words and those of the nearest rows."""
    cards = {
        card: min([near[row] for row in segment.rows_of(card)] if near else (), default=DIMENSIONS)
        for card in _best_words(scores)
    }
    for row in _nearest(near):
        card = segment.owner(row)
        cards[card] = min(near[row], cards.get(card, DIMENSIONS))
    return [(card, scores.get(card, 0.0), distance) for card, distance in cards.items()]


def _similarity_of(distance: int) -> float:
    return cos(pi * distance / DIMENSIONS)


def _word_ceiling(ranking: Ranking, best: float) -> float:
    return max(best, WORD_CEILING_SHARE * (SATURATION + 1) * sum(ranking.term_weights.values()), 1e-9)


def _best_words(scores: dict[int, float]) -> list[int]:
    if len(scores) <= WORD_CANDIDATES:
        return list(scores)
    return nlargest(WORD_CANDIDATES, scores, key=scores.__getitem__)


def _nearest(near: list[int]) -> Sequence[int]:
    """The rows with the nearest sign codes. Sorting whole numbers that carry their row is the quick way."""
    if len(near) <= NEAR_ROWS:
        return range(len(near))
    width = len(near)
    if width <= MANY_CARDS:
        return [
            mixed % width for mixed in sorted([distance * width + row for row, distance in enumerate(near)])[:NEAR_ROWS]
        ]
    return nsmallest(NEAR_ROWS, range(width), key=near.__getitem__)


def _weigh_terms(ranking: Ranking, question: Question, segments: Sequence[Segment], table: Table) -> None:
    """How much each term tells: rare in this store, and rare in text at large."""
    cards, weights = ranking.cards, ranking.term_weights
    held = {term: sum(segment.count(term) for segment in segments) for term in question.terms}
    ranking.unknown_terms = [term for term, count in held.items() if not count]
    commonness = {term: table.commonness(word) for term, word in question.terms.items()}
    typos = [
        term
        for term in ranking.unknown_terms
        if MIN_REPAIRED <= len(term) <= MAX_REPAIRED and term.isalpha() and not commonness[term]
    ]
    for term in typos[:MAX_REPAIRS]:
        for repaired in _one_edit_away(term):
            if any(segment.holds(repaired) for segment in segments):
                held[repaired] = sum(segment.count(repaired) for segment in segments)
                break
    most = log(1 + (cards + 0.5) / 0.5)
    for term, count in held.items():
        here = log(1 + max(0, cards - count + 0.5) / (count + 0.5)) / most
        general = log(1 + GENERAL_TEXTS / (1 + 2 ** (commonness.get(term, 0) / 2))) / MOST_GENERAL
        weights[term] = here * (1 - GENERAL_SHARE + GENERAL_SHARE * min(1.0, general))


def _word_scores(segment: Segment, weights: dict[str, float], average: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    length = segment.length
    many = max(MANY_CARDS, COMMON_SHARE * segment.cards)
    for term, weight in weights.items():
        docs, counts = segment.postings(term)
        if len(docs) > many and len(weights) > 2:
            continue
        gain = weight * (SATURATION + 1)
        for card, title, body in zip(docs, counts[::2], counts[1::2], strict=True):
            count = TITLE_WEIGHT * title + body
            base = count + SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * length(card) / average)
            scores[card] = scores.get(card, 0.0) + gain * count / base
    return scores


def _distances(question: Question, segment: Segment) -> list[int]:
    if question.vector is None:
        return []
    code = question.vector.code
    return [(code ^ other).bit_count() for other in segment.codes()]


def _middle(distances: list[list[int]]) -> float:
    """The similarity of a middling card, estimated from the sign codes."""
    every = [distance for part in distances for distance in part]
    if not every:
        return 0.0
    step = max(1, len(every) // 512)
    sample = sorted(every[::step])
    return _similarity_of(sample[len(sample) // 2])


def _candidate(question: Question, segment: Segment, card: int, words: float, near: list[int]) -> Candidate:
    candidate = Candidate(segment, card)
    candidate.word_score = words
    if question.vector is not None and candidate.facts.rows:
        _compare(candidate, question.vector, near)
    return candidate


def _compare(candidate: Candidate, asked: Vector, near: list[int]) -> None:
    """Exact similarities: the head on its own, then the nearest of the other parts."""
    facts, segment = candidate.facts, candidate.segment
    rows = range(facts.first_row, facts.first_row + facts.rows)
    if facts.has_head:
        candidate.title_similarity = asked.similarity(*segment.row(rows[0]))
        rows = rows[1:]
    best = nsmallest(PARTS_A_CARD, rows, key=near.__getitem__) if len(rows) > PARTS_A_CARD else rows
    candidate.whole_similarity = max(
        [asked.similarity(*segment.row(row)) for row in best], default=candidate.title_similarity
    )
    if not facts.has_head:
        candidate.title_similarity = candidate.whole_similarity
    candidate.similarity = (candidate.title_similarity + candidate.whole_similarity) / 2


def _add_coverage(ranking: Ranking) -> None:
    """Which of the terms each candidate holds, and what share of the question's weight they are."""
    total = sum(ranking.term_weights.values()) or 1.0
    for term, weight in ranking.term_weights.items():
        share = weight / total
        if term in ranking.unknown_terms:
            continue
        for candidate in ranking.candidates:
            held = candidate.segment.counts(term, candidate.card)
            if held:
                candidate.matched.append(term)
                candidate.coverage += share
                candidate.rarest = max(candidate.rarest, weight)
                if held[0]:
                    candidate.title_coverage += share


def _add_up(ranking: Ranking, ceiling: float) -> None:
    candidates = ranking.candidates
    floor = ranking.middle_similarity
    best = max((candidate.similarity for candidate in candidates), default=0.0)
    span = max(best - floor, MEANING_FLOOR_MARGIN)
    for candidate in candidates:
        meaning = max(0.0, (candidate.similarity - floor) / span)
        candidate.score = candidate.word_score / ceiling + MEANING_WEIGHT * meaning
    candidates.sort(key=_order)
    if any(_supersede(candidates[:SUPERSEDING_PLACES])):
        candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, int, str]:
    return -candidate.score, -candidate.facts.mtime_ns, candidate.key


def _supersede(best: Sequence[Candidate]) -> Iterator[bool]:
    """A newer claim about the same thing goes before the older one: a memory is true of its day."""
    for place, older in enumerate(best):
        for newer in best[place + 1 :]:
            if newer.facts.mtime_ns <= older.facts.mtime_ns or newer.score < SUPERSEDING_SHARE * older.score:
                continue
            if _alike(older, newer) >= SAME_SUBJECT:
                newer.score = older.score + STEP
                yield True


def _alike(one: Candidate, other: Candidate) -> float:
    if not one.facts.rows or not other.facts.rows:
        return 0.0
    packed, norm = one.segment.row(one.segment.rows_of(one.card)[-1])
    theirs, their_norm = other.segment.row(other.segment.rows_of(other.card)[-1])
    return Vector([value - SHIFT for value in packed], norm, 0).similarity(theirs, their_norm)


def _one_edit_away(word: str) -> list[str]:
    """Every word one slip away: a letter dropped, swapped with its neighbour, replaced or added."""
    letters = "etaoinsrhldcumfpgwybvkxjqz"
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    dropped = [left + right[1:] for left, right in cuts if right]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1]
    added = [left + letter + right for left, right in cuts for letter in letters]
    replaced = [left + letter + right[1:] for left, right in cuts if right for letter in letters]
    return dropped + swapped + added + replaced
