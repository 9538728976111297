"""What was said to other agents before memdir was attached, and what those wrote down themselves that keep memories in
another form: counted, told, and learned from when the user says so."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from memdir.disk.append import append_bytes
from memdir.disk.atomic import keep_bytes
from memdir.disk.plain_file import names_in, read_if_plain
from memdir.errors import MemdirError
from memdir.hooks.hook import HOSTS
from memdir.hooks.work_queue import WorkQueue
from memdir.hooks.worker import host_program
from memdir.layout import Layout
from memdir.memdir import MODEL_CALLS, MemDir, open_memory
from memdir.model.choose import model_name
from memdir.process import detach
from memdir.settings import provider_of
from memdir.text.words import counted
from memdir.transcript.attended import BEFORE_SECONDS, IN_THE_PAST, Attended
from memdir.transcript.message import said_at
from memdir.transcript.session_list import all_sources
from memdir.transcript.sources.gemini import GeminiSessions
from memdir.transcript.sources.source import SessionRef, TranscriptSource
from memdir.transcript.tokens import estimate_message

BYTES_A_TOKEN = 12  # of a transcript: most of it is tool output and bookkeeping, which nobody is shown
MAX_FILE_BYTES = 1 << 20  # of a file of notes
MIN_WORDS = 3  # of a note: less is a heading, or a key without its value
_NOTE = re.compile(r"^(?:[-*+]|\d+[.)])[ \t]+(.+(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_POINTER = re.compile(r"\[[^\]]*\]\([^)]*\)|<[^>]*>|`[^`]*\.md`")  # to another file, which is read itself
_PREFERENCES = re.compile(r"^#+ *(?:user )?(?:preferences|profile)\b.*?$(.*?)(?=^#|\Z)", re.I | re.M | re.S)


@dataclass(frozen=True)
class PastSessions:
    """The sessions of this project, or the part of one before memdir came, that memdir has not attended to, the oldest
    first, and the notes that Codex and Gemini CLI keep, each with the scope it is for."""

    refs: tuple[SessionRef, ...]
    notes: tuple[tuple[str, str], ...]

    @staticmethod
    def of(memory: MemDir, hosts: Collection[str]) -> PastSessions:
        sources, layout = all_sources(memory.places.environment), memory.layout
        asked = [sources[HOSTS[host]] for host in HOSTS if host in hosts]
        others = [os.path.join(layout.projects, slug) for slug in names_in(layout.projects) if slug != layout.slug]
        found = [
            _left(ref, source, layout)
            for source in asked
            for ref in source.sessions(layout.work_tree)
            if not any(os.path.lexists(os.path.join(other, ref.id)) for other in others)  # another project knows of it
        ]
        known = _text(_taken_over(layout)).split()
        notes = dict.fromkeys(one for one in _notes(memory, hosts) if _sum(one) not in known)
        return PastSessions(tuple(sorted(filter(None, found), key=lambda ref: ref.modified)), tuple(notes))

    @property
    def estimate(self) -> str:
        """How many, and about how much there is to read."""
        size = sum(ref.size for ref in self.refs)
        count = f"{len(self.refs)} past session{'' if len(self.refs) == 1 else 's'} of this project"
        told = f"{count}, {size / 1e6:.1f} MB, about {max(1, size // BYTES_A_TOKEN // 1000) * 1000:,} tokens to read"
        notes = f"{counted(len(self.notes), 'note')} that Codex or Gemini CLI keeps"
        return " and ".join([*([told] if self.refs else []), *([notes] if self.notes else [])])

    def learners(self, memory: MemDir) -> str:
        """Who will read them, by the settings as they are now: what is told is what is paid for."""
        settings = open_memory(memory.layout.work_tree, environment=memory.places.environment).settings
        programs = dict.fromkeys(host_program(settings, ref.agent) for ref in self.refs)
        own = "the built-in model, here"
        if provider_of(settings) != "builtin":
            own = f"{model_name(settings) or settings.model_command} ({settings.model_provider})"
        return " and ".join(f"`{program}`, on your subscription" if program else own for program in programs)

    def offer(self, context: Any, *, is_wanted: bool) -> None:
        """Learn, where the user wants it; with the number and size of what there is told first, and who reads it."""
        memory, who = context.memory, self.learners(context.memory)
        told = f"{self.estimate}, by {who}" if who else self.estimate
        if told and (is_wanted or context.ask(f"Learn from {told}? [y/N] ")):
            context.note(f"learning from {told}, in the background")
            self.learn(memory)

    def learn(self, memory: MemDir) -> None:
        """Let the worker learn from all of them, behind whatever else happens; within the day's budget. A note is
        taken over as it is: an agent wrote it, so it has an agent's trust."""
        memory.start()
        queue = WorkQueue(memory.layout)
        for ref in self.refs:
            if os.path.exists(memory.layout.attended(ref.id)):
                keep_bytes(memory.layout.earlier(ref.id), b"")
            else:
                attended = Attended(ref.id, ref.agent, ref.path, memory.layout.work_tree, begun=IN_THE_PAST)
                attended.save(memory.layout)
            queue.add(ref.id)
        if self.refs:
            detach("hook", "--work", memory.layout.work_tree)
        ours = open_memory(memory.layout.work_tree, environment=memory.places.environment, source=MODEL_CALLS)
        for scope, note in self.notes:
            try:
                ours.add(note, scope=scope)
            except MemdirError:  # a secret, or nothing that can be kept: it stays where it is
                continue
        if self.notes:
            sums = "".join(f"{_sum(note)}\n" for note in self.notes)
            append_bytes(_taken_over(memory.layout), sums.encode())


