"""The turns of phrase by which sentences are cut, joined and refused; the phrases themselves are data."""

from __future__ import annotations

from memdir.text.pastes import PHRASES_PATH
from memdir.text.phrases import Phrases

_PHRASES = Phrases("model/builtin/extract/phrases.txt", PHRASES_PATH)
alternatives, anywhere, at_end = _PHRASES.alternatives, _PHRASES.anywhere, _PHRASES.at_end
