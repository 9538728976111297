"""Checks of the memories: what each holds that no memory should, which say the same, which repeat the instructions;
and of the index against the files (S7, S8)."""

from __future__ import annotations

import os
import re
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations, pairwise

from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_key
from memdir.doctor import Finding
from memdir.errors import MemdirError
from memdir.recall.verify import Verifier
from memdir.remember.lineage import is_personal
from memdir.store.guard import GUARD_FIELD, NOT_SET, guard_of, proposals, set_by_person, what_sets, why_not
from memdir.store.index import MAX_ENTRY_CHARACTERS, Index, entry_for, load_index
from memdir.store.memory_file import Memory
from memdir.store.scan import MAX_MEMORY_BYTES, Header
from memdir.store.secrets.refuse import secrets_in
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType
from memdir.store.trust import marked_trust
from memdir.text.dates import read_relative
from memdir.text.deadlines import told_past
from memdir.text.words import counted, runs_of

SHINGLE = 3  # three words in a row are rarely shared by chance
SAME = 0.6  # the share of the shorter text's shingles that makes two memories duplicates
OWN_WORDS = 0.1  # of a text's words that the other may lack, on both sides, and still be the same in other words
ECHO = 0.6
MIN_SHINGLES = 4  # shorter texts agree too easily
MAX_SHARED_BY = 25  # memories with a phrase that are all compared; of more each with the next, as of one copied often
MAX_DATED = 1 << 16  # characters that are looked through for dates: a second, whatever stands in them
_SHOWN = 5  # names in one finding
CLAIM_SECONDS = 30.0  # for all memories together: a giant history ends the search, a busy machine does not

_ANY_DAY = date(2026, 1, 1)  # the words are asked for, not the day
_TARGET = re.compile(r"(?<=\]\()[^()\n]*")  # of a link


def remedy_for(store: MemoryStore, key: str) -> str:
    """What a person can do about a file that a scan could not read, by what stands there."""
    path = os.path.join(store.root, key)
    try:
        status = os.lstat(path)
    except OSError:
        return "Look whether it is still there, and whose it is"
    if stat.S_ISLNK(status.st_mode):
        return "Put a copy of what it leads to in its place, or delete the link"
    if not stat.S_ISREG(status.st_mode):
        return "Delete it, or move it out of the memory directory"
    if status.st_size > MAX_MEMORY_BYTES:
        return "Split it into several memories, or move it out of the memory directory"
    if not os.access(path, os.R_OK):
        return "Give yourself the right to read it: chmod u+rw"
    return "Save it as UTF-8 text, or move it out of the memory directory"


def check_memory(memory: Memory, now: float) -> Iterator[Finding]:
    """Everything that one file alone can tell."""
    for problem in memory.topic.problems():
        yield Finding("form", "warning", problem, memory.key, "`memdir edit` opens it")
    if memory.topic.has_frontmatter and not memory.topic.fields.get("type"):
        yield Finding("type", "note", "it has no type", memory.key, "Add `type:` user, feedback, project or reference")
    text = f"{memory.topic.description}\n{memory.topic.body}"
    yield from _relative_dates(memory, text)
    if ended := told_past(text, written=memory.mtime, now=now):
        remedy = "Write down what came of it with `memdir edit`, or `memdir forget` it"
        yield Finding("ended", "note", f"it {ended}", memory.key, remedy)
    if told := secrets_in(memory.key, memory.topic.data)[1]:
        remedy = "Take it out with `memdir edit`, and revoke it: it is in the history too"
        yield Finding("secret", "error", f"it seems to hold a secret: {told}", memory.key, remedy)


