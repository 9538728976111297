"""Recall beside its floors in one run: warm, cold from the hook, building the index, and how soon a new file is found.

    python -m benchmarks.recall [--sizes 200 2000 20000 200000]

Floors: SQLite FTS5 asked for four words plus a bare matrix-vector product by numpy (none where that is not
installed: the limit is then stricter); for the cold start `python -I -c pass`.
"""

from __future__ import annotations

import argparse
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.measure import Row, best_cpu_seconds, best_process_seconds, clean_environment, report
from memdir.recall.decide import decide, load_calibration
from memdir.recall.selection import LocalSelector
from memdir.search.document import Document, Question
from memdir.search.index_store import IndexStore
from memdir.search.ranking import rank
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import DIMENSIONS, open_table

SIZES = (200, 2_000, 20_000, 200_000)
ROUNDS = 15  # the least of so many counts
QUESTIONS = 8  # asked by each in a round
COLD_MEMORIES = 2_000
UPDATE_MEMORIES = 20_000
UPDATE_LIMIT_SECONDS = 0.005
MEMORY_LIMIT_BYTES = 150 * 1024 * 1024
INDEX_LIMIT_SECONDS = 0.001
INDEX_LIMIT = 20.0  # FTS5 counts words in C; we embed each part as well
WARM_LIMIT = 4.0
COLD_LIMIT = 4.0
TODAY = 739_900
MEMORY = """
import sys
from memdir.text.embedding import open_table
from memdir.search.index_store import IndexStore
from memdir.search.document import Question
from memdir.search.ranking import rank
from memdir.search.vectors import WordEncoder
encoder = WordEncoder(open_table())
derived = IndexStore(sys.argv[1], encoder)
for text in ("who signs off a release on friday?", "the difference between a list and a tuple in the manual"):
    rank(Question(text, encoder), derived.segments, gone=derived.gone)
from benchmarks.recall import peak
print(peak())
"""
INDEX = """
import sys, tempfile, time
from benchmarks.recall import fts_table, notes, peak
from memdir.search.vectors import WordEncoder
from memdir.search.index_store import IndexStore
from memdir.text.embedding import open_table
count = int(sys.argv[1])
with tempfile.TemporaryDirectory() as place:
    coming, start = notes(count), time.process_time()
    index = IndexStore(place, WordEncoder(open_table()))
    index.update({f"m{n:06}.md": (n + 1, 1000) for n in range(count)}, lambda _: next(coming))
    ours, most = time.process_time() - start, peak()
    start = time.process_time()
    fts_table(place + "/floor", notes(count))
    floor, start = time.process_time() - start, time.process_time()
    sum(1 for _ in notes(count))  # making the texts up is no work of either
    made_up = time.process_time() - start
print(ours - made_up, floor - made_up, most)
"""
COLD = """
import sys, time
from memdir.recall.selection import LocalSelector
selector = LocalSelector(sys.argv[1], sys.argv[2])
selector.refresh()
print(selector.recall("which branch do we deploy from on a friday, and who signs it off?", now=time.time()).keys)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recall", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    encoder = WordEncoder(open_table())
    rows = [_cold(encoder), *_index()]
    for size in options.sizes:
        rows += _warm(size, encoder)
    return report("recall: CPU time beside the floors", rows)


def texts(count: int) -> tuple[list[Document], list[str]]:
    """Documents and questions cut from Python's own manual: words as frequent as they are in real text."""
    words, chance = _manual(), random.Random(count)

    def cut(length: int) -> str:
        start = chance.randrange(len(words) - length)
        return " ".join(words[start : start + length])

    documents = [
        Document(f"m{n:06}.md", title=cut(3), description=cut(14), body=cut(40), kind="project", mtime_ns=n, size=n)
        for n in range(count)
    ]
    return documents, [cut(12) for _ in range(QUESTIONS)]


def _manual() -> list[str]:
    from pydoc_data.topics import topics

    words = [word.strip(".,:;()`'\"*") for text in topics.values() for word in text.split()]
    return [word for word in words if word.isalpha()]


def notes(count: int) -> Iterator[Document]:
    """Notes of 120 words in three paragraphs, made up one by one."""
    words, chance = _manual(), random.Random(count)
    for n in range(count):
        cuts = [words[at : at + 40] for at in (chance.randrange(len(words) - 40) for _ in range(4))]
        title, *body = [" ".join(cut) for cut in cuts]
        yield Document(
            f"m{n:06}.md", title=title[:20], description=title[:80], body="\n\n".join(body), mtime_ns=n + 1, size=1000
        )


