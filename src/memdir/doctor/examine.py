"""Runs all checks over a store and repairs what is safe to repair."""

from __future__ import annotations

import errno
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module

from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_key
from memdir.disk.shipped import shipped_lines
from memdir.doctor import ORDER, Finding
from memdir.doctor.memory_checks import (
    CLAIM_SECONDS,
    check_claims,
    check_duplicates,
    check_guards,
    check_index,
    check_memory,
    check_repeats,
    check_scopes,
    own_headers,
    remedy_for,
)
from memdir.doctor.surroundings import (
    check_bash,
    check_drafts,
    check_history,
    check_home,
    check_large,
    check_model,
    check_names,
    check_orphans,
    check_permissions,
    check_project_git,
    check_sessions,
    check_settings,
    check_slug,
    check_unfinished,
    check_writable,
    unsafe_paths,
)
from memdir.errors import MemdirError, PathEscape
from memdir.memdir import MemDir
from memdir.model.choose import who_serves
from memdir.prompts.instructions import instruction_texts
from memdir.recall.verify import Verifier
from memdir.store.history import Origin
from memdir.store.index import entry_for
from memdir.store.memory_file import Memory
from memdir.store.scan import Unreadable
from memdir.store.secrets import redact
from memdir.store.secrets.refuse import harmless_name
from memdir.store.store import MemoryStore
from memdir.text.words import counted


@dataclass(frozen=True)
class Diagnosis:
    """All findings, the worst first, how many memories were looked at, and which model serves and why."""

    findings: tuple[Finding, ...]
    memories: int
    is_off: bool = False
    model: str = ""

    @property
    def needs_attention(self) -> bool:
        return any(finding.severity != "note" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """In a word or two; nobody can say of nothing that it is healthy."""
        if self.needs_attention:
            return "needs attention"
        return "memory is off" if self.is_off else "healthy" if self.memories else "nothing is remembered yet"


def examine(memory: MemDir, store: MemoryStore) -> Diagnosis:
    """Look at everything, change nothing."""
    memories, findings = _read_all(store)
    verifier, until = Verifier(memory.layout.work_tree), time.monotonic() + CLAIM_SECONDS
    for one in memories:
        findings += check_memory(one, memory.clock())
        findings += check_claims(one, verifier, until)
    findings += check_duplicates(memories)
    findings += check_guards(store, memories, is_own=memory.places.is_own(store.scope))
    findings += check_repeats(memories, instruction_texts(memory.layout))
    findings += _in_scopes(memory, store, memories)
    if not store.skip_index:
        findings += check_index(store)
    findings += _around(memory, store)
    findings.sort(key=lambda finding: (ORDER.index(finding.severity), finding.check, finding.file, finding.message))
    findings = [replace(one, file=harmless_name(one.file), message=redact(one.message)) for one in findings]
    serving = who_serves(memory.settings, memory.places.environment)
    return Diagnosis(tuple(findings), len(memories), is_off=not memory.settings.enabled, model=serving)


def _in_scopes(memory: MemDir, store: MemoryStore, memories: list[Memory]) -> Iterator[Finding]:
    """What the project's memories and the person's own for all projects have to do with each other."""
    if store.scope not in ("project", "user") or memory.place.root == memory.layout.user_memory.root:
        return iter(())
    other = memory.stores.of("user" if store.scope == "project" else "project")
    own = [one for one in memories if not one.key.startswith(TEAM_PREFIX)]
    suggests = store.scope == "project" and memory.places.learns_for_all_projects
    return check_scopes(own, list(other.readable(other.scan(limit=None).headers)), scope=store.scope, suggests=suggests)


def repair(store: MemoryStore) -> list[str]:
    """Repair the index, close permissions, finish a broken write. Returns what was done, in words."""
    if not os.path.isdir(store.root) and not os.path.isdir(store.place.state):
        return []  # nothing is made where nothing is: broken settings may have meant another place
    done = store.repair_history() if store.history.has_git else []
    if store.is_waiting():
        store.ensure()
        if not store.is_waiting():
            done.append("completed a change that had been cut short")
    open_paths = unsafe_paths(store) if os.path.isdir(store.root) else []
    for path in open_paths:
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
    if open_paths:
        done.append(f"closed {counted(len(open_paths), 'file or folder', 'files and folders')} to other users")
    if not store.skip_index and os.path.isdir(store.root) and _repair_index(store):
        done.append("repaired the index (`memdir undo` takes it back)")
    return done


def _repair_index(store: MemoryStore) -> bool:
    entries = [entry_for(header.key, header) for header in own_headers(store)]
    try:
        before = store.read_bytes(INDEX_NAME)
    except PathEscape:
        return False  # not a file: that is for its owner to look at, and among the findings
    with store.changing(Origin("doctor"), "repair the index") as change:
        notes = [entry for entry in entries if entry.is_note]  # what a line of low trust told before goes (L3)
        holds_unread = store.scan(limit=None).holds_unread
        change.edit_index(lambda index: index.repaired(entries, holds_unread=holds_unread).with_entries(notes))
    return store.read_bytes(INDEX_NAME) != before


def _read_all(store: MemoryStore) -> tuple[list[Memory], list[Finding]]:
    scan = store.scan(limit=None)
    findings = [
        Finding(
            "unreadable",
            "error",
            f"it cannot be read: {item.reason}",
            item.key,
            _way_in(store, item) or remedy_for(store, item.key),
        )
        for item in scan.unreadable
    ]
    memories = []
    for header in scan.headers:
        try:
            memory = store.read(header.key)
        except MemdirError as error:
            remedy = error.remedy if is_key(header.key) else f"Rename the file. {error.remedy}"
            findings.append(Finding("unreadable", "error", error.message, header.key, remedy))
            continue
        memories.append(memory)
    return memories, findings


def _way_in(store: MemoryStore, item: Unreadable) -> str:
    """What to do about something that is closed to its reader; the rest is told by the reason."""
    if item.reason not in (os.strerror(errno.EACCES), os.strerror(errno.EPERM)):
        return ""
    return f"`chmod u+rwX {shlex.quote(os.path.join(store.root, item.key))}` opens it; until then it is left as it is"


def _around(memory: MemDir, store: MemoryStore) -> Iterator[Finding]:
    yield from check_settings(memory)
    yield from check_model(memory)
    yield from dict.fromkeys(check_writable(store))
    yield from check_home(memory.layout.home)
    yield from check_unfinished(store)
    yield from check_drafts(store)
    yield from check_sessions(memory)
    yield from check_history(store)
    yield from check_project_git(memory)
    yield from check_bash()
    yield from check_large(store)
    yield from check_names(store)
    yield from check_permissions(store)
    yield from check_orphans(memory)
    yield from check_slug(memory)
    for line in shipped_lines("doctor/surfaces.txt"):
        module, _, check = line.partition(":")
        yield from getattr(import_module(f"memdir.{module}"), check)(memory)
