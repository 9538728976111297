"""How much each term of a question tells: rare in this store and rare in text at large. Repairs slips of the finger."""

from __future__ import annotations

from math import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.search.question import Question
    from memdir.search.segment import Segment

RARITY_POWER = 1.3  # rare terms count more than their information alone would say
GENERAL_SHARE = 0.4  # of a term's weight: how rare it is in text at large
GENERAL_TEXTS = 250_000  # texts that the word counts of the table come from
MOST_GENERAL = 12.4  # the logarithm of about that count
MIN_REPAIRED = 5  # shorter words have too many neighbours,
MAX_REPAIRED = 12  # longer ones too many to try
MAX_REPAIRS = 2  # unknown words of a message that are tried as typos


def weigh_terms(question: Question, segments: Sequence[Segment], cards: int) -> tuple[dict[str, float], list[str]]:
    """The weight of each term, and the terms that no card holds."""
    held = {term: sum([segment.count(term) for segment in segments]) for term in question.terms}
    unknown = [term for term, count in held.items() if not count]
    for pair in question.pairs:  # long documents hold pairs; where none does, they say nothing
        count = sum([segment.count(pair) for segment in segments])
        if count:
            held[pair] = count
    common = question.terms
    if unknown:
        _repair(held, [term for term in unknown if not common[term]], segments)
    most = log(1 + (cards + 0.5) / 0.5)
    weights = {}
    for term, count in held.items():
        here = log(1 + max(0, cards - count + 0.5) / (count + 0.5)) / most
        general = log(1 + GENERAL_TEXTS / (1 + 2 ** (common.get(term, 0) / 2))) / MOST_GENERAL
        weights[term] = here**RARITY_POWER * (1 - GENERAL_SHARE + GENERAL_SHARE * min(1.0, general))
    return weights, unknown


def _repair(held: dict[str, int], strange: list[str], segments: Sequence[Segment]) -> None:
    """A word that nobody knows is looked up as a slip of a word that the store holds."""
    typos = [term for term in strange if MIN_REPAIRED <= len(term) <= MAX_REPAIRED and term.isalpha()]
    for term in typos[:MAX_REPAIRS]:
        for repaired in _one_edit_away(term):
            if any(segment.holds(repaired) for segment in segments):
                held[repaired] = sum(segment.count(repaired) for segment in segments)
                break


def _one_edit_away(word: str) -> list[str]:
    """Every word one slip away: a letter dropped, swapped with its neighbour, replaced or added."""
    letters = "etaoinsrhldcumfpgwybvkxjqz"
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    dropped = [left + right[1:] for left, right in cuts if right]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1]
    added = [left + letter + right for left, right in cuts for letter in letters]
    replaced = [left + letter + right[1:] for left, right in cuts if right for letter in letters]
    return dropped + swapped + added + replaced
