"""The one ranking: words and meaning, each scaled to what a good match would get, then added.

Serves memories, sessions, turns and facts alike. It orders and explains; whether a candidate is worth showing is
`decide`'s question.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import nlargest, nsmallest
from math import cos, pi

from memdir.search.candidate import Candidate, Ranking, put_newer_first
from memdir.search.term_weights import weigh_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.search.bitvectors import QueryVector
    from memdir.search.question import Question
    from memdir.search.segment import Segment

    Seen = tuple[float, float, int, int]  # word score, rough similarity, segment, card

SATURATION = 0.8  # BM25 k1: how soon repeats of a word stop counting
LENGTH_PENALTY = 0.35  # BM25 b
TITLE_WEIGHT = 2.0  # a word in name or description says what the memory is about
WORD_CEILING_SHARE = 0.2  # of a perfect word match: below it the best word score does not count as a full one
MEANING_FLOOR_MARGIN = 0.25  # a best similarity less than this above the middle is not stretched to 1
WORD_CANDIDATES = 20  # judged exactly for their words,
NEAR_ROWS = 32  # and for their meaning,
KEPT = 14  # of which so many are compared exactly and judged
PARTS_A_CARD = 3  # of a long document only its nearest parts are compared exactly
SUPERSEDING_PLACES = 5  # only among the best is the order of claims looked at
MOMENT_WEIGHT = 0.5  # of a document of the very day that the question names
FAR = 1 << 20  # a card without a direction is far from everything
SAMPLE = 512  # rows that tell where the middle is
COMMON_SHARE = 0.25  # of the cards: a term in more of them says little and costs most
MANY_CARDS = 1000  # below this every term is cheap


def rank(
    question: Question,
    segments: Sequence[Segment],
    *,
    gone: Collection[tuple[int, int]] = (),
    keep: int = KEPT,
) -> Ranking:
    """Order all cards of all segments; `gone` are (segment, card) pairs that no longer count."""
    ranking = Ranking()
    ranking.cards = sum([segment.cards for segment in segments]) - len(gone)
    if ranking.cards <= 0:
        return ranking
    ranking.term_weights, ranking.unknown_terms = weigh_terms(question, segments, ranking.cards)
    average = max(1.0, sum([segment.total_length for segment in segments]) / ranking.cards)
    distances = [_distances(question, segment) for segment in segments]
    angle = pi / (question.vector.dimensions if question.vector else 1)
    ranking.middle_similarity = _middle(distances, angle)
    found: list[Seen] = []
    for at, segment in enumerate(segments):
        scores = _word_scores(segment, ranking.term_weights, average)
        for card, distance in _first_look(segment, scores, distances[at]).items():
            if not gone or (at, card) not in gone:
                found.append((scores.get(card, 0.0), cos(angle * distance), at, card))
    ceiling = _word_ceiling(ranking, max([one[0] for one in found], default=0.0))
    if len(found) > keep:
        span = max(max([one[1] for one in found]) - ranking.middle_similarity, MEANING_FLOOR_MARGIN)
        rate = question.meaning_weight / span
        near = _near_in_time(question, segments, found)
        found = sorted(found, key=lambda one: -one[0] / ceiling - rate * one[1] - near.get(one[2:], 0.0))[:keep]
    for words, _, at, card in found:
        candidate = Candidate(segments[at], card)
        candidate.word_score = words
        if question.vector is not None and candidate.facts.rows:
            _compare(candidate, question.vector, distances[at])
        ranking.candidates.append(candidate)
    _add_coverage(ranking)
    _add_up(ranking, question, ceiling, angle)
    return ranking


def _near_in_time(question: Question, segments: Sequence[Segment], found: list[Seen]) -> dict[tuple[int, int], float]:
    """What the day is worth that the question names, for each (segment, card)."""
    moment = question.moment
    if moment is None:
        return {}
    return {(at, card): MOMENT_WEIGHT * moment.nearness(segments[at].facts(card)) for _, _, at, card in found}


def _first_look(segment: Segment, scores: dict[int, float], near: list[int]) -> dict[int, int]:
    """The cards worth a closer look, each with the distance of its nearest row: best by words, or nearest."""
    cards = {}
    for card in _best_words(scores):
        rows = segment.rows_of(card)
        cards[card] = min(near[rows.start : rows.stop], default=FAR)
    for row in _nearest(near):
        card = segment.owner(row)
        if near[row] < cards.get(card, FAR):
            cards[card] = near[row]
    return cards


def _word_ceiling(ranking: Ranking, best: float) -> float:
    return max(best, WORD_CEILING_SHARE * (SATURATION + 1) * sum(ranking.term_weights.values()), 1e-9)


def _best_words(scores: dict[int, float]) -> list[int]:
    if len(scores) <= WORD_CANDIDATES:
        return list(scores)
    if len(scores) <= MANY_CARDS:
        return sorted(scores, key=scores.__getitem__, reverse=True)[:WORD_CANDIDATES]
    least = nlargest(WORD_CANDIDATES, scores.values())[-1]
    some = [card for card, score in scores.items() if score >= least]
    return sorted(some, key=scores.__getitem__, reverse=True)[:WORD_CANDIDATES]


def _nearest(near: list[int]) -> Sequence[int]:
    """The rows with the nearest sign codes, and those as near as the last of them."""
    if len(near) <= NEAR_ROWS:
        return range(len(near))
    if len(near) <= 2 * MANY_CARDS:
        last = sorted(near)[NEAR_ROWS - 1]
        return [row for row, distance in enumerate(near) if distance <= last]
    last = sorted(near[:: len(near) // MANY_CARDS])[NEAR_ROWS - 1]  # not too near: so many rows are as near in a part
    some = [row for row, distance in enumerate(near) if distance <= last]
    return sorted(some, key=near.__getitem__)[:NEAR_ROWS]


def _word_scores(segment: Segment, weights: dict[str, float], average: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    penalties = segment.penalties(average, SATURATION * (1 - LENGTH_PENALTY), SATURATION * LENGTH_PENALTY)
    many = max(MANY_CARDS, COMMON_SHARE * segment.cards)
    for term, weight in weights.items():
        docs, counts = segment.postings(term)
        if len(docs) > many and len(weights) > 2:
            continue
        gain = weight * (SATURATION + 1)
        both = bytes(counts)  # a view is read item by item at several times the cost
        for card, title, body in zip(docs.tolist(), both[::2], both[1::2], strict=True):
            count = TITLE_WEIGHT * title + body
            scores[card] = scores.get(card, 0.0) + gain * count / (count + penalties[card])
    return scores


def _distances(question: Question, segment: Segment) -> list[int]:
    if question.vector is None:
        return []
    code = question.vector.code
    return [(code ^ other).bit_count() for other in segment.codes()]


def _middle(distances: list[list[int]], angle: float) -> float:
    """The similarity of a middling card, estimated from the sign codes."""
    every = distances[0] if len(distances) == 1 else [distance for part in distances for distance in part]
    if not every:
        return 0.0
    sample = sorted(every[:: 1 + len(every) // SAMPLE])
    return cos(angle * sample[len(sample) // 2])


def _compare(candidate: Candidate, asked: QueryVector, near: list[int]) -> None:
    """Exact similarities: the head on its own, then the nearest of the other parts."""
    facts, segment = candidate.facts, candidate.segment
    rows = range(facts.first_row, facts.first_row + facts.rows)
    if facts.has_head:
        candidate.title_similarity = asked.similarity(segment.row(rows[0]))
        rows = rows[1:]
    best = nsmallest(PARTS_A_CARD, rows, key=near.__getitem__) if len(rows) > PARTS_A_CARD else rows
    candidate.whole_similarity = max(
        [asked.similarity(segment.row(row)) for row in best], default=candidate.title_similarity
    )
    if not facts.has_head:
        candidate.title_similarity = candidate.whole_similarity
    candidate.similarity = (candidate.title_similarity + candidate.whole_similarity) / 2


def _add_coverage(ranking: Ranking) -> None:
    """Which of the terms each candidate holds, and what share of the question's weight they are."""
    total = sum(ranking.term_weights.values()) or 1.0
    by_segment: dict[int, list[Candidate]] = {}
    for candidate in ranking.candidates:
        by_segment.setdefault(id(candidate.segment), []).append(candidate)
    for candidates in by_segment.values():
        segment = candidates[0].segment
        for term, weight in ranking.term_weights.items():
            docs, counts = segment.postings(term)
            if docs:
                _cover(candidates, term, weight, weight / total, (docs, counts))


