"""Where the memories of each scope lie, by the settings that are found there, and the stores that keep them.

A store that followed its project brings its own settings, and may be that of a folder above: then `Places` looks again,
and who holds it sees what holds now.
"""

from __future__ import annotations

import os

from memdir.disk.safe_path import is_inside
from memdir.errors import DiskError, LockBusy, MemdirError, UsageError
from memdir.layout import Layout, Place, is_same_folder
from memdir.settings import is_of_other_agent, load_settings, memory_root, own_memory, root_in_place, settings_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memdir.events import Sink
    from memdir.layout import AgentScope
    from memdir.settings import Environment, Settings
    from memdir.store.identity import Adoption
    from memdir.store.magic_doc import DocShelf
    from memdir.store.move import Side
    from memdir.store.store import MemoryStore

SCOPES = ("project", "user", "team", "docs", "agent:NAME", "agent-project:NAME", "agent-local:NAME")
_AGENT_SCOPES: dict[str, AgentScope] = {
    "agent": "user",
    "agent-user": "user",
    "agent-project": "project",
    "agent-local": "local",
}


class Places:
    """Where everything of a project is, and the settings found there."""

    def __init__(
        self, environment: Environment, layout: Layout, settings: Settings, *, flags: Mapping[str, str] | None = None
    ) -> None:
        self.environment = environment
        self.layout = layout
        self.settings = settings
        self.place = Place(memory_root(environment, settings, layout))  # of the project's own memories
        self._flags = flags
        self._ruled_by = layout  # by the settings that are found there
        self._stamp: Sequence[object] = ()
        self._now = settings

    @classmethod
    def read(cls, environment: Environment, folder: str, *, user: str = "", flags: Mapping[str, str] | None) -> Places:
        """Those of a folder. `user` names whose memories for all projects join."""
        layout = Layout(environment.home, folder, user=user)
        stamp = settings_stamp(layout)
        settings = load_settings(environment, layout, flags=flags)
        if settings.worktrees == "isolated":
            layout = Layout(environment.home, folder, worktrees="isolated", user=user)
        found = cls(environment, layout, settings, flags=flags)
        found._stamp = stamp
        return found

    def over(self, home: str) -> Places:
        """The same settings over another home."""
        found = Places(self.environment, Layout(home, self.layout.work_tree), self.settings, flags=self._flags)
        found._ruled_by, found._stamp, found._now = self._ruled_by, self._stamp, self._now
        return found

    def look_again(self) -> None:
        """Find everything again, when a store has followed the project."""
        layout = self.layout
        found = Places.read(self.environment, layout.work_tree, user=layout.user, flags=self._flags)
        self.layout, self.settings, self.place = found.layout, found.settings, found.place
        self._ruled_by, self._stamp, self._now = found.layout, found._stamp, found.settings

    @property
    def is_on(self) -> bool:
        """Whether memory is on by the settings as they are now: a person may switch it in a file while a conversation
        goes on (S5). The other settings stay as they were found."""
        if self.settings.enabled != (now := self.settings_now()).enabled:
            self.settings = self.settings.switched_as(now)
        return self.settings.enabled

    def settings_now(self) -> Settings:
        """Read again where a file is another one than before; as they were while somebody is at one."""
        stamp = settings_stamp(self._ruled_by)
        if stamp != self._stamp:
            self._stamp = stamp
            with _suppressed(MemdirError):
                self._now = load_settings(self.environment, self._ruled_by, flags=self._flags)
        return self._now

    def of(self, scope: str) -> Place:
        """Where a scope's memories lie (A1, E1)."""
        kind, _, agent = scope.partition(":")
        if scope == "project":
            return self.place
        if scope == "user":
            return self.layout.user_memory
        if scope == "team":
            return self.place.team()
        if scope == "docs":
            return self.layout.magic_docs
        if ":" in scope and kind in _AGENT_SCOPES:
            return self.layout.agent_memory(agent, _AGENT_SCOPES[kind])
        raise UsageError(f"there is no scope {scope!r}", remedy=f"Choose one of {', '.join(SCOPES)}")

    def scopes(self) -> Sequence[str]:
        """The scopes that a conversation here is told of."""
        own = [] if self.place.root == self.layout.user_memory.root else ["user"]
        return ["project", *own, *(["team"] if self.has_team else [])]

    def own_scopes(self) -> Sequence[str]:
        """The scopes of this person alone: the project's, and those for all projects where something is kept there."""
        return ("project", "user") if self.learns_for_all_projects else ("project",)

    def is_own(self, scope: str) -> bool:
        """Whether the memories of a scope lie with the person, and not in the project, where others may put some."""
        root = self.of(scope).root
        return is_inside(root, self.layout.home) or not is_inside(root, self.layout.work_tree)

    @property
    def is_ours(self) -> bool:
        """Whether the memory lies where the home puts it, and not where someone pointed it; or with another agent."""
        return self.place.root == self.layout.default_memory or self._is_in_place

    @property
    def _is_in_place(self) -> bool:
        """Whether the memory is that of another agent, served where it lies (Q2)."""
        return self.place.root == root_in_place(self.environment, self.settings, self.layout)

    def is_told_by(self, agent: str) -> bool:
        """Whether an agent shows its model the index of this very directory by itself: once is enough (Q2)."""
        own = own_memory(self.environment, self.layout, agent)
        return bool(own) and is_same_folder(own, self.place.root)

    @property
    def has_team(self) -> bool:
        """Whether the team's memories are read and written here (E1). Somebody said so: a folder alone does not."""
        return self.settings.enabled and self.settings.team_enabled

    @property
    def syncs(self) -> bool:
        """Whether there is a team to keep in step with."""
        return self.has_team and bool(self.settings.team_remote)

    @property
    def learns_for_all_projects(self) -> bool:
        """Whether what is about the person is kept once for all projects (T1); not in a home that another agent owns,
        which sees only the project's directory, nor where that is the person's own."""
        is_own, places = self.place.root == self.layout.user_memory.root, (self.layout, self.place.root)
        return not is_own and (self._is_in_place or not is_of_other_agent(self.environment, *places))

    @property
    def keeps_docs(self) -> bool:
        """Whether magic docs are kept up to date, by the settings as they are now: a running conversation takes up what
        a person switches on or off meanwhile (M2)."""
        return self.settings_now().magic_docs

    def require_enabled(self) -> None:
        """MemdirError when memory is off; DiskError when a file stands where its directory should be, which is not the
        same as none."""
        if not self.is_on:
            raise MemdirError(f"memory is off: {self.settings.off_because}", remedy=self.settings.turn_on)
        if not os.path.isdir(self.place.root):
            from memdir.disk.atomic import require_room_for_folder

            require_room_for_folder(self.place.root)


