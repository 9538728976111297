"""Keeps the team's directory and a remote in step (E4): take in what others changed, give what was changed here.

Each step may be killed anywhere and repeated: files first, then the note of what is known. What waits to be sent is
what differs from that note, so nothing is queued that could be lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from memdir import events
from memdir.disk.atomic import write_bytes_atomic
from memdir.disk.lock import SHORT_WAIT_SECONDS, locked
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_key
from memdir.errors import BadMemoryFile, DiskError, EditConflict, HistoryError, LockBusy, PathEscape, RemoteError
from memdir.share.judge import LocalTexts, NotShared, judge, read_local, spell_alike
from memdir.share.known import KnownTeam
from memdir.share.merge import CONFLICT_FIELD, DIGITS, beside, conflict_of, is_second_of, name_beside, settle
from memdir.share.remote import GONE, Delta, PushResult, Reason, Remote, Room, TeamCaps, Version, digest_of
from memdir.store.history import BY, OF, OUTSIDE, PULLED, Origin
from memdir.store.index import Index
from memdir.store.secrets.refuse import harmless_name
from memdir.store.shared import proposals_noted, purge_noted, told_member
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.topic import Topic

MAX_ROUNDS = 8  # of pulling again because somebody was faster; what is left then waits for the next sync
MAX_REFUSED = 500  # names that are refused, and signs of one, that are told: each is looked through for secrets
MAX_BY_HAND = 10  # files that a person removes at once without a word; more than that is an accident
_RAISE = "Forget what is outdated, or raise `team.maxEntries` and `team.maxBytes`"
_LATE = "Wait until it is copied; where it stays away, delete the list in the folder `members` that names it"
NOT_TAKEN = "the remote did not take it"
FULL = "Make room on the disk; the next sync tries it again"
WAIT_SECONDS = 5.0  # for another sync of the same directory
_TAKEN_BACK = "undo of a pull, or set aside"
_NOT_MEANT = (OUTSIDE, PULLED, _TAKEN_BACK)  # whose deletions may be an accident, and are no word to the others
_LOOKED_BACK = 500  # changes of the history in which a deletion is looked for, and two more for each memory
_BY_NAME = 100  # memories whose own changes are looked through; of more, all of the team's

Base = tuple[bytes | None, str]  # what a memory was at the last sync, where that was kept, and its digest
OnPurged = Callable[..., tuple[Sequence[str], Sequence[str]]]  # removes what is of a member; names what may be


@dataclass
class SyncReport:
    """What a sync did, or would do."""

    remote: str
    team: str = ""  # its name, where a remote has one
    taken: list[str] = field(default_factory=list)  # changed here because somebody else changed them
    deleted: list[str] = field(default_factory=list)  # gone here because somebody else deleted them
    sent: list[str] = field(default_factory=list)
    sent_deletions: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)  # files that hold a second text
    brought_back: list[str] = field(default_factory=list)  # lost here, not deleted by anybody
    left_out: dict[str, NotShared] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)  # changed here, and not with the team yet
    purged: list[str] = field(default_factory=list)  # private memories and edits that went with a purged member
    may_hold: dict[str, str] = field(default_factory=dict)  # those that may hold some, and whose: a person decides
    proposals: int = 0  # changes of the team's nightly dream that wait for a member's yes or no
    reason: Reason | str = ""  # why nothing was sent
    problem: str = ""  # what a person can do something about


@dataclass
class Sync:
    """One team directory and its remote."""

    store: MemoryStore
    remote: Remote
    name: str  # of the remote, as people and events call it
    member: str = ""
    caps: TeamCaps = field(default_factory=TeamCaps)
    clock: Callable[[], float] = time.time
    sink: events.Sink = field(default_factory=events.NullSink)
    on_progress: Callable[[int, int], None] | None = None
    on_purged: OnPurged | None = None
    require_free: Callable[[], None] = lambda: None  # LockBusy while nothing may be touched
    _renamed: set[str] = field(default_factory=set, init=False)
    _back: list[str] = field(default_factory=list, init=False)  # purged once, and nobody knows what is from since then
    _foreseen: LocalTexts | None = field(default=None, init=False)  # the directory as a sync would leave it

    def run(self, *, is_dry: bool = False, pushes_only: bool = False) -> SyncReport:
        """Pull and push until both sides agree, or only give what waits. LockBusy while another sync runs."""
        report, self.remote.on_progress = SyncReport(self.name), self.on_progress
        events.tell(self.on_progress, 0, 0)  # of how many is not known yet
        with locked(self.store.place.team_lock, wait_seconds=WAIT_SECONDS):
            known = KnownTeam.load(self.store.place, self.name)
            try:
                self._run(known, report, is_dry=is_dry, pushes_only=pushes_only)
                if not pushes_only and not is_dry:
                    self._ask_more(known)
            except RemoteError as error:
                report.reason, report.problem = error.kind, str(error)
            finally:
                self.remote.close()
            self._purge(known, report, is_dry=is_dry)
            self._look(KnownTeam.load(self.store.place, self.name) if is_dry else known, report)
        if not is_dry:
            self._tell(report)
        return report

    def _look(self, known: KnownTeam, report: SyncReport) -> None:
        """What waits, and what cannot be given to others."""
        local = read_local(self.store.place, self.caps, known.last_here())
        report.waiting = [*self._changes(known, local, report), *self._held(known, local, report)]
        report.left_out.update(local.left_out)
        for key, why in ((key, why) for key, why in known.held.items() if key in report.waiting):
            report.left_out.setdefault(key, NotShared(harmless_name(key), why, NOT_TAKEN))
        report.proposals, report.team = proposals_noted(self.store.place), known.team
        removed, held = purge_noted(self.store.place)
        report.purged, report.may_hold = [*removed, *report.purged], held | report.may_hold

    def _run(self, known: KnownTeam, report: SyncReport, *, is_dry: bool, pushes_only: bool) -> None:
        self.require_free()
        if not is_dry:
            spell_alike(self.store.place)
            with suppress(LockBusy, HistoryError, DiskError):
                self.store.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)
        for number in range(MAX_ROUNDS):
            if not pushes_only or not known.synced:  # without a note, what others deleted would come back
                self._pull(known, report, is_dry=is_dry)
            result = self._push(known, report, is_dry=is_dry)
            clashes = [key for key, reason in result.refused.items() if reason == "conflict"]
            if not clashes or pushes_only or is_dry:
                report.reason = "conflict" if clashes and not report.sent else report.reason
                return
            if number:
                known.revision = ""  # a pull by the note told nothing of it: all is looked at once more
        report.reason = report.reason or "conflict"

    def _ask_more(self, known: KnownTeam) -> None:
        """Note what else a hub tells, for the start of the next session: the team's name, how many proposals wait."""
        ask = getattr(self.remote, "proposals", None)
        waiting = len(ask(with_texts=False)) if ask is not None else 0
        if not known.team and known.synced and (name := getattr(self.remote, "team_name", str)()):
            known.team = name
            known.save()
        if waiting != proposals_noted(self.store.place):
            write_bytes_atomic(self.store.place.proposals_of_team, str(waiting).encode("ascii"), durably=False)

    def status(self) -> tuple[SyncReport, KnownTeam]:
        """What waits and what does not travel and why, as far as this machine knows; and what it knows."""
        report, known = SyncReport(self.name), KnownTeam.load(self.store.place, self.name)
        self._look(known, report)
        for key, one in known.seen.items():
            if one.refused:
                report.left_out.setdefault(key, NotShared(harmless_name(key), one.refused, "it was not taken in"))
        return report, known

    # What others changed

    def _pull(self, known: KnownTeam, report: SyncReport, *, is_dry: bool) -> None:
        local = read_local(self.store.place, self.caps, known.last_here())
        if not is_dry:
            self._bring_back(known, local, report)
        waiting = known.waiting()
        unheard = () if known.synced else local.texts.keys() - known.seen.keys()  # at first, or with the note lost
        known.strays = known.unanswered() | {key: digest_of(local.texts[key]) for key in unheard}
        delta = self.remote.pull(known.manifest())
        self.require_free()
        report.problem = report.problem or delta.told
        new = {name: at for name, at in delta.purged.items() if at > known.purges.get(name, 0)}
        lost = {key: known.seen[key].version.author for key in delta.missing & known.seen.keys()}
        went = {key: Version(GONE, author, is_purged=True) for key, author in lost.items() if author in new}
        delta = replace(delta, versions={**went, **delta.versions}, missing=delta.missing - went.keys())
        for key in delta.missing:
            known.seen.pop(key, None)  # what lies here is given again
        refused = {key: one for key, one in delta.older.items() if known.is_refused(key)}
        delta = replace(delta, versions={**delta.versions, **refused})  # in place of what was not taken in
        for key in delta.older.keys() - refused.keys():
            known.note(key, delta.older[key], is_here=not delta.older[key].is_gone)  # what is newer here is given again
        if is_dry:
            self._foresee(known, _with_waiting(delta, waiting, known), local, report)
            return
        if texts := {key: data for key, data in delta.texts.items() if key in delta.versions or key in delta.older}:
            known.authors |= {one.digest: one.author for one in delta.versions.values() if not one.is_gone}
            known.save()  # whose they are, for one who is killed now and then pushes alone
            known.keep(texts)
        delta = _with_waiting(delta, waiting, known)
        wanted = self._wanted(known, delta, local, report)
        groups: dict[tuple[bool, str], dict[str, Version]] = {}  # second texts first: then the first is written over
        whose = {key.casefold(): one.author for key, one in wanted.items() if not one.is_gone}
        for key, version in wanted.items():
            author = whose.get(key.casefold(), version.author)  # a name makes way for itself in other capitals
            groups.setdefault((key not in report.conflicts, author), {})[key] = version
        for (_, author), mine in sorted(groups.items(), key=lambda one: one[0]):
            self._take(known, author, mine, delta, report)
        self._list_in_index(wanted)  # also what was sent from here by somebody who was killed before the answer
        back = () if known.synced else {one.author for one in delta.versions.values() if not one.is_gone}
        self._back += [name for name in new if name in back]
        known.purges |= new
        known.purged += [name for name in new if name not in (*known.purged, *back)]
        known.revision = delta.revision
        known.synced, known.sending = self.clock(), {}
        known.save()

    def _foresee(self, known: KnownTeam, delta: Delta, local: LocalTexts, report: SyncReport) -> None:
        """What a pull would make of the directory. Nothing is changed but the note, which nobody saves then."""
        report.brought_back, self._foreseen = self._lost(known, local), local
        for key, version in self._wanted(known, delta, local, report).items():
            ours = local.texts.pop(key, None)
            base = _base_of(key, known, delta)
            is_same = ours is not None and digest_of(ours) == base[1]
            settled = settle(ours if is_same else base[0], ours, delta.texts.get(key), self.caps.entry_bytes)
            text = None if version.is_purged else settled.text
            if settled.beside is not None and not version.is_purged:
                second, data = beside(key, settled.beside, local.texts.get)
                local.texts[second] = data
                report.conflicts.append(second)
            if text is not None:
                local.texts[key] = text
            if text != ours:
                (report.deleted if text is None else report.taken).append(key)
            known.note(key, version, is_here=text is not None)

    def _purge(self, known: KnownTeam, report: SyncReport, *, is_dry: bool) -> None:
        """What was made of a purged member's memories goes where it is private, too (L2); until then, it is noted."""
        for name in list(known.purged) if self.on_purged is not None and not is_dry else ():
            with suppress(LockBusy, HistoryError, DiskError):  # it comes again with the next sync
                self.require_free()
                removed, held = self.on_purged(name)  # type: ignore[misc]
                report.purged += removed
                report.may_hold |= dict.fromkeys(held, name)
                known.purged.remove(name)
                known.save()
        for name in self._back if self.on_purged is not None and not is_dry else ():
            with suppress(LockBusy, HistoryError, DiskError):
                report.may_hold |= dict.fromkeys(self.on_purged(name, is_dry=True)[1], name)  # type: ignore[misc]

    def _wanted(self, known: KnownTeam, delta: Delta, local: LocalTexts, report: SyncReport) -> dict[str, Version]:
        """The versions that may be taken in; of the others it is noted that they are not here."""
        wanted = {key: version for key, version in delta.versions.items() if version.is_gone}
        room = Room(self.caps, {key: len(text) for key, text in local.texts.items() if key not in wanted})
        for done, key in enumerate(new := sorted(delta.versions.keys() - wanted.keys())):
            events.tell(self.on_progress, done, len(new))
            version, data = delta.versions[key], delta.texts.get(key, b"")
            unread = delta.refused.get(key)
            fault = self._no_place(key, unread) if unread else self._fault_of(key, data, room)
            if fault and fault.reason in ("cap", "too_large") and is_second_of(key, data, local.texts):
                fault = None  # what lay here under the first name has a place here, whether or not it can travel
                report.conflicts.append(key)
            if fault is None and digest_of(data) != version.digest:
                fault = NotShared(key, "not_text", "it is not the text that the remote says it is")
            if fault is None:
                wanted[key] = version
            else:
                if fault.reason != "cap":  # it is not this machine's to repair
                    who = told_member(version.author) or "whoever wrote it"
                    told = f"{fault.told}, as {who} gave it to the team"
                    remedy = f"It stays in the remote and is not taken in here; ask {who} to repair or delete it there"
                    fault = replace(fault, told=told, remedy=remedy, way="pull")
                report.left_out[key] = fault
                known.note_refused(key, version, fault.reason)
        for key in sorted(delta.refused.keys() - delta.versions.keys())[:MAX_REFUSED]:
            report.left_out[key] = self._no_place(key[:MAX_REFUSED], delta.refused[key])
        return wanted

    def _fault_of(self, key: str, data: bytes, room: Room) -> NotShared | None:
        fault = judge(key, data, self.caps)
        reason = None if fault else room.fault_of(key, len(data))
        return self._no_place(key, reason) if reason else fault

    def _no_place(self, key: str, reason: Reason) -> NotShared:
        most, most_bytes = f"{self.caps.entries:,}", f"{self.caps.total_bytes:,}"
        words = {
            "cap": (f"the team may have {most} memories and {most_bytes} bytes here", _RAISE),
            "missing": ("a newer text of it is announced, and is not there", _LATE),
            "too_large": ("it is larger than a shared memory may be", ""),
        }
        return NotShared(
            harmless_name(key), reason, *words.get(reason, ("it is a link, or has a name that is refused here", ""))
        )

    def _take(
        self, known: KnownTeam, author: str, versions: Mapping[str, Version], delta: Delta, report: SyncReport
    ) -> None:
        """Bring one teammate's changes into the directory, as one change of it."""
        names = self._apart(known, versions)
        origin, told = Origin(PULLED, trust="team"), ", ".join(sorted(versions)[:3])
        whose = {BY: author or "unknown", OF: self.name}
        with self.store.changing(origin, f"from the team: {told}", **whose) as change:
            change.on_progress = self.on_progress
            for key in sorted(versions, key=lambda one: not versions[one].is_gone):
                with _faults_to(report, key):
                    base, theirs = _base_of(key, known, delta), delta.texts.get(key)
                    lay_here = base[1] == versions[key].digest  # and may be deleted since
                    is_here = self._settle(change, names.get(key, key), versions[key], base, theirs, report)
                    known.note(key, versions[key], is_here=is_here or lay_here or key in names)
                if key in report.left_out:
                    known.note_refused(key, versions[key], report.left_out[key].reason)

    def _settle(
        self, change: ChangeSet, key: str, version: Version, base: Base, theirs: bytes | None, report: SyncReport
    ) -> bool:
        """Put what a memory is now into the directory; gives whether it lies there."""
        ours, theirs = change.read(key), None if version.is_gone else theirs
        is_same = ours is not None and (digest_of(ours) == base[1] or not ours.strip())  # nobody's word emptied it
        settled = settle(ours if is_same else base[0], ours, theirs, self.caps.entry_bytes)
        text = None if version.is_purged else settled.text
        if settled.beside is not None and not version.is_purged:  # first: what cannot be kept is not written over
            second, data = beside(key, settled.beside, change.read)
            if change.read(second) != data:
                self._write(change, second, data, None)
            report.conflicts.append(second)
        if text is None and ours is not None:
            change.delete(key)
            change.drop_entry(key)
            report.deleted.append(key)
            report.brought_back = [one for one in report.brought_back if one != key]
            report.purged += [TEAM_PREFIX + key] if version.is_purged and not is_same else []  # with what was not sent
        elif text is not None and text != ours:
            self._write(change, key, text, version if text == theirs else None)
            report.taken.append(key)
        return text is not None

    def _write(self, change: ChangeSet, key: str, text: bytes, version: Version | None) -> None:
        """A file with the time at which its author saved it (S11); a time to come is none."""
        saved = min(version.saved, self.clock()) if version else 0.0
        change.write(key, text, mtime_ns=int(saved * 1e9) if saved > 0 else None)
        change.put_entry(key, Topic(text))

    def _apart(self, known: KnownTeam, versions: Mapping[str, Version]) -> dict[str, str]:
        """Other names for memories whose name differs from a living one's in capitals only: not every disk can hold
        both. Everybody makes the same of it, and the refused name goes."""
        new = {key: version for key, version in versions.items() if not version.is_gone}
        living = {key for key, one in known.seen.items() if not one.there.is_gone and key not in versions} | new.keys()
        first = {key.casefold(): key for key in sorted(living, reverse=True)}
        names = {
            key: name_beside(key, f"_{one.digest[:DIGITS]}") for key, one in new.items() if first[key.casefold()] != key
        }
        self._renamed |= names.keys()
        return names

    # What was lost here

    def _bring_back(self, known: KnownTeam, local: LocalTexts, report: SyncReport) -> None:
        """Put back what is missing here though nobody deleted it, and what was put back to an older text: a directory
        that is new, half of one, or a copy from before tells the team nothing. What the note has no text of is asked
        for again."""
        if not (lost := self._lost(known, local)):
            return
        with self.store.changing(Origin(PULLED, trust="team"), "bring back what was lost here") as change:
            for key in lost:
                digest, one = known.last_here()[key], known.seen.get(key)
                text = known.kept(digest)
                if text is None:
                    known.seen.pop(key, None)
                    known.sending.pop(key, None)
                    known.revision = ""
                    continue
                with _faults_to(report, key):
                    self._write(change, key, text, one.version if one and one.version.digest == digest else None)
                    report.brought_back.append(key)

    def _lost(self, known: KnownTeam, local: LocalTexts) -> list[str]:
        here = known.last_here()
        missing = [key for key in here if not local.stands(key) and key not in self._renamed]
        if not (older := known.older(local)) and not missing:
            return []
        there = {digest_of(text) for key, text in local.texts.items() if known.digest(key) == GONE}
        sources = self._last_by(missing, "deleted") | self._last_by(older, "changed")
        meant = {key for key in missing if here[key] in there or sources.get(key, OUTSIDE) not in _NOT_MEANT}
        meant |= {key for key in older if sources.get(key, OUTSIDE) != OUTSIDE}
        unmeant = [key for key in (*missing, *older) if key not in meant]  # neither renamed nor by anybody's word
        is_emptied = not local.texts or 2 * len(unmeant) >= len(here) or len(unmeant) > MAX_BY_HAND
        return [key for key in unmeant if is_emptied or sources.get(key) == _TAKEN_BACK]

    def _last_by(self, keys: Iterable[str], verb: str) -> dict[str, str]:
        """What did this to these last, as the history tells; an undo is a word, unless it takes back a pull."""
        prefix, found = self.store.place.prefix, dict[str, str]()
        paths = {prefix + key: key for key in keys}
        try:
            readable = self.store.history.is_readable
            where = [*paths] if len(paths) <= _BY_NAME else [prefix.rstrip("/")]
            commits = self.store.history.log(*where, limit=_LOOKED_BACK + 2 * len(paths)) if readable else []
        except HistoryError:
            return found
        sources = {commit.id: commit.source for commit in commits}
        for commit in commits:
            undone = sources.get(commit.trailers["Undoes"], PULLED) if "Undoes" in commit.trailers else ""
            for file in commit.files:
                key = paths.pop(file.path, "")
                if key and file.verb == verb:
                    is_ours = commit.source == PULLED and BY not in commit.trailers  # no teammate's, and no person's
                    found[key] = _TAKEN_BACK if undone == PULLED or is_ours else commit.source
        return found

    # What was changed here

    def _push(self, known: KnownTeam, report: SyncReport, *, is_dry: bool) -> PushResult:
        local = self._foreseen or read_local(self.store.place, self.caps, known.last_here())
        if not is_dry and self._give_other_names(known, local, report):
            local = read_local(self.store.place, self.caps, known.last_here())
        changes = self._changes(known, local, report)
        report.left_out.update(local.left_out)
        if not changes:
            report.reason = report.reason or _reason_of(report, known, local)
            return PushResult()
        report.reason = ""
        if is_dry:
            getattr(self.remote, "require_writer", lambda: None)()
            for key, data in sorted(changes.items()):
                (report.sent_deletions if data is None else report.sent).append(key)
            return PushResult()
        texts, now = {key: data for key, data in changes.items() if data is not None}, self.clock()
        versions = dict.fromkeys(changes, Version(GONE, self.member, now))
        for key, digest in ((key, digest_of(data)) for key, data in texts.items()):
            author = known.authors.get(digest, self.member)  # whoever brings it back or renames it (ADR 0082)
            versions[key] = Version(digest, author, min(local.saved[key], now), seal=known.seals.get(digest, ""))
        known.keep(texts)
        for key, version in versions.items():  # whoever is killed now, or gets no answer, knows his own text again
            earlier = [digest for digest in known.sending.get(key, ()) if digest != version.digest]
            known.sending[key] = [*earlier, version.digest]
        known.save()
        result = self.remote.push(Delta(versions, texts), expected=known.manifest())
        self._note_push(known, result, report)
        return result

    def _give_other_names(self, known: KnownTeam, local: LocalTexts, report: SyncReport) -> bool:
        """Rename what differs from a memory of the team's in capitals only, what is new here or comes behind it in the
        alphabet: everybody does the same. Gives whether there was any."""
        living = {key for key, one in known.seen.items() if not one.there.is_gone}
        names = {key.casefold(): key for key in sorted(living, reverse=True) if local.stands(key)}
        others = (key for key in local.texts if is_key(key) and not known.is_refused(key))
        clashes = [key for key in others if names.get(key.casefold(), key) != key]
        if clashes:
            with self.store.changing(Origin("sync"), "two names that differ in capitals only") as change:
                for key in clashes:
                    data = local.texts[key]
                    with _faults_to(report, key):
                        self._write(change, name_beside(key, f"_{digest_of(data)[:DIGITS]}"), data, None)
                        change.delete(key)
                        change.drop_entry(key)
        return bool(clashes)

    def _changes(self, known: KnownTeam, local: LocalTexts, report: SyncReport) -> dict[str, bytes | None]:
        """What differs from what the team has, and may be given to it: texts, and None for what was deleted here."""
        lost = {*self._lost(known, local), *known.manifest().refused}  # neither written over nor deleted
        gone = [key for key in known.here() if not local.stands(key) and key not in lost]
        living = [key for key, one in known.seen.items() if not one.there.is_gone and key not in gone]
        room = Room(self.caps, {key: len(local.texts[key]) if key in local.texts else 0 for key in living})
        changes: dict[str, bytes | None] = {}
        stays = [*local.left_out]  # what does not travel
        changed = {key: text for key, text in local.texts.items() if digest_of(text) != known.digest(key)}
        for done, (key, text) in enumerate(changed.items()):
            events.tell(self.on_progress, done, len(changed))
            fault = None if key in lost else self._fault_of(key, text, room)
            if fault is not None:
                report.left_out[key] = fault
            if fault is not None or key in lost:
                stays.append(key)
            else:
                changes[key] = text
        return changes | dict.fromkeys(self._deleted(known, gone, stays, local))

    def _deleted(self, known: KnownTeam, gone: Sequence[str], stays: Sequence[str], local: LocalTexts) -> Iterator[str]:
        """What is gone and lies here under no name, and as no second text, that does not travel: a rename that is not
        done deletes nothing, and neither does one of a memory that was edited as well."""
        texts: dict[str, bytes] = {}
        for other in stays if gone else ():
            with suppress(OSError, BadMemoryFile, PathEscape, DiskError):
                texts[other] = local.texts.get(other) or self.store.read_bytes(other) or b""
        new = [_words(data) - _words(known.text(other) or b"") for other, data in texts.items()]
        sources = self._last_by(gone, "deleted") if new else {}
        for key in gone:
            was, is_meant = Topic(known.text(key) or b"\0"), sources.get(key, OUTSIDE) not in _NOT_MEANT
            same = (was.with_field(CONFLICT_FIELD, conflict_of(other, data)).data for other, data in texts.items())
            is_same = any(data in (was.data, one) for data, one in zip(texts.values(), same, strict=True))
            words = _words(was.data)
            if not is_same and (is_meant or not any(2 * len(words & one) > len(words) for one in new)):
                yield key

    def _held(self, known: KnownTeam, local: LocalTexts, report: SyncReport) -> list[str]:
        """What was changed or deleted here while the team has a version of it that is refused here: neither is written
        over the other, and somebody has to know, first of all what keeps the one here at home."""
        ours = {key for key, text in local.texts.items() if digest_of(text) != known.digest(key)}
        ours |= {key for key in known.here() if not local.stands(key)}
        found = sorted(key for key in ours if known.is_refused(key) and known.seen[key].refused != "disk")
        for key in found:
            reason = known.seen[key].refused
            told = f"it was changed here, and the team has a version of it that is not taken in ({reason})"
            remedy = "Save yours under another name, or ask whoever wrote the other to repair it"
            fault = judge(key, local.texts[key], self.caps) if key in local.texts else None
            report.left_out[key] = fault or NotShared(harmless_name(key), reason, told, remedy)
        report.reason = report.left_out[found[0]].reason if found and report.reason == "no_change" else report.reason
        return found

    def _note_push(self, known: KnownTeam, result: PushResult, report: SyncReport) -> None:
        for key, version in sorted(result.accepted.items()):
            known.sending.pop(key, None)
            known.note(key, version, is_here=not version.is_gone)
            (report.sent_deletions if version.is_gone else report.sent).append(key)
        for key, reason in result.refused.items():
            if reason != "conflict":
                report.left_out[key] = NotShared(key, reason, result.told.get(key, NOT_TAKEN))
        known.revision = result.revision
        known.held = {key: reason for key, reason in result.refused.items() if reason != "conflict"}
        self._list_in_index(result.accepted)
        known.save()
        if result.refused and not result.accepted:
            report.reason = next(iter(result.refused.values()))

    def _list_in_index(self, there: Mapping[str, Version]) -> None:
        """What was written, renamed or deleted by hand has its line in the index here as it has at the others'."""
        listed = {one.key for one in Index((self.store.read_bytes(INDEX_NAME) or b"") if there else b"").entries()}
        wrong = [key for key, version in there.items() if version.is_gone == (key in listed)]
        if not wrong:
            return
        origin = Origin(PULLED, trust="team")  # nobody's last change: `undo` passes over it
        with suppress(LockBusy, HistoryError, DiskError), self.store.changing(origin, "index") as change:
            for key in wrong:
                with suppress(PathEscape):  # its folder has become a link since
                    data = change.read(key)
                    change.put_entry(key, Topic(data)) if data is not None else change.drop_entry(key)

    # What is told

    def _tell(self, report: SyncReport) -> None:
        emit, left = self.sink.emit, list(report.left_out.values())
        work = {"taken": len(report.taken), "deleted": len(report.deleted), "conflicts": len(report.conflicts)}
        emit(events.Event("team.pull", remote=self.name, **work, left_out=len(left)))
        for one in (one for one in left if one.reason == "secret"):
            emit(events.secret_skipped(file=one.file, found=one.told, way=one.way))
        if capped := sum(one.reason in ("cap", "too_large") for one in left):
            emit(events.Event("team.capped", files=capped, limit="entries or bytes"))
        if report.sent or report.sent_deletions:
            emit(events.Event("team.push", remote=self.name, sent=len(report.sent), deleted=len(report.sent_deletions)))
        if report.reason or left:
            reason = report.reason or left[0].reason
            emit(events.push_suppressed(remote=self.name, reason=reason, files=len(report.waiting) + len(left)))


