"""Two pages become one: every sentence of the second that the first does not say literally is carried over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memdir.model.builtin.dream.memory_page import Page, flat, tokens
from memdir.store.topic import MemoryType, Topic

_OWN_FIELDS = frozenset(("name", "description", "type"))
_BLANK = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"(?:\*\*|__)(?P<past>before\b)?[^*_\n]*(?:\*\*|__)", re.IGNORECASE)
_MARKED = re.compile(r"\s*(?:[-*+#>_]|\d+[.)]\s)")  # a list, a heading, a label: it does not stand behind another label


def extra_fields(page: Page) -> dict[str, str]:
    """Frontmatter that is not ours: it survives every merge."""
    return {key: value for key, value in page.fields.items() if key not in _OWN_FIELDS}


def can_fuse(one: Page, two: Page) -> bool:
    """Whether no field of the one says something else than the same field of the other; the type is ours."""
    theirs = extra_fields(two)
    return all(theirs.get(key, value) == value for key, value in extra_fields(one).items())


def fused(keeper: Page, donor: Page, *, label: str = "") -> bytes:
    """The keeper's file with everything the donor adds.

    Under a `label` what the donor says stands first.
    """
    topic: Topic = keeper
    for key, value in extra_fields(donor).items():
        if key not in topic.fields:
            topic = topic.with_field(key, value)
    if donor.kind is not None and (keeper.kind is None or donor.kind is MemoryType.FEEDBACK):
        topic = topic.with_field("type", str(donor.kind))  # a rule that is also told elsewhere stays a rule
    blocks = _blocks(topic.body)
    known = flat(topic.body if label else f"{topic.name}\n{topic.description}\n{topic.body}")
    fresh = list(_additions(donor.body, known))
    lead = _lead(donor, known, fresh, is_dated=bool(label))
    for block in fresh if label else filter(None, (lead, *fresh)):
        _place(blocks, block)
    text = "\n\n".join([f"{label} {lead}", *blocks] if label else blocks).strip("\n")
    return topic.with_body(f"\n{text}\n".replace("\n", topic.line_ending())).data


def _lead(donor: Page, known: str, fresh: list[str], *, is_dated: bool) -> str:
    """What the donor says first: its description as a sentence, after its name where that says more, empty if all of it
    is known. Where it is dated it is never empty: a paragraph of the donor that says it is taken from the `fresh`."""
    summary, body = sentence(donor.description), flat(donor.body)
    said = f" {known} {flat(donor.description)} {body} "
    name = f"{sentence(donor.name)} " if any(f" {word} " not in said for word in tokens(donor.name)) else ""
    if not is_dated:
        return name.rstrip() if _is_said(summary, known) or _is_said(summary, body) else f"{name}{summary}"
    is_told = fresh and not _MARKED.match(fresh[0]) and _is_said(summary, flat(fresh[0]))
    return name + (fresh.pop(0) if is_told else summary)


def _additions(body: str, known: str) -> Iterator[str]:
    """The paragraphs without the lines that are already said."""
    blocks = (block.split("\n") for block in _blocks(body))
    return filter(None, ("\n".join(line for line in lines if not _is_said(line, known)) for lines in blocks))


def is_repeated(page: Page, by: Page) -> bool:
    """Whether another page says all that a page claims, word by word: that is no news of it."""
    known = flat(f"{by.description}\n{by.claimed_body}")
    return _is_said(page.description, known) and not any(_additions(page.claimed_body, known))


def _is_said(text: str, known: str) -> bool:
    words = flat(text)
    return not words or f" {words} " in f" {known} "


def sentence(text: str) -> str:
    """The text with a full stop."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…。！？" else text + "."


def _blocks(body: str) -> list[str]:
    """The paragraphs of a body; only what has no fence in it is ever joined."""
    parts = _BLANK.split(body.replace("\r\n", "\n").replace("\r", "\n"))
    return [part.strip("\n") for part in parts if part.strip()]


def _place(blocks: list[str], new: str) -> None:
    """Put a paragraph before what was; one without a label before all that have one."""
    labels, is_labelled = [_LABEL.match(block) for block in blocks], _LABEL.match(new)
    later = (at for at, label in enumerate(labels) if label and (label["past"] or not is_labelled))
    blocks.insert(next(later, len(blocks)), new)
