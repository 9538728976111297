"""Write the tuned sentence model as the two int8 files that ship: what each word piece is, and the layers above it.

    python -m evals.train_recall.export --model DIR --out src/memdir/search/data

DIR is the folder `teacher/` that `evals.train_recall.train` leaves. Mean pooling and unit length belong to the layers.
The word pieces lie apart, because the reader (`evals.train_recall.reader`) begins with the same ones.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

PIECES, SIZE = "/model/embeddings/word_embeddings/Gather_output_0", 384  # where the file is cut
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
        small = Path(place, "small.onnx")
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
        split(small, options.out)
    return 0


def split(path: Path, folder: Path) -> None:
    """Cut the file where the word pieces become numbers."""
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    shape = onnx.helper.make_tensor_value_info(PIECES, onnx.TensorProto.FLOAT, ["texts", "tokens", SIZE])
    model.graph.value_info.append(shape)
    cut = onnx.utils.Extractor(model)
    parts = {
        "minilm.words.onnx": cut.extract_model(["ids"], [PIECES]),
        "minilm.onnx": cut.extract_model([PIECES, "ids", "mask"], ["direction"]),
    }
    for name, part in parts.items():
        for node in part.graph.node:
            for names in (node.input, node.output):
                names[:] = ["words" if one == PIECES else one for one in names]
        for value in (*part.graph.input, *part.graph.output):
            value.name = "words" if value.name == PIECES else value.name
        del part.graph.value_info[:]
        onnx.save(part, folder / name)
        print(f"{name}: {(folder / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
