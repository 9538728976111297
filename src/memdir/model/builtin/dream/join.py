"""Two memories of one subject as one: the same told once, or the newer one as a dated update of the older (D3)."""

from __future__ import annotations

from datetime import date

from memdir.model.builtin.dream.amend import LaterStatement, updated
from memdir.model.builtin.dream.date_repair import day_of
from memdir.model.builtin.dream.fuse import can_fuse, fused
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.pair_features import Note
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.secrets import find_secrets


def evidence_of(page: Page, day: date) -> LaterStatement:
    """What a page says, as evidence of its day."""
    text = f"{page.description}. {page.claimed_body}"
    note = Note(page.name, page.description, page.claimed_body, str(page.kind or ""))
    return LaterStatement(text, page.mtime, day, (page.key,), note)


def with_news(older: Page, newer: Page, evidence: LaterStatement) -> bytes:
    """The older page brought up to date by the newer one, which it takes in."""
    topic = updated(older, evidence, newer.description)
    return fused(Page(older.key, topic.data, older.mtime), newer, label=evidence.label)


def may_join(one: Page, two: Page) -> bool:
    """Whether nothing but their meaning could keep them apart: place, fields, layout, size."""
    if one.folder != two.folder or one.fixed or two.fixed or not can_fuse(one, two):
        return False
    return one.is_plain and two.is_plain and len(one.data) + len(two.data) <= MAX_MEMORY_BYTES


def joined(older: tuple[str, bytes, float], newer: tuple[str, bytes, float], *, is_update: bool) -> bytes | None:
    """The file of both, each given by its name, text and time, as a person decided; None where they may not become
    one."""
    mine, theirs = Page(*older), Page(*newer)
    if not may_join(mine, theirs) or find_secrets(newer[1].decode("utf-8", "replace")):
        return None
    evidence = evidence_of(theirs, day_of(theirs.mtime, None))
    return with_news(mine, theirs, evidence) if is_update else fused(mine, theirs)
