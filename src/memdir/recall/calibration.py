"""The learned numbers of the decision: one line of `data/calibration.txt` a field, for each encoder.

`evals/train_recall/calibrate.py` learns and writes them. Plain text, since a hook has no time to load a parser.
"""

from __future__ import annotations

import os

PATH = os.path.join(os.path.dirname(__file__), "data", "calibration.txt")


class Calibration:
    """Weights in the order of `signals.NAMES`; the `empty_` ones say how likely a message needs no memory at all."""

    __slots__ = (
        "bias", "empty_bias", "empty_coverage", "empty_direction", "empty_message", "empty_total", "empty_unknown",
        "gate", "gate_slope", "next_margin", "threshold", "weights",
    )  # fmt: skip

    def __init__(self, fields: dict[str, list[float]]) -> None:
        # The surest candidate below the threshold is not clearly useful, and every further one must be surer by the
        # margin; from the gate's emptiness on, the slope raises the threshold.
        self.threshold, self.next_margin, self.gate, self.gate_slope = fields["bars"]
        [self.bias], self.weights = fields["bias"], fields["weights"]
        [self.empty_bias], self.empty_message = fields["empty_bias"], fields["empty_message"]
        self.empty_unknown, self.empty_coverage = fields["empty_shares"]
        self.empty_direction = fields["empty_direction"]
        self.empty_total = sum(self.empty_direction)


def load_calibration(encoder: str) -> Calibration:
    """What was learned with the directions of an encoder, named as it names itself."""
    fields = {}
    with open(PATH, encoding="ascii") as lines:
        for line in lines:
            name, field, *numbers = line.split()
            if name == encoder:
                fields[field] = [float(number) for number in numbers]
    return Calibration(fields)
