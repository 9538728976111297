"""The one ranking: words and meaning, each scaled to what a good match would get, then added.

Serves memories, sessions, turns and facts alike. It orders and explains; whether a candidate is worth showing is
`decide`'s question.
"""

from __future__ import annotations

from math import cos, log, pi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.search.document import Question
    from memdir.search.segment import Facts, Segment
    from memdir.search.vectors import QueryVector

    Seen = tuple[float, float, int, int]  # word score, rough similarity, segment, number in it

SATURATION = 0.8  # BM25 k1: how soon repeats of a word stop counting
LENGTH_PENALTY = 0.35  # BM25 b
TITLE_WEIGHT = 2.0  # a word in name or description says what the memory is about
WORD_CEILING_SHARE = 0.2  # of a perfect word match: below it the best word score does not count as a full one
MEANING_FLOOR_MARGIN = 0.25  # a best similarity less than this above the middle is not stretched to 1
WORD_CANDIDATES = 20  # judged exactly for their words,
NEAR_ROWS = 32  # and for their meaning,
KEPT = 14  # of which so many are compared exactly and judged
PARTS_COMPARED = 3  # of a long document: only its nearest parts are compared exactly
LONG_WORDS = 500  # on average in a document: in a long talk words meet by chance, and meaning weighs no less
MOMENT_WEIGHT = 0.5  # of a document of the very day that the question names
FAR = 1 << 20  # a document without a direction is far from everything
SAMPLE = 512  # rows that tell where the middle is
COMMON_SHARE = 0.25  # of the documents: a term in more of them says little and costs most
MANY = 1000  # documents: below this every term is cheap

UNSEEN = 8  # documents that a small store is taken to have besides: what few hold is not common for that
RARITY_POWER = 1.3  # rare terms count more than their information alone would say
GENERAL_SHARE = 0.4  # of a term's weight: how rare it is in text at large
GENERAL_TEXTS = 250_000  # texts that the word counts of the table come from
MOST_GENERAL = 12.4  # the logarithm of about that count
MIN_REPAIRED = 5  # shorter words have too many neighbours,
MAX_REPAIRED = 12  # longer ones too many to try
MAX_REPAIRS = 2  # unknown words of a message that are tried as typos

SUPERSEDING_PLACES = 5  # only among the best is the order of claims looked at
MIN_SHARE = 0.5  # of the older one's score: less is another subject
SAME_SUBJECT = 0.45  # similarity from which two memories are about one thing
STEP = 1e-6  # enough to stand before


class Candidate:
    """One document that might help, with everything that speaks for or against it."""

    def __init__(self, segment: Segment, number: int) -> None:
        self.segment, self.number = segment, number
        self.key = segment.key(number)
        self.facts: Facts = segment.facts(number)
        self.matched: list[str] = []
        self.coverage = self.title_coverage = 0.0  # shares of the question's term weight that the document holds
        self.title_similarity = self.whole_similarity = self.similarity = 0.0  # the last is the mean of both
        self.word_score = self.rarest = self.score = 0.0


