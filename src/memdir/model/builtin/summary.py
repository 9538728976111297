"""Summarises a conversation without a language model: its own sentences, sorted under the headings of the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from memdir.model.builtin.answers import parted, says
from memdir.model.builtin.digest import digest, sentences, short, turns_of
from memdir.model.job import CompactJob
from memdir.model.model import Reply, Request
from memdir.text.stems import terms_in
from memdir.transcript.message import Message

MAX_LINES = 40  # under one heading; the newest are kept


def answer_compact(job: CompactJob, request: Request) -> Reply:
    """The whole summary in one reply."""
    said, _ = parted(request)
    found = digest(said)
    wish = job.keep.strip()
    parts = {
        "What the user wants": [*([f"To be kept: {wish}"] if wish else []), *found.task],
        "Where things stand": found.state,
        "Files and code": [*found.files, *found.system],
        "What went wrong": found.errors,
        "What was found out": [*found.learnings, *found.results, *_wished(said, wish)],
        "All messages of the user": [short(turn.asked) for turn in turns_of(said) if turn.asked],
    }
    return says("\n\n".join(_part(title, lines) for title, lines in parts.items() if lines))


def _part(title: str, lines: list[str]) -> str:
    return "\n".join([f"## {title}", *(f"- {line}" for line in lines[-MAX_LINES:])])


def _wished(messages: Sequence[Message], wish: str) -> list[str]:
    """Sentences of the conversation that share words with what the user wants kept."""
    wanted = terms_in(wish)
    spoken = (message.text for message in messages if not message.is_meta)
    enough = min(2, len(wanted))
    found = (sentence for text in spoken for sentence in sentences(text) if len(wanted & terms_in(sentence)) >= enough)
    return [short(sentence) for sentence in found] if wanted else []
