"""Clearly useful or not: the few candidates worth a place in the prompt, often none (R1-R3).

A published test found that recall on every prompt made an agent worse than no memory, so silence is the rule: first the
message itself is judged (small talk and textbook questions need no memory), then each candidate on its own. What was
learned for it is `data/calibration.txt`, one line a field and encoder: a hook has no time to load a parser.
"""

from __future__ import annotations

from operator import mul

from memdir.disk.shipped import shipped_lines, shipped_path
from memdir.recall.signals import NAMES, Asked, message_signals, names_tool, signals, tool_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.search.candidate import Candidate, Ranking
    from memdir.search.question import Question

MAX_CHOSEN = 5  # R1
REASONS_SHOWN = 3
LEARNED_PATH = shipped_path("recall/data/calibration.txt")  # evals/train_recall writes it


class Calibration:
    """Weights in the order of `signals.NAMES`; the `empty_` ones say how likely a message needs no memory at all."""

    __slots__ = (
        "bias", "empty_bias", "empty_coverage", "empty_direction", "empty_message", "empty_total", "empty_unknown",
        "gate", "gate_slope", "next_margin", "threshold", "weights",
    )  # fmt: skip

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


class Verdict:
    """One candidate judged: whether it is shown, how sure that is, and why."""

    __slots__ = ("candidate", "certainty", "is_chosen", "remark", "weighed")

    def __init__(self, candidate: Candidate, certainty: float, weighed: list[float]) -> None:
        self.candidate = candidate
        self.certainty = certainty
        self.weighed = weighed  # each signal times its weight
        self.is_chosen = False
        self.remark = ""

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

    __slots__ = ("emptiness", "verdicts")

    def __init__(self, verdicts: list[Verdict], emptiness: float) -> None:
        self.verdicts = verdicts
        self.emptiness = emptiness

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
    emptiness = judge_message(question, ranking, learned)
    asked = Asked(question, ranking, emptiness)
    tools = tool_terms(recent_tools)
    sims = [*sorted((candidate.similarity for candidate in ranking.candidates), reverse=True), 0.0, 0.0]
    own, shared = learned.weights[: -len(asked.shared)], learned.weights[-len(asked.shared) :]
    base: float = learned.bias + sum(map(mul, shared, asked.shared))
    verdicts = []
    for place, candidate in enumerate(ranking.candidates):
        second = sims[1] if candidate.similarity == sims[0] else sims[0]
        numbers = signals(asked, ranking, place, today=today, tools=tools, second=second)
        weighed = list(map(mul, own, numbers))
        verdicts.append(Verdict(candidate, base + sum(weighed), weighed))
    verdicts.sort(key=lambda verdict: -verdict.certainty)
    _choose(verdicts, emptiness, tools, learned)
    return Decision(verdicts, emptiness)


def judge_message(question: Question, ranking: Ranking, learned: Calibration) -> float:
    """How likely the message needs no memory at all, as log odds."""
    total = sum(ranking.term_weights.values()) or 1.0
    unknown = sum(ranking.term_weights[term] for term in ranking.unknown_terms) / total
    covered = max((candidate.coverage for candidate in ranking.candidates), default=0.0)
    score: float = learned.empty_bias + sum(map(mul, learned.empty_message, message_signals(question)))
    score += learned.empty_unknown * unknown + learned.empty_coverage * covered
    if question.vector is not None:
        score += question.vector.along(learned.empty_direction, learned.empty_total)
    return max(-5.0, min(5.0, score))


def _choose(verdicts: list[Verdict], emptiness: float, tools: frozenset[str], learned: Calibration) -> None:
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
