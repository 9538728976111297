"""Clearly useful or not: the few candidates worth a place in the prompt, often none (R1-R3).

A published test found that recall on every prompt made an agent worse than no memory, so silence is the rule: first the
message itself is judged (small talk and textbook questions need no memory), then each candidate on its own. What was
learned is `data/needs.txt`, one line a word that a message may hold, and `data/calibration.txt`, one line a field and
encoder: a hook has no time to load a parser.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from operator import mul

from memdir.disk.shipped import TABLE_END, broken, shipped_bytes, shipped_lines, shipped_path
from memdir.search.document import FIRST_DAY, KINDS, days_in
from memdir.text.stems import stem
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from memdir.search.document import Document, Question
    from memdir.search.ranking import Candidate, Ranking
    from memdir.search.vectors import Reader

    Read = Callable[[list[str]], list[float]]  # how surely the memories of these keys are needed

MAX_CHOSEN = 5  # R1
REASONS_SHOWN = 3
LEARNED_PATH = shipped_path("recall/data/calibration.txt")  # evals/train_recall writes it
FEW = 8  # memories: among fewer, standing out from the others says less and less
MOST_RAISED = 2.5  # for what looks like small talk: a memory that shares all of it with the message still comes
SMALL = 40  # below so many the bar rises: a small store has less to say to any message
HANDFUL = 5  # memories: among so few nothing stands out from a middle, and nearness alone must tell
PROJECT = KINDS.index("project")  # what a memory without a type is taken for
NEAR_DAYS = 20.0  # a date this far off still counts about a third

NEEDS_PATH = "recall/data/needs.txt"  # evals/train_recall writes it
JUDGED = ("nothing", *KINDS[1:])  # the columns: nothing at all, then the kinds
PER_UNIT = 100  # numbers are written as whole hundredths
MAX_WORDS = 60  # nobody asks in more; the rest is told or pasted
PAIRED_WORDS = 12  # how a message begins says what is to be done
FEW_LINES = 3  # a message of no more is all the person's own
# "are deploys frozen?": of a message's words, by weight, that a headline holds, and how many at least
NAMED_SHARE, NAMED_TERMS = 0.95, 2
SUREST = 6.0  # log odds: more is not known of any message
MOST_READ = 3  # memories of a scope that are read together with the message: each takes a hundredth of a second
WORTH_READING = 2.0  # below the bar: what is further away does not get over it by being read
UNREAD = -6.0  # what reading says of most memories, taken of those that are not read

_TABLES = dict(line.split(" ", 1) for line in shipped_lines("recall/data/signals.txt"))
_WORDS = {name: frozenset(words.split()) for name, words in _TABLES.items()}
NAMES = f"{_TABLES['candidate-signals']}, {_TABLES['message-signals']}".split(", ")  # in the order of the weights
_ONE_HOT = tuple([tuple([float(kind == at) for at in range(1, len(KINDS))]) for kind in range(len(KINDS))])


class Needs:
    """What a message asks for: nothing that memories help with, or memories of some kind.

    Every word, and every two side by side near the beginning, speaks for or against; each is looked up on its own.
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes | None = None) -> None:
        self._data = shipped_bytes(NEEDS_PATH) if data is None else data
        if not self._data.endswith(f"\n{TABLE_END}\n".encode()):
            raise broken(NEEDS_PATH, "cut short")

    def of(self, text: str) -> list[float]:
        """How likely a message needs nothing, and a memory of each kind, as log odds in the order of JUDGED."""
        total = [0.0] * len(JUDGED)
        for name, value in marks_of(text).items():
            for at, weight in enumerate(self._weights(name)):
                total[at] += weight * value
        return [max(-SUREST, min(SUREST, number / PER_UNIT)) for number in total]

    def _weights(self, name: str) -> list[int]:
        """By halving: the lines are in order, and to look through all of them for each word took most of a recall."""
        key, data = b"%s " % name.encode(), self._data
        low, high = data.index(b"\n") + 1, len(data) - len(TABLE_END) - 1  # both where a line begins
        while low < high:
            start = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
            found, end = data[start : start + len(key)], data.index(b"\n", start)
            if found == key:
                return [int(number) for number in data[start + len(key) : end].split()]
            low, high = (end + 1, high) if found < key else (low, start)
        return []


def marks_of(text: str) -> dict[str, float]:
    """What is seen of a message, by the names in the file; those of its shape begin with a sign that no word has."""
    own, lines = own_words(text), text.count("\n")
    words = split_words(own)[:MAX_WORDS]
    marks = dict.fromkeys(words, 1.0)
    marks.update(dict.fromkeys([f"{one}_{other}" for one, other in pairwise(["^", *words[:PAIRED_WORDS]])], 1.0))
    if words:
        marks[f"{words[-1]}_$"] = 1.0
    marks["=always"] = 1.0
    marks["=own-length"] = log(1 + len(own.split())) / 3
    marks["=length"] = log(1 + len(text.split())) / 3
    marks["=question"] = float("?" in own)
    marks["=many-lines"] = float(lines >= FEW_LINES)
    marks["=lines"] = log(1 + lines) / 3
    marks["=own-share"] = len(own) / max(1, len(text))
    return marks