class Stores:
    """The stores at those places: one for each scope."""

    def __init__(self, places: Places, clock: Callable[[], float], sink: Sink) -> None:
        self._places = places
        self._clock = clock
        self._sink = sink
        self._project: MemoryStore | None = None
        self._has_looked = False
        self._is_started = False

    def of(self, scope: str) -> MemoryStore:
        """The store of a scope: project, user, team, docs, or an agent's own."""
        if scope != "project":
            return self._made(self._places.of(scope), scope)
        if self._project is None:
            self._project = self._made(self._places.place, scope)
        return self._project

    def _made(self, place: Place, scope: str) -> MemoryStore:
        from memdir.store.store import MemoryStore

        settings = self._places.settings
        is_indexed = {"skip_index": settings.skip_index, "has_team": settings.team_enabled}
        return MemoryStore(place, scope=scope, **is_indexed, clock=self._clock, sink=self._sink)

    def to_read(self, scope: str) -> MemoryStore:
        """The same where memory is on, and a store that was lost has been looked for."""
        self.require_found()
        return self.of(scope)

    def to_write(self, scope: str) -> MemoryStore:
        """The same, ready to be written to."""
        self._places.require_enabled()
        if scope == "docs":
            raise UsageError(
                "the copies of magic docs are not written by hand", remedy="Edit the file itself; `undo` takes back"
            )
        self.begin()
        return self.of(scope)

    def of_project(self) -> Sequence[MemoryStore]:
        """The stores of this project: its own, and the team's where that is on."""
        return [self.of(scope) for scope in ("project", *(["team"] if self._places.has_team else []))]

    def learning(self) -> Sequence[MemoryStore]:
        """The stores that what is learned goes to: those of this project, and the person's own for all projects."""
        return [*self.of_project(), *([self.of("user")] if self._places.learns_for_all_projects else [])]

    def among(self, scope: str) -> dict[str, MemoryStore]:
        """The store of a scope, of all that are here (`all`), or of all but the team's (`private`), by scope."""
        if scope not in ("all", "private"):
            return {scope: self.of(scope)}
        found = [one for one in self._places.scopes() if one != "team" or scope == "all"]
        return {one: self.of(one) for one in (*found, *self._places.layout.agent_scopes())}

    def docs(self) -> DocShelf:
        """The magic docs of this work tree, and what stood in them (M1). The store of scope `docs` holds copies."""
        from memdir.store.magic_doc import DocShelf

        return DocShelf(self.of("docs"), self._places.layout.work_tree, [store.root for store in self.learning()])

    def side(self, scope: str) -> Side:
        """A scope as the histories of both sides of a move know it."""
        from memdir.store.move import Side, side_name

        return Side(self.to_write(scope), side_name(scope, self._places.layout))

    def side_named(self, name: str) -> MemoryStore | None:
        """The store on one side of a move, by the name that a history has for it; None where it is gone."""
        layout, (scope, _, slug) = self._places.layout, name.partition(" ")
        if scope == "user" or (scope == "project" and slug == layout.slug):
            return self.of(scope)
        if scope != "project" or not slug.replace("-", "").isalnum():
            return None
        root = os.path.join(layout.projects, slug, "memory")
        return self._made(Place(root), "project") if os.path.isdir(root) else None

    def require_found(self) -> None:
        """The memory is on, and where it was before the project moved is known."""
        self._places.require_enabled()
        if not self._has_looked:
            with _suppressed(DiskError, LockBusy):  # a home that cannot be written to keeps nobody from reading
                self.find_lost()
            self._places.require_enabled()

    def find_lost(self) -> Adoption | None:
        """Take over the one store that was this project's before it was moved (I1), where it has none here."""
        self._has_looked = True
        place, layout = self._places.place, self._places.layout
        if not self._places.is_ours or (os.path.isdir(place.root) and os.path.lexists(place.identity)):
            return None
        from memdir.store.identity import find_lost_store

        slug, adoption = layout.slug, find_lost_store(layout)
        if adoption.adopted:
            from memdir.events import Event

            self._places.look_again()
            self._project = None
            self._sink.emit(Event("store.adopted", slug_before=adoption.adopted.slug, slug_now=slug))
        return adoption if adoption.adopted or adoption.candidates else None

    def begin(self) -> None:
        """Start, unless that was done. A disk that refuses costs the conversation nothing, and is asked again."""
        with _suppressed(DiskError):
            if not self._is_started:
                self.start()

    def start(self) -> Adoption | None:
        """What every session begins with: find a lost store (I1), create the directory (S4), finish a broken write.
        Nothing where memory is off (S5)."""
        places = self._places
        adoption = self.find_lost() if places.settings.enabled else None
        if not places.settings.enabled:  # the settings that were found with the store may say so, too
            return adoption
        for store in self.of_project():
            store.ensure()
        if places.learns_for_all_projects:
            with _suppressed(DiskError):  # a home that cannot be written to, and a project that lies elsewhere
                self.of("user").ensure()
        if places.is_ours:
            from memdir.store.identity import remember_identity

            remember_identity(places.place, places.layout)
        self._is_started = True
        return adoption


def _suppressed(*kinds: type[Exception]) -> AbstractContextManager[None]:
    """Go on all the same; a hook loads what this takes only where it must."""
    from contextlib import suppress

    return suppress(*kinds)
