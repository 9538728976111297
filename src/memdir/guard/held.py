"""The guards that hold in a project, and what a call that breaches one is answered (Q1, ADR 0062).

A hook asks before every call of a tool, so it does not look for them: what holds is kept beside recall's derived index,
with the times of the folders and files that it was made from. Where one of these has another time, it is made again.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_if_plain, stamp_of
from memdir.disk.plain_json import decode, encode
from memdir.process import TooLate
from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memdir.guard.tool_call import ToolCall
    from memdir.memdir import MemDir
    from memdir.store.guard import Guard
    from memdir.store.topic import Topic

MAX_KEPT_BYTES = 1 << 20
MAX_GUARDS = 100  # that are asked before a tool; a person sets a few
TOO_MANY = f"no more than {MAX_GUARDS} guards are asked; `memdir guard remove` makes room"
MAX_SESSIONS = 16  # that were looked for since something changed
MAX_RULE = 600  # characters of a rule, and of its reason
SCOPES = ("project", "user")
_NAME = "guards"
_UNJUDGED = "hooks/guard_unjudged.md"
_ANSWERS = {"block": "hooks/guard_block.md", "warn": "hooks/guard_warn.md"}


class HeldGuard:
    """A guard that holds, with the memory that carries it and what a breach is answered."""

    __slots__ = ("action", "answer", "key", "pattern", "scope", "tool")

    def __init__(self, fields: Sequence[str]) -> None:
        self.scope, self.key, self.action, self.tool, self.pattern, self.answer = fields

    @property
    def line(self) -> str:
        """As it stands in the file."""
        return f"{self.action} {self.tool}({self.pattern})" if self.pattern else f"{self.action} {self.tool}"

    def unjudged(self, reason: str) -> HeldGuard:
        """This one, to be answered where nobody can tell whether a call breaches it."""
        from memdir.prompts.compose import load_prompt
        from memdir.prompts.door import shown_line

        told = {"file": shown_line(self.key), "guard": shown_line(self.line, room=MAX_RULE)}
        answer = load_prompt(_UNJUDGED).render(**told, reason=reason).strip()
        return HeldGuard([*self.fields[:-1], answer])

    @property
    def fields(self) -> list[str]:
        return [self.scope, self.key, self.action, self.tool, self.pattern, self.answer]


def held_guards(memory: MemDir, session: str = "") -> list[HeldGuard]:
    """The guards of this project and of the person. Once a session every file is looked at: an editor may have changed
    one in its place, which no folder tells."""
    path = os.path.join(memory.place.derived, _NAME)
    kept = decode(read_if_plain(path, MAX_KEPT_BYTES) or b"")
    kept = kept if isinstance(kept, dict) and kept.get("version") == __version__ else {}
    sessions = _texts(kept.get("sessions")) or []
    guards = _read(kept.get("guards"))
    if guards is not None and (not session or session in sessions) and _is_current(memory, kept.get("stamps")):
        return guards
    stamps = {folder: stamp_of(folder) for root in _roots(memory) for folder in (root, *_folders(root))}
    files = {
        place: stamp_of(place) for root, scope in _roots(memory).items() for place in _guarded(memory, scope, root)
    }
    known = kept.get("files") if isinstance(kept.get("files"), dict) else None
    if guards is None or known != files:  # else nothing that carries one has changed, and the history need not be asked
        guards = _found_again(memory)
    if os.path.isdir(memory.place.state):
        told = {"version": __version__, "sessions": [*sessions, session][-MAX_SESSIONS:], "stamps": {**stamps, **files}}
        keep_derived(path, encode({**told, "files": files, "guards": [one.fields for one in guards]}))
    return guards


def breached(guards: Sequence[HeldGuard], call: ToolCall) -> list[HeldGuard]:
    """Those that a call goes against, what refuses it first. One that blocks does so as well where the call cannot be
    judged, or not in time: what nobody looked at must not pass for harmless."""
    found: list[HeldGuard] = []
    for at, guard in enumerate(guards):
        try:
            if call.breaches(guard.tool, guard.pattern):
                found.append(guard)
        except TooLate:
            found += unjudged(guards[at:], call, "to look at it took too long")
            break
        except (OSError, ValueError, RecursionError, MemoryError):
            found += unjudged([guard], call, "it is too long or has no form that can be looked at")
    return sorted(found, key=lambda guard: guard.action != "block")


def unjudged(guards: Sequence[HeldGuard], call: ToolCall, reason: str) -> list[HeldGuard]:
    """Those that refuse a call which cannot be judged: all that block its tool."""
    return [guard.unjudged(reason) for guard in guards if guard.action == "block" and call.may_breach(guard.tool)]


def _read(rows: object) -> list[HeldGuard] | None:
    """The guards as they were kept; None, so that they are looked for again, where one row is not as we write it."""
    fields = [_texts(row) for row in rows] if isinstance(rows, list) else [None]
    whole = [row for row in fields if row and len(row) == len(HeldGuard.__slots__) and row[2] in _ANSWERS]
    return [HeldGuard(row) for row in whole] if len(whole) == len(fields) else None


def _texts(value: object) -> list[str] | None:
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None


def any_guard(memory: MemDir) -> bool:
    """Whether a guard may hold anywhere: in this project, or in another of the person's."""
    from memdir.store.guard import guard_of
    from memdir.store.scan import scan

    places, layout = memory.places, memory.layout
    homes = {layout.home, places.environment.memory_homes.get(places.settings.memory_home, layout.home)}
    folders = [folder for home in homes if os.path.isdir(folder := os.path.join(home, "projects"))]
    roots = {places.of(scope).root for scope in SCOPES if places.is_own(scope)}
    roots |= {os.path.join(folder, name, "memory") for folder in folders for name in os.listdir(folder)}
    headers = (header for root in roots for header in scan(root, limit=None).headers)
    return any(guard_of(header, key=header.key, scope="project") for header in headers)


