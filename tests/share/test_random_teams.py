"""Members who write, delete, rename, lose and forget at random, cut off and killed, with clocks that lie, full disks,
narrow limits and lost notes, over folders whose texts come late and hubs that purge somebody (E4, E5, L2).

At the end all hold the same, every write that was acknowledged or still lay on somebody's disk is there unless somebody
who had seen it took it out, no byte of a secret is in the remote, and nothing outside `team/` was touched. A short part
by default, all of it with `make test-share`.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from memdir.errors import DiskError, MemdirError, RemoteError
from memdir.share.judge import read_local
from memdir.share.known import KnownTeam
from memdir.share.remote import Delta, Manifest, PushResult, Remote, TeamCaps
from memdir.store.history import Origin
from memdir.store.memories import forget_memories
from memdir.store.store import ChangeSet
from tests.security.fakes import github_token
from tests.share.conftest import KINDS, MakePlace
from tests.share.remotes import FolderPlace, HubPlace, Member, TeamPlace, member, memory_text

ALL = os.environ.get("SHARE_TESTS") == "all"
MEMBERS = ("ann", "bob", "cleo", "dan", "eve") if ALL else ("ann", "bob", "cleo")
EACH = 200 if ALL else 15  # operations of every member in a run
EXAMPLES = 5 if ALL else 3  # the first two that hypothesis makes are the same operation all the time, and next to none
LEAK = "leak.md"  # it never leaves
LEAVER, THEIRS, SAID = "zed", "zed.md", "What Zed said."  # somebody who is purged, where a hub can do that
NARROW = TeamCaps(entry_bytes=150)  # a name and a line
NAMES = ("deploys.md", "Deploys.md", "tests.md", "sub/redis.md", "freeze.md", "müller.md")
DAY = 86_400
OFTEN = 4  # as often as what happens rarely to somebody

Act = TypeVar("Act", bound=Callable[..., None])
ACTS: dict[str, dict[str, st.SearchStrategy[object]]] = {}
ORDER: list[str] = []


def act(times: int = 1, **given: st.SearchStrategy[object]) -> Callable[[Act], Act]:
    """One thing that may happen. Not hypothesis's own rules: it leaves out a part of those in every run, `write` or
    `sync` too, and then nothing is at stake."""

    def noted(method: Act) -> Act:
        ACTS[method.__name__] = given
        ORDER.extend([method.__name__] * times)
        return method

    return noted


class Wire:
    """The way to a remote: it can be cut, and an answer can be lost after the remote has done what it was asked."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.is_cut = False
        self.loses_answers = 0

    def pull(self, known: Manifest) -> Delta:
        if self.is_cut:
            raise RemoteError("cut off")
        return self.remote.pull(known)

    def close(self) -> None:
        self.remote.close()

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        if self.is_cut:
            raise RemoteError("cut off")
        result = self.remote.push(delta, expected=expected)
        if self.loses_answers:
            self.loses_answers -= 1
            raise RemoteError("the answer was lost")
        return result


