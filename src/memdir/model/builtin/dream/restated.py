"""Whether a remark surely speaks of a page's claim: it says the claim again, word by word, but for a value that it
names as the old one (D3). One word more may be another thing ("in the Graz office"), one word less, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memdir.model.builtin.dream.amend import LaterStatement, named_in, stands
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.pair_features import small_words, stops
from memdir.model.builtin.dream.values import Values
from memdir.text.body_text import clauses

_WORD = re.compile(r"\w+")
_WHEN = frozenset(("date", "month"))


def restates(page: Page, evidence: LaterStatement, values: Values) -> bool:
    """Whether the evidence names an old value of the page and otherwise says what the page says of it, and no more."""
    named = [(old, new) for old, new in named_in(page, evidence) if set(_words(old))]
    olds = [old for old, _ in named]
    claims = [claim for claim in _claims(page) if any(stands(old, claim) for old in olds)]
    known = {*_words(" ".join((*claims, *(new for _, new in named))))}
    held = {value.value for value in values.find(page.says())}
    fresh = [value for value in values.find(evidence.text) if value.value not in held]
    changed = {value.value for value in fresh if value.kind not in _WHEN}
    if not claims or len(changed) > len(named):
        return False  # more values than one for each old one: "sensor 7 sends every 30 minutes, not 15"
    said = {*_words(evidence.text), *_words(" ".join(olds))}
    more = said - known - {*_words(" ".join(value.text for value in fresh))} - small_words("wording")
    return not more and all({*_words(claim)} <= said for claim in claims)


def _claims(page: Page) -> Iterator[str]:
    texts = [one.text for one in page.sentences if one.label not in ("why", "update", "before")]
    for text in (*texts, page.description):
        for start, end in clauses(text):
            yield text[start:end]


def _words(text: str) -> Iterator[str]:
    """The words that may name something: a small word does only in capitals ("US", "gate A")."""
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word not in stops() or (match[0].isupper() and match.start()):
            yield word