def peak() -> int:
    """The most memory that this process ever held, in KB."""
    try:  # the usage of a child may show its parent's peak; the kernel's own high-water mark does not
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _index() -> list[Row]:
    """The index of many notes built in a process of its own, beside that of SQLite's full-text search."""
    command = [sys.executable, "-c", INDEX, str(UPDATE_MEMORIES)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    ours, floor, most = (min(float(run[at]) for run in runs) for at in range(3))
    each = ours / UPDATE_MEMORIES
    size = f"{UPDATE_MEMORIES:,}"
    return [
        Row(f"index a note, {size}", each, "FTS5 on disk", floor / UPDATE_MEMORIES, INDEX_LIMIT),
        Row(f"index a note, {size}", each, "1 ms", INDEX_LIMIT_SECONDS, 1.0),
        _bytes_row(f"memory of indexing, {size} (GB as s)", most),
    ]


def _bytes_row(name: str, kilobytes: float) -> Row:
    return Row(name, kilobytes * 1024 / 1e9, "150 MB", MEMORY_LIMIT_BYTES / 1e9, 1.0)


def _warm(size: int, encoder: WordEncoder) -> list[Row]:
    documents, questions = texts(size)
    with tempfile.TemporaryDirectory() as place:
        derived = IndexStore(place, encoder)
        derived.add(documents)

        learned = load_calibration(encoder.name)

        def ours() -> object:
            asked = [Question(text, encoder) for text in questions]
            return [decide(one, rank(one, derived.segments, gone=derived.gone), learned, today=TODAY) for one in asked]

        floors = [_fts(documents, questions), _product(size)]
        seconds = best_cpu_seconds([ours, *floors], rounds=ROUNDS)
        each = [spent / QUESTIONS for spent in seconds]
        rows = [Row(f"warm recall, {size:,}", each[0], "FTS5 + product", sum(each[1:]), WARM_LIMIT)]
        if size == UPDATE_MEMORIES:
            rows += [_update(derived, documents[0]), _memory(place)]
    return rows


def _update(derived: IndexStore, old: Document) -> Row:
    spent = []
    for number in range(9):
        document = Document(f"new{number}.md", title=old.title, description=old.description, body=old.body, mtime_ns=1)
        start = time.process_time()
        derived.add([document])
        spent.append(time.process_time() - start)
    return Row(f"new file searchable, {UPDATE_MEMORIES:,}", sorted(spent)[4], "5 ms", UPDATE_LIMIT_SECONDS, 1.0)


def _memory(place: str) -> Row:
    """What a process that recalls from this index takes; the figures are bytes, not seconds."""
    done = subprocess.run([sys.executable, "-c", MEMORY, place], capture_output=True, text=True, check=True)
    return _bytes_row(f"memory, {UPDATE_MEMORIES:,} (GB as s)", float(done.stdout))


def _fts(documents: list[Document], questions: list[str]) -> Callable[[], object]:
    connection = fts_table(":memory:", documents)
    matches = [" OR ".join(f'"{word}"' for word in text.split()[:4]) for text in questions]
    query = "SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT 5"

    def ask() -> object:
        return [connection.execute(query, (match,)).fetchall() for match in matches]

    return ask


def fts_table(path: str, documents: Iterable[Document]) -> sqlite3.Connection:
    """The documents in SQLite's full-text index."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5(key UNINDEXED, text, tokenize = 'porter unicode61')")
    rows = ((one.key, f"{one.title} {one.description} {one.body}") for one in documents)
    with connection:
        connection.executemany("INSERT INTO notes VALUES (?, ?)", rows)
    return connection


def _product(size: int) -> Callable[[], object]:
    try:
        import numpy as np
    except ImportError:
        return lambda: None
    matrix = np.random.default_rng(0).standard_normal((size, DIMENSIONS), dtype=np.float32)
    vector = matrix[0].copy()
    return lambda: [matrix @ vector for _ in range(QUESTIONS)]


def _cold(encoder: WordEncoder) -> Row:
    documents, _ = texts(COLD_MEMORIES)
    with tempfile.TemporaryDirectory() as place:
        root, index = Path(place, "memory"), Path(place, "index")
        root.mkdir()
        for one in documents:
            head = f"---\nname: {one.title}\ndescription: {one.description}\ntype: {one.kind}\n---\n\n"
            (root / one.key).write_text(head + one.body, encoding="utf-8")
        LocalSelector(str(root), str(index), encoder=encoder).refresh()
        environment = clean_environment()
        commands = [[sys.executable, "-c", COLD, str(root), str(index)], [sys.executable, "-I", "-c", "pass"]]
        best_process_seconds(commands, rounds=2, environment=environment)  # byte code and page cache
        ours, floor = best_process_seconds(commands, rounds=ROUNDS, environment=environment)
    return Row(f"one-shot from a cold process, {COLD_MEMORIES:,}", ours, "python -I -c pass", floor, COLD_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
