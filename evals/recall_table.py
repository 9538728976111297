"""Everything about recall in one table: the labelled worlds and the public retrieval sets.

    python -m evals.recall_table --data DIR [--predictions DIR]

DIR holds `recall/dev` and `public/` as the sets' own modules take them. With the extra `minilm` installed its rankings
stand beside the default ones. Vectors are kept in `results/`, so only the first run embeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from evals import locomo, longmemeval, recall, sediment
from evals.rankings import OURS
from evals.retrieval import Report, show
from evals.sentences import encoders


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.recall_table", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--predictions", type=Path, default=Path("results"))
    options = parser.parse_args()
    known = encoders()
    worlds = options.data / "recall" / "dev"
    recall.run(worlds, options.predictions / "recall.jsonl", recall.local_answers(known.words), name=OURS)
    if known.pair is not None:
        target = options.predictions / "recall-minilm.jsonl"
        recall.run(worlds, target, recall.local_answers(known.pair), name="memdir[minilm]")
    show(_reports(options.data / "public", options.predictions))
    return 0


def _reports(data: Path, out: Path) -> Iterator[Report]:
    yield from sediment.run(data / "sediment_dev", out / "sediment.jsonl", ours=OURS)
    yield from locomo.run(data / "locomo_dev.json.xz", out / "locomo.jsonl", ours=OURS)
    questions, sessions = data / "longmemeval_s_dev.jsonl.xz", data / "longmemeval_s_dev_sessions.jsonl.xz"
    yield from longmemeval.run(questions, sessions, out / "longmemeval.jsonl", ours=OURS)


if __name__ == "__main__":
    sys.exit(main())
