"""Finds documents by words and meaning: what is kept of them, the index on disk, the one ranking."""

from __future__ import annotations

import os

from memdir.disk.shipped import shipped_path

MODEL_PATH = shipped_path("search/data/minilm.onnx")


def has_sentence_model() -> bool:
    """Whether the runtime and the weights of the extra `minilm` are there; looks without loading. By what
    `importlib.util` is made of: every session start asks."""
    from _frozen_importlib_external import PathFinder

    return os.path.isfile(MODEL_PATH) and all(PathFinder.find_spec(name) for name in ("onnxruntime", "numpy"))