class RandomTeam(RuleBasedStateMachine):
    """One team; what it needs is put into the class by the test."""

    folder: Path
    place: TeamPlace
    count = 0
    most: ClassVar[Counter[str]]  # what was done in the run that did most

    @initialize()
    def meet(self) -> None:
        RandomTeam.count += 1
        self.home = self.folder / f"run{RandomTeam.count}"
        self.team = self.make_team()
        self.members = [self.joined(name, number) for number, name in enumerate(MEMBERS)]
        self.written: set[str] = set()
        self.removed: set[str] = set()
        self.acknowledged: set[str] = set()
        self.number = 0
        self.done: Counter[str] = Counter()
        self.outside = self.beside()
        self.late: dict[Path, bytes] = {}
        self.is_purged = False
        leaver = self.joined(LEAVER, 2)
        leaver.put(THEIRS, memory_text("zed", SAID))
        leaver.sync()

    def make_team(self) -> TeamPlace:
        raise NotImplementedError

    def joined(self, name: str, number: int) -> Member:
        skew = (number - 2) * 400 * DAY  # years ahead and behind
        one = member(self.team, name, self.home, lambda: time.time() + skew)
        one.remote = Wire(one.remote)
        (one.root.parent / "private.md").write_text(memory_text("private", "Mine alone."))
        return one

    def beside(self) -> dict[Path, bytes]:
        """What is nobody's business: what lies beside the team's directory."""
        found = [path for one in self.members for path in one.root.parent.rglob("*") if one.root not in path.parents]
        return {path: path.read_bytes() for path in found if path.is_file()}

    @rule(data=st.data(), order=st.permutations(range(len(MEMBERS))))
    def happen(self, data: st.DataObject, order: list[int]) -> None:
        """Something to every member."""
        for who in order:
            name = data.draw(st.sampled_from(ORDER))
            given = {word: data.draw(of) for word, of in ACTS[name].items()}
            getattr(self, name)(who, **given)
            self.done[name] += 1

    # What members do

    def token(self, who: Member) -> str:
        self.number += 1
        token = f"w{self.number:04}-{who.name}"
        self.written.add(token)
        return token

    def tokens(self, text: str) -> set[str]:
        return {token for token in self.written if token in text}

    def own(self, who: Member) -> dict[str, str]:
        """What a member has that may travel."""
        return {key: text for key, text in who.files().items() if key not in (LEAK, THEIRS)}

    def drop(self, who: Member, key: str) -> None:
        self.removed |= self.tokens(who.read(key))

    name = st.sampled_from(NAMES)

    @act(OFTEN, name=name)
    def write(self, who: int, name: str) -> None:
        one = self.members[who]
        if (one.root / name).exists():
            return
        if any(key.casefold() == name.casefold() for key in one.files()):
            return  # a person sees that there is one
        known = KnownTeam.load(one.store.place, one.where).text(name)  # lost here, and written again: an edit of that
        self.removed |= self.tokens((known or b"").decode())
        text = "\n\n".join([f"slot: {self.token(one)}", "A line that nobody changes.", f"end: {self.token(one)}"])
        one.put(name, memory_text(name, text))

    @act(OFTEN, pick=st.integers(0, 20), place=st.sampled_from(["slot", "end", "append"]))
    def edit(self, who: int, pick: int, place: str) -> None:
        one = self.members[who]
        if not (files := self.own(one)):
            return
        key = sorted(files)[pick % len(files)]
        lines = files[key].split("\n")
        token = self.token(one)
        for number, line in enumerate(lines):
            if line.startswith(f"{place}: "):
                self.removed |= self.tokens(line)
                lines[number] = f"{place}: {token}"
                break
        else:
            lines.insert(len(lines) - 1, f"more: {token}")
        one.put(key, "\n".join(lines))

    @act(pick=st.integers(0, 20), by_hand=st.booleans())
    def delete(self, who: int, pick: int, by_hand: bool) -> None:
        one = self.members[who]
        if not (files := self.own(one)):
            return
        key = sorted(files)[pick % len(files)]
        self.drop(one, key)
        if by_hand:
            (one.root / key).unlink()
        else:
            forget_memories(one.store, [key], origin=Origin("cli", trust="user"))

    @act(pick=st.integers(0, 20), name=name, edits=st.booleans())
    def rename(self, who: int, pick: int, name: str, edits: bool) -> None:
        """Perhaps to a text that is beyond a limit, and in the same step changed: then it does not travel yet."""
        one = self.members[who]
        files = self.own(one)
        if not files or any(key.casefold() == name.casefold() for key in files):
            return
        known = KnownTeam.load(one.store.place, one.where).text(name)
        self.removed |= self.tokens((known or b"").decode())
        (one.root / name).parent.mkdir(exist_ok=True)
        os.rename(one.root / sorted(files)[pick % len(files)], one.root / name)
        if edits:
            one.put(name, f"{one.read(name)}more: {self.token(one)}\n")

    @act()
    def leak(self, who: int) -> None:
        self.members[who].put(LEAK, memory_text("leak", f"The token is {github_token()}"))

    @act(half=st.booleans())
    def lose(self, who: int, half: bool) -> None:
        """A disk, or a half of it, is gone; what was not sent yet is gone with it. The next sync notices."""
        one = self.members[who]
        files = sorted(self.own(one))
        known = KnownTeam.load(one.store.place, one.where)
        there = [key for key in known.here() if key in files]
        texts = {key: one.read(key) for key in (there[: (len(there) + 1) // 2] if half else files)}
        for key in texts:
            (one.root / key).unlink()
        lost = (
            set(one.syncing()._lost(known, read_local(one.store.place, one.caps))) if half else set(texts)
        )  # less than a half goes as if by hand
        for key, text in texts.items():
            tokens = self.tokens(text) - (self.acknowledged if key in lost else set())
            self.removed |= {token for token in tokens if key not in lost or not self.lies_elsewhere(token, one)}
        if not half:
            shutil.rmtree(one.root, ignore_errors=True)
        one.sync()

    @act()
    def lose_the_note(self, who: int) -> None:
        """What was not sent yet is still there; a deletion that was not is forgotten."""
        shutil.rmtree(os.path.dirname(self.members[who].store.place.known_of_team), ignore_errors=True)

    def lies_elsewhere(self, token: str, but: Member) -> bool:
        return any(token in text for one in self.members if one is not but for text in one.files().values())

    # What happens to them

    @act(OFTEN)
    def sync(self, who: int) -> None:
        one = self.members[who]
        report = one.sync()
        if not report.problem and not report.waiting and report.reason != "conflict":
            for key, text in one.files().items():
                if key not in report.left_out:
                    self.acknowledged |= self.tokens(text)

    @act()
    def sync_without_room(self, who: int) -> None:
        """The disk is full while something is taken in."""

        def full(*_: object, **__: object) -> None:
            raise DiskError("No space left on device")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ChangeSet, "write", full)
            with suppress(DiskError):
                self.members[who].sync()

    @act(is_narrow=st.booleans())
    def limit(self, who: int, is_narrow: bool) -> None:
        self.members[who].caps = NARROW if is_narrow else TeamCaps()

    @act(pick=st.integers(0, 20), is_late=st.booleans())
    def delay(self, _who: int, pick: int, is_late: bool) -> None:
        """A program that copies the folder has a text not yet, and brings all of them at once."""
        texts = sorted(Path(self.team.where, "texts").glob("*")) if isinstance(self.team, FolderPlace) else []
        if is_late and texts:
            path = texts[pick % len(texts)]
            self.late[path] = path.read_bytes()
            path.unlink()
        elif not is_late:
            self.arrive()

    def arrive(self) -> None:
        for path, text in self.late.items():
            path.write_bytes(text)
        self.late.clear()

    @act()
    def purge(self, _who: int) -> None:
        if isinstance(self.team, HubPlace) and not self.is_purged:
            members = self.team.admin.ask("GET", "members").body["members"]
            (leaver,) = [one["id"] for one in members if one["name"] == LEAVER]
            assert self.team.admin.ask("POST", f"members/{leaver}/purge", {}).status == 200
            self.is_purged = True

    @act()
    def push(self, who: int) -> None:
        self.members[who].sync(pushes_only=True)

    @act(is_cut=st.booleans())
    def cut(self, who: int, is_cut: bool) -> None:
        self.wire(who).is_cut = is_cut

    @act()
    def lose_an_answer(self, who: int) -> None:
        self.wire(who).loses_answers = 1

    def wire(self, who: int) -> Wire:
        wire = self.members[who].remote
        assert isinstance(wire, Wire)
        return wire

    @act(after=st.integers(0, 400))
    def kill(self, who: int, after: int) -> None:
        """A sync in a process of its own, killed where it opens, renames or removes one file more, or asks once."""
        one = self.members[who]
        child = os.fork()
        if child == 0:
            left = itertools.count(-after)

            def last(event: str, _: object) -> None:
                if event.startswith(("os.", "open", "socket.", "subprocess.")) and next(left) == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            try:
                one.remote = self.team.open(one.name, one.store.place, one.clock)
                sys.addaudithook(last)
                one.sync()
            except MemdirError:
                pass
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    # What must be so

    def teardown(self) -> None:
        if not hasattr(self, "members"):
            return
        RandomTeam.most = max(self.most, self.done, key=lambda done: (len(done), done.total()))
        for one in self.members:
            wire = one.remote
            assert isinstance(wire, Wire)
            wire.is_cut, wire.loses_answers = False, 0
            one.caps = TeamCaps()
        self.arrive()
        left = {token for one in self.members for text in self.own(one).values() for token in self.tokens(text)}
        for _ in range(3):
            for one in self.members:
                report = one.sync()
                assert not report.problem, report.problem
        files = [self.own(one) for one in self.members]
        assert all(one == files[0] for one in files), [sorted(one) for one in files]
        text = "\n".join(files[0].values())
        lost = {token for token in (self.acknowledged | left) - self.removed if token not in text}
        assert lost == set(), sorted(lost)
        assert not any(github_token().encode() in data for data in self.team.contents())
        assert self.beside() == self.outside
        theirs = [one.files().get(THEIRS, "") for one in self.members]
        assert all((SAID in text) != self.is_purged for text in theirs), theirs
        assert all(len({key.casefold() for key in one}) == len(one) for one in files)


@pytest.mark.parametrize("kind", KINDS if ALL else ("folder", "git", "hub-sqlite"))
def test_a_random_team_converges_and_loses_nothing(kind: str, make_place: MakePlace, tmp_path: Path) -> None:
    class Machine(RandomTeam):
        folder = tmp_path

        def make_team(self) -> TeamPlace:
            return make_place(kind, self.home / f"remote{random.random()}")

    RandomTeam.most = Counter()
    # Without shrinking by default: a sync is a matter of tenths of a second, and what failed is told step by step.
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=EACH + 1,  # they meet first
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=phases,
            derandomize=not ALL,
        ),
    )
    assert RandomTeam.most.total() == EACH * len(MEMBERS)
    assert RandomTeam.most.keys() >= (ACTS.keys() if ALL else {"write", "edit", "sync", "cut", "kill"})
