"""Retrieval measured by evidence labels, all rankings on the same questions in one run.

Every rival's figure has its distance to ours with a 95 % interval from paired resampling. The sets' own modules only
read their files.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.rankings import OURS, OURS_WITH_EXTRA, Encoders, Prepared, rankings, rivals
from evals.sentences import encoders
from memdir.search.document import Document

DEPTH = 10  # ranks written to the predictions
RESAMPLES = 1000
PROGRESS = 200  # documents and questions between two lines of progress
METRICS = ("any@1", "any@5", "all@5", "n@5")
Figures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One question with the keys of the documents that answer it."""

    id: str
    question: str
    gold: frozenset[str]
    kind: str


@dataclass(frozen=True)
class Pool:
    """Documents and the questions asked of them."""

    documents: Sequence[Document]
    cases: Sequence[Case]
    today: int | None = None  # the day of asking, where the set says it


@dataclass
class Report:
    """What every ranking scored on one set."""

    title: str
    results: dict[str, list[Figures]] = field(default_factory=lambda: defaultdict(list))
    kinds: list[str] = field(default_factory=list)

    def means(self, name: str) -> Figures:
        return _means(self.results[name])

    def lines(self) -> list[str]:
        """The set's part of the table."""
        compared = dict(rivals())
        out = [f"{self.title}: {len(self.kinds)} questions"]
        for name, rows in self.results.items():
            means = _means(rows)
            line = f"  {name:26}{'':21}" + "".join(f"{means[metric]:8.3f}" for metric in METRICS)
            if name in compared:
                gaps = [a["n@5"] - b["n@5"] for a, b in zip(self.results[compared[name]], rows, strict=True)]
                low, high = interval(gaps)
                line += f"   {sum(gaps) / len(gaps):+.3f} [{low:+.3f}, {high:+.3f}]"
            out.append(line)
        for name in (OURS, OURS_WITH_EXTRA):
            out += self._by_kind(name) if name in self.results else []
        return out

    def _by_kind(self, name: str) -> list[str]:
        grouped: dict[str, list[Figures]] = defaultdict(list)
        for kind, row in zip(self.kinds, self.results[name], strict=True):
            grouped[kind].append(row)
        out = []
        for kind, rows in sorted(grouped.items()):
            means = _means(rows)
            label = f"{name} {kind}"
            out.append(f"    {label:40} {len(rows):4}" + "".join(f"{means[metric]:8.3f}" for metric in METRICS))
        return out


def report_set(
    name: str, about: str | None, run: Callable[..., Iterable[Report]], *, inputs: Sequence[str] = ("data",)
) -> int:
    """The command line of a set: `run` takes its inputs, the file for predictions and whose they are."""
    parser = argparse.ArgumentParser(prog=f"python -m evals.{name}", description=(about or "").split("\n\n", 1)[0])
    for each in inputs:
        parser.add_argument(f"--{each}", required=True, type=Path)
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--ranking", default=OURS, help=f"whose predictions are written (default: {OURS})")
    options = parser.parse_args()
    show(run(*(getattr(options, each) for each in inputs), options.predictions, ours=options.ranking))
    return 0


def evaluate(title: str, pools: Iterable[Pool], predictions: Path | None, *, ours: str = OURS) -> Report:
    """Rank every question with every ranking and write the predictions of ours."""
    known, report, lines = encoders(), Report(title), []
    for pool in pools:
        for case, ranked in _ranked(pool, known, report):
            lines.append(json.dumps({"id": case.id, "ranked": ranked[ours]}, ensure_ascii=False) + "\n")
            if len(lines) % PROGRESS == 0:
                print(f"  {title}: {len(lines)} questions done", file=sys.stderr, flush=True)
    if known.sentences is not None:
        known.sentences.save()
    if predictions is not None:
        predictions.parent.mkdir(parents=True, exist_ok=True)
        predictions.write_text("".join(lines), encoding="utf-8")
    return report


def _ranked(pool: Pool, known: Encoders, report: Report) -> Iterable[tuple[Case, dict[str, list[str]]]]:
    prepared = Prepared(pool.documents, known, pool.today)
    for case in pool.cases:
        report.kinds.append(case.kind)
        found = {}
        for name, ranking in rankings(known).items():
            scores = ranking(prepared, case.question)
            found[name] = sorted(scores, key=lambda key: (-scores[key], key))[:DEPTH]
            report.results[name].append(measure(found[name], case.gold))
        yield case, found
    prepared.fts.close()


def show(reports: Iterable[Report]) -> None:
    """One table for any number of sets."""
    print(f"{'':49}" + "".join(f"{metric:>8}" for metric in METRICS) + "   n@5 of ours minus this, 95 %")
    for report in reports:
        print("\n".join(report.lines()), flush=True)


def measure(ranked: Sequence[str], gold: frozenset[str]) -> Figures:
    """The four figures of one question."""
    hits = [key in gold for key in ranked[:5]]
    gain = sum(1 / math.log2(at + 2) for at, hit in enumerate(hits) if hit)
    ideal = sum(1 / math.log2(at + 2) for at in range(min(5, len(gold))))
    return {
        "any@1": float(hits[0]) if hits else 0.0,
        "any@5": float(any(hits)),
        "all@5": float(sum(hits) == len(gold)),
        "n@5": gain / ideal if ideal else 0.0,
    }


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % of the means of resampled differences."""
    rng, count = random.Random(7), len(differences)
    means = sorted(sum(rng.choices(differences, k=count)) / count for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def _means(rows: Sequence[Figures]) -> Figures:
    return {metric: sum(row[metric] for row in rows) / max(1, len(rows)) for metric in METRICS}