def check_guards(store: MemoryStore, memories: Sequence[Memory], *, is_own: bool) -> Iterator[Finding]:
    """Guards that do not hold, and rules that were said again and could have one (Q1)."""
    carrying = {memory.key: memory.topic for memory in memories if GUARD_FIELD in memory.topic.fields}
    guards = {key: guard_of(topic, key=key, scope=store.scope) for key, topic in carrying.items()}
    known = set_by_person(store, {key: guard for key, guard in guards.items() if guard is not None})
    for key, topic in carrying.items():
        reason = why_not(topic, key=key, scope=store.scope) or ("" if key in known else NOT_SET)
        reason = reason if is_own else "its directory lies in the project, where others may put memories"
        if reason:
            remedy = "`memdir guard list` tells what sets it, if you want it; else take the line out"
            yield Finding("guard", "warning", f"its guard does not hold: {reason}", key, remedy)
    for key, guard, times in proposals(store) if is_own and store.scope in ("project", "user") else ():
        message = f"you said it {times} times: a guard would have it checked before a tool runs"
        remedy = f"`{what_sets(key, str(guard), store.scope)}`, if you want that"
        yield Finding("guard", "note", message, key, remedy)


def check_claims(memory: Memory, verifier: Verifier, until: float) -> Iterator[Finding]:
    """What a memory names and the project does not have any more, as far as git can tell until then."""
    text = f"{memory.topic.description}\n{memory.topic.body}"
    for missing in verifier.missing(text, max_seconds=until - time.monotonic()):
        message = f"it names {missing.words}, which is not in the project any more"
        yield Finding("reference", "note", message, memory.key, "Check the claim, then correct or delete the memory")


def _relative_dates(memory: Memory, text: str) -> Iterator[Finding]:
    text = text[:MAX_DATED]
    words = sorted(
        {text[one.start : one.end].lower() for one in read_relative(text, _ANY_DAY, text) if one.is_relative}
    )
    if words:
        message = f"it says {', '.join(words[:3])}, which means another day later"
        yield Finding("date", "note", message, memory.key, "Write the date")