@contextmanager
def _faults_to(report: SyncReport, key: str) -> Iterator[None]:
    """What one file cannot be, costs no other: it is left out, and told."""
    try:
        yield
        report.left_out.pop(key, None)
    except (BadMemoryFile, PathEscape, EditConflict, DiskError) as error:
        reason, remedy = ("disk", error.remedy or FULL) if isinstance(error, DiskError) else ("path", error.remedy)
        report.left_out[key] = NotShared(harmless_name(key), reason, error.message, remedy)


def _with_waiting(delta: Delta, waiting: Mapping[str, Version], known: KnownTeam) -> Delta:
    """A pull with what earlier ones could not take in, unless the remote tells something else of it now."""
    more = {key: one for key, one in waiting.items() if key not in delta.versions and key not in delta.missing}
    texts = {key: known.kept(version.digest) or b"" for key, version in more.items() if not version.is_gone}
    return replace(delta, versions={**delta.versions, **more}, texts={**delta.texts, **texts})


def _base_of(key: str, known: KnownTeam, delta: Delta) -> Base:
    """What a change here and the one there began with: what was sent from here, where the team has it or has had it,
    whether or not an answer came; else what it was at the last sync."""
    if (digest := delta.versions[key].digest) in known.sending.get(key, ()):
        return delta.texts.get(key), digest
    digest = known.strays[key] if key in delta.replaced else known.digest(key)
    return known.kept(digest), digest


def _words(data: bytes) -> set[str]:
    topic = Topic(data)
    return {*topic.name.split(), *topic.description.split(), *topic.body.split()}


def _reason_of(report: SyncReport, known: KnownTeam, local: LocalTexts) -> Reason | str:
    """Why nothing is sent where nothing is left to send. What was not taken in is another matter."""
    if report.sent or report.sent_deletions:
        return ""
    ours = [one for key, one in report.left_out.items() if local.stands(key) and not known.is_refused(key)]
    return next((one.reason for one in ours if one.reason != "missing"), "no_change")