def _cover(
    candidates: list[Candidate], term: str, weight: float, share: float, postings: tuple[Sequence[int], Sequence[int]]
) -> None:
    docs, counts = postings
    last = len(docs)
    for candidate in candidates:
        card = candidate.card
        at = bisect_left(docs, card)
        if at < last and docs[at] == card:
            candidate.matched.append(term)
            candidate.coverage += share
            candidate.rarest = max(candidate.rarest, weight)
            if counts[2 * at]:
                candidate.title_coverage += share


def _add_up(ranking: Ranking, question: Question, ceiling: float, angle: float) -> None:
    candidates = ranking.candidates
    floor = ranking.middle_similarity
    best = max((candidate.similarity for candidate in candidates), default=0.0)
    span = max(best - floor, MEANING_FLOOR_MARGIN)
    for candidate in candidates:
        meaning = max(0.0, (candidate.similarity - floor) / span)
        candidate.score = candidate.word_score / ceiling + question.meaning_weight * meaning
        if question.moment is not None:
            candidate.score += MOMENT_WEIGHT * question.moment.nearness(candidate.facts)
    candidates.sort(key=_order)
    if question.moment is not None:
        return  # asked of a day: what was true then, not what replaced it
    if put_newer_first(candidates[:SUPERSEDING_PLACES], angle):
        candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, int, str]:
    return -candidate.score, -candidate.facts.mtime_ns, candidate.key
