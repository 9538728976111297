"""Secrets come out of memories that are shared with a team (E5); the value is named nowhere."""

from __future__ import annotations

from memdir.disk.safe_path import TEAM_PREFIX
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.dream_words import tokens
from memdir.store.secrets import find_secrets, redact


def redact_secrets(desk: Desk) -> None:
    """Take secrets out of the team's pages, and report which kinds there were."""
    for page in desk.open_pages():
        if page.folder != TEAM_PREFIX:
            continue
        text = page.data.decode("utf-8")
        found = find_secrets(text)
        if found:
            kinds = ", ".join(sorted({match.kind for match in found}))
            reason = f"secrets taken out of a shared memory ({kinds}): revoke them, the history still has them"
            kept = frozenset(tokens(redact(text)))
            gone = frozenset(token for match in found for token in tokens(_whole_words(text, match.start, match.end)))
            desk.put(PageChange({page.key: redact(text).encode()}, reason, (page.key,), gone - kept))


def _whole_words(text: str, start: int, end: int) -> str:
    """The secret with what is grown together with it, such as the name it is assigned to."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]
