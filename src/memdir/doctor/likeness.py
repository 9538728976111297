"""Checks across texts: memories that say the same, and memories that repeat the project's instruction files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from memdir.doctor.finding import Finding
from memdir.store.store import Memory

SHINGLE = 3  # three words in a row are rarely shared by chance
SAME = 0.6  # the share of the shorter text's shingles that makes two memories twins
ECHO = 0.6
MIN_SHINGLES = 4  # shorter texts agree too easily
MAX_SHARED_BY = 25  # a phrase in more memories than this is a phrase of the house, not a copy


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """All runs of three words."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))


def check_twins(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Pairs of memories that share most of their words."""
    memories = sorted(memories, key=lambda memory: memory.key)
    texts = [shingles(f"{memory.topic.description}\n{memory.topic.body}") for memory in memories]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for shingle in text:
            holders[shingle].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        if len(numbers) <= MAX_SHARED_BY:
            shared.update((a, b) for at, a in enumerate(numbers) for b in numbers[at + 1 :])
    for (a, b), count in sorted(shared.items()):
        smaller = min(len(texts[a]), len(texts[b]))
        if smaller >= MIN_SHINGLES and count >= SAME * smaller:
            message = f"it says nearly the same as {memories[b].key}"
            yield Finding("duplicate", "warning", message, memories[a].key, "Merge them, or let the dream do it")


def check_echoes(memories: Sequence[Memory], instructions: dict[str, str]) -> Iterator[Finding]:
    """Memories that say what an instruction file already says (T5)."""
    known = {path: shingles(text) for path, text in instructions.items()}
    for memory in memories:
        text = shingles(memory.topic.body)
        for path, said in known.items():
            if len(text) >= MIN_SHINGLES and len(text & said) >= ECHO * len(text):
                yield Finding("echo", "warning", f"it repeats what {path} says", memory.key, "Delete one of the two")
