"""One table of how good the built-in model is on our own data: what was read beside what nobody read (`make eval`).

    python -m evals.table [--part extraction] [--part pairs] [--part recall]

Everything comes from `evals/data`. Figures of recall are means over the messages of all authors of a fold; dev tells
what was learned from, so that the distance to unread is what a new user would lose.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from evals import extract, pairs, stores

FOLDS = ("dev", "unread")
ENCODERS = {"words": "default", "minilm": "with the sentence model"}
SHOWN = ("F1", "empty answered")  # of recall
Line = tuple[str, str, str]  # figure, dev, unread


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.table", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this one; may be given again")
    chosen = parser.parse_args().part or list(PARTS)
    print(f"{'':58}" + "".join(f"{fold:>12}" for fold in FOLDS))
    for part in chosen:
        for figure, *cells in PARTS[part]():
            print(f"{part + ': ' + figure:58}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    return 0


def _extraction() -> Iterator[Line]:
    columns = extract.rows()
    for figure in columns["dev"]:
        dev, unread = (columns[fold][figure] for fold in FOLDS)
        yield figure, _told(dev), _told(unread)


def _pairs() -> Iterator[Line]:
    _, *rows = pairs.rows({fold: pairs.outcomes(fold) for fold in FOLDS})
    for figure, dev, unread in rows:
        yield figure.strip(), dev, unread


def _recall() -> Iterator[Line]:
    """The mean over the messages of a fold's authors; a share of needless answers has fewer messages, yet the same
    share of all in every fold."""
    found = list(stores.rows())
    for encoder, called in ENCODERS.items():
        for part in stores.PARTS:
            for figure in SHOWN:
                cells = []
                for fold in FOLDS:
                    some = [row for row in found if row[0].startswith(fold) and row[1:3] == (encoder, part)]
                    messages = sum(row[3] for row in some)
                    cells.append(sum(row[3] * row[4][figure] for row in some) / messages if messages else None)
                if any(cell is not None for cell in cells):
                    yield f"{called}, {part}, {figure}", _told(cells[0]), _told(cells[1])


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


PARTS: dict[str, Callable[[], Iterator[Line]]] = {"extraction": _extraction, "pairs": _pairs, "recall": _recall}

if __name__ == "__main__":
    sys.exit(main())
