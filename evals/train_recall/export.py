"""Write the tuned sentence model as the int8 file that ships.

    python -m evals.train_recall.export --model DIR --out minilm.onnx

DIR is the folder `teacher/` that `evals.train_recall.train` leaves. Mean pooling and unit length are part of the file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

OPERATORS = 17  # the set of ONNX operators that every runtime we allow knows
NAMES = {"ids": {0: "texts", 1: "tokens"}, "mask": {0: "texts", 1: "tokens"}, "direction": {0: "texts"}}


class Pooled(nn.Module):
    """Token ids and their mask in, unit vectors out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.model(input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids)).last_hidden_state
        weights = mask[..., None].float()
        mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
        return mean / mean.norm(dim=1, keepdim=True).clamp(min=1e-9)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.export", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel

    model = Pooled(AutoModel.from_pretrained(options.model, attn_implementation="eager").float()).eval()
    some = torch.ones(2, 7, dtype=torch.long)
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole.onnx")
        torch.onnx.export(
            model, (some, some), str(whole), input_names=["ids", "mask"], output_names=["direction"],
            dynamic_axes=NAMES, opset_version=OPERATORS, dynamo=False,
        )  # fmt: skip
        # Seven bits: with eight, processors without VNNI overflow, and give other vectors than those with it.
        quantize_dynamic(whole, options.out, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
