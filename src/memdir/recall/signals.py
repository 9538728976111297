"""What speaks for and against showing a candidate for a message, as numbers that `decide` weighs.

The order of the names is the order of the weights in `data/calibration.txt`; `evals/train_recall` learns those.
"""

from __future__ import annotations

from math import exp, log

from memdir.search.indexed_document import KINDS
from memdir.search.question import asks_about_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.search.candidate import Candidate, Ranking
    from memdir.search.question import Question

HOST_TOOLS = frozenset(
    [
        "bash",
        "read",
        "edit",
        "write",
        "grep",
        "glob",
        "ls",
        "task",
        "webfetch",
        "websearch",
        "todowrite",
        "multiedit",
        "notebookedit",
    ]
)
TOOL_WORDS_OF_NO_NAME = frozenset(
    ["mcp", "query", "run", "search", "list", "get", "read", "write", "call", "tool", "create", "update", "delete"]
)
NEAR_DAYS = 20.0  # a date this far off still counts about a third

_OURS_TEXT = "our ours we us my team unser unsere notre nos nuestra nuestro onze nasz "
_OURS = frozenset(_OURS_TEXT.split())
_DOING_TEXT = (
    "write add make build create draft change rename refactor update fix set put run start schedule plan ship "
    "deploy send prepare remove delete drop move merge review release push commit upgrade migrate switch replace "
    "turn give show "
)
_DOING = frozenset(_DOING_TEXT.split())
_ASKING_TEXT = "what whats how explain does do who why is are which when where can difference was ist wie "
_ASKING = frozenset(_ASKING_TEXT.split())
_SELF = frozenset(["i", "im", "ill", "id", "ive", "ich", "je", "yo", "eu", "ik", "jag", "jeg"])

_OF_A_CANDIDATE = (
    "title, whole, above middle, behind best, ahead of second, ahead of sixth, sim over .3, sim over .45, sim "
    "over .6, coverage, title coverage, rarest, matches, coverage over .3, words beside best, score, rank, is "
    "first, user, feedback, project, reference, user*sim, feedback*sim, project*sim, reference*sim, user*cover, "
    "feedback*cover, project*cover, reference*cover, age, time*date, time*near, date, tool usage, tool warning, "
    "usage, tool, asking*sim, doing*feedback, asking*feedback, asking*reference, ours*sim, unknown*sim, "
    "emptiness*sim, emptiness*cover"
)
_OF_THE_MESSAGE = (
    "terms, question mark, code, ours, doing, asking, self, unknown share, best coverage, best above middle, "
    "middle, store size, emptiness"
)
NAMES = (*_OF_A_CANDIDATE.split(", "), *_OF_THE_MESSAGE.split(", "))


_ONE_HOT = tuple([tuple([float(kind == at) for at in range(1, len(KINDS))]) for kind in range(len(KINDS))])


class Asked:
    """The numbers that are the same for all candidates of a message."""

    __slots__ = (
        "best_coverage",
        "best_similarity",
        "best_words",
        "emptiness",
        "fields",
        "is_timed",
        "shared",
        "sixth",
        "unknown",
    )

    def __init__(self, question: Question, ranking: Ranking, emptiness: float) -> None:
        sims = sorted((candidate.similarity for candidate in ranking.candidates), reverse=True) + [0.0] * 6
        self.best_similarity, self.sixth = sims[0], sims[5]
        self.best_words = max([candidate.word_score for candidate in ranking.candidates], default=0.0) or 1.0
        self.best_coverage = max((candidate.coverage for candidate in ranking.candidates), default=0.0)
        total = sum(ranking.term_weights.values()) or 1.0
        self.unknown = sum(ranking.term_weights[term] for term in ranking.unknown_terms) / total
        self.is_timed = asks_about_time(question)
        self.emptiness = emptiness
        self.fields = message_signals(question)
        middle, cards = ranking.middle_similarity, log(1 + ranking.cards) / 5
        above = self.best_similarity - middle
        self.shared = [*self.fields, self.unknown, self.best_coverage, above, middle, cards, emptiness]


def message_signals(question: Question) -> list[float]:
    """What the message looks like, whatever the store holds."""
    words = question.words
    return [
        log(1 + len(question.terms)),
        float("?" in question.text),
        float("`" in question.text or "\n" in question.text),
        float(not _OURS.isdisjoint(words)),
        float(not _DOING.isdisjoint(words[:6])),
        float(bool(words) and words[0] in _ASKING),
        float(not _SELF.isdisjoint(words)),
    ]


def signals(
    asked: Asked, ranking: Ranking, place: int, *, today: int, tools: frozenset[str], second: float
) -> list[float]:
    """A candidate's own numbers, in the order of NAMES. `second` is the best similarity of the others."""
    it = ranking.candidates[place]
    facts, sim, cover, usage = it.facts, it.similarity, it.coverage, it.facts.usage
    kinds = _ONE_HOT[facts.kind]
    near = is_ahead = 0.0
    if facts.dates and (ahead := [day - today for day in facts.dates if day >= today]):
        near, is_ahead = exp(-min(ahead) / NEAR_DAYS), 1.0
    timed = 1.0 if asked.is_timed else 0.0
    is_tool = float(names_tool(it, tools)) if tools else 0.0
    age_days = max(0.0, today - 719_163 - facts.mtime_ns / 86_400e9)
    doing, asking = asked.fields[4], asked.fields[5]
    return [
        it.title_similarity, it.whole_similarity, sim - ranking.middle_similarity, asked.best_similarity - sim,
        sim - second, sim - asked.sixth, sim - 0.3 if sim > 0.3 else 0.0, sim - 0.45 if sim > 0.45 else 0.0,
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

    named = [tool for tool in recent_tools if tool.lower() not in HOST_TOOLS]
    words = {word for tool in named for word in split_words(tool)}
    return frozenset(stem(word) for word in words - TOOL_WORDS_OF_NO_NAME if len(word) > 1)


def names_tool(candidate: Candidate, tools: frozenset[str]) -> bool:
    """Whether the title, description or file name of a candidate names one of the tools."""
    return any((held := candidate.segment.counts(term, candidate.card)) and held[0] for term in tools)
