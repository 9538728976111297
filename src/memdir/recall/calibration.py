"""What the learned numbers of the decision are. `evals/train_recall/calibrate.py` learns them and writes them down."""

from __future__ import annotations


class Calibration:
    """Weights in the order of `signals.NAMES`; the `empty_` ones say how likely a message needs no memory at all."""

    __slots__ = (
        "bias",
        "empty_bias",
        "empty_coverage",
        "empty_direction",
        "empty_message",
        "empty_total",
        "empty_unknown",
        "gate",
        "gate_slope",
        "next_margin",
        "threshold",
        "weights",
    )

    def __init__(
        self,
        bars: tuple[float, float, float, float],
        useful: tuple[float, tuple[float, ...]],
        empty: tuple[float, tuple[float, ...], tuple[float, ...]],
    ) -> None:
        # The surest candidate below the threshold is not clearly useful, and every further one must be surer by the
        # margin; from the gate's emptiness on, the slope raises the threshold.
        self.threshold, self.next_margin, self.gate, self.gate_slope = bars
        self.bias, self.weights = useful
        self.empty_bias, of_message, self.empty_direction = empty
        self.empty_message, (self.empty_unknown, self.empty_coverage) = of_message[:-2], of_message[-2:]
        self.empty_total = sum(self.empty_direction)
