"""Clearly useful or not: the few candidates worth a place in the prompt, often none (R1-R3).

A published test found that recall on every prompt made an agent worse than no memory, so silence is the rule: first the
message itself is judged (small talk and textbook questions need no memory), then each candidate on its own. What was
learned for it is `data/calibration.txt`, one line a field and encoder: a hook has no time to load a parser.
"""

from __future__ import annotations

from math import exp, log
from operator import mul

from memdir.disk.shipped import shipped_lines, shipped_path
from memdir.search.document import FIRST_DAY, KINDS, days_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.search.document import Question
    from memdir.search.ranking import Candidate, Ranking

MAX_CHOSEN = 5  # R1
REASONS_SHOWN = 3
LEARNED_PATH = shipped_path("recall/data/calibration.txt")  # evals/train_recall writes it
LEAST_NEAR = 0.16  # of meaning, for a memory that shares no word with the message: less is no relation at all,
LEAST_NEAR_OF_FEW = 0.25  # and more is asked for where there are too few others to stand out from
FEW = 10
NEAR_DAYS = 20.0  # a date this far off still counts about a third

_TABLES = dict(line.split(" ", 1) for line in shipped_lines("recall/data/signals.txt"))
_WORDS = {name: frozenset(words.split()) for name, words in _TABLES.items()}
NAMES = f"{_TABLES['candidate-signals']}, {_TABLES['message-signals']}".split(", ")  # in the order of the weights
_ONE_HOT = tuple([tuple([float(kind == at) for at in range(1, len(KINDS))]) for kind in range(len(KINDS))])


class Asked:
    """The numbers that are the same for all candidates of a message; no emptiness without what was learned."""

    def __init__(self, question: Question, ranking: Ranking, learned: Calibration | None = None) -> None:
        candidates = ranking.candidates
        self.similarities = [*sorted((candidate.similarity for candidate in candidates), reverse=True), *[0.0] * 6]
        self.best_words = max([candidate.word_score for candidate in candidates], default=0.0) or 1.0
        self.best_coverage = max((candidate.coverage for candidate in candidates), default=0.0)
        total = sum(ranking.term_weights.values()) or 1.0
        self.unknown = sum(ranking.term_weights[term] for term in ranking.unknown_terms) / total
        self.is_timed = _asks_about_time(question)
        self.fields = _message_signals(question)
        self.emptiness = self._judged(question, learned) if learned is not None else 0.0
        middle, documents = ranking.middle_similarity, log(1 + ranking.documents) / 5
        above = self.similarities[0] - middle
        self.shared = [*self.fields, self.unknown, self.best_coverage, above, middle, documents, self.emptiness]

    def _judged(self, question: Question, learned: Calibration) -> float:
        """How likely the message needs no memory at all, as log odds."""
        score: float = learned.empty_bias + sum(map(mul, learned.empty_message, self.fields))
        score += learned.empty_unknown * self.unknown + learned.empty_coverage * self.best_coverage
        if question.vector is not None:
            score += question.vector.along(learned.empty_direction, learned.empty_total)
        return max(-5.0, min(5.0, score))


def _asks_about_time(question: Question) -> bool:
    """Whether dates bear on the message: it names a day, a date or a span, or asks when."""
    if not _WORDS["time"].isdisjoint(question.words) or days_in(question.text):
        return True
    return any(word[:-2].isdigit() and word[-2:] in ("st", "nd", "rd", "th") for word in question.words)


def _message_signals(question: Question) -> list[float]:
    """What the message looks like, whatever the store holds."""
    words = question.words
    return [
        log(1 + len(question.terms)),
        float("?" in question.text),
        float("`" in question.text or "\n" in question.text),
        float(not _WORDS["ours"].isdisjoint(words)),
        float(not _WORDS["doing"].isdisjoint(words[:6])),
        float(bool(words) and words[0] in _WORDS["asking"]),
        float(not _WORDS["self"].isdisjoint(words)),
    ]


def signals(asked: Asked, ranking: Ranking, place: int, *, today: int, tools: frozenset[str]) -> list[float]:
    """A candidate's own numbers, in the order of NAMES."""
    it = ranking.candidates[place]
    facts, sim, cover, usage = it.facts, it.similarity, it.coverage, it.facts.usage
    kinds, best = _ONE_HOT[facts.kind], asked.similarities
    second = best[1] if sim == best[0] else best[0]
    near = is_ahead = 0.0
    if facts.dates and (ahead := [day - today for day in facts.dates if day >= today]):
        near, is_ahead = exp(-min(ahead) / NEAR_DAYS), 1.0
    timed = 1.0 if asked.is_timed else 0.0
    is_tool = float(names_tool(it, tools)) if tools else 0.0
    age_days = max(0.0, today - FIRST_DAY - facts.mtime_ns / 86_400e9)
    doing, asking = asked.fields[4], asked.fields[5]
    return [
        it.title_similarity, it.whole_similarity, sim - ranking.middle_similarity, best[0] - sim,
        sim - second, sim - best[5], sim - 0.3 if sim > 0.3 else 0.0, sim - 0.45 if sim > 0.45 else 0.0,
        sim - 0.6 if sim > 0.6 else 0.0, cover, it.title_coverage, it.rarest, log(1 + len(it.matched)),
        cover - 0.3 if cover > 0.3 else 0.0, it.word_score / asked.best_words, it.score, log(1 + place),
        0.0 if place else 1.0, *kinds, *[kind * sim for kind in kinds], *[kind * cover for kind in kinds],
        log(1 + age_days) / 7, timed * is_ahead, timed * near, near, is_tool * (usage > 0), is_tool * (usage <= 0),
        max(-4, min(4, usage)) / 4, is_tool, asking * sim, doing * kinds[1], asking * kinds[1], asking * kinds[3],
        asked.fields[3] * sim, asked.unknown * sim, asked.emptiness * sim, asked.emptiness * cover,
    ]  # fmt: skip


