"""The one ranking: words and meaning, each scaled to what a good match would get, then added.

Serves memories, sessions, turns and facts alike. It orders and explains; whether a candidate is worth showing is
`decide`'s question.
"""

from __future__ import annotations

from heapq import nlargest, nsmallest
from math import cos, log, pi

from memdir.recall.embedding import DIMENSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.recall.embedding import Table
    from memdir.recall.question import Question
    from memdir.recall.segment import Facts, Segment

SATURATION = 1.2  # BM25 k1: how soon repeats of a word stop counting
LENGTH_PENALTY = 0.6  # BM25 b
TITLE_WEIGHT = 2.0  # a word in name or description says what the memory is about
MEANING_WEIGHT = 0.5  # of the scaled similarity, beside 1 for the scaled word score
WORD_CEILING_SHARE = 0.2  # of a perfect word match: below it the best word score does not count as a full one
MEANING_FLOOR_MARGIN = 0.25  # a best similarity less than this above the middle is not stretched to 1
EXACT_CANDIDATES = 24  # taken from each side for the exact product; more changes no answer on the training worlds
PARTS_A_CARD = 3  # of a long document only its nearest parts are compared exactly
COMMON_SHARE = 0.25  # of the cards: a term in more of them says little and costs most
MANY_CARDS = 1000  # below this every term is cheap
GENERAL_SHARE = 0.25  # of a term's weight: how rare it is in text at large
GENERAL_TEXTS = 425_000  # texts the table's word counts come from
MAX_REPAIRS = 3  # unknown words of a message that are tried as typos


class Candidate:
    """One document that might help, with everything that speaks for or against it."""

    __slots__ = (
        "card", "coverage", "facts", "key", "matched", "rarest", "score", "segment", "title_coverage", "title_similarity",
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
        self.score = 0.0

    @property
    def similarity(self) -> float:
        return (self.title_similarity + self.whole_similarity) / 2


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
    question: Question, segments: Sequence[Segment], table: Table, *, gone: Collection[tuple[int, int]] = ()
) -> Ranking:
    """Order all cards of all segments; `gone` are (segment, card) pairs that no longer count."""
    ranking = Ranking()
    ranking.cards = sum(segment.cards for segment in segments)
    if not ranking.cards:
        return ranking
    weights = ranking.term_weights = _term_weights(question, segments, table, ranking.cards)
    ranking.unknown_terms = [term for term in weights if not any(segment.has(term) for segment in segments)]
    average = max(1.0, sum(segment.total_length for segment in segments) / ranking.cards)
    found: list[tuple[int, int]] = []
    distances: list[list[int]] = []
    for at, segment in enumerate(segments):
        scores = _word_scores(segment, weights, average)
        near = _distances(question, segment)
        distances.append(near)
        cards = dict.fromkeys(nlargest(EXACT_CANDIDATES, scores, key=scores.__getitem__))
        for row in nsmallest(2 * EXACT_CANDIDATES, range(len(near)), key=near.__getitem__):
            cards[segment.owner(row)] = None
        found += [(at, card) for card in cards if (at, card) not in gone]
    ranking.middle_similarity = _middle(distances)
    ranking.candidates = [_candidate(question, segments[at], card, weights, average, distances[at]) for at, card in found]
    _add_up(ranking)
    return ranking


def _term_weights(question: Question, segments: Sequence[Segment], table: Table, cards: int) -> dict[str, float]:
    """How much each term tells: rare in this store, and rare in text at large."""
    held = {term: sum(len(segment.postings(term)[0]) for segment in segments) for term in question.terms}
    repairs = 0
    for term in question.terms:
        if not held[term] and repairs < MAX_REPAIRS and len(term) >= 5 and term.isalpha() and not table.commonness(term):
            repairs += 1
            for repaired in _one_edit_away(term):
                if any(segment.has(repaired) for segment in segments):
                    held[repaired] = sum(len(segment.postings(repaired)[0]) for segment in segments)
                    break
    most = log(1 + (cards + 0.5) / 0.5)
    out = {}
    for term, count in held.items():
        here = log(1 + (cards - count + 0.5) / (count + 0.5)) / most
        general = log(1 + GENERAL_TEXTS / (1 + 2 ** (table.commonness(term) / 2))) / 13
        out[term] = here * (1 - GENERAL_SHARE + GENERAL_SHARE * min(1.0, general))
    return out


