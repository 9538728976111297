"""Text to the tokens that the sentence model was trained with: lower case, no accents, longest known pieces first."""

from __future__ import annotations

import unicodedata

from memdir.disk.shipped import shipped_text

MAX_PIECE_CHARS = 100  # a longer run is unknown as a whole
CLASSIFY, SEPARATE, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_CONTINUED = "##"
_CACHED_WORDS = 50_000  # the vocabulary of a large store
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


class WordPiece:
    """The tokenizer over one vocabulary; remembers the words it has cut."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = {piece: at for at, piece in enumerate(vocabulary)}
        self._cut: dict[str, list[int]] = {}

    @classmethod
    def read(cls, path: str) -> WordPiece:
        return cls(shipped_text(path).split("\n"))

    def ids(self, text: str, limit: int) -> list[int]:
        """At most `limit` token ids, the two marks at the ends included."""
        found = [self._ids[CLASSIFY]]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._ids[SEPARATE]]

    def _pieces(self, word: str) -> list[int]:
        known = self._cut.get(word)
        if known is None:
            if len(self._cut) >= _CACHED_WORDS:
                self._cut.clear()
            known = self._cut[word] = self._cut_up(word)
        return known

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
    """Words and punctuation marks, each ideograph on its own."""
    if text.isascii():
        text = text.lower()
    else:
        text = "".join(
            [char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char) != "Mn"]
        )
    return "".join([_spaced(char) for char in text]).split()


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
    return "" if kind in ("Cc", "Cf") or char in "\0\ufffd" else char