def tool_terms(recent_tools: Sequence[str]) -> frozenset[str]:
    """The words by which a store would name the tools just used; the host's own tools are no subject of memories."""
    from memdir.text.stems import stem
    from memdir.text.words import split_words

    named = [tool for tool in recent_tools if tool.lower() not in _WORDS["host-tools"]]
    words = {word for tool in named for word in split_words(tool)}
    return frozenset(stem(word) for word in words - _WORDS["tool-words-of-no-name"] if len(word) > 1)


def names_tool(candidate: Candidate, tools: frozenset[str]) -> bool:
    """Whether the title, description or file name of a candidate names one of the tools."""
    return any((held := candidate.segment.counts(term, candidate.number)) and held[0] for term in tools)


class Calibration:
    """Weights in the order of NAMES; the `empty_` ones say how likely a message needs no memory at all."""

    def __init__(self, fields: dict[str, list[float]]) -> None:
        # The surest candidate below the threshold is not clearly useful, and every further one must be surer by the
        # margin; from the gate's emptiness on, the slope raises the threshold.
        self.threshold, self.next_margin, self.gate, self.gate_slope = fields["bars"]
        [self.bias], self.weights = fields["bias"], fields["weights"]
        [self.empty_bias], self.empty_message = fields["empty_bias"], fields["empty_message"]
        self.empty_unknown, self.empty_coverage = fields["empty_shares"]
        self.empty_direction = fields["empty_direction"]
        self.empty_total = sum(self.empty_direction)


def load_calibration(encoder: str) -> Calibration:
    """What was learned with the directions of an encoder, named as it names itself."""
    fields = {}
    for line in shipped_lines(LEARNED_PATH):
        name, field, *numbers = line.split()
        if name == encoder:
            fields[field] = [float(number) for number in numbers]
    return Calibration(fields)


class Judgement:
    """One candidate judged: whether it is shown, how sure that is, and why."""

    def __init__(self, candidate: Candidate, certainty: float, weighed: list[float]) -> None:
        self.candidate, self.certainty = candidate, certainty
        self.weighed = weighed  # each signal times its weight
        self.is_chosen, self.remark = False, ""

    def reasons(self, ranking: Ranking) -> list[str]:
        """What weighed most, in words for people; made only when somebody asks."""
        candidate, out = self.candidate, []
        if candidate.matched:
            words = sorted(candidate.matched, key=lambda term: -ranking.term_weights[term])
            out.append("shares " + ", ".join(words[:REASONS_SHOWN]))
        out.append(f"meaning {candidate.similarity:.2f} (a middling memory {ranking.middle_similarity:.2f})")
        weighed = sorted(zip(self.weighed, NAMES, strict=False), key=lambda pair: -abs(pair[0]))
        out.append("; ".join(f"{name} {weight:+.2f}" for weight, name in weighed[:REASONS_SHOWN]))
        return [*out, self.remark] if self.remark else out


class Decision:
    """All verdicts, surest first, and what was thought of the message."""

    def __init__(self, verdicts: list[Judgement], emptiness: float) -> None:
        self.verdicts, self.emptiness = verdicts, emptiness

    @property
    def chosen(self) -> list[str]:
        """Keys of the memories to show, surest first."""
        return [verdict.candidate.key for verdict in self.verdicts if verdict.is_chosen]


def decide(
    question: Question,
    ranking: Ranking,
    learned: Calibration,
    *,
    today: int,
    recent_tools: Sequence[str] = (),
    surfaced: Collection[str] = (),
) -> Decision:
    """Choose at most five. `surfaced` is dropped before choosing, so no place is wasted on it (R1)."""
    ranking.candidates = [candidate for candidate in ranking.candidates if candidate.key not in surfaced]
    asked = Asked(question, ranking, learned)
    tools = tool_terms(recent_tools) if recent_tools else frozenset[str]()
    own, shared = learned.weights[: -len(asked.shared)], learned.weights[-len(asked.shared) :]
    base: float = learned.bias + sum(map(mul, shared, asked.shared))
    verdicts = []
    for place, candidate in enumerate(ranking.candidates):
        weighed = list(map(mul, own, signals(asked, ranking, place, today=today, tools=tools)))
        verdicts.append(Judgement(candidate, base + sum(weighed), weighed))
    verdicts.sort(key=lambda verdict: -verdict.certainty)
    least = LEAST_NEAR_OF_FEW if ranking.documents < FEW else LEAST_NEAR
    related = []
    for verdict in verdicts:
        if verdict.candidate.matched or verdict.candidate.similarity >= least:
            related.append(verdict)
        else:
            verdict.remark = "shares no word and is not near in meaning"
    _choose(related, asked.emptiness, tools, learned)
    return Decision(verdicts, asked.emptiness)


def _choose(verdicts: list[Judgement], emptiness: float, tools: frozenset[str], learned: Calibration) -> None:
    """The surest ones above the bar; the bar rises when the message looks like one that needs no memory."""
    bar = learned.threshold + learned.gate_slope * max(0.0, emptiness - learned.gate)
    chosen = 0
    for verdict in verdicts:
        if verdict.candidate.facts.usage > 0 and names_tool(verdict.candidate, tools):
            verdict.remark = "usage notes of a tool that is in use"
        elif verdict.certainty <= bar + (learned.next_margin if chosen else 0.0):
            verdict.remark = "not clearly useful" if emptiness <= learned.gate else "not enough for such a message"
        elif chosen == MAX_CHOSEN:
            verdict.remark = "five are shown already"
        else:
            verdict.is_chosen = True
            chosen += 1