def _word_scores(segment: Segment, weights: dict[str, float], average: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    lengths = segment.length
    for term, weight in weights.items():
        docs, counts = segment.postings(term)
        if len(docs) > COMMON_SHARE * segment.cards > COMMON_SHARE * MANY_CARDS and len(weights) > 2:
            continue
        for at, card in enumerate(docs):
            count = TITLE_WEIGHT * counts[2 * at] + counts[2 * at + 1]
            base = count + SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths(card) / average)
            scores[card] = scores.get(card, 0.0) + weight * count * (SATURATION + 1) / base
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
    return cos(pi * sample[len(sample) // 2] / DIMENSIONS)


def _candidate(
    question: Question, segment: Segment, card: int, weights: dict[str, float], average: float, near: list[int]
) -> Candidate:
    out = Candidate(segment, card)
    facts = out.facts
    if question.vector is None or not facts.rows:
        return out
    rows = range(facts.first_row, facts.first_row + facts.rows)
    if facts.has_head:
        out.title_similarity = question.vector.similarity(*segment.row(facts.first_row))
        rows = rows[1:]
    best = nsmallest(PARTS_A_CARD, rows, key=near.__getitem__) if len(rows) > PARTS_A_CARD else rows
    found = [question.vector.similarity(*segment.row(row)) for row in best]
    out.whole_similarity = max(found, default=out.title_similarity)
    if not facts.has_head:
        out.title_similarity = out.whole_similarity
    return out


def _add_up(ranking: Ranking) -> None:
    _add_words(ranking)
    candidates = ranking.candidates
    best_words = max((candidate.word_score for candidate in candidates), default=0.0)
    ceiling = max(best_words, WORD_CEILING_SHARE * (SATURATION + 1) * sum(ranking.term_weights.values()), 1e-9)
    floor = ranking.middle_similarity
    best = max((candidate.similarity for candidate in candidates), default=0.0)
    span = max(best - floor, MEANING_FLOOR_MARGIN)
    for candidate in candidates:
        meaning = max(0.0, (candidate.similarity - floor) / span)
        candidate.score = candidate.word_score / ceiling + MEANING_WEIGHT * meaning
    candidates.sort(key=lambda candidate: (-candidate.score, -candidate.facts.mtime_ns, candidate.key))


def _add_words(ranking: Ranking) -> None:
    """Word scores and coverage of the candidates, term by term."""
    by_place = {(id(candidate.segment), candidate.card): candidate for candidate in ranking.candidates}
    segments = {id(candidate.segment): candidate.segment for candidate in ranking.candidates}
    total = sum(ranking.term_weights.values()) or 1.0
    lengths = sum(segment.total_length for segment in segments.values())
    average = max(1.0, lengths / max(1, sum(segment.cards for segment in segments.values())))
    for term, weight in ranking.term_weights.items():
        for place, segment in segments.items():
            docs, counts = segment.postings(term)
            for at, card in enumerate(docs):
                candidate = by_place.get((place, card))
                if candidate is None:
                    continue
                count = TITLE_WEIGHT * counts[2 * at] + counts[2 * at + 1]
                base = count + SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * candidate.facts.length / average)
                candidate.word_score += weight * count * (SATURATION + 1) / base
                candidate.matched.append(term)
                candidate.coverage += weight / total
                candidate.rarest = max(candidate.rarest, weight)
                if counts[2 * at]:
                    candidate.title_coverage += weight / total


def _one_edit_away(word: str) -> list[str]:
    """Every word one slip away: a letter dropped, swapped with its neighbour, replaced or added."""
    letters = "etaoinsrhldcumfpgwybvkxjqz"
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    dropped = [left + right[1:] for left, right in cuts if right]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1]
    added = [left + letter + right for left, right in cuts for letter in letters]
    replaced = [left + letter + right[1:] for left, right in cuts if right for letter in letters]
    return dropped + swapped + added + replaced
