"""The team's side of a memory: what is handed to it and taken back, and the sync with the remote that was joined."""

from __future__ import annotations

from memdir.errors import LockBusy, MemdirError, MemoryNotFound, UsageError
from memdir.store.shared import (
    SOMEBODY,
    TeamAuthors,
    author_of,
    fault_of_member,
    note_of_team,
    note_outcome,
    note_purge,
    told_member,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memdir.events import Sink
    from memdir.places import Places, Stores
    from memdir.remember.purge import PurgeReport
    from memdir.share.sync import Sync, SyncReport

    Free = Callable[[], None]  # LockBusy while nothing may be touched
    OnProgress = Callable[[int, int], None]


class TeamMemory:
    """What a project has in common with a team (E1). `purge` is that of `MemDir`."""

    def __init__(
        self,
        places: Places,
        stores: Stores,
        clock: Callable[[], float],
        sink: Sink,
        *,
        purge: Callable[..., PurgeReport],
    ) -> None:
        self._places = places
        self._stores = stores
        self._clock = clock
        self._sink = sink
        self._purge = purge

    def share(self, *memories: str) -> Sequence[str]:
        """Hand memories of the project to the team, as one change; gives their file names there. They travel with the
        next sync, and `undo` takes it back here. What is the team's already is passed over. BadMemoryFile for one about
        a person, or with a secret (E2, E5)."""
        from memdir.store.memories import find_key
        from memdir.store.move import share_memories

        team, own = self._stores.to_write("team"), self._stores.of("project")
        keys = [find_key(own, memory, elsewhere=team) for memory in memories]
        given, most = note_of_team(self._places.place).get("authors"), self._places.settings.team_max_entry_bytes
        return share_memories(own, keys, max_bytes=most, given=given if isinstance(given, dict) else ())

    def unshare(self, *memories: str) -> Sequence[str]:
        """Take memories back from the team into the project's own: with the next sync they are gone for the others.
        Gives their file names. One's own are one change, those of each teammate one more; what a teammate wrote stays
        marked as theirs (L1)."""
        from memdir.store.memories import find_key
        from memdir.store.move import is_written_here, unshare_memories

        team = self._stores.to_write("team")
        keys = [find_key(team, memory.removeprefix("team/")) for memory in memories]
        texts = {key: team.read(key).topic.data for key in keys}  # first: whose they are is asked of these
        by = {key: author_of(self._places.place, key) for key in keys}
        others = {key: who for key, who in by.items() if who not in ("", self.member) or not is_written_here(team, key)}
        return unshare_memories(self._stores.of("project"), texts, others=others)

    @property
    def member(self) -> str:
        """The name under which the team sees what is shared from here. UsageError where `team.member` is no name."""
        from memdir.settings import login_name

        named = self._places.settings.team_member
        fault = fault_of_member(named) if named else ""
        if fault:
            raise UsageError(f"team.member: {fault}", remedy="`memdir join … --as NAME`, or set another")
        return named or told_member(login_name()) or SOMEBODY

    def authors(self, scope: str = "project") -> TeamAuthors:
        """Who of the team wrote the memories of a scope, as far as this machine knows."""
        return TeamAuthors(self._places.place, scope)

    def sync(
        self,
        *,
        is_dry: bool = False,
        pushes_only: bool = False,
        require_free: Callable[[], None] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> SyncReport:
        """Take in what teammates changed, and give them what was changed here (E4). A remote that cannot be reached is
        no error: `reason` and `problem` tell, and what waits is sent by the next one. `require_free` where
        nobody reads the report: it is called before anything is touched, and what a purge took is kept to be told."""
        place = self._places.place
        self._places.require_enabled()
        try:
            sync = self.joined(on_progress=on_progress, require_free=require_free)
            report = sync.run(is_dry=is_dry, pushes_only=pushes_only)
        except MemdirError as error:
            is_left = self._places.settings_now().team_remote != self._places.settings.team_remote
            if self._places.syncs and not is_left and not isinstance(error, LockBusy):  # another is at it
                note_outcome(place, getattr(error, "kind", "broken"), str(error), self._clock())
            raise
        if not is_dry:
            is_through = report.reason not in ("offline", "not_allowed", "rate", "broken")
            has_asked = not pushes_only or bool(report.sent or report.sent_deletions)  # else perhaps nobody
            if has_asked or not is_through:
                note_outcome(place, str(report.reason), "" if is_through else report.problem, self._clock())
            note_purge(place, *((report.purged, report.may_hold) if require_free else ((), {})))
        return report

    def joined(self, *, on_progress: OnProgress | None = None, require_free: Free | None = None) -> Sync:
        """What keeps the team's directory in step with the remote that was joined; UsageError where there is none."""
        from memdir.share.remote import TeamCaps
        from memdir.share.sync import Sync
        from memdir.share.team import JOIN, Address, open_remote

        place, settings = self._places.place, self._places.settings
        remote = settings.team_remote if self._places.has_team else ""
        if not remote or self._places.settings_now().team_remote != remote:  # somebody may have left it meanwhile
            raise UsageError("no team was joined here", remedy=JOIN)
        self._stores.begin()
        caps = TeamCaps(settings.team_max_entries, settings.team_max_entry_bytes, settings.team_max_bytes)
        address, name = Address.parse(remote), self.member
        there = open_remote(address, place, self._places.layout, name=name, clock=self._clock)
        there.caps = caps
        work = self._stores.of("team"), there, str(address), name, caps, self._clock, self._sink
        return Sync(*work, on_progress, self._purge_member, require_free or (lambda: None))

    def _purge_member(self, name: str, *, is_dry: bool = False) -> tuple[Sequence[str], Sequence[str]]:
        """What private memories took over from a member whom the hub has purged goes, too; what may be of others, or a
        person's own, is only named."""
        try:
            report = self._purge(f"person:{name}", scope="private", is_dry=is_dry)
        except MemoryNotFound:
            return [], []
        gone, held = [one.name for one in report.files], [one.name for one in report.held]
        return ([], [*gone, *held]) if is_dry else (gone, held)

    def sync_behind(self, pushes_only: bool = False, require_free: Callable[[], None] | None = None) -> None:
        """`sync` where nobody waits for it: what goes wrong is an event, and comes again."""
        try:
            self.sync(pushes_only=pushes_only, require_free=require_free or (lambda: None))
        except MemdirError as error:
            from memdir.events import request_refused

            self._sink.emit(request_refused(what="sync with the team", reason=error.message))