class Ranking:
    """Candidates, best first, and what is known of the question against all documents."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.documents = 0
        self.middle_similarity = 0.0
        self.meaning_weight = 1.0  # of the scaled similarity, beside 1 for the scaled word score
        self.term_weights: dict[str, float] = {}
        self.unknown_terms: list[str] = []  # of the question: in no document at all


def rank(
    question: Question, segments: Sequence[Segment], *, gone: Collection[tuple[int, int]] = (), keep: int = KEPT
) -> Ranking:
    """Order all documents of all segments; `gone` are (segment, number) pairs that no longer count."""
    ranking = Ranking()
    ranking.documents = sum([segment.documents for segment in segments]) - len(gone)
    if ranking.documents <= 0:
        return ranking
    ranking.term_weights, ranking.unknown_terms = weigh_terms(question, segments, ranking.documents)
    average = max(1.0, sum([segment.total_length for segment in segments]) / ranking.documents)
    ranking.meaning_weight = question.meaning_weight if average <= LONG_WORDS else max(1.0, question.meaning_weight)
    distances = [_distances(question, segment) for segment in segments]
    angle = pi / (question.vector.dimensions if question.vector else 1)
    ranking.middle_similarity = _middle(distances, angle)
    found: list[Seen] = []
    for at, segment in enumerate(segments):
        scores = _word_scores(segment, ranking.term_weights, average)
        for number, distance in _first_look(segment, scores, distances[at]).items():
            if not gone or (at, number) not in gone:
                found.append((scores.get(number, 0.0), cos(angle * distance), at, number))
    fair = WORD_CEILING_SHARE * (SATURATION + 1) * sum(ranking.term_weights.values())
    ceiling = max([*[one[0] for one in found], fair, 1e-9])
    if len(found) > keep:
        found = _best(question, segments, found, ceiling, ranking)[:keep]
    for words, _, at, number in found:
        candidate = Candidate(segments[at], number)
        candidate.word_score = words
        if question.vector is not None and candidate.facts.rows:
            _compare(candidate, question.vector, distances[at])
        ranking.candidates.append(candidate)
    _add_coverage(ranking.candidates, ranking.term_weights)
    _add_up(ranking, question, ceiling, angle)
    return ranking


def weigh_terms(question: Question, segments: Sequence[Segment], documents: int) -> tuple[dict[str, float], list[str]]:
    """The weight of each term, and the terms that no document holds."""
    held = {term: _count(term, segments) for term in question.terms}
    unknown = [term for term, count in held.items() if not count]
    for pair in question.pairs:  # long documents hold pairs; where none does, they say nothing
        if count := _count(pair, segments):
            held[pair] = count
    common = question.terms
    typos = [term for term in unknown if not common[term] and MIN_REPAIRED <= len(term) <= MAX_REPAIRED]
    for term in [term for term in typos if term.isalpha()][:MAX_REPAIRS]:
        # A word that nobody knows is looked up as a slip of a word that the store holds.
        repaired, count = next(((word, n) for word in _one_edit_away(term) if (n := _count(word, segments))), ("", 0))
        if count:
            held[repaired] = count
    documents += UNSEEN  # or the words of an only memory would say nothing
    most = log(1 + (documents + 0.5) / 0.5)
    weights = {}
    for term, count in held.items():
        here = log(1 + max(0, documents - count + 0.5) / (count + 0.5)) / most
        general = log(1 + GENERAL_TEXTS / (1 + 2 ** (common.get(term, 0) / 2))) / MOST_GENERAL
        weights[term] = here**RARITY_POWER * (1 - GENERAL_SHARE + GENERAL_SHARE * min(1.0, general))
    return weights, unknown


def _count(term: str, segments: Sequence[Segment]) -> int:
    return sum([segment.count(term) for segment in segments])


def _one_edit_away(word: str) -> list[str]:
    """Every word one slip away: a letter dropped, swapped with its neighbour, replaced or added."""
    letters = "etaoinsrhldcumfpgwybvkxjqz"
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    dropped = [left + right[1:] for left, right in cuts if right]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1]
    added = [left + letter + right for left, right in cuts for letter in letters]
    replaced = [left + letter + right[1:] for left, right in cuts if right for letter in letters]
    return dropped + swapped + added + replaced


def _distances(question: Question, segment: Segment) -> list[int]:
    if question.vector is None:
        return []
    code = question.vector.code
    return [(code ^ other).bit_count() for other in segment.codes()]


def _middle(distances: list[list[int]], angle: float) -> float:
    """The similarity of a middling document, estimated from the sign codes."""
    every = distances[0] if len(distances) == 1 else [distance for part in distances for distance in part]
    if not every:
        return 0.0
    sample = sorted(every[:: 1 + len(every) // SAMPLE])
    return cos(angle * sample[len(sample) // 2])


def _word_scores(segment: Segment, weights: dict[str, float], average: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    penalties = segment.penalties(average, SATURATION * (1 - LENGTH_PENALTY), SATURATION * LENGTH_PENALTY)
    many = max(MANY, COMMON_SHARE * segment.documents)
    for term, weight in weights.items():
        docs, counts = segment.postings(term)
        if len(docs) > many and len(weights) > 2:
            continue
        gain = weight * (SATURATION + 1)
        both = bytes(counts)  # a view is read item by item at several times the cost
        for number, title, body in zip(docs.tolist(), both[::2], both[1::2], strict=True):
            count = TITLE_WEIGHT * title + body if title else body
            scores[number] = scores.get(number, 0.0) + gain * count / (count + penalties[number])
    return scores


def _first_look(segment: Segment, scores: dict[int, float], near: list[int]) -> dict[int, int]:
    """The documents worth a closer look, each with the distance of its nearest row: best by words, or nearest."""
    found = {}
    for number in _best_words(scores):
        rows = segment.rows_of(number)
        found[number] = min(near[rows.start : rows.stop], default=FAR)
    for row in _nearest(near):
        number = segment.owner(row)
        if near[row] < found.get(number, FAR):
            found[number] = near[row]
    return found


def _best_words(scores: dict[int, float]) -> list[int]:
    if len(scores) <= WORD_CANDIDATES:
        return list(scores)
    some = list(scores)
    if len(scores) > MANY:
        from heapq import nlargest  # a cold start seldom needs it

        least = nlargest(WORD_CANDIDATES, scores.values())[-1]
        some = [number for number, score in scores.items() if score >= least]
    return sorted(some, key=scores.__getitem__, reverse=True)[:WORD_CANDIDATES]


def _nearest(near: list[int]) -> Sequence[int]:
    """The rows with the nearest sign codes, and those as near as the last of them."""
    if len(near) <= NEAR_ROWS:
        return range(len(near))
    step = max(1, len(near) // MANY)
    last = sorted(near[::step])[NEAR_ROWS - 1]  # not too near: so many rows are as near in a part
    some = [row for row, distance in enumerate(near) if distance <= last]
    return some if step == 1 else sorted(some, key=near.__getitem__)[:NEAR_ROWS]


def _best(
    question: Question, segments: Sequence[Segment], found: list[Seen], ceiling: float, ranking: Ranking
) -> list[Seen]:
    """What was found in the order of a first estimate."""
    nearest = max([one[1] for one in found]) - ranking.middle_similarity
    rate = ranking.meaning_weight / max(nearest, MEANING_FLOOR_MARGIN)
    moment = question.moment

    def badness(one: Seen) -> float:
        words, similarity, at, number = one
        near = MOMENT_WEIGHT * moment.nearness(segments[at].facts(number)) if moment is not None else 0.0
        return -words / ceiling - rate * similarity - near

    return sorted(found, key=badness)


def _compare(candidate: Candidate, asked: QueryVector, near: list[int]) -> None:
    """Exact similarities: the head on its own, then the nearest of the other parts."""
    facts, segment = candidate.facts, candidate.segment
    rows = range(facts.first_row, facts.first_row + facts.rows)
    if facts.has_head:
        candidate.title_similarity = asked.similarity(segment.row(rows[0]))
        rows = rows[1:]
    best = sorted(rows, key=near.__getitem__)[:PARTS_COMPARED] if len(rows) > PARTS_COMPARED else rows
    candidate.whole_similarity = max(
        [asked.similarity(segment.row(row)) for row in best], default=candidate.title_similarity
    )
    if not facts.has_head:
        candidate.title_similarity = candidate.whole_similarity
    candidate.similarity = (candidate.title_similarity + candidate.whole_similarity) / 2


def _add_coverage(candidates: list[Candidate], weights: dict[str, float]) -> None:
    """Which of the terms the candidates hold, and what share of the question's weight they are."""
    total = sum(weights.values()) or 1.0
    for candidate in candidates:
        for term, weight in weights.items():
            held = candidate.segment.counts(term, candidate.number)
            if held is not None:
                candidate.matched.append(term)
                candidate.coverage += weight / total
                candidate.rarest = max(candidate.rarest, weight)
                candidate.title_coverage += weight / total if held[0] else 0.0