def _say_different(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    """Whether each of two texts has words of its own: "the limit of the freezer", "the limit of the rack"."""
    words, others = ({word for shingle in text for word in shingle} for text in (one, other))
    return min(len(words - others), len(others - words)) > OWN_WORDS * min(len(words), len(others))


def check_duplicates(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Memories that share most of their words, each group as one finding."""
    memories = sorted(memories, key=lambda memory: memory.key)
    texts = [runs_of(f"{memory.topic.description}\n{memory.topic.body}", SHINGLE) for memory in memories]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for shingle in text:
            holders[shingle].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        shared.update(combinations(numbers, 2) if len(numbers) <= MAX_SHARED_BY else pairwise(numbers))
    group = list(range(len(memories)))  # each memory's group, known by the first memory in it
    for (a, b), count in sorted(shared.items()):
        smaller = min(len(texts[a]), len(texts[b]))
        if smaller < MIN_SHINGLES or count < SAME * smaller or _say_different(texts[a], texts[b]):
            continue
        if group[a] != group[b]:
            first, other = sorted((group[a], group[b]))
            group = [first if number == other else number for number in group]
    for first in sorted(number for number, size in Counter(group).items() if size > 1):
        others = [memories[at].key for at, number in enumerate(group) if number == first and at != first]
        shown = ", ".join(others[:_SHOWN]) + (f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else "")
        remedy = "`memdir show` each; `memdir forget` those that say no more"
        yield Finding("duplicate", "warning", f"it says nearly the same as {shown}", memories[first].key, remedy)


def check_scopes(
    memories: Sequence[Memory], others: Sequence[Memory], *, scope: str, suggests: bool
) -> Iterator[Finding]:
    """Memories that lie among the project's and among the person's own, and those that belong to the other (T1)."""
    told = {_without_targets(memory) for memory in others}
    other, whose = ("user", "yours for all projects") if scope == "project" else ("project", "this project's")
    for memory in memories:
        kind = memory.topic.kind
        is_own = kind is MemoryType.USER or (kind is MemoryType.FEEDBACK and is_personal([memory.topic.body]))
        if _without_targets(memory) in told:
            remedy = f"`memdir move {memory.key} --scope {other}` leaves one of them"
            yield Finding("twice", "warning", f"it is among {whose} as well, word for word", memory.key, remedy)
        elif suggests and is_own and not marked_trust(memory.topic).is_low:
            message = "it is about you, and only this project knows it"
            yield Finding("scope", "note", message, memory.key, f"`memdir move {memory.key} --scope user` tells all")


def _without_targets(memory: Memory) -> tuple[str, str]:
    """What a memory says, wherever its links lead from there."""
    return memory.topic.name, _TARGET.sub("", memory.topic.body)


def check_repeats(memories: Sequence[Memory], instructions: dict[str, str]) -> Iterator[Finding]:
    """Memories that say what an instruction file already says (T5)."""
    known = {path: runs_of(text, SHINGLE) for path, text in instructions.items()}
    for memory in memories:
        text = runs_of(memory.topic.body, SHINGLE)
        for path, said in known.items():
            if len(text) >= MIN_SHINGLES and len(text & said) >= ECHO * len(text):
                yield Finding("echo", "warning", f"it repeats what {path} says", memory.key, "Delete one of the two")


def own_headers(store: MemoryStore) -> list[Header]:
    """The memories that this store's own index lists: the team's are in the team's, refused names in none."""
    headers = store.scan(limit=None).headers
    return [header for header in headers if not header.key.startswith(TEAM_PREFIX) and is_key(header.key)]


def check_index(store: MemoryStore) -> Iterator[Finding]:
    """Files without a line, lines without a file, lines twice, lines too long, an index too long."""
    try:
        data = store.read_bytes(INDEX_NAME) or b""
    except MemdirError as error:
        yield Finding("index", "error", error.message, INDEX_NAME, error.remedy)
        return
    index = Index(data)
    present = {header.key for header in own_headers(store)}
    listed = Counter(entry.key for entry in index.entries())
    holds_unread = store.scan(limit=None).holds_unread
    dead = (key for key in listed.keys() - present if store_lacks(store, key) and not holds_unread(key))
    for what, keys in (
        ("memories without a line", present - listed.keys()),
        ("lines that name no file", dead),
        ("memories with two lines", (key for key, count in listed.items() if count > 1)),
        ("lines that tell what nobody vouched for", _told_unverified(store, index)),
    ):
        if some := sorted(keys):
            shown = ", ".join(some[:_SHOWN]) + (" …" if len(some) > _SHOWN else "")
            yield Finding("index", "warning", f"{what} ({len(some)}): {shown}", INDEX_NAME, fixable=True)
    yield from _check_size(data)


def _told_unverified(store: MemoryStore, index: Index) -> set[str]:
    """Memories of low trust whose line says more than their title and where they are from (L3)."""
    notes = {entry.key: entry for header in own_headers(store) if (entry := entry_for(header.key, header)).is_note}
    return {line.key for line in index.entries() if line.key in notes and line.hook != notes[line.key].hook}


def store_lacks(store: MemoryStore, key: str) -> bool:
    """Whether a line's target is neither a memory nor any other file below the directory."""
    try:
        return store.read_bytes(key) is None
    except MemdirError:
        return True  # a key that may not even be looked at names no memory of ours


def _check_size(data: bytes) -> Iterator[Finding]:
    loaded = load_index(data)
    if loaded.lines_cut or loaded.bytes_cut:
        message = f"it has {loaded.line_count} lines and {loaded.size_bytes:,} bytes: its end is not loaded"
        yield Finding("index", "warning", message, INDEX_NAME, "Merge or delete memories, or run a dream")
    long = [line for line in data.decode("utf-8", "replace").splitlines() if len(line) > MAX_ENTRY_CHARACTERS + 50]
    if long:
        message = f"longer than {MAX_ENTRY_CHARACTERS} characters: {counted(len(long), 'line')}"
        yield Finding("index", "note", message, INDEX_NAME, "Move detail into the topic files")
