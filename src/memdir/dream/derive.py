"""Which memories a dream's results were made from, by their words; and that none gains trust on the way (L1, D7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memdir.agent.workspace import Workspace
from memdir.disk.safe_path import INDEX_NAME
from memdir.store.topic import Topic
from memdir.store.trust import Trust, marked_trust, with_trust
from memdir.text.nearness import Sentence, sentences_of
from memdir.text.words import runs_of, split_words

SAME = 0.55  # nearness at which a sentence of a low-trust memory is told again in other words
ABROAD = 0.1  # more is asked where only the meaning can tell

Runs = frozenset[tuple[str, ...]]


def trace_sources(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """Find for each written memory the others whose text it gained, and mark it with the lowest trust of theirs and its
    own. Returns the sources by the written memory's path."""
    told = _old_texts(workspace)
    derived = {}
    for real, draft in list(workspace.drafts.items()):
        if draft.after is None or draft.key == INDEX_NAME:
            continue
        path, gained = draft.path, _runs(draft.after) - _runs(draft.before)
        claims = _claims(draft.after, draft.before)
        sources = tuple(
            source
            for source, old in told.items()
            if source != path and (gained & old.runs or (old.trust.is_low and _says_again(claims, old.text)))
        )
        if sources:
            derived[path] = sources
        lowest = min((told[source].trust for source in sources), default=Trust.USER)
        trust = min(lowest, marked_trust(Topic(draft.before or b"")))
        workspace.drafts[real] = replace(draft, after=with_trust(Topic(draft.after), trust).data)
    return derived


def times_of(workspace: Workspace, derived: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """How old each written memory stays: as old as it was, or as the newest that it took in (S11)."""
    known = {
        store.place.prefix + header.key: header.mtime_ns
        for store in workspace.stores
        for header in store.scan(limit=None).headers
    }
    return {
        draft.path: max(known[path] for path in (draft.path, *derived.get(draft.path, ())) if path in known)
        for draft in workspace.changed()
        if draft.path in known
    }


@dataclass(frozen=True)
class _Old:
    """A memory as it was before the dream."""

    text: str
    runs: Runs
    trust: Trust


def _old_texts(workspace: Workspace) -> dict[str, _Old]:
    """What may have been a source, as it was before: the files that the dream touches, and all of low trust."""
    texts = {draft.path: draft.before for draft in workspace.changed() if draft.before and draft.key != INDEX_NAME}
    for store in workspace.stores:
        doubted = (header for header in store.scan(limit=None).headers if marked_trust(header).is_low)
        for memory in store.readable(doubted):
            texts.setdefault(store.place.prefix + memory.key, memory.topic.data)
    return {path: _Old(_text(data), _runs(data), marked_trust(Topic(data))) for path, data in texts.items()}


def _text(data: bytes | None) -> str:
    topic = Topic(data or b"")
    return f"{topic.description}\n{topic.body}"


def _runs(data: bytes | None) -> Runs:
    return runs_of(split_words(_text(data)))


def _claims(after: bytes, before: bytes | None) -> list[Sentence]:
    known = set(sentences_of(_text(before)))
    return [Sentence(text) for text in sentences_of(_text(after)) if text not in known]


def _says_again(claims: list[Sentence], text: str) -> bool:
    """Whether some claim says in other words, or in another language, what a text says."""
    told = [Sentence(sentence) for sentence in sentences_of(text)]
    return any(
        max(claim.nearness(other, is_translated=False), claim.nearness(other, is_translated=True) - ABROAD) >= SAME
        for claim in claims
        for other in told
    )
