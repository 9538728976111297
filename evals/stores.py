"""Small memory stores as people have them: which memories come for a message, read stores beside unread ones.

    python -m evals.stores [--data FOLDER] [--encoder words|minilm|both]

Each fold is what one author wrote without knowing the rules (`evals/data/stores`): a store of 1 to 60 memories, some of
them the person's own for all projects, and labelled messages. As in the program, project and user memories lie in two
indexes and share five places. Of the unread folds nobody looks at more than this table.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.recall import count_answer, figures_of, seconds
from evals.sentences import encoders
from memdir.recall.decide import MAX_CHOSEN, decide, load_calibration, reading
from memdir.search.document import Document, Question, day_of, index_documents
from memdir.search.ranking import rank
from memdir.search.segment import Segment
from memdir.search.segment_writer import pack

if TYPE_CHECKING:
    from memdir.recall.decide import Calibration, Read
    from memdir.search.vectors import Encoder

FOLDER = Path(__file__).parent / "data" / "stores"
UNREAD = "unread*"
READ = "dev*"
SUFFIX = ".jsonl.xz"
SCOPES = ("project", "user")
SMALL = 5  # memories
FIGURES = ("F1", "precision", "recall@5", "empty answered")

Store = dict[str, Any]
Query = dict[str, Any]
Answer = tuple[Store, Query, list[str]]
PARTS = ("all", "stores of 1-5", "pastes", "other language", "ja and zh")
Row = tuple[str, str, str, int, dict[str, float]]  # fold, encoder, part, messages, figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.stores", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--encoder", choices=("words", "minilm", "both"), default="both")
    options = parser.parse_args()
    print(f"{'fold':8}{'encoder':9}{'part':16}{'messages':>9}" + "".join(f"{name:>16}" for name in FIGURES))
    for fold, encoder, part, messages, figures in rows(options.data, which=options.encoder):
        numbers = "".join(f"{figures[name]:16.3f}" for name in FIGURES)
        print(f"{fold:8}{encoder:9}{part:16}{messages:9}{numbers}", flush=True)
    return 0


def rows(data: Path = FOLDER, *, which: str = "both") -> Iterator[Row]:
    """One row a fold, encoder and part of the messages; the sentence model's where the extra is installed."""
    known = encoders()
    named = {"words": known.words, "minilm": known.pair}
    for fold in [*authors(data), *authors(data, UNREAD)]:
        stores = read_stores(data, fold)
        for name, encoder in named.items():
            if encoder is None or which not in (name, "both"):
                continue
            answers = [answer for store in stores for answer in answers_in(store, encoder)]
            for part in PARTS:
                counted = [count_answer(query, files) for store, query, files in answers if part in parts(store, query)]
                if counted:
                    yield fold, name, part, len(counted), figures_of(counted)
    if known.sentences is not None:
        known.sentences.save()


def authors(data: Path = FOLDER, names: str = READ) -> list[str]:
    """The folds that may be read and learned from, one author each; or those that nobody reads."""
    return sorted(path.name.removesuffix(SUFFIX) for path in data.glob(f"{names}{SUFFIX}"))


def read_stores(data: Path, fold: str) -> list[Store]:
    """The stores of one author."""
    return [json.loads(line) for line in lzma.open(data / f"{fold}{SUFFIX}", "rt", encoding="utf-8")]


def answers_in(
    store: Store, encoder: Encoder, learned: Calibration | None = None, reads: list[Read] | None = None
) -> Iterator[Answer]:
    """What the local selector chooses for each message of a store, by what ships or by what was learned elsewhere."""
    learned, today = learned or load_calibration(encoder.name), day_of(seconds(store["now"]))
    segments = [segment for scope in SCOPES if (segment := segment_of(store, scope, encoder)) is not None]
    documents = {memory["file"]: document_of(memory) for memory in store["memories"]}
    for at, query in enumerate(store["queries"]):
        files: list[str] = []
        read = reading(encoder.reader, query["query"], documents.get) if encoder.reader is not None else None
        read = reads[at] if reads else read
        for segment in segments:
            question = Question(query["query"], encoder, today=today)
            ranking = rank(question, [segment])
            tools = query["recent_tools"]
            files += decide(question, ranking, learned, today=today, recent_tools=tools, read=read).chosen
        yield store, query, files[:MAX_CHOSEN]


def segment_of(store: Store, scope: str, encoder: Encoder) -> Segment | None:
    """The memories of one scope, packed; None when there are none."""
    memories = [memory for memory in store["memories"] if memory.get("scope", "project") == scope]
    if not memories:
        return None
    documents = index_documents([document_of(memory) for memory in memories], encoder)
    return Segment(pack(documents, encoder.identity, encoder.dimensions))


def document_of(memory: dict[str, str]) -> Document:
    """A memory of a store as a document."""
    return Document(
        memory["file"],
        title=memory["name"],
        description=memory["description"],
        kind=memory["type"],
        body=memory["body"],
        mtime_ns=int(seconds(memory["mtime"]) * 10**9),
    )


def parts(store: Store, query: Query) -> Iterator[str]:
    """The parts of the table that a message counts in."""
    yield "all"
    if len(store["memories"]) <= SMALL:
        yield "stores of 1-5"
    if "paste" in query["tags"]:
        yield "pastes"
    if language := next((tag for tag in query["tags"] if tag.startswith("lang:")), ""):
        yield "ja and zh" if language in ("lang:ja", "lang:zh") else "other language"


if __name__ == "__main__":
    sys.exit(main())