def _left(ref: SessionRef, source: TranscriptSource, layout: Layout) -> SessionRef | None:
    """A session with the size of what memdir has not attended to of it, and what was not said while memory was off;
    None where that is nothing, or on its way."""
    if not os.path.exists(layout.attended(ref.id)):
        if not os.path.exists(layout.switched(ref.id)):
            return ref
        all_of_it = Attended(ref.id, "", "", "", begun=IN_THE_PAST).heard(layout, source.messages(ref))
        left = [one for one in all_of_it if not one.is_off]
    else:
        attended = Attended.at(layout.attended(ref.id))
        if attended is None or os.path.exists(layout.earlier(ref.id)):
            return None
        end = attended.begun + BEFORE_SECONDS
        left = attended.before(layout, takewhile(lambda one: (said_at(one) or 0.0) <= end, source.messages(ref)))
    tokens = sum(map(estimate_message, left))
    return replace(ref, size=tokens * BYTES_A_TOKEN) if tokens else None


def _taken_over(layout: Layout) -> str:
    """Where stands which notes were taken over: nobody is offered them again, whatever became of them here."""
    return os.path.join(layout.attached, "notes")


def _sum(note: tuple[str, str]) -> str:
    return hashlib.sha256("\n".join(note).encode("utf-8", "replace")).hexdigest()[:16]


def _notes(memory: MemDir, hosts: Collection[str]) -> Iterator[tuple[str, str]]:
    """What stands in the memory files of these agents that keep them in another form: read, never written (Q2)."""
    environment = memory.places.environment
    own = "user" if memory.places.learns_for_all_projects else "project"
    for name in ("MEMORY.md", "memory_summary.md") if "codex" in hosts else ():
        text = _text(os.path.join(environment.codex_home, "memories", name))
        yield from ((own, note) for part in _PREFERENCES.findall(text) for note in _notes_in(part))
    if "gemini" not in hosts:
        return
    yield from ((own, note) for note in _notes_in(_text(os.path.join(environment.gemini_home, "GEMINI.md"))))
    for folder in GeminiSessions(environment.gemini_home).folders(memory.layout.work_tree):
        kept = os.path.join(folder, "memory")
        for name in names_in(kept):
            if name.endswith(".md"):
                yield from (("project", note) for note in _notes_in(_text(os.path.join(kept, name))))


def _text(path: str) -> str:
    return (read_if_plain(path, MAX_FILE_BYTES) or b"").decode("utf-8", "replace")


def _notes_in(text: str) -> Iterator[str]:
    """The items of its lists, those that only point to another file left out."""
    for found in _NOTE.findall(text):
        note = " ".join(found.split())
        if len(_POINTER.sub("", note).split()) >= MIN_WORDS and not _POINTER.match(note):
            yield note
