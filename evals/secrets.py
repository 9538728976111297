"""Run the secret scanner over a corpus: how much of what it reports is a secret, how many secrets it finds, how fast.

    python -m evals.secrets --data secrets.jsonl.gz --predictions out.jsonl

A line of the corpus is `{text, expect: secret|clean, kind}`; a packed file is unpacked in memory only. A line of the
predictions is `{line, got}`. What is printed names kinds and counts, never a text.
"""
# ruff: noqa: A005 — always imported as evals.secrets, so it hides nothing

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from memdir.store.secrets import find_secrets

MIN_PRECISION = 0.98  # a scanner that cries wolf is switched off
MIN_RECALL = 0.95
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Case:
    text: str
    expect: str
    kind: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.secrets", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--predictions", required=True, type=Path)
    options = parser.parse_args()
    cases = read_cases(options.data)
    got = [judge(case.text) for case in cases]
    with options.predictions.open("w", encoding="utf-8") as out:
        for line, verdict in enumerate(got):
            out.write(json.dumps({"line": line, "got": verdict}) + "\n")
    print(f"{len(cases)} texts, {milliseconds_per_text(cases):.2f} ms of CPU time each")
    return report(cases, got)


def read_cases(path: Path) -> list[Case]:
    """The corpus, whether packed or plain."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content).decode("utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    return [Case(row["text"], row["expect"], row.get("kind", "unknown")) for row in rows]


def judge(text: str) -> str:
    return "secret" if find_secrets(text) else "clean"


def milliseconds_per_text(cases: list[Case]) -> float:
    """What a text costs once the patterns are compiled."""
    started = time.process_time()
    for case in cases:
        judge(case.text)
    return (time.process_time() - started) / max(1, len(cases)) * 1000


def report(cases: list[Case], got: list[str]) -> int:
    """Print the two figures and the kinds of every mistake; 0 when both figures are good enough."""
    pairs = list(zip(cases, got, strict=True))
    found = sum(case.expect == verdict == "secret" for case, verdict in pairs)
    missed = Counter(case.kind for case, verdict in pairs if case.expect == "secret" and verdict == "clean")
    invented = Counter(case.kind for case, verdict in pairs if case.expect == "clean" and verdict == "secret")
    for title, kinds in (("missed", missed), ("reported though clean", invented)):
        for kind, count in sorted(kinds.items()):
            print(f"  {title}: {kind} {count}")
    precision = found / max(1, found + invented.total())
    recall = found / max(1, found + missed.total())
    print(f"precision {precision:.3f} ({invented.total()} clean texts reported)")
    print(f"recall {recall:.3f} ({missed.total()} secrets missed)")
    return 0 if precision >= MIN_PRECISION and recall >= MIN_RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
