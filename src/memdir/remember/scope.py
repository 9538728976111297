"""Whose a memory is: this project's, or the person's wherever they work (T1).

What stands among the person's own is believed in every project: only words of theirs get there, whoever writes. What
nobody can tell stays in the project, where a mistake stays too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memdir.store.taxonomy import MemoryType
from memdir.text.language import UNKNOWN, tongue_of
from memdir.text.phrases import anywhere

if TYPE_CHECKING:
    from memdir.agent.judged import Judged
    from memdir.agent.workspace import Draft
    from memdir.store.store import MemoryStore

OWN = "user"  # the scope of what holds for a person in all projects
_OF_CODE = re.compile(r"`[^`]+`|\w+\(\)|\b\w+_\w+\b|\b[\w.-]+/[\w./-]+|\b[\w-]+\.[a-z]{1,4}\b|\b[a-z]+[A-Z]\w*")


def own_store(stores: Iterable[MemoryStore]) -> MemoryStore | None:
    """The person's own store for all projects, where it is among these."""
    return next((store for store in stores if store.scope == OWN), None)


def is_personal(texts: Sequence[str]) -> bool | None:
    """Whether a rule is about how this person wants to be worked with, by its own words and those in which it was
    said; None where these do not tell."""
    said = "\n".join(texts)
    tongue = tongue_of(said)
    plain = anywhere("everywhere").sub(" ", said)
    if _finds("this-project", plain, tongue):
        return False
    if plain != said:
        return True
    is_of_work = _OF_CODE.search(said) or _finds("ours", said, tongue) or _finds("of-work", said, tongue)
    return True if _finds("to-me", said, tongue) and not is_of_work else None


def _finds(meaning: str, text: str, tongue: str) -> bool:
    """Whether a phrase stands there, in the language of the text: "hier" is here, or yesterday."""
    return anywhere(meaning, None if tongue == UNKNOWN else tongue).search(text) is not None


def better_place(draft: Draft, judged: Judged, stores: Sequence[MemoryStore]) -> MemoryStore | None:
    """The store that a new memory belongs to, where it is another than the one it was written to."""
    own = own_store(stores)
    if own is None or draft.before is not None:
        return None
    is_own = _is_own(judged, is_chosen=draft.store is own) and judged.is_users_alone
    if is_own:
        return None if draft.store is own else own
    return stores[0] if draft.store is own else None


def _is_own(judged: Judged, *, is_chosen: bool) -> bool:
    """Whether it is about the person; of a rule that does not tell, whoever wrote it decides by where it was put."""
    if judged.topic.kind is not MemoryType.FEEDBACK:
        return judged.topic.kind is MemoryType.USER
    told = is_personal([judged.headline, *judged.said])
    return is_chosen if told is None else told
