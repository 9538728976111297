"""The extra `minilm`: a small sentence model beside the table, for processes that live long enough to load it.

Its directions stand beside the table's in one longer vector, so that one cosine weighs both. Loading takes longer than
a whole hook may, so a hook never does: there the table alone answers. ADR 0021 says where the weights come from.
"""

from __future__ import annotations

import os
import unicodedata
from functools import lru_cache
from math import sqrt
from zlib import crc32

from memdir.disk.shipped import shipped_bytes, shipped_path, shipped_text
from memdir.search import MODEL_PATH
from memdir.search.vectors import doc_vector, query_vector
from memdir.text.embedding import DIMENSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from memdir.search.vectors import DocVector, Part, QueryVector
    from memdir.text.embedding import Table, WordSum


WORD_SHARE = 0.1  # of the cosine: what the table has a say in; the sentence model has the rest
MEANING_WEIGHT = 1.0  # a sentence model knows more of what is meant than the table alone
SENTENCE_DIMENSIONS = 384
MAX_TOKENS = 128  # what the model was tuned with; a longer part is known by its beginning
MESSAGE_TOKENS, MEMORY_TOKENS = 56, 88  # the same where both are read together
BATCH = 32  # texts of about one length at a time
VOCABULARY = "search/data/minilm.vocab.txt"
WORDS_PATH = shipped_path("search/data/minilm.words.onnx")  # what each word piece is; both parts begin with it
READER_PATH = shipped_path("search/data/minilm.reader.onnx")

MAX_PIECE_CHARS = 100  # a longer run is unknown as a whole
CLASSIFY, SEPARATE, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_CONTINUED = "##"
_CACHED_WORDS = 50_000  # the vocabulary of a large store
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


class SentenceModel:
    """The model in its runtime: texts in, unit vectors out; or how much each of some texts has to do with another.
    `check` may raise between two batches to end the work."""

    def __init__(self, *, threads: int = 1, check: Callable[[], None] | None = None) -> None:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # or it reports to its maker, from its import on
        self._threads, self._check = threads, check
        # The reader too: a daemon that opened it for the first prompt would answer that one too late.
        self._words, self._directions, self._reader = map(self._opened, (WORDS_PATH, MODEL_PATH, READER_PATH))
        self._tokens = WordPiece(shipped_text(VOCABULARY).split("\n"))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A unit vector for each text, in order."""
        return self._run(self._directions, [self._tokens.ids(text, MAX_TOKENS) for text in texts])

    def relevance(self, message: str, texts: Sequence[str]) -> list[float]:
        """How surely each text is needed for the message, as log odds: both are read together, word by word."""
        asked = self._tokens.ids(message, MESSAGE_TOKENS)
        return self._run(self._reader, [asked + self._tokens.ids(text, MEMORY_TOKENS)[1:] for text in texts])

    def _opened(self, path: str) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def _run(self, session: Any, ids: list[list[int]]) -> list[Any]:
        """What a part of the model says of each row of tokens, in order."""
        import numpy as np

        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        out: list[Any] = [None] * len(ids)
        for start in range(0, len(order), BATCH):
            if self._check is not None:
                self._check()
            places = order[start : start + BATCH]
            padded = np.zeros((len(places), len(ids[places[-1]])), np.int64)
            mask = np.zeros_like(padded)
            for row, at in enumerate(places):
                padded[row, : len(ids[at])] = ids[at]
                mask[row, : len(ids[at])] = 1
            words = self._words.run(None, {"ids": padded})[0]
            found = session.run(None, {"words": words, "ids": padded, "mask": mask})[0]
            for at, values in zip(places, found.tolist(), strict=True):
                out[at] = values
        return out


class PairEncoder:
    """The table and the sentence model side by side."""

    name = "pair"
    dimensions = DIMENSIONS + SENTENCE_DIMENSIONS
    meaning_weight = MEANING_WEIGHT

    def __init__(self, table: Table, model: SentenceModel) -> None:
        self.table = table
        # It changes with the weights: an index made by others is of no use.
        self.identity = table.identity ^ crc32(shipped_bytes(MODEL_PATH)) & 0x7FFFFFFF
        self.reader = self._model = model

    def query_vector(self, part: Part) -> QueryVector | None:
        text, words = part
        together = _beside(self.table.question_sum(words), self._model.embed([text])[0]) if words else []
        return query_vector(together) if together else None

    def doc_vectors(self, parts: Sequence[Part]) -> list[DocVector | None]:
        vectors = self._model.embed([text for text, _ in parts])
        pairs = zip(parts, vectors, strict=True)
        return [doc_vector(_beside(self.table.document_sum(words), vector)) for (_, words), vector in pairs]


def _beside(total: WordSum | None, sentence: Sequence[float]) -> list[float]:
    """Both directions at unit length, each stretched to its share of the cosine."""
    words = total.values() if total is not None else []
    length = sqrt(sum([value * value for value in words])) or 1.0
    ours, theirs = sqrt(WORD_SHARE) / length, sqrt(1 - WORD_SHARE)
    first = [ours * value for value in words] or [0.0] * DIMENSIONS
    return first + [theirs * value for value in sentence]


class WordPiece:
    """The tokenizer over one vocabulary; remembers the words it has cut."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = {piece: at for at, piece in enumerate(vocabulary)}
        self._pieces = lru_cache(_CACHED_WORDS)(self._cut_up)

    def ids(self, text: str, limit: int) -> list[int]:
        """At most `limit` token ids, the two marks at the ends included."""
        found = [self._ids[CLASSIFY]]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._ids[SEPARATE]]

    def _cut_up(self, word: str) -> list[int]:
        out: list[int] = []
        start = 0
        while start < len(word) and len(word) <= MAX_PIECE_CHARS:
            for end in range(len(word), start, -1):
                piece = self._ids.get((_CONTINUED if start else "") + word[start:end])
                if piece is not None:
                    break
            else:
                return [self._ids[UNKNOWN]]
            out.append(piece)
            start = end
        return out or [self._ids[UNKNOWN]]


def _words(text: str) -> list[str]:
    """Words without their accents, and punctuation marks, each ideograph on its own."""
    return "".join([_spaced(char) for char in unicodedata.normalize("NFD", text.lower())]).split()


def _spaced(char: str) -> str:
    if char.isalnum():
        code = ord(char)
        is_ideograph = code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)
        return f" {char} " if is_ideograph else char
    if char.isspace():
        return " "
    kind = unicodedata.category(char)
    if kind.startswith("P") or (char.isascii() and kind.startswith("S")):
        return f" {char} "
    return "" if kind in ("Cc", "Cf", "Mn") or char in "\0\ufffd" else char
