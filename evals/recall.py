"""The local selector over hand-written memory directories: one line of predictions a labelled message.

    python -m evals.recall --data DIR --predictions OUT [--selector local|model] [--encoder words|minilm]

DIR holds `worlds/<name>/memory/*.md`, `worlds/<name>/mtimes.json` and `queries_<name>.jsonl`. A line of the
predictions is `{world, index, files}`; the same figures as the set's own scorer are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memdir.memdir import open_memory
from memdir.model.choose import choose_model, model_name
from memdir.prompts.compose import load_prompt
from memdir.prompts.listing import manifest
from memdir.recall.decide import decide, load_calibration, reading
from memdir.recall.model_select import select_request, selected
from memdir.search.document import Document, Question, day_of, index_documents
from memdir.search.minilm import PairEncoder, SentenceModel
from memdir.search.ranking import rank
from memdir.search.segment import Segment
from memdir.search.segment_writer import pack
from memdir.search.vectors import WordEncoder
from memdir.store.scan import scan
from memdir.text.embedding import open_table

if TYPE_CHECKING:
    from memdir.search.vectors import Encoder


@dataclass(frozen=True)
class Figures:
    """One message's counts."""

    relevant: int
    right: int
    wrong: int
    has_suppressed: bool
    broke: bool


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.recall", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--predictions", required=True, type=Path)
    parser.add_argument("--selector", choices=("local", "model"), default="local")
    parser.add_argument("--encoder", choices=("words", "minilm"), default="words", help="of the local selector")
    options = parser.parse_args()
    run(options.data, options.predictions, _by_model if options.selector == "model" else _local(options.encoder))
    return 0


Answers = Callable[[Path, list[dict[str, Any]]], Iterable[list[str]]]


def run(data: Path, predictions: Path, answers: Answers, *, name: str = "recall") -> dict[str, float]:
    """Predict every message of every world, write and print."""
    lines, rows = [], []
    for world in sorted(path.name for path in (data / "worlds").iterdir() if path.is_dir()):
        queries = [
            json.loads(line)
            for line in (data / f"queries_{world}.jsonl").read_text("utf-8").splitlines()
            if line.strip()
        ]
        for index, (query, files) in enumerate(zip(queries, answers(data / "worlds" / world, queries), strict=True)):
            lines.append(json.dumps({"world": world, "index": index, "files": files}, ensure_ascii=False) + "\n")
            rows.append(count_answer(query, files))
    predictions.write_text("".join(lines), encoding="utf-8")
    figures = figures_of(rows)
    print(f"{name}: " + "  ".join(f"{figure} {value:.3f}" for figure, value in figures.items()))
    return figures


def _local(kind: str) -> Answers:
    table = open_table()
    if kind == "words":
        return local_answers(WordEncoder(table))
    return local_answers(PairEncoder(table, SentenceModel()))


def local_answers(encoder: Encoder) -> Answers:
    """The local selector with an encoder."""
    return lambda world, queries: _answers(world, queries, encoder)


def _answers(world: Path, queries: list[dict[str, Any]], encoder: Encoder) -> Iterator[list[str]]:
    times = json.loads((world / "mtimes.json").read_text(encoding="utf-8"))
    documents = [
        read_document(path, times["mtimes"])
        for path in sorted((world / "memory").glob("*.md"))
        if path.name != "MEMORY.md"
    ]
    by_key = {document.key: document for document in documents}
    segment = Segment(pack(index_documents(documents, encoder), encoder.identity, encoder.dimensions))
    learned, today = load_calibration(encoder.name), day_of(seconds(times["now"]))
    for query in queries:
        question = Question(query["query"], encoder, today=today)
        ranking = rank(question, [segment])
        read = reading(encoder.reader, query["query"], by_key.get) if encoder.reader is not None else None
        yield decide(question, ranking, learned, today=today, recent_tools=query["recent_tools"], read=read).chosen


def _by_model(world: Path, queries: list[dict[str, Any]]) -> list[list[str]]:
    """The model selector (R2) with the model that settings and environment name."""
    return asyncio.run(_ask_model(world, queries))


async def _ask_model(world: Path, queries: list[dict[str, Any]]) -> list[list[str]]:
    memory = open_memory(".")
    model = choose_model(memory.settings, memory.places.environment)
    name = model_name(memory.settings)
    headers = scan(str(world / "memory"), limit=None).headers
    prompt = load_prompt("recall/select.md")
    try:
        asked = [
            select_request(query["query"], manifest(headers), prompt, name=name, recent_tools=query["recent_tools"])
            for query in queries
        ]
        return [selected(await model.complete(request), headers) for request in asked]
    finally:
        await model.close()


def read_document(path: Path, mtimes: dict[str, str]) -> Document:
    """A memory file as a document; the frontmatter is the flat kind these sets use."""
    text = path.read_text(encoding="utf-8")
    head, _, body = text.removeprefix("---\n").partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    fields = {key.strip(): _plain(value) for key, _, value in (line.partition(":") for line in head.splitlines())}
    return Document(
        path.name,
        title=fields.get("name", ""),
        description=fields.get("description", ""),
        kind=fields.get("type", ""),
        body=body.strip(),
        mtime_ns=int(seconds(mtimes[path.name]) * 10**9) if path.name in mtimes else 0,
        size=len(text.encode()),
    )


def _plain(value: str) -> str:
    value = value.strip()
    if value[:1] == '"' == value[-1:]:
        return str(json.loads(value))
    return value[1:-1].replace("''", "'") if value[:1] == "'" == value[-1:] else value


def seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def count_answer(query: dict[str, Any], files: list[str]) -> Figures:
    relevant, neutral, suppressed = (
        frozenset(query.get(name, [])) for name in ("relevant", "acceptable", "suppressed")
    )
    wrong = sum(name not in relevant and name not in neutral for name in files)
    right = len(relevant.intersection(files))
    return Figures(len(relevant), right, wrong, bool(suppressed), bool(suppressed.intersection(files)))


def figures_of(rows: list[Figures]) -> dict[str, float]:
    answerable, empty = [row for row in rows if row.relevant], [row for row in rows if not row.relevant]
    recall = _share([row.right / row.relevant for row in answerable])
    right, wrong = sum(row.right for row in rows), sum(row.wrong for row in rows)
    precision = right / max(1, right + wrong)
    return {
        "F1": 2 * recall * precision / ((recall + precision) or 1.0),
        "recall@5": recall,
        "precision": precision,
        "empty answered": _share([float(row.wrong > 0) for row in empty]),
        "suppression broken": _share([float(row.broke) for row in rows if row.has_suppressed]),
    }


def _share(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


if __name__ == "__main__":
    sys.exit(main())
