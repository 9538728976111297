"""Two pages become one: every sentence of the second that the first does not say literally is carried over."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.model.builtin.dream.memory_page import Page, flat, tokens
from memdir.store.taxonomy import MemoryType
from memdir.store.topic import Topic
from memdir.text.body_text import WHY

_OWN_FIELDS = frozenset(("name", "description", "type"))
_BLANK = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"(?:\*\*|__)([^*_\n]{2,40}?)\s*[:：]?\s*(?:\*\*|__)\s*[:：]?[ \t]*")


@dataclass(frozen=True)
class _LabelledText:
    """A paragraph of a body: its label (empty for none) and its text without it."""

    label: str
    text: str
    raw: str


def extra_fields(page: Page) -> dict[str, str]:
    """Frontmatter that is not ours: it survives every merge."""
    return {key: value for key, value in page.topic.fields.items() if key not in _OWN_FIELDS}


def can_fuse(one: Page, two: Page) -> bool:
    """Whether no field of the one says something else than the same field of the other; the type is ours."""
    left, right = extra_fields(one), extra_fields(two)
    return all(right[key] == value for key, value in left.items() if key in right)


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
    if label and summary:
        lead = f"{label} {summary}"
        blocks.insert(0, _LabelledText("", lead, lead))
    elif summary:
        blocks = _placed(blocks, _LabelledText("", summary, summary))
    for block in _additions(donor, known):
        blocks = _placed(blocks, block)
    text = "\n\n".join(block.raw for block in blocks).strip("\n")
    return topic.with_body(f"\n{text}\n".replace("\n", topic.line_ending())).data


def with_lead(topic: Topic, lead: str) -> bytes:
    """The topic with a paragraph before all others; the rest of the body stays byte for byte."""
    ending = topic.line_ending()
    rest = topic.body.lstrip("\r\n")
    return topic.with_body(f"{ending}{lead}{ending}{ending}{rest}" if rest else f"{ending}{lead}{ending}").data


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


def _additions(donor: Page, known: str) -> list[_LabelledText]:
    """The donor's paragraphs without the lines that are already said."""
    found = []
    for block in _blocks(_normal(donor.body)):
        lines = block.raw.split("\n")
        fresh = [line for line in lines if not _is_said(line, known)]
        if fresh:
            found.append(block if len(fresh) == len(lines) else _block("\n".join(fresh)))
    return found


def _is_said(text: str, known: str) -> bool:
    words = flat(text)
    return not words or f" {words} " in f" {known} "


def sentence(text: str) -> str:
    """The text with a full stop."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…。！？" else text + "."


def _blocks(body: str) -> list[_LabelledText]:
    """The paragraphs of a body; a fence with blank lines in it stays one."""
    found: list[str] = []
    for raw in _BLANK.split(body.strip("\n")):
        if found and found[-1].count("```") % 2:
            found[-1] += "\n\n" + raw
        elif raw.strip():
            found.append(raw.strip("\n"))
    return [_block(raw) for raw in found]


def _block(raw: str) -> _LabelledText:
    match = _LABEL.match(raw)
    return _LabelledText(match[1].strip() if match else "", raw[match.end() :] if match else raw, raw)


def _placed(blocks: list[_LabelledText], new: _LabelledText) -> list[_LabelledText]:
    """`new` at the end of the paragraph with its label, else before the reasons, else at the end."""
    if new.label:
        for at, block in enumerate(blocks):
            if block.label.casefold() == new.label.casefold():
                raw = f"{block.raw.rstrip()}\n{new.text}"
                return [*blocks[:at], _LabelledText(block.label, raw, raw), *blocks[at + 1 :]]
        is_why = WHY.match(new.label) is not None
        at = next((at for at, block in enumerate(blocks) if block.label and is_why), len(blocks))
        return [*blocks[:at], new, *blocks[at:]]
    at = next((at for at, block in enumerate(blocks) if block.label), len(blocks))
    return [*blocks[:at], new, *blocks[at:]]