def forget_kept(memory: MemDir) -> None:
    """Look at every file again with the next call that asks."""
    path = os.path.join(memory.place.derived, _NAME)
    if os.path.exists(path):
        from memdir.disk.atomic import delete_file

        delete_file(path)


def _roots(memory: MemDir) -> dict[str, str]:
    """The folders that may hold guards, with their scopes; a project's may be that of the person."""
    return {memory.places.of(scope).root: scope for scope in reversed(SCOPES)}


def _is_current(memory: MemDir, stamps: object) -> bool:
    """Whether the folders, and the files that carry a guard, are as they were."""
    if not isinstance(stamps, dict) or not all(root in stamps for root in _roots(memory)):
        return False
    return all(stamp_of(path) == stamp for path, stamp in stamps.items())


def _found_again(memory: MemDir) -> list[HeldGuard]:
    guards: list[HeldGuard] = []
    for scope in _roots(memory).values():
        for key, (guard, topic) in memory.guards.all(scope).items():
            answer = _answer(memory, key, guard, topic)
            guards.append(HeldGuard([scope, key, guard.action, guard.tool, guard.pattern, answer]))
    return guards[:MAX_GUARDS]


def _folders(root: str) -> Iterator[str]:
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if name[0] != "."]
        yield from (os.path.join(folder, name) for name in names)


def _guarded(memory: MemDir, scope: str, root: str) -> Iterator[str]:
    """The files of a scope that say something of a guard."""
    from memdir.store.guard import GUARD_FIELD
    from memdir.store.scan import scan

    for header in scan(root, limit=None).headers if memory.places.is_own(scope) else ():
        if GUARD_FIELD in header.fields:
            yield os.path.join(root, header.key)


def _answer(memory: MemDir, key: str, guard: Guard, topic: Topic) -> str:
    """The rule and its reason, as the model gets them that breaks it."""
    from memdir.prompts.compose import load_prompt
    from memdir.prompts.door import shown_line
    from memdir.text.body_text import sentences

    parts: dict[str, list[str]] = {}
    for sentence in sentences(topic.body):
        parts.setdefault(sentence.label, []).append(sentence.text)
    rule, _, beside = (" ".join(parts.get("main", ())) or topic.description).partition("**Why:**")
    why = " ".join((beside.strip(), *parts.get("why", ()))).strip() or "the user gave no reason"
    told = {"file": key, "guard": str(guard), "rule": rule, "why": why}
    prompt = load_prompt(_ANSWERS[guard.action], overrides=memory.layout.prompts)
    return prompt.render(**{name: shown_line(text, room=MAX_RULE) for name, text in told.items()}).strip()


def keep_derived(path: str, text: str) -> None:
    """Keep what can be made again, where it can be kept."""
    from memdir.disk.atomic import keep_bytes
    from memdir.errors import DiskError

    try:
        keep_bytes(path, text.encode("utf-8", "replace"))
    except DiskError:
        return