def own_words(text: str) -> str:
    """Of a message of many lines the first one, and the last where it stands apart: what was pasted lies between."""
    lines = text.strip().split("\n")
    if len(lines) <= FEW_LINES:
        return text
    last = lines[-1] if not lines[-2].strip() else ""
    return f"{lines[0]} {last}".strip()


class Asked:
    """The numbers that are the same for all candidates of a message."""

    def __init__(self, question: Question, ranking: Ranking, needs: Needs) -> None:
        candidates = ranking.candidates
        self.similarities = [*sorted((candidate.similarity for candidate in candidates), reverse=True), *[0.0] * 6]
        self.best_words = max([candidate.word_score for candidate in candidates], default=0.0) or 1.0
        self.best_coverage = max((candidate.coverage for candidate in candidates), default=0.0)
        total = sum(ranking.term_weights.values()) or 1.0
        self.unknown = sum(ranking.term_weights[term] for term in ranking.unknown_terms) / total
        light = sum(ranking.term_weights[term] for term in ranking.unknown_terms if term in _WORDS["light-terms"])
        self.named = NAMED_SHARE * (1 - light / total)
        self.is_timed = _asks_about_time(question)
        self.fields = _message_signals(question)
        self.emptiness, *self.needs = needs.of(question.text)
        self.few = max(0.0, 1 - ranking.documents / FEW)
        middle, documents = ranking.middle_similarity, log(1 + ranking.documents) / 5
        above = self.similarities[0] - middle
        self.shared = [*self.fields, self.unknown, self.best_coverage, above, middle, documents, self.emptiness]


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


def reading(reader: Reader, message: str, memory_of: Callable[[str], Document | None]) -> Read:
    """Reads memories, named by their keys, together with a message."""
    if message.count("\n") >= FEW_LINES:
        message = f"{own_words(message)} ... {message}"

    def read(keys: list[str]) -> list[float]:
        found = [memory_of(key) for key in keys]
        texts = [f"{it.kind}: {it.title}. {it.description}. {it.body}" if it is not None else "" for it in found]
        return reader.relevance(message, texts)

    return read


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
    need = asked.needs[(facts.kind or PROJECT) - 1]
    return [
        it.title_similarity, it.whole_similarity, sim - ranking.middle_similarity, best[0] - sim,
        sim - second, sim - best[5], sim - 0.3 if sim > 0.3 else 0.0, sim - 0.45 if sim > 0.45 else 0.0,
        sim - 0.6 if sim > 0.6 else 0.0, cover, it.title_coverage, it.rarest, log(1 + len(it.matched)),
        cover - 0.3 if cover > 0.3 else 0.0, it.word_score / asked.best_words, it.score, log(1 + place),
        0.0 if place else 1.0, *kinds, *[kind * sim for kind in kinds], *[kind * cover for kind in kinds],
        log(1 + age_days) / 7, timed * is_ahead, timed * near, near, is_tool * (usage > 0), is_tool * (usage <= 0),
        max(-4, min(4, usage)) / 4, is_tool, asking * sim, doing * kinds[1], asking * kinds[1], asking * kinds[3],
        asked.fields[3] * sim, asked.unknown * sim, asked.emptiness * sim, asked.emptiness * cover,
        need, need * sim, asked.few, asked.few * sim,
    ]  # fmt: skip


def tool_terms(recent_tools: Sequence[str]) -> frozenset[str]:
    """The words by which a store would name the tools just used; the host's own tools are no subject of memories."""
    named = [tool for tool in recent_tools if tool.lower() not in _WORDS["host-tools"]]
    words = {word for tool in named for word in split_words(tool)}
    return frozenset(stem(word) for word in words - _WORDS["tool-words-of-no-name"] if len(word) > 1)


def names_tool(candidate: Candidate, tools: frozenset[str]) -> bool:
    """Whether the title, description or file name of a candidate names one of the tools."""
    return any((held := candidate.segment.counts(term, candidate.number)) and held[0] for term in tools)


class Calibration:
    """Weights in the order of NAMES, the bars, and what was learned of messages."""

    def __init__(self, fields: dict[str, list[float]], needs: Needs) -> None:
        # The surest candidate below the threshold is not clearly useful, and every further one must be surer by the
        # margin; from the gate's emptiness on, the slope raises the threshold; then the rise in an empty store. The
        # last is how near one of a handful must be that shares no word: of a hundred unrelated ones few are as near.
        self.threshold, self.next_margin, self.gate, self.gate_slope, self.small_rise, self.near = fields["bars"]
        [self.bias], self.weights = fields["bias"], fields["weights"]
        self.reading = fields.get("reading")  # weights of what was known and of what reading says, bias, margin
        self.needs = needs

    def bar(self, emptiness: float, documents: int) -> float:
        """How sure the first memory must be."""
        raised = min(MOST_RAISED, self.gate_slope * max(0.0, emptiness - self.gate))
        return self.threshold + raised + self.small_rise * max(0.0, 1 - documents / SMALL)


