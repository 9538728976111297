"""Two pages become one: every sentence of the second that the first does not say literally is carried over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memdir.model.builtin.dream.memory_page import Page, flat, tokens
from memdir.store.taxonomy import MemoryType

_OWN_FIELDS = frozenset(("name", "description", "type"))
_BLANK = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"(?:\*\*|__)([^*_\n]{2,40}?)\s*[:：]?\s*(?:\*\*|__)\s*[:：]?[ \t]*")


def extra_fields(page: Page) -> dict[str, str]:
    """Frontmatter that is not ours: it survives every merge."""
    return {key: value for key, value in page.topic.fields.items() if key not in _OWN_FIELDS}


def can_fuse(one: Page, two: Page) -> bool:
    """Whether no field of the one says something else than the same field of the other; the type is ours."""
    theirs = extra_fields(two)
    return all(theirs.get(key, value) == value for key, value in extra_fields(one).items())


def fused(keeper: Page, donor: Page, *, label: str = "") -> bytes:
    """The keeper's file with everything the donor adds.

    Under a `label` what the donor says stands first.
    """
    topic = keeper.topic
    for key, value in extra_fields(donor).items():
        if key not in topic.fields:
            topic = topic.with_field(key, value)
    if donor.kind is not None and (keeper.kind is None or donor.kind is MemoryType.FEEDBACK):
        topic = topic.with_field("type", str(donor.kind))  # a rule that is also told elsewhere stays a rule
    body = _normal(topic.body)
    blocks = _blocks(body)
    known = flat(body) if label else flat(f"{topic.name}\n{topic.description}\n{body}")
    summary = _summary(donor, known)
    if summary and not label:
        _place(blocks, summary)
    for block in _additions(donor, known):
        _place(blocks, block)
    text = "\n\n".join([f"{label} {summary}", *blocks] if label and summary else blocks).strip("\n")
    return topic.with_body(f"\n{text}\n".replace("\n", topic.line_ending())).data


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _summary(donor: Page, known: str) -> str:
    """The donor's description as a sentence, after its name where that says more; empty if all of it is known."""
    summary = sentence(donor.description)
    body = flat(donor.body)
    said = f" {known} {flat(donor.description)} {body} "
    if any(f" {word} " not in said for word in tokens(donor.name)):
        return f"{donor.name}: {summary}"
    return "" if _is_said(summary, known) or _is_said(summary, body) else summary


def _additions(donor: Page, known: str) -> Iterator[str]:
    """The donor's paragraphs without the lines that are already said."""
    for block in _blocks(_normal(donor.body)):
        fresh = "\n".join(line for line in block.split("\n") if not _is_said(line, known))
        if fresh:
            yield fresh


def _is_said(text: str, known: str) -> bool:
    words = flat(text)
    return not words or f" {words} " in f" {known} "


def sentence(text: str) -> str:
    """The text with a full stop."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…。！？" else text + "."


def _blocks(body: str) -> list[str]:
    """The paragraphs of a body; a fence with blank lines in it stays one."""
    found: list[str] = []
    for raw in _BLANK.split(body.strip("\n")):
        if found and found[-1].count("```") % 2:
            found[-1] += "\n\n" + raw
        elif raw.strip():
            found.append(raw.strip("\n"))
    return found


def _label(block: str) -> str:
    match = _LABEL.match(block)
    return match[1].strip().casefold() if match else ""


def _place(blocks: list[str], new: str) -> None:
    """Put a paragraph at the end of the one with its label, else before what was; one without a label goes first."""
    label, labels = _label(new), [_label(block) for block in blocks]
    if label in labels and label:
        at = labels.index(label)
        blocks[at] = f"{blocks[at].rstrip()}\n{_LABEL.sub('', new, count=1)}"
    else:
        later = (at for at, one in enumerate(labels) if one.startswith("before" if label else "") and one)
        blocks.insert(next(later, len(blocks)), new)