def _add_up(ranking: Ranking, question: Question, ceiling: float, angle: float) -> None:
    candidates = ranking.candidates
    floor = ranking.middle_similarity
    best = max((candidate.similarity for candidate in candidates), default=0.0)
    span = max(best - floor, MEANING_FLOOR_MARGIN)
    for candidate in candidates:
        meaning = max(0.0, (candidate.similarity - floor) / span)
        candidate.score = candidate.word_score / ceiling + ranking.meaning_weight * meaning
        if question.moment is not None:
            candidate.score += MOMENT_WEIGHT * question.moment.nearness(candidate.facts)
    candidates.sort(key=_order)
    if question.moment is None:  # asked of a day: what was true then, not what replaced it
        _put_newer_first(candidates[:SUPERSEDING_PLACES], angle)
        candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, int, str]:
    return -candidate.score, -candidate.facts.mtime_ns, candidate.key


def _put_newer_first(best: Sequence[Candidate], angle: float) -> None:
    """Raise the first newer claim above the one it replaces.

    Only one: with every pair set right, claims that are merely alike change places too.
    """
    for place, older in enumerate(best):
        for newer in best[place + 1 :]:
            is_newer = newer.facts.mtime_ns > older.facts.mtime_ns and newer.score >= MIN_SHARE * older.score
            if is_newer and _alike(older, newer, angle) >= SAME_SUBJECT:
                newer.score = older.score + STEP
                return


def _alike(one: Candidate, other: Candidate, angle: float) -> float:
    """How near two memories are, by the signs of their last parts."""
    if not _is_claim(one.facts) or not _is_claim(other.facts):
        return 0.0
    mine, theirs = (it.segment.codes()[it.facts.first_row + it.facts.rows - 1] for it in (one, other))
    return cos(angle * (mine ^ theirs).bit_count())


def _is_claim(facts: Facts) -> bool:
    """A memory or one statement; a talk of many parts is a record, and a newer one does not replace it."""
    return facts.rows == 1 or (facts.rows > 1 and facts.has_head)