def load_calibration(encoder: str) -> Calibration:
    """What was learned with the directions of an encoder, named as it names itself."""
    fields = {}
    for line in shipped_lines(LEARNED_PATH):
        name, field, *numbers = line.split()
        if name == encoder:
            fields[field] = [float(number) for number in numbers]
    return Calibration(fields, Needs())


class Judgement:
    """One candidate judged: whether it is shown, how sure that is, and why."""

    def __init__(self, candidate: Candidate, certainty: float, weighed: list[float]) -> None:
        self.candidate, self.certainty = candidate, certainty
        self.weighed = weighed  # each signal times its weight
        self.relevance: float | None = None  # what reading it together with the message says
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
        if self.relevance is not None:
            out.append(f"read with the message {self.relevance:+.1f}")
        return [*out, self.remark] if self.remark else out


class Decision:
    """All verdicts, surest first, and what was thought of the message."""

    def __init__(self, verdicts: list[Judgement], emptiness: float) -> None:
        self.verdicts, self.emptiness = verdicts, emptiness

    @property
    def chosen(self) -> list[str]:
        """Keys of the memories to show, surest first."""
        return [verdict.candidate.key for verdict in self.verdicts if verdict.is_chosen]


def decide(  # noqa: PLR0913 - what there is to know of a message, one keyword each
    question: Question,
    ranking: Ranking,
    learned: Calibration,
    *,
    today: int,
    recent_tools: Sequence[str] = (),
    surfaced: Collection[str] = (),
    read: Read | None = None,
) -> Decision:
    """Choose at most five. `surfaced` is dropped before choosing, so no place is wasted on it (R1)."""
    ranking.candidates = [candidate for candidate in ranking.candidates if candidate.key not in surfaced]
    asked = Asked(question, ranking, learned.needs)
    tools = tool_terms(recent_tools) if recent_tools else frozenset[str]()
    own, shared = learned.weights[: -len(asked.shared)], learned.weights[-len(asked.shared) :]
    base: float = learned.bias + sum(map(mul, shared, asked.shared))
    verdicts = []
    for place, candidate in enumerate(ranking.candidates):
        weighed = list(map(mul, own, signals(asked, ranking, place, today=today, tools=tools)))
        verdicts.append(Judgement(candidate, base + sum(weighed), weighed))
    verdicts.sort(key=lambda verdict: -verdict.certainty)
    near = learned.near if ranking.documents <= HANDFUL else -1.0
    bar, margin = learned.bar(asked.emptiness, ranking.documents), learned.next_margin
    if read is not None and learned.reading is not None:
        margin = _add_reading(verdicts, bar, learned.reading, read)
        bar = 0.0
    _choose(verdicts, tools, (bar, margin, near, asked.named), is_empty=asked.emptiness > learned.gate)
    return Decision(verdicts, asked.emptiness)


def _add_reading(verdicts: list[Judgement], bar: float, learned: list[float], read: Read) -> float:
    """Read the surest together with the message; how sure each is from then on is told from a bar of nothing.

    Gives back by how much every further one must be surer than the first.
    """
    of_known, of_read, bias, margin = learned
    near = [verdict for verdict in verdicts[:MOST_READ] if verdict.certainty > bar - WORTH_READING]
    for verdict, relevance in zip(near, read([it.candidate.key for it in near]) if near else [], strict=True):
        verdict.relevance = relevance
    for verdict in verdicts:
        said = UNREAD if verdict.relevance is None else verdict.relevance
        verdict.certainty = of_known * (verdict.certainty - bar) + of_read * said + bias
    verdicts.sort(key=lambda verdict: -verdict.certainty)
    return margin


def _choose(
    verdicts: list[Judgement], tools: frozenset[str], bars: tuple[float, float, float, float], *, is_empty: bool
) -> None:
    """The surest ones above the bar, which is higher when the message looks like one that needs no memory."""
    bar, next_margin, near, named = bars
    chosen = 0
    for verdict in verdicts:
        it = verdict.candidate
        is_named = it.title_coverage >= named and len(it.matched) >= NAMED_TERMS
        if it.facts.usage > 0 and names_tool(it, tools):
            verdict.remark = "usage notes of a tool that is in use"
        elif verdict.certainty <= bar + (next_margin if chosen else 0.0) and not is_named:
            verdict.remark = "not enough for such a message" if is_empty else "not clearly useful"
        elif not it.matched and it.similarity < near:
            verdict.remark = "shares no word and is not near"
        elif chosen == MAX_CHOSEN:
            verdict.remark = "five are shown already"
        else:
            verdict.is_chosen = True
            chosen += 1
